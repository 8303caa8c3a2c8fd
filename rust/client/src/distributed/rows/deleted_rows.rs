//! Inserts of keys that logs have deleted: the row in the base file, which a compaction removes, would win over a new
//! one with a smaller ordering value. So what a merge inserts is compared with these rows, as it is in one process.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{FieldRef, Schema};

use crate::distributed::exchange::{Chunk, OpenWrite};
use crate::merge_into::{ShadowRules, refuse_shadowed};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::{MergeMode, TableType};
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::{RowBatches, RowMemory};
use mortice_table::file_group::FileSlice;
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{Provenance, read_stored_rows};
use mortice_write::row_set::{RowMark, WriteRows, select_keys};

/// The ordering columns by which a deleted row may win over a new one; none if no such row can.
fn ordering_of(write: &OpenWrite) -> Vec<String> {
    let config = &write.table.config;
    let may_win = write.provenance == Provenance::Stored
        && write.operation == WriteOperation::Upsert
        && config.table_type == TableType::MergeOnRead
        && write.table.merge.mode == MergeMode::EventTime;
    let names = config.ordering_fields.iter().filter(|name| write.schema.types.fields().find(name).is_some());
    names.filter(|_| may_win).cloned().collect()
}

/// Rows of the base file of a slice, of those keys that the slice's rows do not have: keys, partition paths, ordering
/// columns.
pub(crate) fn read_deleted_rows(
    write: &OpenWrite,
    slice: &FileSlice,
    keys: &BTreeSet<&str>,
    stored: &[RecordBatch],
) -> Result<Vec<RecordBatch>> {
    let ordering = ordering_of(write);
    if ordering.is_empty() || slice.base_file.is_none() || slice.log_files.is_empty() {
        return Ok(Vec::new());
    }
    let mut deleted = keys.clone();
    for batch in stored {
        let found = batch.column_by_name(meta_columns::RECORD_KEY).and_then(|column| column.as_string_opt::<i32>());
        let found = found.ok_or_else(|| Error::internal("stored rows without their keys"))?;
        for key in found.iter().flatten() {
            deleted.remove(key);
        }
    }
    if deleted.is_empty() {
        return Ok(Vec::new());
    }
    let fields = write.schema.types.fields().iter().filter(|field| ordering.contains(field.name()));
    let columns = Schema::new(fields.cloned().collect::<Vec<FieldRef>>());
    let base = FileSlice { log_files: Vec::new(), ..slice.clone() };
    read_stored_rows(&write.table, &base, &deleted, &columns)
}

/// The new rows of a merge, while they wait for rows of base files.
pub(crate) struct NewRows {
    keys: RowKeys,
    rows: RowBatches,
    ordering: Vec<String>,
    names: Vec<String>,
    by_path: bool,
}

impl NewRows {
    /// Those of some rows; none if no deleted row can win over one of them.
    pub(crate) fn from_rows(write: &OpenWrite, rows: &WriteRows) -> Result<Option<Self>> {
        let ordering = ordering_of(write);
        let new = (0_u32..).zip(rows.marks.iter()).filter(|(_, mark)| *mark == RowMark::Insert);
        let numbers: Vec<u32> = new.map(|(row, _)| row).collect();
        if ordering.is_empty() || numbers.is_empty() {
            return Ok(None);
        }
        let (config, is_global) = (&write.table.config, write.is_global());
        let partitions = config.partition_fields.iter();
        let partitions = partitions.filter(|name| !is_global && !config.record_key_fields.contains(name));
        Ok(Some(Self {
            keys: select_keys(&rows.keys, &UInt32Array::from(numbers.clone()))?,
            rows: rows.batches.select(&numbers)?,
            names: config.record_key_fields.iter().chain(partitions).cloned().collect(),
            by_path: !is_global && !config.partition_fields.is_empty(),
            ordering,
        }))
    }

    /// Refuses those over which one of the deleted rows wins.
    pub(crate) fn check(&self, deleted: &Chunk) -> Result<()> {
        let deleted = RowBatches::new(deleted.batch()?.schema(), vec![deleted.batch()?], RowMemory::unlimited());
        let rules = ShadowRules { ordering: &self.ordering, names: &self.names, by_path: self.by_path };
        refuse_shadowed(&rules, (&self.keys, &self.rows), &deleted)
    }
}
