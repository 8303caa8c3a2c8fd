//! Stages that work on a table as it is, not on the rows of a write.

use serde::{Deserialize, Serialize};

use super::index_files_stage::IndexFilesStage;
use super::index_keys_stage::IndexKeysStage;
use super::index_parts_stage::IndexPartsStage;
use super::key_check_stage::KeyCheckStage;
use super::key_places_stage::KeyPlacesStage;
use super::specs::{
    CompareKeysSpec, IndexPartsSpec, ReadIndexKeysSpec, ReadPlacesSpec, WriteIndexSpec, check_partitions,
};
use super::stage::{Input, StageBatches, TaskAttempt};
use super::state::{Work, work_to_bytes};
use mortice_base::error::Result;
use mortice_table::plan::PinnedTable;

/// What the tasks of such a stage do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum TableStage {
    /// The keys of rows and of the record index are read, and sent to the slots of the keys.
    ReadKeyPlaces(ReadPlacesSpec),
    /// The places of keys are compared.
    CompareKeys(CompareKeysSpec),
    /// What indexes of the metadata table are built from is read from files.
    ReadIndexParts(IndexPartsSpec),
    /// The keys of rows are read, and sent to the file groups of a new record index.
    ReadIndexKeys(ReadIndexKeysSpec),
    /// The base files of a new record index are written.
    WriteIndex(WriteIndexSpec),
}

/// A stage, with the table as the driver has opened it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableWork {
    pub(super) table: PinnedTable,
    pub(super) stage: TableStage,
}

impl TableWork {
    /// The serialised form.
    ///
    /// # Errors
    /// `Internal` if the values cannot be serialised.
    pub(super) fn serialized(self) -> Result<Vec<u8>> {
        work_to_bytes(Work::Table(self))
    }

    /// Checks what memory is allocated for, as the bytes of a stage may come from anywhere.
    ///
    /// # Errors
    /// `InvalidArgument` if a number is impossible.
    pub(super) fn check(&self) -> Result<()> {
        match &self.stage {
            TableStage::ReadKeyPlaces(spec) => check_partitions(spec.slots.count),
            TableStage::ReadIndexKeys(spec) => check_partitions(spec.slots.count),
            TableStage::CompareKeys(_) | TableStage::ReadIndexParts(_) | TableStage::WriteIndex(_) => Ok(()),
        }
    }

    /// Runs one task.
    ///
    /// # Errors
    /// Those of opening the table's storage.
    pub(super) fn run(self, task: TaskAttempt, input: Input) -> Result<StageBatches> {
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
