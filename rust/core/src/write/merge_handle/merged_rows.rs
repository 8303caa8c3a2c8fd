//! Base rows and records of a file group, merged by key, or one after the other.

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::incoming::{RecordKind, in_types};
use super::new_meta::WrittenRows;
use crate::avro::Schema;
use crate::config::{MergeConfig, Semantics};
use crate::error::{Error, Result};
use crate::filter::KeyFilter;
use crate::keys::{KeyColumns, LogKeys};
use crate::merge::engine::{BaseBatch, BatchOutcomes, BuildSide, MergeCounts, MergeEngine};
use crate::merge::fold::MissingColumns;
use crate::merge::{DeletedRows, LogBatch, LogKind, LogSink, MergeOutcome, OrderingColumn, RecordBatches};
use crate::merge_plan::{FoldColumns, MergePlan};
use crate::split::MergerHandle;

/// Rows that are inserted at a time.
const INSERTS: usize = 8192;

/// By what rules rows are merged.
pub(super) struct MergeRules {
    pub(super) merge: MergeConfig,
    pub(super) semantics: Semantics,
    /// The key fields, if files hold no meta columns.
    pub(super) virtual_key: Option<Vec<String>>,
    pub(super) merger: Option<MergerHandle>,
}

/// Takes the rows of the new file, and which of them the commit wrote.
pub(super) type WriteRows<'a> = &'a mut dyn FnMut(RecordBatch, &WrittenRows) -> Result<()>;

/// What is merged: the rows of the base file, and records in commit order. All have, or are brought to, the columns `types`.
pub(super) struct MergeRows<'a> {
    pub(super) schema: &'a Schema,
    pub(super) types: &'a SchemaRef,
    pub(super) base: &'a mut dyn Iterator<Item = Result<RecordBatch>>,
    pub(super) records: Vec<(RecordKind, RecordBatch)>,
}

impl MergeRows<'_> {
    /// Merges by key. Base rows keep their order; rows of new keys follow.
    ///
    /// # Errors
    /// `Unsupported`, by name, for merge modes and payload classes that cannot be merged; those of `base` and `write`.
    pub(super) fn by_key(self, rules: &MergeRules, write: WriteRows<'_>) -> Result<MergeCounts> {
        let Self { schema, types, base, records } = self;
        if rules.merger.is_none() {
            rules.merge.check_supported(rules.semantics)?;
        }
        let keys = KeyColumns::of(schema, types, &rules.merge, rules.virtual_key.as_deref(), rules.semantics)?;
        let merger = rules.merger.as_ref().map(|handle| &handle.0);
        let plan = MergePlan::new(&rules.merge, rules.semantics, &keys, false, merger)?;
        let build = indexed(&plan, &keys, &records)?;
        let deleted_rows = DeletedRows::LeftOut;
        let columns = FoldColumns { table: schema, types, projected: types, keys: &keys, deleted_rows };
        let mut engine = MergeEngine::new(build, plan.fold(&columns, MissingColumns::default())?, deleted_rows);
        let mut records =
            RecordBatches::new(SchemaRef::clone(types), records.into_iter().map(|(_, rows)| rows).collect());
        for rows in base {
            let rows = in_types(&rows?, types)?;
            let outcomes = engine.outcomes(&BaseBatch { rows: &rows, projected: &rows, keys: &keys }, &mut records)?;
            match outcomes {
                None => write(rows, &WrittenRows::None)?,
                Some(outcomes) => {
                    let written = written_rows(&outcomes, rows.num_rows());
                    write(outcomes.apply(&rows, &mut records, deleted_rows)?, &written)?;
                }
            }
        }
        while let Some(rows) = engine.inserts(INSERTS, &mut records)? {
            write(rows, &WrittenRows::All)?;
        }
        Ok(engine.counts())
    }

    /// Writes the base rows, then the records, also those of keys that the file has.
    ///
    /// # Errors
    /// `Internal` if there are deletes; those of `base` and `write`.
    pub(super) fn appended(self, write: WriteRows<'_>) -> Result<MergeCounts> {
        let mut counts = MergeCounts::default();
        for rows in self.base {
            let rows = in_types(&rows?, self.types)?;
            counts.base_rows = counts.base_rows.saturating_add(rows.num_rows() as u64);
            write(rows, &WrittenRows::None)?;
        }
        for (kind, rows) in self.records {
            if kind == RecordKind::Delete {
                return Err(Error::internal("deletes among records that are appended to a base file"));
            }
            counts.inserts = counts.inserts.saturating_add(rows.num_rows() as u64);
            write(rows, &WrittenRows::All)?;
        }
        Ok(counts)
    }
}

/// The build side of the merge: the records, indexed by key.
fn indexed(plan: &MergePlan, keys: &KeyColumns, records: &[(RecordKind, RecordBatch)]) -> Result<BuildSide> {
    let mut build = plan.build_side(KeyFilter::All, false);
    for (index, (kind, rows)) in records.iter().enumerate() {
        let wanted = keys.wants().iter().map(|want| rows.schema().index_of(want.name())).collect::<Result<Vec<_>, _>>();
        let probed = wanted.and_then(|wanted| rows.project(&wanted));
        let probed = probed.map_err(|error| {
            Error::invalid_argument("a column that the table is merged by is missing in its schema").caused_by(error)
        })?;
        let (LogKeys { places, bytes }, rest) = keys.key.of_log(&probed, &Bytes::new(), &[])?;
        if let Some(row) = (0..places.len()).find(|row| places.is_null(*row)) {
            return Err(Error::invalid_argument(format!("row {row} of the records has no record key")));
        }
        let source = build.add_source(bytes)?;
        if source as usize != index {
            return Err(Error::internal(format!("records {index} were indexed as source {source}")));
        }
        let numbers = row_numbers(rows.num_rows())?;
        match kind {
            RecordKind::Data => {
                let of_rows = keys.batch(rest, rows.num_rows())?;
                let (ordering, deleted) = (&of_rows.ordering, of_rows.deleted.as_ref());
                build.add(
                    source,
                    &LogBatch { kind: LogKind::Data, keys: &places, ordering, deleted, places: &numbers },
                )?;
            }
            RecordKind::Delete => {
                let ordering = &OrderingColumn::Unordered;
                let kind = LogKind::Delete;
                build.add(source, &LogBatch { kind, keys: &places, ordering, deleted: None, places: &numbers })?;
            }
        }
    }
    Ok(build)
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
