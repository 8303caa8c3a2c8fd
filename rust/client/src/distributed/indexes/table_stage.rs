//! Stages that work on a table as it is, not on the rows of a write.

use super::index_files_stage::IndexFilesStage;
use super::index_keys_stage::IndexKeysStage;
use super::index_parts_stage::IndexPartsStage;
use super::key_check_stage::KeyCheckStage;
use super::key_places_stage::KeyPlacesStage;
use crate::distributed::exchange::{Input, StageBatches, TableStage, TableWork, TaskAttempt};
use mortice_base::error::Result;

impl TableWork {
    /// Runs one task.
    pub(crate) fn run(self, task: TaskAttempt, input: Input) -> Result<StageBatches> {
        let table = self.table.open()?;
        Ok(match self.stage {
            TableStage::ReadKeyPlaces(spec) => StageBatches::new(KeyPlacesStage::new(table, spec, task, input)?),
            TableStage::CompareKeys(spec) => StageBatches::new(KeyCheckStage::new(&table, spec, task, input)),
            TableStage::ReadIndexParts(spec) => StageBatches::new(IndexPartsStage::new(table, spec, task, input)),
            TableStage::ReadIndexKeys(spec) => StageBatches::new(IndexKeysStage::new(table, spec, task, input)),
            TableStage::WriteIndex(spec) => StageBatches::new(IndexFilesStage::new(table, spec, task, input)?),
        })
    }
}
