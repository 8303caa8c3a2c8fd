//! What a stage that works on a table as it is does, as the driver sends it.

use serde::{Deserialize, Serialize};

use super::specs::{
    CompareKeysSpec, IndexPartsSpec, ReadIndexKeysSpec, ReadPlacesSpec, WriteIndexSpec, check_partitions,
};
use mortice_base::error::Result;
use mortice_table::plan::PinnedTable;

/// What the tasks of such a stage do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum TableStage {
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
pub(crate) struct TableWork {
    pub(crate) table: PinnedTable,
    pub(crate) stage: TableStage,
}

impl TableWork {
    /// Checks what memory is allocated for, as the bytes of a stage may come from anywhere.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.stage {
            TableStage::ReadKeyPlaces(spec) => check_partitions(spec.slots.count),
            TableStage::ReadIndexKeys(spec) => check_partitions(spec.slots.count),
            TableStage::CompareKeys(_) | TableStage::ReadIndexParts(_) | TableStage::WriteIndex(_) => Ok(()),
        }
    }
}
