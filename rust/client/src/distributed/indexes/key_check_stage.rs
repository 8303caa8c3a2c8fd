//! The keys of one slot, compared: keys of several rows, and what the record index says of rows.

use super::key_places_stage::place_of;
use crate::distributed::exchange::{
    Chunks, CompareKeysSpec, Input, KeysReport, Output, ReadReport, StageStep, TaskAttempt, receive_keys,
};
use mortice_base::error::{Error, Result};
use mortice_merge::spill::SpillFolder;
use mortice_services::verify::{FileGroupNumbers, KeyCheck, KeySorter};
use mortice_table::plan::OpenTable;

/// Bytes of keys that a task sorts in memory; those of further keys are set aside in a file.
pub(crate) const SORT_MEMORY: usize = 64 << 20;

/// Compares keys.
pub(crate) struct KeyCheckStage {
    spec: CompareKeysSpec,
    folder: SpillFolder,
    input: Chunks,
    partition: u32,
}

impl KeyCheckStage {
    pub(crate) fn new(table: &OpenTable, spec: CompareKeysSpec, task: TaskAttempt, input: Input) -> Self {
        let folder = SpillFolder::new(table.options.spill_dir.as_deref());
        Self { spec, folder, input: Chunks::new(input), partition: task.partition }
    }

    fn compare(&mut self, slot: u32) -> Result<KeysReport> {
        let mut numbers = FileGroupNumbers::of_names(&self.spec.groups)?;
        let sorter = KeySorter::new(self.folder.clone(), SORT_MEMORY);
        let mut buffer = sorter.buffer();
        let received = receive_keys(&mut self.input, slot, &mut |key, place| {
            let unknown = || Error::internal("a record key of an unknown place");
            let (origin, group) = place_of(place.number).ok_or_else(unknown)?;
            let group = match (group, place.elsewhere) {
                (Some(group), _) => group,
                (None, Some(path)) => {
                    let (partition, file_id) = path.rsplit_once('/').unwrap_or(("", path));
                    numbers.number_of(partition, file_id)?
                }
                (None, None) => return Err(unknown()),
            };
            sorter.add(&mut buffer, key, origin, group)
        })?;
        sorter.give_back(buffer);
        let mut check = KeyCheck::new(&numbers, self.spec.compared);
        sorter.for_each(&mut |key, places| check.add(key, places))?;
        Ok(KeysReport { received, findings: check.into_findings() })
    }
}

impl StageStep for KeyCheckStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(slot) = self.input.next_target()? else { return Ok(false) };
        let report = self.compare(slot)?;
        output.report(slot, &ReadReport::KeysCompared(Box::new(report)))?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}
