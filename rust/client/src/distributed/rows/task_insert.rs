//! Inserts whose tasks write the rows that they have, and whose driver begins and ends in different processes: those of
//! Spark's Python data source. What is known of such a write between the processes is one serialised state, which tasks
//! run as a stage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::Schema;

use super::driver::{check_options, check_tasks};
use crate::distributed::exchange::{InsertSpec, ReadReport, StageSpec, WriteState, mark_of};
use crate::write::{open_for_write, refuse_failed_rows, row_source, schema_of, user_metadata};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::keys::RowKeyReader;
use mortice_services::transaction::{CommitExtra, Transaction, WriteResult};
use mortice_services::{execute_in_process, replaced_by_write, run_inline_services};
use mortice_table::plan::{OpenTable, PinnedTable};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{Provenance, choose_index};
use mortice_write::rows::{DuplicatePolicy, Preparation};
use mortice_write::write::WriteStatus;

/// Begins a write. Returns its state, for the tasks and for the process that ends it, and sentences on options that
/// have no effect.
///
/// # Errors
/// `InvalidArgument` and `Unsupported` for columns, options and operations that such a write does not have; those of
/// [`Transaction::begin`]. There is no instant then, or it was rolled back.
pub fn begin_task_insert(
    location: &TableLocation,
    operation: WriteOperation,
    columns: &Schema,
    options: &BTreeMap<String, String>,
) -> Result<(Vec<u8>, Vec<String>)> {
    check_operation(operation)?;
    let target = Arc::new(open_for_write(location, options, operation)?);
    Transaction::check_resumable(&target)?;
    let user_metadata = user_metadata(options);
    let insert = TaskInsert { operation, columns, target: &target, user_metadata };
    // What cannot be written is refused before there is an instant.
    insert.check(&target.latest())?;
    let mut transaction = Transaction::begin(&target, operation)?;
    let state = insert.state(&mut transaction);
    let (_, state) = transaction.or_abort(state)?;
    Ok((state, target.warnings()))
}

/// Commits a write, given its state and the reports of its tasks; then runs table services in this process.
///
/// # Errors
/// What tasks have reported as errors; those of [`Transaction::commit`]. The write is rolled back then, unless the
/// message says otherwise. As for [`run_inline_services`].
pub fn commit_task_insert(state: &[u8], reports: &[Vec<u8>]) -> Result<WriteResult> {
    let (transaction, write, spec) = resumed(state)?;
    let extra = |statuses: &[WriteStatus]| {
        let partitions: BTreeSet<String> = statuses.iter().map(|status| status.partition.clone()).collect();
        let replaced =
            replaced_by_write(transaction.table(), write.operation, &transaction.target().settings().rows, partitions)?;
        Ok(CommitExtra {
            schema: write.schema.clone(),
            user_metadata: spec.user_metadata.clone(),
            replaced,
            column_ids: None,
        })
    };
    let ended = written(reports).and_then(|statuses| {
        let extra = extra(&statuses)?;
        mark_of(&transaction).close()?;
        Ok((statuses, extra))
    });
    let (transaction, (statuses, extra)) = transaction.or_abort(ended)?;
    let target = Arc::clone(transaction.target());
    let committed = transaction.commit(statuses, &extra)?;
    let failed = run_inline_services(&target, &committed.instant, &execute_in_process)?;
    let warnings = target.failed_reports().into_iter().chain(failed).collect();
    Ok(WriteResult { warnings, ..WriteResult::new(committed) })
}

/// Gives a write up, given its state: deletes its files and takes its instant off the timeline. Nothing happens once
/// [`commit_task_insert`] was called, whose outcome stands: Spark aborts a job also if its commit raised an error.
///
/// # Errors
/// `reason` if the storage failed as well, with a note of that; those of looking for the open mark, after which it is
/// not known whether the write was committed. If it was not, it is pending, and the next write rolls it back.
pub fn abort_task_insert(state: &[u8], reason: &Error) -> Result<()> {
    let (transaction, ..) = resumed(state)?;
    match mark_of(&transaction).check() {
        Ok(()) => transaction.abort(reason),
        Err(error) if error.kind() == ErrorKind::WriteConflict => Ok(()),
        // The write may be committed.
        Err(error) => Err(error),
    }
}

fn resumed(state: &[u8]) -> Result<(Transaction, WriteState, InsertSpec)> {
    let (write, StageSpec::Insert(spec)) = WriteState::from_bytes(state)? else {
        return Err(Error::internal("the state of another write"));
    };
    let table = Arc::new(write.table.open()?);
    let instant = write.instant.clone().ok_or_else(|| Error::internal("a write that has not begun"))?;
    let location = TableLocation::new(&table.uri, &table.storage_options);
    let target = Arc::new(WritableTable::of_options(&location, Arc::clone(&table), write.options.clone())?);
    let transaction = Transaction::resume(&target, table, write.operation, instant)?;
    Ok((transaction, write, spec))
}

/// The files of all tasks.
fn written(reports: &[Vec<u8>]) -> Result<Vec<WriteStatus>> {
    let mut written = Vec::new();
    for report in ReadReport::read_all(reports)? {
        let ReadReport::Written(report) = report else {
            return Err(Error::internal("another report than that of written rows"));
        };
        written.push(report);
    }
    check_tasks(&written)?;
    written.sort_by_key(|report| report.task);
    let statuses: Vec<WriteStatus> = written.into_iter().flat_map(|report| report.statuses).collect();
    refuse_failed_rows(&statuses)?;
    Ok(statuses)
}

/// A write that is about to begin.
struct TaskInsert<'a> {
    operation: WriteOperation,
    columns: &'a Schema,
    target: &'a WritableTable,
    user_metadata: BTreeMap<String, String>,
}

impl TaskInsert<'_> {
    /// Refuses what can be seen without an instant.
    fn check(&self, table: &OpenTable) -> Result<()> {
        let options = self.target.settings();
        check_options(self.operation, &options.rows)?;
        if DuplicatePolicy::of_write(self.operation, options.rows.insert_policy())? != DuplicatePolicy::Keep {
            return Err(Error::unsupported(
                "inserts by tasks that look for no keys, with a policy for keys that are in the table (hoodie.datasource.insert.dup.policy, hoodie.datasource.write.insert.drop.duplicates); use mortice.spark.write",
            ));
        }
        let index = choose_index(&table.config, &options.index)?;
        if index.buckets().is_some() {
            return Err(Error::unsupported(
                "inserts into buckets by tasks that rows are not distributed to (hoodie.index.type=BUCKET); use mortice.spark.write",
            ));
        }
        let schema = schema_of(table, self.operation, self.columns, options)?;
        RowKeyReader::new(&table.config, &schema.types, &options.keys)?;
        let source = row_source(table, &schema, index.as_ref(), options);
        if (Preparation { source, operation: self.operation }).combines() {
            return Err(Error::unsupported(
                "rows of different tasks are not combined (hoodie.combine.before.insert); use mortice.spark.write",
            ));
        }
        Ok(())
    }

    /// Puts the write on the timeline as one that tasks add files to.
    fn state(&self, transaction: &mut Transaction) -> Result<Vec<u8>> {
        let table = Arc::clone(transaction.table());
        self.check(&table)?;
        choose_index(&table.config, &self.target.settings().index)?.check_inserts(&table)?;
        let schema = schema_of(&table, self.operation, self.columns, self.target.settings())?;
        transaction.inflight_without_profile()?;
        mark_of(transaction).open()?;
        let state = WriteState {
            table: PinnedTable::new(&table),
            operation: self.operation,
            options: self.target.options().clone(),
            instant: Some(transaction.instant().clone()),
            schema: schema.columns.json().to_owned(),
            updated: Vec::new(),
            provenance: Provenance::Given,
        };
        let user_metadata = self.user_metadata.clone();
        state.to_bytes(StageSpec::Insert(InsertSpec { user_metadata }))
    }
}

/// Operations whose rows go to new file groups, so that tasks need not know each other's rows.
fn check_operation(operation: WriteOperation) -> Result<()> {
    match operation {
        WriteOperation::Insert
        | WriteOperation::BulkInsert
        | WriteOperation::InsertOverwrite
        | WriteOperation::InsertOverwriteTable => Ok(()),
        other => Err(Error::unsupported(format!(
            "operation {} by format(\"mortice\") (supported: insert, bulk_insert, insert_overwrite, insert_overwrite_table): rows of \
             one key would have to come to one task; use mortice.spark.write",
            other.name().to_ascii_lowercase()
        ))),
    }
}
