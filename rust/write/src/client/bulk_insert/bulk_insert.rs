//! A bulk insert from batches to the commit.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::chunks::Chunks;
use super::keyed_rows::{KeyedRows, outputs_of};
use super::partition_writers::{BulkTarget, PartitionWriters};
use super::pipeline::{Feeder, Items, run};
use super::sorter::Sorter;
use crate::client::write::{Written, commit_or_abort, open_for_write, refuse_failed_rows, write_rows};
use crate::commit::WriteOperation;
use crate::index::{IndexOptions, check_layout};
use crate::rows::DeleteMarks;
use crate::rows::DuplicatePolicy;
use crate::rows::FullRows;
use crate::rows::RefusedRows;
use crate::rows::RowSource;
use crate::rows::SortMode;
use crate::rows::WriteInput;
use crate::rows::check_inserts;
use crate::rows::{OUTPUT, WriteSchema};
use crate::rows::{ReadRows, ignores_failed};
use crate::transaction::{Transaction, WriteResult};
use crate::writable_table::TableLocation;
use crate::write::WriteToken;
use crate::write::{BaseFileOptions, WriteStatus};
use mortice_base::error::{Error, Result};
use mortice_base::panics::caught;
use mortice_merge::config::option_values;
use mortice_merge::keys::RowKeys;
use mortice_storage::check_cancelled;
use mortice_table::plan::OpenTable;

/// Bytes of rows in open row groups, of all threads.
const OPEN_BYTES: usize = 128 << 20;
/// Bytes of rows that are sorted at a time.
const RUN_BYTES: usize = 64 << 20;
/// A further thread gets rows once there are so many for each: fewer rows make one file of a partition.
const ROWS_OF_THREAD: u64 = 1 << 19;

/// Writes rows to new file groups, as they come or sorted (`hoodie.bulkinsert.sort.mode`).
///
/// # Errors
/// As for [`write`]; rows that are read later are refused after earlier ones were written, and these are deleted then.
pub fn bulk_insert(location: &TableLocation, input: WriteInput<'_>) -> Result<WriteResult> {
    let WriteInput { schema, batches, is_in_memory, options, validator } = input;
    let target = open_for_write(location, options, WriteOperation::BulkInsert)?;
    let (table, values) = (target.latest(), target.options());
    let index = IndexOptions::from_options(&table.config, values)?;
    let combines = option_values::given_boolean(values, "hoodie.combine.before.insert")?.unwrap_or(false);
    let has_outputs = schema.field_with_name(OUTPUT).is_ok();
    if has_outputs && (combines || index.bucket.is_some()) {
        let what = if combines { "hoodie.combine.before.insert" } else { "a bucket index" };
        return Err(Error::unsupported(format!("a user-defined partitioner with {what}; leave one of them out")));
    }
    if combines || index.bucket.is_some() {
        let input = WriteInput { schema, batches, is_in_memory, options, validator };
        return write_rows(target, WriteOperation::BulkInsert, input, None);
    }
    // What cannot be written is refused before there is an instant, as far as that is known without rows.
    BulkOptions::new(&table, &schema, values)?;
    let target = Arc::new(target.with_validator(validator));
    let mut transaction = Transaction::begin(&target, WriteOperation::BulkInsert)?;
    let written = caught("a bulk insert", || insert(&mut transaction, &index, &schema, batches, target.options()));
    commit_or_abort(transaction, written, options, Vec::new())
}

/// What is known of a bulk insert without its rows.
struct BulkOptions {
    schema: WriteSchema,
    mode: SortMode,
    base: BaseFileOptions,
    ignores_failed: bool,
    /// Whether a user-defined partitioner has chosen outputs.
    has_outputs: bool,
}

impl BulkOptions {
    fn new(table: &OpenTable, given: &SchemaRef, options: &BTreeMap<String, String>) -> Result<Self> {
        DuplicatePolicy::of_write(WriteOperation::BulkInsert, options)?;
        let (mode, ignores_failed) = (SortMode::from_options(options)?, ignores_failed(options)?);
        let has_outputs = given.field_with_name(OUTPUT).is_ok();
        if has_outputs && (mode != SortMode::None || ignores_failed) {
            let what = if ignores_failed { "hoodie.write.ignore.failed" } else { "hoodie.bulkinsert.sort.mode" };
            return Err(Error::unsupported(format!("a user-defined partitioner with {what}; leave one of them out")));
        }
        Ok(Self {
            schema: WriteSchema::resolve(table, given, options)?,
            mode,
            base: BaseFileOptions::from_hudi_options(options, table.config.layout())?,
            ignores_failed,
            has_outputs,
        })
    }
}

fn insert(
    transaction: &mut Transaction,
    index: &IndexOptions,
    given: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    options: &BTreeMap<String, String>,
) -> Result<Written> {
    let table = Arc::clone(transaction.table());
    check_layout(&table, index)?;
    let BulkOptions { schema, mode, base, ignores_failed, has_outputs } = BulkOptions::new(&table, given, options)?;
    transaction.inflight_without_profile()?;
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let target = BulkTarget {
        store: transaction.store(),
        table: &table,
        schema: &schema,
        instant: transaction.instant(),
        base,
        stage: 0,
        attempt: WriteToken::new_attempt(),
        next_task: AtomicU32::new(0),
        memory: OPEN_BYTES / threads,
    };
    let source = RowSource { table: &table, schema: &schema, options, key_is_global: false };
    let marks = DeleteMarks::new(&source)?;
    let deleted = AtomicU64::new(0);
    let bulk = Run { source, marks, target: &target, mode, ignores_failed, has_outputs, threads, deleted };
    let mut rows = 0_u64;
    let (statuses, refused) = bulk.run(batches, &mut rows)?;
    refuse_failed_rows(&statuses)?;
    let results = statuses.iter().fold(refused.total, |sum, status| sum.saturating_add(status.writes));
    let results = results.saturating_add(bulk.deleted.load(Ordering::Relaxed));
    if results != rows {
        return Err(Error::internal(format!("a bulk insert of {rows} rows has {results} results")));
    }
    Ok(Written { statuses, schema, refused, replaced: BTreeMap::new() })
}

struct Run<'a> {
    source: RowSource<'a>,
    marks: DeleteMarks,
    target: &'a BulkTarget<'a>,
    mode: SortMode,
    ignores_failed: bool,
    has_outputs: bool,
    threads: usize,
    /// Rows that were left out, as they delete their keys.
    deleted: AtomicU64,
}

impl Run<'_> {
    /// Writes all rows, whose number is added to `rows`.
    fn run(
        &self,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
        rows: &mut u64,
    ) -> Result<(Vec<WriteStatus>, RefusedRows)> {
        let mut chunks = Chunks::new(batches, rows);
        if self.mode.keeps_partitions_together() || self.has_outputs {
            return self.by_place(&mut chunks);
        }
        let work = |thread: usize, items: Items<'_, (RecordBatch, u64)>| {
            let mut reader = self.reader(thread)?;
            let mut writers = PartitionWriters::new(self.target, false);
            let mut refused = RefusedRows::default();
            for (chunk, first_row) in items {
                for rows in self.read(&mut reader, &chunk, first_row, &mut refused)? {
                    writers.insert(rows)?;
                }
            }
            Ok((writers.finish()?, refused))
        };
        let feed = |feeder: &Feeder<(RecordBatch, u64)>| {
            for (number, chunk) in chunks.by_ref().enumerate() {
                let (chunk, first_row) = chunk?;
                let filled = usize::try_from(first_row / ROWS_OF_THREAD).unwrap_or(usize::MAX).saturating_add(1);
                feeder.pass(number % filled.min(self.threads), (chunk, first_row))?;
            }
            Ok(())
        };
        let results = run(self.threads, work, feed)?;
        let (mut statuses, mut refused) = (Vec::new(), RefusedRows::default());
        for (of_thread, refused_of_thread) in results {
            statuses.extend(of_thread);
            refused.append(refused_of_thread);
        }
        Ok((statuses, refused))
    }

    /// Passes the rows of a place to one thread, sorted if that is asked for.
    fn by_place(&self, chunks: &mut Chunks<'_>) -> Result<(Vec<WriteStatus>, RefusedRows)> {
        let is_sorted = self.mode.sorts_by_key();
        let work = |_: usize, items: Items<'_, KeyedRows>| {
            let mut writers = PartitionWriters::new(self.target, is_sorted);
            for rows in items {
                writers.insert(rows)?;
            }
            writers.finish()
        };
        let mut refused = RefusedRows::default();
        let feed = |feeder: &Feeder<KeyedRows>| {
            let mut reader = self.reader(0)?;
            let mut sorter = is_sorted.then(|| Sorter::new(&self.target.schema.types, RUN_BYTES));
            for chunk in chunks {
                let (chunk, first_row) = chunk?;
                for rows in self.read(&mut reader, &chunk, first_row, &mut refused)? {
                    match &mut sorter {
                        Some(sorter) => sorter.add(rows)?,
                        None => pass(feeder, rows)?,
                    }
                }
            }
            let Some(sorter) = sorter else { return Ok(()) };
            for rows in sorter.finish()? {
                check_cancelled()?;
                pass(feeder, rows?)?;
            }
            Ok(())
        };
        let results = run(self.threads, work, feed)?;
        Ok((results.into_iter().flatten().collect(), refused))
    }

    fn reader(&self, thread: usize) -> Result<FullRows<'_>> {
        let task = u32::try_from(thread).unwrap_or(u32::MAX);
        FullRows::new(self.source, (self.target.instant, task), self.ignores_failed)
    }

    /// The rows of a chunk that are written.
    fn read(
        &self,
        reader: &mut FullRows<'_>,
        chunk: &RecordBatch,
        first_row: u64,
        refused: &mut RefusedRows,
    ) -> Result<Vec<KeyedRows>> {
        let parts: Vec<(RecordBatch, RowKeys)> = match self.ignores_failed {
            true => refused.read_accepted(reader, chunk, first_row)?,
            false => vec![reader.read(chunk, first_row)?],
        };
        let outputs = if self.has_outputs { outputs_of(chunk)? } else { None };
        let rows = |(rows, keys): (RecordBatch, RowKeys)| {
            check_inserts(WriteOperation::BulkInsert, &rows, first_row)?;
            let deletes = self.marks.of_rows(&rows)?;
            self.deleted.fetch_add(deletes.true_count() as u64, Ordering::Relaxed);
            KeyedRows { rows, keys, outputs: outputs.clone() }.without(&deletes)
        };
        parts.into_iter().map(rows).collect()
    }
}

/// Passes rows to the threads of their places.
fn pass(feeder: &Feeder<KeyedRows>, rows: KeyedRows) -> Result<()> {
    for (place, rows) in rows.by_place()? {
        feeder.pass(feeder.thread_of(&place), rows)?;
    }
    Ok(())
}
