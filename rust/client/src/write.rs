//! A write from a user's rows to the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_schema::Schema;

use super::pending_clustering::roll_back_updated_clustering;
use super::profile::{profile, task_profiles};
use super::read_state::MergeSource;
use super::retries::ConflictRetries;
use super::tasks::{TaskOptions, TaskRunner};
use crate::WriteInput;
use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::panics::caught;
use mortice_commit::commit::check_writable;
use mortice_commit::writable_table::{TableLocation, WritableTable, read_options};
use mortice_merge::config::is_commit_metadata;
use mortice_merge::spill::RowBatches;
use mortice_services::transaction::{CommitExtra, Transaction, WriteResult};
use mortice_services::{ReplacedGroups, execute_in_process, replaced_by_write, run_inline_services};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::WriteOperation;
use mortice_write::assign::{Assignment, PlaceInserts, assign};
use mortice_write::index::{
    Index, IndexedRows, Provenance, Tagged, check_updates, choose_index_of, merge_moved_rows, partitions_of,
    present_keys,
};
use mortice_write::row_set::WriteRows;
use mortice_write::rows::{
    DuplicatePolicy, Preparation, RefusedRows, RowSource, WriteSchema, combine_new_keys, effective_operation,
    partial_schema, read_input,
};
use mortice_write::settings::WriteSettings;
use mortice_write::write::{WriteStatus, WriteToken};

/// What is known of a write before it begins.
pub(super) struct Plan {
    schema: WriteSchema,
    index: Arc<dyn Index>,
    rows: WriteRows,
    refused: RefusedRows,
    /// The columns that a merge has changed in rows that are marked as updates.
    updated: Vec<String>,
    /// The partitions of all rows, if these were read from the table.
    partitions: BTreeSet<String>,
}

/// The rows of a write as they are given.
#[derive(Clone, Copy)]
pub(super) struct GivenRows<'a> {
    pub(super) columns: &'a Schema,
    pub(super) rows: &'a RowBatches,
    pub(super) provenance: Provenance,
}

/// What a write has written.
pub(super) struct Written {
    pub(super) statuses: Vec<WriteStatus>,
    pub(super) schema: WriteSchema,
    pub(super) refused: RefusedRows,
    /// File groups that are replaced, by partition.
    pub(super) replaced: ReplacedGroups,
}

/// Writes rows to a table, or deletes keys of it.
///
/// # Errors
/// `InvalidArgument` and `Unsupported` for rows and options that cannot be written, before anything is; as for
/// [`Transaction::begin`] and [`Transaction::commit`]. The table is unchanged then, unless the message says otherwise.
pub fn write(location: &TableLocation, operation: WriteOperation, input: WriteInput<'_>) -> Result<WriteResult> {
    let target = open_for_write(location, input.options, operation)?;
    write_rows(target, operation, input, None)
}

/// Opens a table that rows are written to, and checks the options.
pub(super) fn open_for_write(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
    operation: WriteOperation,
) -> Result<WritableTable> {
    let table = location.open_timeline(read_options(options)?)?;
    check_writable(&table.config).map_err(|error| error.in_file(location.uri()))?;
    WritableTable::of_table(location, table, options, &operation.name().to_ascii_lowercase())
}

/// As [`write`], to a table that is open. `source` says what the rows were made from, if they were merged with stored
/// rows.
pub(super) fn write_rows(
    target: WritableTable,
    operation: WriteOperation,
    input: WriteInput<'_>,
    source: Option<&MergeSource>,
) -> Result<WriteResult> {
    let WriteInput { schema, batches, is_in_memory, options: given, validator } = input;
    let target = Arc::new(target.with_validator(validator));
    let table = target.latest();
    let options = target.settings();
    let (operation, changed) = effective_operation(operation, options.rows.insert_policy());
    // What cannot be written is refused before there is an instant; columns, before rows are read.
    schema_of(&table, operation, &schema, options)?;
    let input = read_input(&schema, batches, is_in_memory, options.rows.memory())?;
    // Rows that were merged with those of the table have to be merged again after a conflict.
    let retries = source.map_or_else(|| ConflictRetries::resolve(target.options()), |_| Ok(ConflictRetries::none()))?;
    let provenance = source.map_or(Provenance::Given, |_| Provenance::Stored);
    let mut input = Some(input);
    retries.run(&*target.time(), |may_repeat| {
        let rows = input.as_ref().ok_or_else(|| Error::internal("the rows of a write are gone"))?;
        let (table, rows) = (target.latest(), GivenRows { columns: schema.as_ref(), rows, provenance });
        let early = plan(&table, operation, rows, options, &"0".parse()?)?;
        let mut transaction = Transaction::begin(&target, operation)?;
        let planned = caught("a write", || {
            source.map_or(Ok(()), |source| source.check_unchanged(transaction.table()))?;
            planned(early, &table, &transaction, rows, options)
        });
        let updated = source.map(|source| source.updated().to_vec()).unwrap_or_default();
        let planned = planned.map(|plan| Plan { updated, ..plan });
        if !may_repeat {
            // The plan has the rows: columns that were converted are not needed as they were given.
            input = None;
        }
        let written = caught("a write", || write_plan(&mut transaction, planned?, options));
        commit_or_abort(transaction, written, given, changed.iter().cloned().collect())
    })
}

/// Commits what was written, or gives the write up; then runs table services. `warnings` are those besides those of the
/// options.
pub(super) fn commit_or_abort(
    transaction: Transaction,
    written: Result<Written>,
    options: &BTreeMap<String, String>,
    warnings: Vec<String>,
) -> Result<WriteResult> {
    let (transaction, Written { statuses, schema, refused, replaced }) = transaction.or_abort(written)?;
    let extra = CommitExtra {
        schema: schema.columns.json().to_owned(),
        user_metadata: user_metadata(options),
        replaced,
        column_ids: None,
    };
    let target = Arc::clone(transaction.target());
    let committed = transaction.commit(statuses, &extra)?;
    let failed = run_inline_services(&target, &committed.instant, &execute_in_process)?;
    target.leave();
    let warnings = target.warnings().into_iter().chain(warnings).chain(failed).collect();
    Ok(WriteResult { refused, warnings, schema_changes: schema.changes, ..WriteResult::new(committed) })
}

/// The plan of a write that has begun: the one that was made before, if that was of the same table.
fn planned(
    early: Plan,
    before: &OpenTable,
    transaction: &Transaction,
    given: GivenRows<'_>,
    options: &WriteSettings,
) -> Result<Plan> {
    let (table, operation) = (transaction.table(), transaction.operation());
    let generates_keys = table.config.record_key_fields.is_empty();
    if !generates_keys
        && table.config == before.config
        && early.schema == schema_of(table, operation, given.columns, options)?
    {
        return Ok(early);
    }
    plan(table, operation, given, options, transaction.instant())
}

/// The columns that a write of rows with these columns has.
pub(super) fn schema_of(
    table: &OpenTable,
    operation: WriteOperation,
    columns: &Schema,
    options: &WriteSettings,
) -> Result<WriteSchema> {
    match operation {
        WriteOperation::Delete => {
            avro::check_names(columns.fields(), &[], "")?;
            WriteSchema::of_table(table)
        }
        _ => WriteSchema::resolve(table, columns, &options.rows),
    }
}

/// What rows are read for.
pub(super) fn row_source<'a>(
    table: &'a OpenTable,
    schema: &'a WriteSchema,
    index: &dyn Index,
    options: &'a WriteSettings,
) -> RowSource<'a> {
    RowSource { table, schema, keys: &options.keys, options: &options.rows, key_is_global: index.is_global() }
}

pub(super) fn plan(
    table: &OpenTable,
    operation: WriteOperation,
    given: GivenRows<'_>,
    options: &WriteSettings,
    instant: &RequestedTime,
) -> Result<Plan> {
    let GivenRows { columns, rows, provenance } = given;
    DuplicatePolicy::of_write(operation, options.rows.insert_policy())?;
    let index = choose_index_of(&table.config, &options.index, provenance)?;
    let schema = schema_of(table, operation, columns, options)?;
    let source = row_source(table, &schema, index.as_ref(), options);
    let preparation = Preparation { source, operation };
    let mut refused = RefusedRows::default();
    let rows = preparation.read(rows, instant, &mut refused)?;
    // Of rows with the same key one is left.
    let partitions = match provenance {
        Provenance::Given => BTreeSet::new(),
        Provenance::Stored => partitions_of(&rows.keys),
    };
    let rows = preparation.combined_if_wanted(rows)?;
    let rows = match operation {
        WriteOperation::BulkInsert if options.rows.sort_mode.sorts_by_key() => rows.sorted()?,
        _ => rows,
    };
    Ok(Plan { schema, index, rows, refused, updated: Vec::new(), partitions })
}

pub(super) fn write_plan(transaction: &mut Transaction, plan: Plan, options: &WriteSettings) -> Result<Written> {
    let (table, operation) = (Arc::clone(transaction.table()), transaction.operation());
    let instant = transaction.instant().clone();
    let Plan { schema, index, rows, refused, updated, partitions } = plan;
    let policy = DuplicatePolicy::of_write(operation, options.rows.insert_policy())?;
    let tagged = match operation {
        WriteOperation::Insert if policy != DuplicatePolicy::Keep => index.tag(&table, &rows.keys)?,
        WriteOperation::Insert | WriteOperation::BulkInsert if !index.tags_inserts() => {
            Tagged::of_inserts(&table, &rows.keys)?
        }
        WriteOperation::InsertOverwrite | WriteOperation::InsertOverwriteTable => {
            Tagged::of_inserts(&table, &rows.keys)?
        }
        _ => index.tag_rows_of(&table, &rows.keys, partitions)?,
    };
    let (rows, tagged) = without_duplicates(&table, index.as_ref(), policy, rows, tagged)?;
    let source = row_source(&table, &schema, index.as_ref(), options);
    let preparation = Preparation { source, operation };
    let (rows, mut tagged) = match operation {
        WriteOperation::Upsert if schema.has_operation() && !preparation.combines() => {
            combine_new_keys(&preparation, rows, tagged)?
        }
        _ => (rows, tagged),
    };
    roll_back_updated_clustering(transaction, &mut tagged)?;
    let rows = IndexedRows { rows, tagged };
    let IndexedRows { rows, tagged } = match operation {
        WriteOperation::Upsert => {
            let rows = merge_moved_rows(&table, index.as_ref(), rows, &options.keys)?;
            check_updates(&table, index.as_ref(), &rows)?;
            rows
        }
        _ => rows,
    };
    let assign_options = options.assign.of_index(index.as_ref(), &table)?;
    let assignment = assign(&table, &assign_options, place_inserts(operation), &rows.keys, &tagged, &rows.marks)?;
    check_assigned(rows.len(), &assignment)?;
    let partitions = assignment.tasks.iter().map(|task| task.partition.clone()).collect();
    let replaced = replaced_by_write(&table, operation, &options.rows, partitions)?;
    transaction.inflight(&profile(operation, task_profiles(&assignment.tasks, &rows.marks)?))?;
    if let Some(buckets) = &assign_options.bucket {
        let mut partitions = assignment.tasks.iter().map(|task| task.partition.as_str());
        buckets.store_new(transaction.store().as_ref(), &mut partitions)?;
    }
    let partial = partial_schema(&table, index.as_ref(), &schema, operation, &updated, &options.rows)?;
    let runner = TaskRunner {
        store: transaction.store(),
        table: &table,
        schema: &schema,
        instant: &instant,
        rows: &rows,
        is_new: &tagged.locations.iter().map(|location| Some(location.is_none())).collect::<BooleanArray>(),
        options: &TaskOptions::new(&table, operation, options)
            .with_partial(partial)
            .of_buckets(assign_options.bucket.is_some()),
        attempt: WriteToken::new_attempt(),
    };
    let statuses = runner.run(&assignment.tasks)?;
    refuse_failed_rows(&statuses)?;
    Ok(Written { statuses, schema, refused, replaced })
}

/// Where the new rows of an operation go.
pub(super) fn place_inserts(operation: WriteOperation) -> PlaceInserts {
    match operation {
        WriteOperation::Delete => PlaceInserts::Discard,
        WriteOperation::BulkInsert => PlaceInserts::NewGroups,
        WriteOperation::InsertOverwrite | WriteOperation::InsertOverwriteTable => PlaceInserts::Overwrite,
        _ => PlaceInserts::SmallFiles,
    }
}

/// The rows of an insert without those whose keys are in the table, if these are not to be written.
pub(super) fn without_duplicates(
    table: &OpenTable,
    index: &dyn Index,
    policy: DuplicatePolicy,
    rows: WriteRows,
    tagged: Tagged,
) -> Result<(WriteRows, Tagged)> {
    if policy == DuplicatePolicy::Keep {
        return Ok((rows, tagged));
    }
    let present = present_keys(table, index, &rows.keys, &tagged)?;
    let kept = policy.kept(&present, |row| rows.keys.record_keys.value(row))?;
    let tagged = tagged.of_rows(&kept)?;
    Ok((rows.select(&kept)?, tagged))
}

/// Makes sure that each of so many rows has a task, but for deletes of keys that are not in the table.
fn check_assigned(rows: usize, assignment: &Assignment) -> Result<()> {
    let mut has_task = vec![false; rows];
    let assigned = assignment.tasks.iter().flat_map(|task| &task.rows).chain(&assignment.unmatched_deletes);
    for row in assigned {
        let unknown = || Error::internal(format!("row {row} of {rows} rows has a task"));
        *has_task.get_mut(*row as usize).ok_or_else(unknown)? = true;
    }
    match has_task.iter().position(|has_task| !has_task) {
        Some(row) => Err(Error::internal(format!("row {row} of {rows} rows has no task"))),
        None => Ok(()),
    }
}

/// A row that could not be written ends the write.
pub(super) fn refuse_failed_rows(statuses: &[WriteStatus]) -> Result<()> {
    let failed: u64 = statuses.iter().map(|status| status.total_errors).sum();
    match statuses.iter().flat_map(|status| &status.errors).next() {
        None if failed == 0 => Ok(()),
        first => {
            let message = first.map(|error| error.message.as_str()).unwrap_or_default();
            Err(Error::invalid_argument(format!("{failed} rows cannot be written; the first: {message}")))
        }
    }
}

/// Options that are the user's own metadata of the commit.
pub(super) fn user_metadata(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let own = options.iter().filter(|(name, _)| is_commit_metadata(options, name));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}
