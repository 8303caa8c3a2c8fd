//! The driver's part of a write: what tasks do next, decided from what they have reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::assigned::Assigned;
use super::next_step::NextStep;
use crate::distributed::exchange::{
    InsertSpec, PrepareSpec, ReadReport, RowSum, StageSpec, TaskRunner, WriteState, WrittenReport, mark_of,
};
use crate::distributed::services::{execute_by_tasks, reads_at_most};
use crate::merge_into::MergePlan;
use crate::read_state::MergeSource;
use crate::write::{open_for_write, refuse_failed_rows, row_source, schema_of, user_metadata};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::commit::{CommitValidator, OpenMark};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::TableConfig;
use mortice_merge::keys::RowKeyReader;
use mortice_services::transaction::{CommitExtra, Transaction, WriteResult};
use mortice_services::{execute_in_process, replaced_by_write, run_inline_services};
use mortice_table::plan::{OpenTable, PinnedTable, WriteView};
use mortice_table::timeline::{InstantState, WriteOperation};
use mortice_write::index::{Index, Provenance, choose_index, choose_index_of};
use mortice_write::rows::{
    DuplicatePolicy, OUTPUT, Preparation, RowOptions, SortMode, WriteSchema, effective_operation,
};
use mortice_write::write::WriteStatus;

/// A write whose rows are in other processes.
///
/// Dropped before its end it stays pending; the next write rolls it back.
pub struct DistributedWrite {
    pub(super) target: Arc<WritableTable>,
    pub(super) request: RowsRequest,
    pub(super) resources: DriverResources,
    pub(super) plan: RowsPlan,
    warnings: Vec<String>,
    pub(super) transaction: Option<Transaction>,
    pub(super) phase: Phase,
}

/// What is asked for.
pub(super) struct RowsRequest {
    pub(super) operation: WriteOperation,
    policy: DuplicatePolicy,
    user_metadata: BTreeMap<String, String>,
    /// The columns of the rows.
    given: Schema,
}

/// What runs the stages.
pub(super) struct DriverResources {
    /// Tasks that run at once, as far as it is known.
    pub(super) parallelism: u32,
    /// Bytes of rows that the driver's process may hold.
    pub(super) bytes: u64,
    /// Whether the stages after the first are little work.
    pub(super) is_small: bool,
}

/// What the rows are written to, and as what.
pub(super) struct RowsPlan {
    pub(super) table: Arc<OpenTable>,
    schema: WriteSchema,
    pub(super) index: Arc<dyn Index>,
    /// What the rows were made from, if they were merged with stored rows.
    pub(super) source: Option<MergeSource>,
    provenance: Provenance,
}

/// How far the write is.
pub(super) enum Phase {
    Planned,
    Preparing,
    Tagging(Tagging),
    Writing(Assigned),
    /// Rows are written by the tasks that have them.
    Inserting,
    Ended,
}

/// Rows that are being tagged.
pub(super) struct Tagging {
    pub(super) slots: u32,
    /// The rows that come to the tasks.
    pub(super) rows: RowSum,
    /// The partitions of the rows.
    pub(super) partitions: BTreeSet<String>,
    /// The file slices that they may be in, unless the tasks find that out.
    pub(super) view: Option<Arc<WriteView>>,
    /// Whether they have been sent on to be merged.
    pub(super) is_moving: bool,
}

impl DistributedWrite {
    /// Plans a write to a table.
    ///
    /// Args:
    ///     location: Where the table is.
    ///     operation: What the write does.
    ///     columns: The columns of the rows.
    ///     options: Options of the write, by Hudi's names.
    ///     parallelism: Tasks that run at once, as far as it is known.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported` for columns and options that cannot be written, and for operations that run
    /// in one process.
    pub fn plan(
        location: &TableLocation,
        operation: WriteOperation,
        columns: &Schema,
        options: &BTreeMap<String, String>,
        parallelism: u32,
    ) -> Result<Self> {
        check_operation(operation)?;
        let user_metadata = user_metadata(options);
        let target = open_for_write(location, options, operation)?;
        let (table, options) = (target.latest(), target.settings());
        check_options(operation, &options.rows)?;
        let (operation, changed) = effective_operation(operation, options.rows.insert_policy());
        let policy = DuplicatePolicy::of_write(operation, options.rows.insert_policy())?;
        let warnings = target.warnings().into_iter().chain(changed).collect();
        let index = choose_index(&table.config, &options.index)?;
        check_outputs(columns, operation, index.as_ref())?;
        let schema = schema_of(&table, operation, columns, options)?;
        let write = Self {
            target: Arc::new(target),
            request: RowsRequest { operation, policy, user_metadata, given: columns.clone() },
            resources: DriverResources { parallelism: parallelism.max(1), bytes: 0, is_small: false },
            plan: RowsPlan { table, schema, index, source: None, provenance: Provenance::Given },
            warnings,
            transaction: None,
            phase: Phase::Planned,
        };
        write.check_keys(columns)?;
        if write.plan.schema.has_operation() && operation == WriteOperation::Upsert && !write.preparation().combines() {
            return Err(Error::unsupported(
                "rows with _hoodie_operation of which a key may have several (hoodie.combine.before.upsert=false) on Spark; mortice.Table has it",
            ));
        }
        if write.has_outputs() && write.preparation().combines() {
            let message = "a user-defined partitioner with hoodie.combine.before.insert; leave one of them out";
            return Err(Error::unsupported(message));
        }
        Ok(write)
    }

    /// The same, of rows that were merged with stored rows of the table.
    ///
    /// # Errors
    /// As for [`choose_index`].
    pub fn of_merge(mut self, plan: &MergePlan) -> Result<Self> {
        self.take_stored_rows()?;
        self.plan.source = Some(plan.source().clone());
        Ok(self)
    }

    /// From now on the rows are those of the table, or made of them.
    fn take_stored_rows(&mut self) -> Result<()> {
        self.plan.provenance = Provenance::Stored;
        self.plan.index =
            choose_index_of(&self.plan.table.config, &self.target.settings().index, self.plan.provenance)?;
        Ok(())
    }

    /// The same, of which the driver's process may run the stages after the first itself: so many bytes of rows, none
    /// by default.
    #[must_use]
    pub fn with_driver_bytes(mut self, driver_bytes: u64) -> Self {
        self.resources.bytes = driver_bytes;
        self
    }

    /// Whether the stages after the first, after which it is known, are so little work that the driver's process can
    /// run them. For few rows the fixed costs of tasks are most of the time.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.resources.is_small
    }

    /// Returns the columns that the rows are written as, without meta columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.schema.types)
    }

    /// Sentences on options that have no effect, or another one than their names say.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The operation.
    #[must_use]
    pub fn operation(&self) -> WriteOperation {
        self.request.operation
    }

    /// Begins with the rows: they are prepared before there is an instant, unless their keys contain it.
    ///
    /// # Errors
    /// As for [`Self::next`].
    pub fn start(&mut self) -> Result<NextStep> {
        if self.has_outputs() || self.is_one_pass()? {
            return self.insert();
        }
        if self.plan.table.config.record_key_fields.is_empty() && self.request.operation != WriteOperation::Delete {
            self.begin()?;
        }
        let spec = PrepareSpec { is_direct: self.is_direct() };
        let stage = self.state(PinnedTable::new(&self.plan.table)).to_bytes(StageSpec::Prepare(spec))?;
        self.phase = Phase::Preparing;
        Ok(NextStep::Prepare { stage })
    }

    /// Begins the write before its rows are made of those of the table. Returns the table that they are to be read
    /// from: a row that another writer changes meanwhile is a conflict.
    ///
    /// # Errors
    /// As for [`Self::next`].
    pub fn begin_with_stored_rows(&mut self) -> Result<Arc<OpenTable>> {
        self.take_stored_rows()?;
        self.begin()?;
        Ok(Arc::clone(&self.plan.table))
    }

    /// Whether the rows have outputs that a user-defined partitioner has chosen.
    fn has_outputs(&self) -> bool {
        self.request.given.field_with_name(OUTPUT).is_ok()
    }

    /// Whether tasks write the rows that they have, so that none is shuffled or persisted: a bulk insert that leaves
    /// rows where they are.
    fn is_one_pass(&self) -> Result<bool> {
        Ok(self.request.operation == WriteOperation::BulkInsert && self.is_direct())
    }

    /// Lets each task write the rows that it has. With outputs these are all rows of an output, in order, as the caller
    /// has distributed them.
    fn insert(&mut self) -> Result<NextStep> {
        self.begin()?;
        self.plan.index.check_inserts(&self.plan.table)?;
        let transaction = self.transaction.as_mut().ok_or_else(|| Error::internal("a write that has not begun"))?;
        transaction.inflight_without_profile()?;
        mark_of(transaction).open()?;
        let spec = InsertSpec { user_metadata: BTreeMap::new() };
        let stage = self.state(PinnedTable::new(&self.plan.table)).to_bytes(StageSpec::Insert(spec))?;
        self.phase = Phase::Inserting;
        Ok(NextStep::Insert { stage })
    }

    /// Decides what tasks do next, from the reports of the last step.
    ///
    /// # Errors
    /// What tasks have reported as errors; `InvalidArgument` if rows were lost on their way; `WriteConflict` if another
    /// writer has changed the table's columns; those of [`Transaction::begin`] and of listing files. Abort the write
    /// then.
    pub fn next(&mut self, reports: &[Vec<u8>]) -> Result<NextStep> {
        let reports = ReadReport::read_all(reports)?;
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Preparing => self.prepared(reports),
            Phase::Tagging(tagging) => self.tagged(tagging, reports),
            _ => Err(Error::internal("a write without a next step")),
        }
    }

    /// Commits the write, given the reports of the tasks that wrote; then runs table services.
    ///
    /// Args:
    ///     reports: The reports.
    ///     validator: Checks the table before the commit.
    ///     runner: Runs the tasks that execute the plans of table services. This process executes them without one, and
    ///         those of few bytes ([`Self::with_driver_bytes`]).
    ///
    /// # Errors
    /// What tasks have reported as errors; those of [`Transaction::commit`]. The write is rolled back then, unless the
    /// message says otherwise. As for [`run_inline_services`], when it is committed.
    pub fn commit(
        &mut self,
        reports: &[Vec<u8>],
        validator: Option<Arc<dyn CommitValidator>>,
        runner: Option<&dyn TaskRunner>,
    ) -> Result<WriteResult> {
        let ended = self.written(reports).and_then(|statuses| {
            refuse_failed_rows(&statuses)?;
            let extra = self.extra(&statuses)?;
            Ok((statuses, extra))
        });
        let (statuses, extra) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                self.abort(&error)?;
                return Err(error);
            }
        };
        let transaction = self.transaction.take().ok_or_else(|| Error::internal("a write that has not begun"))?;
        let transaction = transaction.with_validator(validator);
        let closed = mark_of(&transaction).close();
        let (transaction, ()) = transaction.or_abort(closed)?;
        let committed = transaction.commit(statuses, &extra)?;
        let failed = run_inline_services(&self.target, &committed.instant, &|plan| match runner {
            Some(runner) if !reads_at_most(&plan, self.resources.bytes) => execute_by_tasks(plan, runner),
            _ => execute_in_process(plan),
        })?;
        self.target.leave();
        let warnings = self.warnings.iter().cloned().chain(self.target.failed_reports()).chain(failed).collect();
        let schema_changes = self.plan.schema.changes.clone();
        Ok(WriteResult { warnings, schema_changes, ..WriteResult::new(committed) })
    }

    /// Gives the write up: deletes its files and takes its instant off the timeline. Nothing happens if it has not
    /// begun or has ended.
    ///
    /// # Errors
    /// `reason` if the storage failed as well, with a note of that. The write is pending then, and the next write rolls
    /// it back.
    pub fn abort(&mut self, reason: &Error) -> Result<()> {
        self.phase = Phase::Ended;
        self.transaction.take().map_or(Ok(()), |transaction| transaction.abort(reason))
    }

    /// What the commit says besides the files.
    fn extra(&self, statuses: &[WriteStatus]) -> Result<CommitExtra> {
        let partitions = statuses.iter().map(|status| status.partition.clone()).collect();
        Ok(CommitExtra {
            schema: self.plan.schema.columns.json().to_owned(),
            user_metadata: self.request.user_metadata.clone(),
            replaced: replaced_by_write(
                &self.plan.table,
                self.request.operation,
                &self.target.settings().rows,
                partitions,
            )?,
            column_ids: None,
        })
    }

    /// Refuses columns that no key can be made of.
    fn check_keys(&self, columns: &Schema) -> Result<()> {
        match self.request.operation {
            WriteOperation::Delete => {
                let rows = RecordBatch::new_empty(Arc::new(columns.clone()));
                self.preparation().source.keys_to_delete(&rows, 0).map(|_| ())
            }
            _ => {
                let keys = &self.target.settings().keys;
                RowKeyReader::new(&self.plan.table.config, &self.plan.schema.types, keys).map(|_| ())
            }
        }
    }

    /// Whether rows are new without a look-up of their keys, and are not combined.
    pub(super) fn is_direct(&self) -> bool {
        self.writes_new_rows() && !self.preparation().combines()
    }

    /// Whether rows are new without a look-up of their keys.
    pub(super) fn writes_new_rows(&self) -> bool {
        match self.request.operation {
            WriteOperation::InsertOverwrite | WriteOperation::InsertOverwriteTable => true,
            WriteOperation::Insert | WriteOperation::BulkInsert => {
                self.request.policy == DuplicatePolicy::Keep && !self.plan.index.tags_inserts()
            }
            _ => false,
        }
    }

    fn preparation(&self) -> Preparation<'_> {
        let source = row_source(&self.plan.table, &self.plan.schema, self.plan.index.as_ref(), self.target.settings());
        Preparation { source, operation: self.request.operation }
    }

    pub(super) fn state(&self, table: PinnedTable) -> WriteState {
        WriteState {
            table,
            operation: self.request.operation,
            options: self.target.options().clone(),
            instant: self.transaction.as_ref().map(|transaction| transaction.instant().clone()),
            schema: self.plan.schema.columns.json().to_owned(),
            updated: self.plan.source.as_ref().map(|source| source.updated().to_vec()).unwrap_or_default(),
            provenance: self.plan.provenance,
        }
    }

    /// Begins the transaction, if it has not begun.
    pub(super) fn begin(&mut self) -> Result<()> {
        if self.transaction.is_some() {
            return Ok(());
        }
        let transaction = Transaction::begin(&self.target, self.request.operation)?;
        let table = Arc::clone(transaction.table());
        self.transaction = Some(transaction);
        let schema = schema_of(&table, self.request.operation, &self.request.given, self.target.settings())?;
        if schema != self.plan.schema || !is_same_table(&table.config, &self.plan.table.config) {
            let message =
                "another writer has changed the table's columns or properties while rows were prepared; write again";
            return Err(Error::new(ErrorKind::WriteConflict, message).in_file(self.target.uri()));
        }
        self.plan.source.as_ref().map_or(Ok(()), |source| source.check_unchanged(&table))?;
        self.plan.table = table;
        self.remove_old_marks()
    }

    /// Deletes the marks of writes that another writer has rolled back without deleting them.
    fn remove_old_marks(&self) -> Result<()> {
        let Some(transaction) = &self.transaction else { return Ok(()) };
        let is_pending = |state: InstantState| state != InstantState::Completed;
        for instant in OpenMark::list(transaction.store())? {
            let instants = self.plan.table.timeline.instants_at(&instant);
            let is_newer = instant >= *transaction.instant();
            if !is_newer && !instants.iter().any(|instant| is_pending(instant.state)) {
                OpenMark::new(Arc::clone(transaction.store()), &instant).close()?;
            }
        }
        Ok(())
    }

    /// The statuses of all tasks.
    fn written(&mut self, reports: &[Vec<u8>]) -> Result<Vec<WriteStatus>> {
        let mut written = Vec::new();
        for report in ReadReport::read_all(reports)? {
            match report {
                ReadReport::Written(report) => written.push(report),
                _ => return Err(Error::internal("another report than that of written rows")),
            }
        }
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Writing(assigned) => assigned.check(&written)?,
            Phase::Inserting => check_tasks(&written)?,
            _ => return Err(Error::internal("a write that is committed before its rows are written")),
        }
        written.sort_by_key(|report: &WrittenReport| report.task);
        Ok(written.into_iter().flat_map(|report| report.statuses).collect())
    }
}

/// Refuses outputs of a user-defined partitioner for rows that it cannot distribute.
fn check_outputs(columns: &Schema, operation: WriteOperation, index: &dyn Index) -> Result<()> {
    if columns.field_with_name(OUTPUT).is_err() {
        return Ok(());
    }
    let refused = match operation {
        WriteOperation::BulkInsert if index.buckets().is_some() => "a bucket index".to_owned(),
        WriteOperation::BulkInsert => return Ok(()),
        other => format!("the operation {} (supported: bulk_insert)", other.name().to_ascii_lowercase()),
    };
    Err(Error::unsupported(format!("a user-defined partitioner with {refused}; leave one of them out")))
}

/// Makes sure that no task has reported twice.
pub(crate) fn check_tasks(written: &[WrittenReport]) -> Result<()> {
    let mut tasks = BTreeSet::new();
    match written.iter().find(|report| !tasks.insert(report.task)) {
        Some(twice) => Err(Error::internal(format!("task {} has reported twice", twice.task))),
        None => Ok(()),
    }
}

/// Operations whose rows are written by other processes.
fn check_operation(operation: WriteOperation) -> Result<()> {
    match operation {
        WriteOperation::Upsert
        | WriteOperation::Insert
        | WriteOperation::BulkInsert
        | WriteOperation::InsertOverwrite
        | WriteOperation::InsertOverwriteTable
        | WriteOperation::Delete => Ok(()),
        other => Err(Error::unsupported(format!(
            "operation {} on Spark (supported: upsert, insert, bulk_insert, insert_overwrite, insert_overwrite_table, delete); use \
             mortice.Table or Hudi",
            other.name().to_ascii_lowercase()
        ))),
    }
}

/// Refuses options that writes in one process follow, and those on Spark do not.
pub(crate) fn check_options(operation: WriteOperation, options: &RowOptions) -> Result<()> {
    let refused = [
        (options.ignores_failed, "leaving rows out (hoodie.write.ignore.failed)"),
        (
            operation == WriteOperation::BulkInsert && options.sort_mode != SortMode::None,
            "a sort mode of bulk_insert other than NONE (hoodie.bulkinsert.sort.mode); sort the data frame",
        ),
    ];
    match refused.into_iter().find(|(is_refused, _)| *is_refused) {
        Some((_, what)) => Err(Error::unsupported(format!("{what} on Spark; mortice.Table has it"))),
        None => Ok(()),
    }
}

/// Whether rows that were prepared for a table can be written to it: only its metadata table may be another.
fn is_same_table(now: &TableConfig, before: &TableConfig) -> bool {
    let TableConfig { metadata_partitions, properties, .. } = before;
    let with_metadata_of_before =
        TableConfig { metadata_partitions: metadata_partitions.clone(), properties: properties.clone(), ..now.clone() };
    with_metadata_of_before == *before
}
