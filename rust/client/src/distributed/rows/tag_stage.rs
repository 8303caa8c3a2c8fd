//! The rows of one slot: combined, tagged, and placed. Under a global index they are placed after they were merged with
//! the stored rows of their keys, which a further stage reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray};

use super::keys_stage::stored_keys;
use super::placer::Placer;
use super::tags::{SlotTags, wanted_chunk};
use crate::distributed::exchange::{
    Address, Chunk, ChunkKind, Chunks, Distributor, Input, OpenWrite, Output, ReadReport, RowSum, SentRows,
    SlotAddresses, StageStep, TagBy, TagSpec, TaggedReport, TaskAttempt, sent_rows,
};
use crate::write::without_duplicates;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::row_bytes;
use mortice_write::index::{
    IndexedRows, Provenance, Tagged, check_updates, refuse_located_inserts, rows_to_merge, tag_by_buckets,
    tag_by_record_index, tag_by_stored_keys,
};
use mortice_write::row_set::WriteRows;
use mortice_write::rows::DuplicatePolicy;

/// Tags the rows of slots.
pub(crate) struct TagStage {
    write: OpenWrite,
    by: TagBy,
    /// Where rows go that are merged with stored ones.
    moves: Option<SlotAddresses>,
    input: Chunks,
    partition: u32,
}

impl TagStage {
    pub(crate) fn new(write: OpenWrite, spec: TagSpec, task: TaskAttempt, input: Input) -> Self {
        let moves = spec.moves.as_ref().map(SlotAddresses::new);
        Self { write, by: spec.by, moves, input: Chunks::new(input), partition: task.partition }
    }

    fn tag_slot(&mut self, slot: u32, output: &mut Output) -> Result<()> {
        let (sent, sum) = read_rows(&mut self.input, &self.write, slot)?;
        let rows = sent.map_or_else(|| sent_rows::no_rows(&self.write.row_types()), |sent| sent.rows);
        let rows = self.write.preparation().combined_if_wanted(rows)?;
        let tagged = self.tag(slot, &rows.keys)?;
        let (rows, tagged) = self.without_duplicates(rows, tagged)?;
        let rows = IndexedRows { rows, tagged };
        match &self.moves {
            Some(slots) => {
                let report = send_on(&self.write, slots, slot, &rows, sum, output)?;
                output.report(slot, &ReadReport::Tagged(report))
            }
            None => {
                refuse_located_inserts(&rows).map_err(|error| error.in_file(&self.write.table.uri))?;
                place(&self.write, slot, &rows, sum, output)
            }
        }
    }

    fn tag(&mut self, slot: u32, keys: &RowKeys) -> Result<Tagged> {
        let is_global = self.write.is_global();
        match (&self.by, &self.write.buckets) {
            (TagBy::StoredKeys, _) => self.tag_by_stored_keys(slot, keys),
            (TagBy::Buckets(slices), Some(buckets)) => tag_by_buckets(slices.clone(), keys, buckets),
            (TagBy::Buckets(_), None) => Err(Error::internal("a bucket index without its buckets")),
            (TagBy::RecordIndex, _) => {
                let indexed = tag_by_record_index(&self.write.table, keys, is_global)?;
                match self.write.provenance {
                    Provenance::Given => Ok(indexed),
                    Provenance::Stored => self.tag_by_stored_keys(slot, keys)?.with_places_of(&indexed),
                }
            }
            (TagBy::Nothing, _) => Ok(Tagged::untagged(keys.record_keys.len(), Arc::default())),
        }
    }
}

impl TagStage {
    /// The rows of an insert without those whose keys are in the table, if these are not to be written.
    fn without_duplicates(&self, rows: WriteRows, tagged: Tagged) -> Result<(WriteRows, Tagged)> {
        let OpenWrite { table, operation, settings, index, .. } = &self.write;
        let policy = DuplicatePolicy::of_write(*operation, settings.rows.insert_policy())?;
        if policy == DuplicatePolicy::Keep {
            return Ok((rows, tagged));
        }
        // Slices that the driver has sent are without files.
        let partitions = tagged.groups.iter().map(|group| group.partition.clone()).collect();
        let tagged = Tagged { view: Arc::new(table.write_view(Some(&partitions))?), ..tagged };
        without_duplicates(table, index.as_ref(), policy, rows, tagged)
    }

    fn tag_by_stored_keys(&mut self, slot: u32, keys: &RowKeys) -> Result<Tagged> {
        let (is_global, input) = (self.write.is_global(), &mut self.input);
        let batches = std::iter::from_fn(|| input.next_of(slot, ChunkKind::StoredKeys).transpose());
        tag_by_stored_keys(keys, is_global, batches.map(|chunk| stored_keys(&chunk?)))
    }
}

impl StageStep for TagStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(slot) = self.input.next_target()? else { return Ok(false) };
        self.tag_slot(slot, output)?;
        // Stored keys of slots without rows.
        while self.input.next_of(slot, ChunkKind::StoredKeys)?.is_some() {}
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}

/// Reads the rows of a target, in the order of their sources; none if there are stored keys alone.
pub(crate) fn read_rows(input: &mut Chunks, write: &OpenWrite, target: u32) -> Result<(Option<SentRows>, RowSum)> {
    let mut batches = Vec::new();
    while let Some(chunk) = input.next_of(target, ChunkKind::Rows)? {
        batches.push(chunk.batch()?);
    }
    if batches.is_empty() {
        return Ok((None, RowSum::default()));
    }
    let sent = SentRows::of_batch(&sent_rows::joined(&batches)?, &write.row_types())?;
    let sum = RowSum::of_keys(&sent.rows.keys, write.is_global())?;
    Ok((Some(sent), sum))
}

/// Places a slot's rows, of which so many came, and hands them on.
pub(crate) fn place(
    write: &OpenWrite,
    slot: u32,
    rows: &IndexedRows,
    taken: RowSum,
    output: &mut Output,
) -> Result<()> {
    check_updates(&write.table, write.index.as_ref(), rows)?;
    let mut placer = Placer::new(write.buckets.clone(), write.is_global());
    let batch = placer.place(rows)?;
    let bytes = row_bytes(&batch) as u64;
    let mut chunks = Distributor::new(ChunkKind::Rows, slot);
    chunks.add(Address { target: 0, slot: 0, report: None }, batch, output)?;
    chunks.flush(output)?;
    output.report(slot, &ReadReport::Placed(placer.report(slot, taken, bytes)))
}

/// Hands a slot's tagged rows on, and the keys whose stored rows they are to be merged with.
fn send_on(
    write: &OpenWrite,
    slots: &SlotAddresses,
    slot: u32,
    rows: &IndexedRows,
    taken: RowSum,
    output: &mut Output,
) -> Result<TaggedReport> {
    let looked_up = rows_to_merge(&write.table, write.index.as_ref(), rows)?;
    let mut wanted: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    let is_looked_up = |row: usize| looked_up.get(row) == Some(&true);
    for (row, location) in rows.tagged.locations.iter().enumerate().filter(|(row, _)| is_looked_up(*row)) {
        if let Some(group) = location {
            wanted.entry(*group).or_default().insert(rows.rows.keys.record_keys.value(row));
        }
    }
    for further in &rows.tagged.further {
        let row = at(further.row);
        if is_looked_up(row) {
            wanted.entry(further.group).or_default().insert(rows.rows.keys.record_keys.value(row));
        }
    }
    let mut groups = BTreeSet::new();
    for (number, (group, keys)) in (0_u32..).zip(wanted) {
        let location = rows.tagged.group(group)?;
        groups.insert((location.partition.clone(), location.file_id.clone()));
        let keys: ArrayRef = Arc::new(StringArray::from_iter_values(keys));
        output.push(wanted_chunk(slots, location, slot, number, keys)?)?;
    }
    let sent = RowSum::of_keys(&rows.rows.keys, write.is_global())?;
    let partitions = rows.tagged.groups.iter().map(|group| group.partition.clone()).collect();
    let report = TaggedReport { slot, taken, sent, partitions, wanted: groups };
    if sent.rows == 0 {
        return Ok(report);
    }
    let (tags, batch) = SlotTags::of_rows(rows, &looked_up)?;
    let address = slots.address(slot, None)?;
    let mut chunks = Distributor::new(ChunkKind::Rows, slot);
    chunks.add(address, batch, output)?;
    chunks.flush(output)?;
    output.push(Chunk {
        slot: address.slot,
        target: slot,
        kind: ChunkKind::SlotTags,
        source: slot,
        number: 0,
        report: Some(tags.to_bytes()?.into()),
        data: None,
    })?;
    Ok(report)
}
