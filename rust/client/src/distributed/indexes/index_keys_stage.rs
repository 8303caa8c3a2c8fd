//! The keys of all rows, sent to the file groups of a new record index.

use crate::distributed::exchange::{
    AssignedSlices, Input, KeySender, Output, ReadIndexKeysSpec, SlotRule, StageStep, TaskAttempt,
};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_table::plan::OpenTable;

/// Reads keys.
pub(crate) struct IndexKeysStage {
    table: OpenTable,
    spec: ReadIndexKeysSpec,
    slices: AssignedSlices,
    sender: KeySender,
    partition: u32,
    is_done: bool,
}

impl IndexKeysStage {
    pub(crate) fn new(table: OpenTable, spec: ReadIndexKeysSpec, task: TaskAttempt, input: Input) -> Self {
        let sender = KeySender::new(SlotRule::IndexGroup, &spec.slots, task.partition);
        Self { table, spec, slices: AssignedSlices::new(input), sender, partition: task.partition, is_done: false }
    }
}

impl StageStep for IndexKeysStage {
    fn step(&mut self, output: &mut Output) -> Result<bool> {
        let Some(number) = self.slices.next(&self.spec.tasks)? else {
            if !std::mem::replace(&mut self.is_done, true) {
                self.sender.finish([Vec::new(), Vec::new()], output)?;
            }
            return Ok(false);
        };
        let slice = self.spec.slices.get(at(number)).ok_or_else(|| Error::internal("a slice that is not there"))?;
        let scan = self.table.record_keys(std::slice::from_ref(slice))?;
        let mut each = |keys: &_| self.sender.send_all(keys, u64::from(number), output);
        scan.splits().iter().try_for_each(|split| scan.read(split, self.table.options.memory_limit, &mut each)?)?;
        Ok(true)
    }

    fn source(&self) -> u32 {
        self.partition
    }
}
