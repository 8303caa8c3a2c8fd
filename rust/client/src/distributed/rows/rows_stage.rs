//! The stored rows of keys, read file group by file group and distributed to the slots of their keys.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;

use super::deleted_rows::read_deleted_rows;
use super::tags::wanted_keys;
use crate::distributed::exchange::{
    ChunkKind, Chunks, Distributor, Input, KeyHasher, OpenWrite, Output, ReadRowsSpec, SlotAddresses, StageStep,
    TaskAttempt,
};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_write::index::read_stored_rows;

/// Reads stored rows of keys.
pub(crate) struct RowsStage {
    write: OpenWrite,
    spec: ReadRowsSpec,
    slots: SlotAddresses,
    input: Chunks,
    partition: u32,
    chunks: Distributor,
    deleted: Distributor,
}

impl RowsStage {
    pub(crate) fn new(write: OpenWrite, spec: ReadRowsSpec, task: TaskAttempt, input: Input) -> Self {
        let (slots, partition) = (SlotAddresses::new(&spec.slots), task.partition);
        let [chunks, deleted] = [ChunkKind::StoredRows, ChunkKind::DeletedRows].map(|kind| Distributor::new(kind, 0));
        Self { write, spec, slots, input: Chunks::new(input), partition, chunks, deleted }
    }

    fn read(&mut self, group: &(String, String), keys: &BTreeSet<String>, output: &mut Output) -> Result<()> {
        let (partition, file_id) = group;
        let found = (0_u32..)
            .zip(&self.spec.slices)
            .find(|(_, slice)| slice.partition == *partition && slice.file_id == *file_id);
        let (number, slice) = found.ok_or_else(|| Error::internal("a file slice that is not there"))?;
        let keys = keys.iter().map(String::as_str).collect();
        let stored = read_stored_rows(&self.write.table, slice, &keys, &self.write.schema.types)?;
        let deleted = read_deleted_rows(&self.write, slice, &keys, &stored)?;
        let mut hasher = KeyHasher::new(self.write.is_global());
        for (chunks, rows) in [(&mut self.chunks, stored), (&mut self.deleted, deleted)] {
            chunks.set_source(number, output)?;
            for batch in rows {
                let column =
                    batch.column_by_name(meta_columns::RECORD_KEY).and_then(|column| column.as_string_opt::<i32>());
                let column = column.ok_or_else(|| Error::internal("stored rows without their keys"))?;
                let slots = column.iter().flatten().map(|key| self.slots.slot_of(hasher.hash(key, partition)));
                let targets: Vec<u32> = slots.collect();
                chunks.distribute(&batch, &targets, |slot| self.slots.address(slot, None), output)?;
            }
            chunks.flush(output)?;
        }
        Ok(())
    }
}

impl StageStep for RowsStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(target) = self.input.next_target()? else { return Ok(false) };
        let mut wanted: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        while let Some(chunk) = self.input.next_of(target, ChunkKind::Wanted)? {
            let (group, keys) = wanted_keys(&chunk)?;
            wanted.entry(group).or_default().extend(keys.iter().flatten().map(str::to_owned));
        }
        if wanted.is_empty() {
            return Err(Error::internal("rows where keys were expected"));
        }
        for (group, keys) in wanted {
            self.read(&group, &keys, output)?;
        }
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}
