//! The rows that a merge writes, of all given rows.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use arrow_select::filter::{filter, filter_record_batch};

use super::chosen_rows::ChosenRows;
use super::given_keys::GivenKeys;
use super::matching::{CHUNK_ROWS, Matches};
use super::ordering::{LateRows, late_rows};
use super::plan::MergePlan;
use super::repeated_keys::{DistinctKeys, repeated_key};
use super::selected_rows::deleted_rows;
use super::shadowed::check_inserts;
use super::stored_rows::{query_of_keys, read_rows};
use super::table_types::batch_of;
use mortice_base::error::{Error, Result};
use mortice_formats::filter::Filter;
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::{RowBatches, RowBatchesBuilder};
use mortice_storage::check_cancelled;
use mortice_table::plan::{OpenTable, SnapshotRows};

/// Merges given rows with the stored rows of a table.
pub(super) struct RowMerge<'a> {
    pub(super) table: &'a OpenTable,
    pub(super) plan: &'a MergePlan,
    /// Which matched rows are deleted; none of them if there is no filter.
    pub(super) delete: Option<&'a Filter>,
    maker: GivenKeys,
}

/// What is known of the matched rows so far.
struct MatchedRows {
    merged: Vec<RecordBatch>,
    late: LateRows,
    /// The numbers of the given rows that match stored ones.
    numbers: Vec<u32>,
    /// Of these, those of rows that are updated.
    updating: HashSet<u32>,
}

impl<'a> RowMerge<'a> {
    /// Prepares to merge.
    pub(super) fn new(table: &'a OpenTable, plan: &'a MergePlan, delete: Option<&'a Filter>) -> Result<Self> {
        Ok(Self { table, plan, delete, maker: plan.given_keys()? })
    }

    /// The rows to write: of matched rows, and then of inserted ones. `given` are rows in the table's types.
    pub(super) fn run(&self, given: &RowBatches) -> Result<Vec<RecordBatch>> {
        let plan = self.plan;
        let keys = plan.keys_of_all(&self.maker, given, &plan.on)?;
        let repeated = self.repeated_rows(&keys, given)?;
        let stored = self.stored(&keys, given)?;
        // A filter that does not fit is refused also if nothing matches.
        let none = |rows: &RowBatches| RecordBatch::new_empty(rows.schema());
        deleted_rows(self.delete, &none(given), &none(&stored))?;
        let matches = Matches::find(&keys, &stored, plan.by_path())?;
        let mut matched = MatchedRows {
            merged: Vec::new(),
            late: LateRows::default(),
            numbers: Vec::new(),
            updating: HashSet::new(),
        };
        for (numbers, places) in matches.chunks() {
            check_cancelled()?;
            self.merge_matched(numbers, &given.take(numbers)?, &stored.take(places)?, &mut matched)?;
        }
        self.check_repeated(&repeated, given, &matched)?;
        matched.late.refuse(&plan.updated_ordering())?;
        if plan.inserts {
            self.insert_others(given, &matched.numbers, &mut matched.merged)?;
        }
        Ok(matched.merged)
    }

    /// Keys and partition paths, and the partition columns that say where a key is matched.
    fn key_types(&self, given: &RowBatches) -> Result<DistinctKeys> {
        let schema = given.schema();
        let located = self.located().filter_map(|name| schema.fields().find(name));
        DistinctKeys::new(
            [DataType::Utf8, DataType::Utf8].into_iter().chain(located.map(|(_, field)| field.data_type().clone())),
        )
    }

    /// The partition columns that say where a key is matched, besides its path.
    fn located(&self) -> impl Iterator<Item = &String> {
        let plan = self.plan;
        plan.on.iter().filter(|name| !plan.by_path() && plan.partitions.contains(name))
    }

    fn key_columns(&self, keys: [ArrayRef; 2], given: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let located = self.located().map(|name| {
            let missing = || Error::internal(format!("given rows of a merge without column {name:?}"));
            given.column_by_name(name).cloned().ok_or_else(missing)
        });
        keys.into_iter().map(Ok).chain(located).collect()
    }

    /// The given rows whose key several of them have.
    fn repeated_rows(&self, keys: &RowKeys, given: &RowBatches) -> Result<Vec<u32>> {
        let (mut distinct, mut start) = (self.key_types(given)?, 0);
        for batch in given.batches() {
            let of_batch = [&keys.record_keys, &keys.partitions].map(|column| column.slice(start, batch.num_rows()));
            distinct.add(&self.key_columns(of_batch.map(|column| Arc::new(column) as ArrayRef), batch)?)?;
            start += batch.num_rows();
        }
        distinct.all_repeated()
    }

    /// Makes sure that of several given rows of a key each deletes what it matches: which of them updates a row, or is
    /// inserted, is not known otherwise. Several stored rows of a key are left to the write.
    fn check_repeated(&self, repeated: &[u32], given: &RowBatches, matched: &MatchedRows) -> Result<()> {
        if repeated.is_empty() {
            return Ok(());
        }
        let is_matched: HashSet<u32> = matched.numbers.iter().copied().collect();
        let is_delete = |row: &u32| is_matched.contains(row) && !matched.updating.contains(row);
        match repeated.iter().find(|row| !is_delete(row)) {
            None => Ok(()),
            Some(row) => Err(repeated_key(&given.take(&[*row])?, &self.plan.on, 0)),
        }
    }

    /// The stored rows that may be matched, with their keys.
    fn stored(&self, keys: &RowKeys, given: &RowBatches) -> Result<RowBatches> {
        let names: Vec<String> = self.plan.columns.fields().iter().map(|field| field.name().clone()).collect();
        let scan = self.table.snapshot(
            &query_of_keys(names.iter(), keys, self.plan.by_path())?,
            None,
            SnapshotRows::Merged,
        )?;
        match given.num_rows() {
            0 => Ok(RowBatchesBuilder::new(scan.schema(), given.memory().clone()).finish()),
            _ => read_rows(&scan, given.memory().clone()),
        }
    }

    /// Merges pairs of given and stored rows. `numbers` are those of the given rows.
    fn merge_matched(
        &self,
        numbers: &[u32],
        given: &RecordBatch,
        stored: &RecordBatch,
        matched: &mut MatchedRows,
    ) -> Result<()> {
        let (given, stored, numbers) = self.in_their_partitions(numbers, given, stored)?;
        let is_deleted = deleted_rows(self.delete, &given, &stored)?;
        let updating = numbers.iter().zip(is_deleted.values()).filter(|(_, is_deleted)| !is_deleted);
        matched.updating.extend(updating.map(|(number, _)| *number));
        matched.numbers.extend(numbers);
        let ordering = self.plan.updated_ordering();
        let is_late = &late_rows(&ordering, &given, &stored)? & &!is_deleted.values();
        matched.late.add(&is_late, &given, &self.plan.on)?;
        let masks = self.plan.masks(&BooleanBuffer::new_set(given.num_rows()), is_deleted.values());
        matched.merged.push(self.plan.rows_to_write(&ChosenRows { given, stored, masks })?);
        Ok(())
    }

    /// The pairs whose partitions match, too.
    fn in_their_partitions(
        &self,
        numbers: &[u32],
        given: &RecordBatch,
        stored: &RecordBatch,
    ) -> Result<(RecordBatch, RecordBatch, Vec<u32>)> {
        let is_match = self.plan.in_their_partitions(&self.maker, given, stored)?;
        let Some(is_match) = is_match.filter(|is_match| is_match.true_count() < is_match.len()) else {
            return Ok((given.clone(), stored.clone(), numbers.to_vec()));
        };
        let numbers = filter(&UInt32Array::from(numbers.to_vec()), &is_match)
            .map_err(Error::internal_by("matched rows of a merge do not fit each other"))?;
        let numbers = numbers.as_any().downcast_ref::<UInt32Array>().map(|numbers| numbers.values().to_vec());
        let numbers = numbers.ok_or_else(|| Error::internal("numbers of rows that are no integers"))?;
        let only = |rows: &RecordBatch| {
            filter_record_batch(rows, &is_match)
                .map_err(Error::internal_by("matched rows of a merge do not fit each other"))
        };
        Ok((only(given)?, only(stored)?, numbers))
    }

    /// Adds the rows that match nothing.
    fn insert_others(&self, given: &RowBatches, matched: &[u32], merged: &mut Vec<RecordBatch>) -> Result<()> {
        let mut is_matched = vec![false; given.num_rows()];
        for number in matched {
            let unknown = || Error::internal(format!("given row {number} of {} is matched", given.num_rows()));
            *is_matched.get_mut(*number as usize).ok_or_else(unknown)? = true;
        }
        let others = (0_u32..).zip(&is_matched).filter(|(_, is_matched)| !**is_matched);
        let new = given.select(&others.map(|(number, _)| number).collect::<Vec<_>>())?;
        check_inserts(self.table, self.plan, &self.maker, &new)?;
        for rows in new.batches() {
            for start in (0..rows.num_rows()).step_by(CHUNK_ROWS) {
                let given = rows.slice(start, CHUNK_ROWS.min(rows.num_rows().saturating_sub(start)));
                let no = BooleanBuffer::new_unset(given.num_rows());
                let stored = batch_of(Vec::new(), Vec::new(), given.num_rows())?;
                let masks = self.plan.masks(&no, &no);
                merged.push(self.plan.rows_to_write(&ChosenRows { given, stored, masks })?);
            }
        }
        Ok(())
    }
}
