//! A bulk insert from batches to the commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::chunks::Chunks;
use super::lanes::{Limits, run};
use super::partition_writers::BulkTarget;
use super::place_router::PlaceRouter;
use super::sorted_runs::{Runs, SortWork};
use super::sorter::merged;
use super::spreading::{Spread, Spreading};
use super::work::{InsertChunk, InsertWork, Reading};
use crate::WriteInput;
use crate::write::{Written, commit_or_abort, open_for_write, refuse_failed_rows, write_rows};
use mortice_base::error::{Error, Result};
use mortice_base::panics::caught;
use mortice_commit::writable_table::TableLocation;
use mortice_services::transaction::{Transaction, WriteResult};
use mortice_storage::{check_cancelled, parallel};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{Index, choose_index};
use mortice_write::rows::{
    DeleteMarks, DuplicatePolicy, OUTPUT, ReaderPool, RefusedRows, RowSource, SortMode, WriteSchema,
};
use mortice_write::settings::WriteSettings;
use mortice_write::write::{BaseFileOptions, WriteStatus, WriteToken};

/// Bytes of rows in open row groups, of all threads, and of each if there are many.
const OPEN_BYTES: usize = 128 << 20;
const OPEN_BYTES_OF_THREAD: usize = 32 << 20;

/// Writes rows to new file groups, as they come or sorted (`hoodie.bulkinsert.sort.mode`).
///
/// # Errors
/// As for [`write`]; rows that are read later are refused after earlier ones were written, and these are deleted then.
pub fn bulk_insert(location: &TableLocation, input: WriteInput<'_>) -> Result<WriteResult> {
    let WriteInput { schema, batches, is_in_memory, options, validator } = input;
    let target = open_for_write(location, options, WriteOperation::BulkInsert)?;
    let (table, values) = (target.latest(), target.settings());
    let index = choose_index(&table.config, &values.index)?;
    let combines = values.rows.combines_inserts.unwrap_or(false);
    let has_outputs = schema.field_with_name(OUTPUT).is_ok();
    if has_outputs && (combines || index.buckets().is_some()) {
        let what = if combines { "hoodie.combine.before.insert" } else { "a bucket index" };
        return Err(Error::unsupported(format!("a user-defined partitioner with {what}; leave one of them out")));
    }
    if combines || index.buckets().is_some() {
        let input = WriteInput { schema, batches, is_in_memory, options, validator };
        return write_rows(target, WriteOperation::BulkInsert, input, None);
    }
    // What cannot be written is refused before there is an instant, as far as that is known without rows.
    BulkOptions::new(&table, &schema, values)?;
    let target = Arc::new(target.with_validator(validator));
    let mut transaction = Transaction::begin(&target, WriteOperation::BulkInsert)?;
    let written =
        caught("a bulk insert", || insert(&mut transaction, index.as_ref(), &schema, batches, target.settings()));
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
    fn new(table: &OpenTable, given: &SchemaRef, options: &WriteSettings) -> Result<Self> {
        DuplicatePolicy::of_write(WriteOperation::BulkInsert, options.rows.insert_policy())?;
        let (mode, ignores_failed) = (options.rows.sort_mode, options.rows.ignores_failed);
        let has_outputs = given.field_with_name(OUTPUT).is_ok();
        if has_outputs && (mode != SortMode::None || ignores_failed) {
            let what = if ignores_failed { "hoodie.write.ignore.failed" } else { "hoodie.bulkinsert.sort.mode" };
            return Err(Error::unsupported(format!("a user-defined partitioner with {what}; leave one of them out")));
        }
        Ok(Self {
            schema: WriteSchema::resolve(table, given, &options.rows)?,
            mode,
            base: options.base_files.clone(),
            ignores_failed,
            has_outputs,
        })
    }
}

fn insert(
    transaction: &mut Transaction,
    index: &dyn Index,
    given: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    options: &WriteSettings,
) -> Result<Written> {
    let table = Arc::clone(transaction.table());
    index.check_inserts(&table)?;
    let BulkOptions { schema, mode, base, ignores_failed, has_outputs } = BulkOptions::new(&table, given, options)?;
    transaction.inflight_without_profile()?;
    let target = BulkTarget {
        store: transaction.store(),
        table: &table,
        schema: &schema,
        instant: transaction.instant(),
        base,
        stage: 0,
        attempt: WriteToken::new_attempt(),
        next_task: AtomicU32::new(0),
        memory: OPEN_BYTES,
    };
    let source =
        RowSource { table: &table, schema: &schema, keys: &options.keys, options: &options.rows, key_is_global: false };
    let reading = Reading {
        source,
        target: &target,
        marks: DeleteMarks::new(&source)?,
        has_outputs,
        deleted: AtomicU64::new(0),
        readers: ReaderPool::new(None, ignores_failed),
    };
    let threads = parallel::cores();
    let mut rows = 0_u64;
    let (statuses, refused) = write_all(&reading, mode, threads, Chunks::new(batches, &mut rows))?;
    refuse_failed_rows(&statuses)?;
    let results = statuses.iter().fold(refused.total, |sum, status| sum.saturating_add(status.writes));
    let results = results.saturating_add(reading.deleted.load(Ordering::Relaxed));
    if results != rows {
        return Err(Error::internal(format!("a bulk insert of {rows} rows has {results} results")));
    }
    Ok(Written { statuses, schema, refused, replaced: BTreeMap::new() })
}

/// Writes all rows. Returns the files and the rows that were left out.
fn write_all<'a>(
    reading: &Reading<'a>,
    mode: SortMode,
    threads: usize,
    chunks: Chunks<'_>,
) -> Result<(Vec<WriteStatus>, RefusedRows)> {
    let target = reading.target;
    let limits = Limits { threads, held_bytes: target.memory.max(threads.saturating_mul(OPEN_BYTES_OF_THREAD)) };
    let work = InsertWork { reading, target };
    if !mode.sorts_by_key() {
        let is_together = mode.keeps_partitions_together() || reading.has_outputs;
        let spread = if is_together { Spread::Together } else { Spread::OverThreads };
        let places = PlaceRouter::new(target, Spreading::new(threads, spread));
        let (places, statuses) = run(&work, places, limits, |feeder| {
            for chunk in chunks {
                let (chunk, first_row) = chunk?;
                feeder.pass(InsertChunk::Given(chunk, first_row))?;
            }
            Ok(())
        })?;
        return Ok((statuses.into_iter().flatten().collect(), places.into_refused()));
    }
    let (runs, sorted) = run(&SortWork { reading }, Runs::default(), limits, |feeder| {
        for chunk in chunks {
            feeder.pass(chunk?)?;
        }
        Ok(())
    })?;
    let (_, statuses) =
        run(&work, PlaceRouter::new(target, Spreading::new(threads, Spread::Sorted)), limits, |feeder| {
            for rows in merged(&target.schema.types, sorted)? {
                check_cancelled()?;
                feeder.pass(InsertChunk::Sorted(Box::new(rows?)))?;
            }
            Ok(())
        })?;
    Ok((statuses.into_iter().flatten().collect(), runs.into_refused()))
}
