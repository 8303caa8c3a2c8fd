//! The driver's part of a write: what tasks do next, decided from what they have reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::assigned::{Assigned, assign_reports};
use super::next_step::{MovePlan, NextStep, TagPlan, WritePlan};
use crate::distributed::exchange::{
    InsertSpec, PlacedReport, PrepareSpec, PreparedReport, ReadKeysSpec, ReadReport, ReadRowsSpec, RowSum, Slots,
    StageSpec, TagBy, TagSpec, TaggedReport, TaskRunner, WriteState, WrittenReport, bin_count, mark_of, tasks_by_cost,
};
use crate::distributed::services::execute_by_tasks;
use crate::merge_into::MergePlan;
use crate::read_state::MergeSource;
use crate::replaced_groups::replaced_by_write;
use crate::write::{open_for_write, refuse_failed_rows, row_source, schema_of, user_metadata};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::commit::{CommitValidator, OpenMark};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_merge::config::{TableConfig, TableType};
use mortice_merge::keys::RowKeyReader;
use mortice_services::transaction::{CommitExtra, Transaction, WriteResult};
use mortice_services::{execute_in_process, run_inline_services};
use mortice_table::plan::{OpenTable, PinnedTable, WriteView};
use mortice_table::timeline::{InstantState, WriteOperation};
use mortice_write::index::{Index, Provenance, TaskLookUp, choose_index, choose_index_of};
use mortice_write::rows::{
    DuplicatePolicy, OUTPUT, Preparation, RowOptions, SortMode, WriteSchema, effective_operation,
};
use mortice_write::write::WriteStatus;

/// Bytes of rows that come together in one process. Rows of a slot are held in memory, a few times over.
const SLOT_BYTES: u64 = 64 << 20;
/// Fewer rows are not worth a process of their own.
const LEAST_SLOT_ROWS: u64 = 10_000;
/// Keys that are looked up in a record index one by one: more make it be read through.
const LOOK_UP_ROWS: u64 = 50_000;
/// Bytes of files whose keys one task reads.
pub(crate) const KEY_FILE_BYTES: u64 = 512 << 20;

/// A write whose rows are in other processes.
///
/// Dropped before its end it stays pending; the next write rolls it back.
pub struct DistributedWrite {
    target: Arc<WritableTable>,
    operation: WriteOperation,
    policy: DuplicatePolicy,
    warnings: Vec<String>,
    user_metadata: BTreeMap<String, String>,
    /// Tasks that run at once, as far as it is known.
    parallelism: u32,
    /// Bytes of rows that the driver's process may hold.
    driver_bytes: u64,
    /// Whether the stages after the first are little work.
    is_small: bool,
    given: Schema,
    table: Arc<OpenTable>,
    schema: WriteSchema,
    index: Arc<dyn Index>,
    /// What the rows were made from, if they were merged with stored rows.
    source: Option<MergeSource>,
    provenance: Provenance,
    transaction: Option<Transaction>,
    phase: Phase,
}

/// How far the write is.
enum Phase {
    Planned,
    Preparing,
    Tagging(Tagging),
    Writing(Assigned),
    /// Rows are written by the tasks that have them.
    Inserting,
    Ended,
}

/// Rows that are being tagged.
struct Tagging {
    slots: u32,
    /// The rows that come to the tasks.
    rows: RowSum,
    /// The partitions of the rows.
    partitions: BTreeSet<String>,
    /// The file slices that they may be in, unless the tasks find that out.
    view: Option<Arc<WriteView>>,
    /// Whether they have been sent on to be merged.
    is_moving: bool,
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
        let warnings = target.warnings().iter().cloned().chain(changed).collect();
        let index = choose_index(&table.config, &options.index)?;
        check_outputs(columns, operation, index.as_ref())?;
        let schema = schema_of(&table, operation, columns, options)?;
        let write = Self {
            target: Arc::new(target),
            operation,
            policy,
            warnings,
            user_metadata,
            parallelism: parallelism.max(1),
            driver_bytes: 0,
            is_small: false,
            given: columns.clone(),
            table,
            schema,
            index,
            source: None,
            provenance: Provenance::Given,
            transaction: None,
            phase: Phase::Planned,
        };
        write.check_keys(columns)?;
        if write.schema.has_operation() && operation == WriteOperation::Upsert && !write.preparation().combines() {
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
        Ok(Self { source: Some(plan.source().clone()), ..self })
    }

    /// From now on the rows are those of the table, or made of them.
    fn take_stored_rows(&mut self) -> Result<()> {
        self.provenance = Provenance::Stored;
        self.index = choose_index_of(&self.table.config, &self.target.settings().index, self.provenance)?;
        Ok(())
    }

    /// The same, of which the driver's process may run the stages after the first itself: so many bytes of rows, none
    /// by default.
    #[must_use]
    pub fn with_driver_bytes(self, driver_bytes: u64) -> Self {
        Self { driver_bytes, ..self }
    }

    /// Whether the stages after the first, after which it is known, are so little work that the driver's process can
    /// run them. For few rows the fixed costs of tasks are most of the time.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.is_small
    }

    /// Returns the columns that the rows are written as, without meta columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema.types)
    }

    /// Sentences on options that have no effect, or another one than their names say.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The operation.
    #[must_use]
    pub fn operation(&self) -> WriteOperation {
        self.operation
    }

    /// Begins with the rows: they are prepared before there is an instant, unless their keys contain it.
    ///
    /// # Errors
    /// As for [`Self::next`].
    pub fn start(&mut self) -> Result<NextStep> {
        if self.has_outputs() || self.is_one_pass()? {
            return self.insert();
        }
        if self.table.config.record_key_fields.is_empty() && self.operation != WriteOperation::Delete {
            self.begin()?;
        }
        let spec = PrepareSpec { is_direct: self.is_direct() };
        let stage = self.state(PinnedTable::new(&self.table)).to_bytes(StageSpec::Prepare(spec))?;
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
        Ok(Arc::clone(&self.table))
    }

    /// Whether the rows have outputs that a user-defined partitioner has chosen.
    fn has_outputs(&self) -> bool {
        self.given.field_with_name(OUTPUT).is_ok()
    }

    /// Whether tasks write the rows that they have, so that none is shuffled or persisted: a bulk insert that leaves
    /// rows where they are.
    fn is_one_pass(&self) -> Result<bool> {
        Ok(self.operation == WriteOperation::BulkInsert && self.is_direct())
    }

    /// Lets each task write the rows that it has. With outputs these are all rows of an output, in order, as the caller
    /// has distributed them.
    fn insert(&mut self) -> Result<NextStep> {
        self.begin()?;
        self.index.check_inserts(&self.table)?;
        let transaction = self.transaction.as_mut().ok_or_else(|| Error::internal("a write that has not begun"))?;
        transaction.inflight_without_profile()?;
        mark_of(transaction).open()?;
        let spec = InsertSpec { user_metadata: BTreeMap::new() };
        let stage = self.state(PinnedTable::new(&self.table)).to_bytes(StageSpec::Insert(spec))?;
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
    ///     runner: Runs the tasks that execute the plans of table services; without one, this process executes them.
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
            Some(runner) => execute_by_tasks(plan, runner),
            None => execute_in_process(plan),
        })?;
        self.target.leave();
        let warnings = self.warnings.iter().cloned().chain(failed).collect();
        let schema_changes = self.schema.changes.clone();
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
            schema: self.schema.columns.json().to_owned(),
            user_metadata: self.user_metadata.clone(),
            replaced: replaced_by_write(&self.table, self.operation, &self.target.settings().rows, partitions)?,
            column_ids: None,
        })
    }

    /// Refuses columns that no key can be made of.
    fn check_keys(&self, columns: &Schema) -> Result<()> {
        match self.operation {
            WriteOperation::Delete => {
                let rows = RecordBatch::new_empty(Arc::new(columns.clone()));
                self.preparation().source.keys_to_delete(&rows, 0).map(|_| ())
            }
            _ => {
                let keys = &self.target.settings().keys;
                RowKeyReader::new(&self.table.config, &self.schema.types, keys).map(|_| ())
            }
        }
    }

    /// Whether rows are new without a look-up of their keys, and are not combined.
    fn is_direct(&self) -> bool {
        self.writes_new_rows() && !self.preparation().combines()
    }

    /// Whether rows are new without a look-up of their keys.
    fn writes_new_rows(&self) -> bool {
        match self.operation {
            WriteOperation::InsertOverwrite | WriteOperation::InsertOverwriteTable => true,
            WriteOperation::Insert | WriteOperation::BulkInsert => {
                self.policy == DuplicatePolicy::Keep && !self.index.tags_inserts()
            }
            _ => false,
        }
    }

    fn preparation(&self) -> Preparation<'_> {
        let source = row_source(&self.table, &self.schema, self.index.as_ref(), self.target.settings());
        Preparation { source, operation: self.operation }
    }

    fn state(&self, table: PinnedTable) -> WriteState {
        WriteState {
            table,
            operation: self.operation,
            options: self.target.options().clone(),
            instant: self.transaction.as_ref().map(|transaction| transaction.instant().clone()),
            schema: self.schema.columns.json().to_owned(),
            updated: self.source.as_ref().map(|source| source.updated().to_vec()).unwrap_or_default(),
            provenance: self.provenance,
        }
    }

    /// Begins the transaction, if it has not begun.
    fn begin(&mut self) -> Result<()> {
        if self.transaction.is_some() {
            return Ok(());
        }
        let transaction = Transaction::begin(&self.target, self.operation)?;
        let table = Arc::clone(transaction.table());
        self.transaction = Some(transaction);
        let schema = schema_of(&table, self.operation, &self.given, self.target.settings())?;
        if schema != self.schema || !is_same_table(&table.config, &self.table.config) {
            let message =
                "another writer has changed the table's columns or properties while rows were prepared; write again";
            return Err(Error::new(ErrorKind::WriteConflict, message).in_file(self.target.uri()));
        }
        self.source.as_ref().map_or(Ok(()), |source| source.check_unchanged(&table))?;
        self.table = table;
        self.remove_old_marks()
    }

    /// Deletes the marks of writes that another writer has rolled back without deleting them.
    fn remove_old_marks(&self) -> Result<()> {
        let Some(transaction) = &self.transaction else { return Ok(()) };
        let is_pending = |state: InstantState| state != InstantState::Completed;
        for instant in OpenMark::list(transaction.store())? {
            let instants = self.table.timeline.instants_at(&instant);
            let is_newer = instant >= *transaction.instant();
            if !is_newer && !instants.iter().any(|instant| is_pending(instant.state)) {
                OpenMark::new(Arc::clone(transaction.store()), &instant).close()?;
            }
        }
        Ok(())
    }

    fn prepared(&mut self, reports: Vec<ReadReport>) -> Result<NextStep> {
        let (mut rows, mut bytes, mut partitions, mut placed) = (RowSum::default(), 0_u64, BTreeSet::new(), Vec::new());
        for report in reports {
            match report {
                ReadReport::Prepared(PreparedReport { rows: sum, bytes: size, partitions: own }) => {
                    rows.add(sum);
                    bytes = bytes.saturating_add(size);
                    partitions.extend(own);
                }
                ReadReport::Placed(report) => placed.push(report),
                _ => return Err(Error::internal("another report than that of prepared rows")),
            }
        }
        self.begin()?;
        if self.is_direct() {
            let view = self.table.write_view(Some(&partitions))?;
            self.is_small = self.is_little_work(bytes, None, Some(&view));
            return self.assign(&placed, rows, &view);
        }
        let by = match self.writes_new_rows() {
            true => None,
            false => Some(self.index.task_look_up(&self.table)?),
        };
        let view = match by {
            Some(by) if !by.needs_view() => None,
            Some(_) => Some(self.index.view(&self.table, self.index.partitions(&partitions))?),
            None => Some(Arc::new(self.table.write_view(Some(&partitions))?)),
        };
        // Tasks of such a look-up may find keys in other partitions, too, whose slices are listed then.
        let read = match by {
            Some(TaskLookUp::RecordIndexAndStoredKeys) => Some(self.index.view(&self.table, Some(&partitions))?),
            _ => view.clone(),
        };
        self.is_small = self.is_little_work(bytes, by, read.as_deref());
        let slots = self.slots(rows.rows, bytes, by);
        let plan = self.tag_plan(slots, by, read.as_deref())?;
        self.phase = Phase::Tagging(Tagging { slots, rows, partitions, view, is_moving: false });
        Ok(NextStep::Tag(plan))
    }

    /// As many slots as their rows fit in memory, and as keep all cores busy.
    fn slots(&self, rows: u64, bytes: u64, by: Option<TaskLookUp>) -> u32 {
        let busy = rows.div_ceil(LEAST_SLOT_ROWS).min(u64::from(self.parallelism));
        let least = u32::try_from(busy).unwrap_or(u32::MAX);
        let by_bytes = bin_count(bytes, SLOT_BYTES, least, usize::MAX);
        let by_rows = if by.is_some_and(TaskLookUp::reads_record_index) {
            bin_count(rows, LOOK_UP_ROWS, 1, usize::MAX)
        } else {
            1
        };
        by_bytes.max(by_rows).min(1 << 20)
    }

    /// Whether rows are few, and the base files that are read or rewritten for them are not more than one task reads.
    fn is_little_work(&self, bytes: u64, by: Option<TaskLookUp>, view: Option<&WriteView>) -> bool {
        let rewrites = self.table.config.table_type == TableType::CopyOnWrite;
        let read = match view {
            Some(view) if rewrites || by.is_some_and(TaskLookUp::reads_base_files) => {
                view.base_files.iter().fold(0, |sum: u64, slice| sum.saturating_add(slice.total_len()))
            }
            None if rewrites => u64::MAX,
            _ => 0,
        };
        bytes <= self.driver_bytes && read <= KEY_FILE_BYTES
    }

    fn tag_plan(&self, count: u32, by: Option<TaskLookUp>, view: Option<&WriteView>) -> Result<TagPlan> {
        let (slots, table) = (Slots { count }, PinnedTable::new(&self.table));
        let state = self.state(table);
        let unlisted = || Error::internal("a look-up of keys in file slices that were not listed");
        let tag_by = match by {
            None => TagBy::Nothing,
            Some(TaskLookUp::StoredKeys) => TagBy::StoredKeys,
            Some(TaskLookUp::RecordIndex | TaskLookUp::RecordIndexAndStoredKeys) => TagBy::RecordIndex,
            Some(TaskLookUp::Buckets) => {
                let slices = view.ok_or_else(unlisted)?.slices.clone();
                TagBy::Buckets(slices.into_iter().map(without_files).collect())
            }
        };
        let moves = self.looks_up_stored_rows(view).then(|| slots.clone());
        let tag_state = match by {
            Some(by) if by.reads_record_index() => self.state(PinnedTable::with_metadata(&self.table)?),
            _ => state.clone(),
        };
        let read_keys = match by {
            Some(by) if by.reads_base_files() => self.read_keys(view.ok_or_else(unlisted)?, slots.clone())?,
            _ => None,
        };
        let read_keys = read_keys.map(|(spec, tasks)| Ok((state.to_bytes(StageSpec::ReadKeys(spec))?, tasks)));
        Ok(TagPlan {
            partitions: count,
            split: state.to_bytes(StageSpec::Split(slots))?,
            read_keys: read_keys.transpose()?,
            tag: tag_state.to_bytes(StageSpec::Tag(TagSpec { by: tag_by, moves }))?,
        })
    }

    /// Whether rows may be looked up among the stored ones before they are placed: by a global index; and those that a
    /// merge inserts, if the index may have found keys whose rows are gone.
    fn looks_up_stored_rows(&self, view: Option<&WriteView>) -> bool {
        let is_uncertain = || {
            let mut slices = view.into_iter().flat_map(|view| &view.slices);
            slices.any(|slice| !self.index.is_certain(slice))
        };
        self.operation == WriteOperation::Upsert
            && (self.index.is_global() || (self.source.is_some() && is_uncertain()))
    }

    /// The base files whose keys are read, by task, and the number of tasks; none if there are no base files.
    fn read_keys(&self, view: &WriteView, slots: Slots) -> Result<Option<(ReadKeysSpec, u32)>> {
        let slices = view.base_files.clone();
        if slices.is_empty() {
            return Ok(None);
        }
        let costs: Vec<u64> = slices.iter().map(|slice| slice.total_len()).collect();
        let tasks = tasks_by_cost(&costs, KEY_FILE_BYTES, self.parallelism);
        let count = u32::try_from(tasks.len()).map_err(|_| Error::unsupported("4,294,967,296 tasks that read keys"))?;
        Ok(Some((ReadKeysSpec { slots, slices, tasks }, count)))
    }

    fn tagged(&mut self, tagging: Tagging, reports: Vec<ReadReport>) -> Result<NextStep> {
        let (mut placed, mut tagged) = (Vec::new(), Vec::new());
        for report in reports {
            match report {
                ReadReport::Placed(report) => placed.push(report),
                ReadReport::Tagged(report) if !tagging.is_moving => tagged.push(report),
                _ => return Err(Error::internal("another report than that of tagged rows")),
            }
        }
        let taken = placed.iter().map(|report| report.taken).chain(tagged.iter().map(|report| report.taken));
        check_complete(taken, tagging.rows)?;
        if tagged.is_empty() {
            let view = match &tagging.view {
                Some(view) => Arc::clone(view),
                None => self.view_of(&tagging.partitions, partitions_of(&placed))?,
            };
            return self.assign(&placed, tagging.rows, &view);
        }
        self.move_plan(tagging, &tagged)
    }

    /// The slices of partitions, and of those of file groups that the index has named.
    fn view_of<'a>(
        &self,
        partitions: &BTreeSet<String>,
        groups: impl Iterator<Item = &'a String>,
    ) -> Result<Arc<WriteView>> {
        let mut partitions = partitions.clone();
        partitions.extend(groups.cloned());
        self.index.view(&self.table, Some(&partitions))
    }

    fn move_plan(&mut self, mut tagging: Tagging, tagged: &[TaggedReport]) -> Result<NextStep> {
        let wanted: BTreeSet<&(String, String)> = tagged.iter().flat_map(|report| &report.wanted).collect();
        let view = match tagging.view.take() {
            Some(view) => view,
            None => self.view_of(&tagging.partitions, tagged.iter().flat_map(|report| &report.partitions))?,
        };
        let is_wanted = |partition: &str, file_id: &str| wanted.contains(&(partition.to_owned(), file_id.to_owned()));
        let slices = view.slices.iter().filter(|slice| is_wanted(&slice.partition, &slice.file_id));
        let slices: Vec<_> = slices.cloned().collect();
        if slices.len() != wanted.len() {
            return Err(Error::invalid_table(format!(
                "the index has keys in {} file groups that are not live: it is damaged; build the metadata table again (mortice metadata build --rebuild, Table.build_metadata(rebuild=True))",
                wanted.len() - slices.len()
            ))
            .in_file(self.target.uri()));
        }
        let mut sent = RowSum::default();
        tagged.iter().for_each(|report| sent.add(report.sent));
        let (state, slots) = (self.state(PinnedTable::new(&self.table)), Slots { count: tagging.slots });
        let plan = MovePlan {
            partitions: tagging.slots,
            read_rows: state.to_bytes(StageSpec::ReadRows(ReadRowsSpec { slots: slots.clone(), slices }))?,
            merge: state.to_bytes(StageSpec::Move(slots))?,
        };
        self.phase = Phase::Tagging(Tagging { rows: sent, view: Some(view), is_moving: true, ..tagging });
        Ok(NextStep::Move(plan))
    }

    /// Assigns placed rows to tasks, and announces what they are about to do.
    fn assign(&mut self, placed: &[PlacedReport], taken: RowSum, view: &WriteView) -> Result<NextStep> {
        check_complete(placed.iter().map(|report| report.taken), taken)?;
        let options = self.target.settings().assign.of_index(self.index.as_ref())?;
        let assigned = assign_reports(&self.table, &options, self.operation, self.parallelism, view, placed)?;
        let transaction = self.transaction.as_mut().ok_or_else(|| Error::internal("a write that has not begun"))?;
        transaction.inflight(&assigned.profile(self.operation))?;
        if assigned.is_empty() {
            self.phase = Phase::Writing(assigned);
            return Ok(NextStep::Commit);
        }
        mark_of(transaction).open()?;
        let state = self.state(PinnedTable::new(&self.table));
        let plan = WritePlan {
            partitions: assigned.partitions(),
            route: state.to_bytes(StageSpec::Route(assigned.route_spec()))?,
            write: state.to_bytes(StageSpec::Write(assigned.write_spec(&self.table.config)))?,
        };
        self.phase = Phase::Writing(assigned);
        Ok(NextStep::Write(plan))
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

fn without_files(slice: mortice_table::file_group::FileSlice) -> mortice_table::file_group::FileSlice {
    mortice_table::file_group::FileSlice { base_file: None, log_files: Vec::new(), ..slice }
}

fn partitions_of(placed: &[PlacedReport]) -> impl Iterator<Item = &String> {
    placed.iter().flat_map(|report| &report.groups).map(|group| &group.partition)
}

/// Makes sure that all rows have come to the tasks of a stage, once.
fn check_complete(taken: impl Iterator<Item = RowSum>, expected: RowSum) -> Result<()> {
    let mut sum = RowSum::default();
    taken.for_each(|rows| sum.add(rows));
    if sum == expected {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "{} rows were prepared, and {} others came to the tasks: the data frame has other rows whenever they are computed; write it to \
         files, or checkpoint it, and write those rows",
        expected.rows, sum.rows
    )))
}
