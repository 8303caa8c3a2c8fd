//! Base rows and records of a file group, merged by key, or one after the other.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;
use bytes::Bytes;

use super::incoming::{Incoming, in_types};
use super::new_meta::WrittenRows;
use crate::write::change_log::{ChangeLog, Changes};
use mortice_avro::Schema;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_formats::filter::KeyFilter;
use mortice_merge::config::{MergeConfig, MergeSemantics};
use mortice_merge::keys::{KeyBatch, KeyColumns, LogKeys, RecordKey};
use mortice_merge::merge::engine::{BaseBatch, BatchOutcomes, BuildSide, MergeCounts, MergeEngine};
use mortice_merge::merge::fold::MissingColumns;
use mortice_merge::merge::{DeletedRows, LogBatch, LogKind, LogSink, MergeOutcome, OrderingColumn, RecordBatches};
use mortice_merge::merge_plan::{FoldColumns, MergePlan};
use mortice_storage::check_cancelled;
use mortice_table::split::MergerHandle;

/// Rows that are inserted at a time.
const INSERTS: usize = 8192;

/// Base rows that are merged at a time.
const BASE_ROWS: usize = 64 * 1024;

/// By what rules rows are merged.
pub(super) struct MergeRules {
    pub(super) merge: MergeConfig,
    pub(super) semantics: MergeSemantics,
    /// The key fields, if files hold no meta columns.
    pub(super) virtual_key: Option<Vec<String>>,
    pub(super) merger: Option<MergerHandle>,
}

/// Takes the rows of the new file, and which of them the commit wrote.
pub(super) type WriteRows<'a> = &'a mut dyn FnMut(RecordBatch, &WrittenRows) -> Result<()>;

/// What is merged: the rows of the base file, and records in commit order. All have, or are brought to, the columns
/// `types`.
pub(super) struct MergeRows<'a> {
    pub(super) schema: &'a Schema,
    pub(super) types: &'a SchemaRef,
    pub(super) base: &'a mut dyn Iterator<Item = Result<RecordBatch>>,
    pub(super) records: Vec<Incoming>,
    /// Keys that one base row may have.
    pub(super) single: &'a HashSet<String>,
    /// The log of what changes, if there is one.
    pub(super) changes: Option<&'a mut ChangeLog>,
}

impl MergeRows<'_> {
    /// Merges by key, each base row of a key. Base rows keep their order; rows of new keys follow.
    pub(super) fn by_key(self, rules: &MergeRules, write: WriteRows<'_>) -> Result<MergeCounts> {
        let Self { schema, types, base, records, single, mut changes } = self;
        if rules.merger.is_none() {
            rules.merge.check_written(rules.semantics)?;
        }
        let keys = KeyColumns::new(schema, types, &rules.merge, rules.virtual_key.as_deref(), rules.semantics)?;
        let merger = rules.merger.as_ref().map(|handle| &handle.0);
        let plan = MergePlan::new(&rules.merge, rules.semantics, &keys, false, merger)?;
        let build = indexed(&plan, &keys, &records)?;
        let of_source = |records: Incoming| match records {
            Incoming::Rows(rows) => rows,
            // The row of a delete is not looked at.
            Incoming::Deletes(_) => RecordBatch::new_empty(SchemaRef::clone(types)),
        };
        let deleted_rows = DeletedRows::LeftOut;
        let columns = FoldColumns { table: schema, types, projected: types, keys: &keys, deleted_rows, commits: None };
        let mut engine = MergeEngine::new(build, plan.fold(&columns, MissingColumns::default())?, deleted_rows);
        let records = records.into_iter().map(of_source).collect();
        let mut records = RecordBatches::new(SchemaRef::clone(types), records);
        // Small base rows may be replaced by large ones.
        let at_once = BatchLimit::with_rows(BASE_ROWS).rows_of(records.most_row_bytes());
        for rows in base.flat_map(|rows| in_parts(rows, at_once)) {
            check_cancelled()?;
            let rows = in_types(&rows?, types)?;
            let outcomes = engine.outcomes(&BaseBatch { rows: &rows, projected: &rows, keys: &keys }, &mut records)?;
            match outcomes {
                None => write(rows, &WrittenRows::None)?,
                Some(outcomes) => {
                    let written = written_rows(&outcomes, rows.num_rows());
                    let changed = ChangedRows::new(&outcomes);
                    let merged = outcomes.apply(&rows, &mut records, deleted_rows)?;
                    if let Some(log) = changes.as_deref_mut() {
                        changed.log(&rows, &merged, &written, log)?;
                    }
                    write(merged, &written)?;
                }
            }
        }
        check_single(&engine, single)?;
        while let Some(rows) = engine.inserts(at_once.min(INSERTS), &mut records)? {
            if let Some(log) = changes.as_deref_mut() {
                log.add(&Changes::Inserted(&rows))?;
            }
            write(rows, &WrittenRows::All)?;
        }
        Ok(engine.counts())
    }

    /// Writes the base rows, then the records, also those of keys that the file has.
    pub(super) fn append_rows(mut self, write: WriteRows<'_>) -> Result<MergeCounts> {
        let mut counts = MergeCounts::default();
        for rows in self.base {
            let rows = in_types(&rows?, self.types)?;
            counts.base_rows = counts.base_rows.saturating_add(rows.num_rows() as u64);
            write(rows, &WrittenRows::None)?;
        }
        for records in self.records {
            let Incoming::Rows(rows) = records else {
                return Err(Error::internal("deletes among records that are appended to a base file"));
            };
            counts.inserts = counts.inserts.saturating_add(rows.num_rows() as u64);
            if let Some(log) = self.changes.as_deref_mut() {
                log.add(&Changes::Inserted(&rows))?;
            }
            write(rows, &WrittenRows::All)?;
        }
        Ok(counts)
    }
}

/// A batch in parts of at most so many rows.
fn in_parts(rows: Result<RecordBatch>, most: usize) -> Vec<Result<RecordBatch>> {
    match rows {
        Ok(rows) if rows.num_rows() > most => {
            let len = |at: usize| most.min(rows.num_rows().saturating_sub(at));
            (0..rows.num_rows()).step_by(most).map(|at| Ok(rows.slice(at, len(at)))).collect()
        }
        rows => vec![rows],
    }
}

/// The base rows that do not stay.
struct ChangedRows {
    updated: UInt64Array,
    deleted: UInt64Array,
}

impl ChangedRows {
    fn new(outcomes: &BatchOutcomes) -> Self {
        let rows = |is_wanted: fn(&MergeOutcome) -> bool| {
            let rows = outcomes.iter().filter(|(_, outcome)| is_wanted(outcome)).map(|(row, _)| row as u64);
            UInt64Array::from_iter_values(rows)
        };
        Self {
            updated: rows(|outcome| matches!(outcome, MergeOutcome::Replace(_))),
            deleted: rows(|outcome| matches!(outcome, MergeOutcome::Delete(_))),
        }
    }

    /// Logs them. `base` are the base rows, `merged` those that are written, `written` which of these replace a base
    /// row.
    fn log(&self, base: &RecordBatch, merged: &RecordBatch, written: &WrittenRows, log: &mut ChangeLog) -> Result<()> {
        let unfit = |error| Error::internal("rows that change").caused_by(error);
        let taken = |rows: &RecordBatch, numbers: &UInt64Array| take_record_batch(rows, numbers).map_err(unfit);
        if !self.updated.is_empty() {
            let is_written = |row| written.contains(row).map(|is_written| is_written.then_some(row as u64)).transpose();
            let after = (0..merged.num_rows()).filter_map(is_written).collect::<Result<Vec<u64>>>()?;
            let after = taken(merged, &UInt64Array::from(after))?;
            if after.num_rows() != self.updated.len() {
                return Err(Error::internal(format!("{} of {} rows change", after.num_rows(), self.updated.len())));
            }
            log.add(&Changes::Updated(&taken(base, &self.updated)?, &after))?;
        }
        if !self.deleted.is_empty() {
            log.add(&Changes::Deleted(&taken(base, &self.deleted)?))?;
        }
        Ok(())
    }
}

/// Makes sure that at most one base row has each of these keys.
fn check_single(engine: &MergeEngine, single: &HashSet<String>) -> Result<()> {
    let mut again = engine.keys_matched_again().filter_map(|key| std::str::from_utf8(key).ok());
    match again.find(|key| single.contains(*key)) {
        None => Ok(()),
        Some(key) => Err(several_rows(key)),
    }
}

/// The error of an update of a key that several stored rows have.
pub(crate) fn several_rows(key: &str) -> Error {
    Error::invalid_argument(format!(
        "the table has several rows of the key {key:?}: a write changes all rows of a key alike, so that an update of some columns would make them copies of one row; delete the key and insert the row that is to stay, or upsert it"
    ))
}

/// The build side of the merge: the records, indexed by key. The ordinal of a batch is that of its source.
fn indexed(plan: &MergePlan, keys: &KeyColumns, records: &[Incoming]) -> Result<BuildSide> {
    let mut build = plan.build_side(KeyFilter::All, false).matching_every_row();
    for (index, records) in records.iter().enumerate() {
        let (kind, LogKeys { places, bytes }, KeyBatch { ordering, deleted }) = match records {
            Incoming::Rows(rows) => {
                let (key, rest) = probed(rows, keys)?;
                (LogKind::Data, key, keys.batch(&rest, rows.num_rows())?)
            }
            Incoming::Deletes(keys) => {
                let deleted = Some(BooleanArray::from(vec![true; keys.len()]));
                (LogKind::Delete, keys_of_deletes(keys)?, KeyBatch { ordering: OrderingColumn::Unordered, deleted })
            }
        };
        if let Some(row) = (0..places.len()).find(|row| places.is_null(*row)) {
            return Err(Error::invalid_argument(format!("row {row} of the records has no record key")));
        }
        let source = build.add_source(bytes)?;
        if source as usize != index {
            return Err(Error::internal(format!("records {index} were indexed as source {source}")));
        }
        let numbers = row_numbers(places.len())?;
        let (ordering, deleted) = (&ordering, deleted.as_ref());
        build.add(source, &LogBatch { kind, keys: &places, ordering, deleted, places: &numbers })?;
    }
    Ok(build)
}

/// The keys of rows, and the columns of ordering values and delete marks.
fn probed(rows: &RecordBatch, keys: &KeyColumns) -> Result<(LogKeys, Vec<ArrayRef>)> {
    let schema = rows.schema();
    let columns = keys.wants().iter().map(|want| schema.index_of(want.name())).collect::<Result<Vec<_>, _>>();
    let columns = columns.and_then(|columns| rows.project(&columns)).map_err(|error| {
        Error::invalid_argument("the schema of the file lacks a column that rows are merged by").caused_by(error)
    })?;
    let (key, rest) = keys.key.split_keys(&columns, &Bytes::new(), &[])?;
    Ok((key, rest.to_vec()))
}

/// Deletes come with their keys as text, also where rows have virtual keys.
fn keys_of_deletes(deleted: &StringArray) -> Result<LogKeys> {
    let column: ArrayRef = Arc::new(deleted.clone());
    let column = RecordBatch::try_from_iter([(meta_columns::RECORD_KEY, column)])
        .map_err(|error| Error::internal(format!("keys of deletes: {error}")))?;
    Ok(RecordKey::Stored.split_keys(&column, &Bytes::new(), &[])?.0)
}

/// Which rows of a merged batch of `rows` base rows replace a base row; deleted ones are not among them.
fn written_rows(outcomes: &BatchOutcomes, rows: usize) -> WrittenRows {
    let mut written = Vec::with_capacity(rows);
    let mut next = 0;
    for (row, outcome) in outcomes.iter() {
        written.extend((next..row).map(|_| false));
        next = row.saturating_add(1);
        match outcome {
            MergeOutcome::Keep => written.push(false),
            MergeOutcome::Replace(_) => written.push(true),
            MergeOutcome::Delete(_) => {}
        }
    }
    written.extend((next..rows).map(|_| false));
    WrittenRows::Some(written)
}

fn row_numbers(rows: usize) -> Result<Vec<u32>> {
    let rows = u32::try_from(rows).map_err(|_| Error::invalid_argument("a batch of 4 billion rows or more"))?;
    Ok((0..rows).collect())
}
