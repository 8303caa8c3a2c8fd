//! `Table`: the entry point to one table.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use mortice::names::RequestedTime;
use mortice::progress::Progress;
use mortice::timeline::Instant as CoreInstant;
use mortice::writable_table::TableLocation;
use mortice::{
    CommitBounds, FullScanFallback, HollowCommitPolicy, IncrementalRange, LogScan, MergeSemantics, OnCorrupt, OnDamage,
    QueryKind, QueryOptions, ReadOptions, RequestCounts, SkippedWrites, SnapshotRows, StartPosition,
    Table as CoreTable,
};
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::arrow::ArrowSchema;
use crate::errors::{raised, released};
use crate::file_slice::FileSlice;
use crate::filter::{FilterArgument, filter};
use crate::follower::Follower;
use crate::instants::Instant;
use crate::merger::handle;
use crate::scan::{QueryPlan, incremental_rows};

/// One table, in the state in which it was opened, or that its last change or `refresh` has left.
///
/// Queries are here; writes and table services are methods, too, each in the file of its name.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Table {
    opened: RwLock<Arc<CoreTable>>,
    /// Whether a change has completed after which the table could not be opened.
    is_behind: AtomicBool,
    /// How much of the service is done that runs on the table.
    progress: Progress,
}

impl Table {
    pub(crate) fn from_core(table: CoreTable) -> Self {
        Self::at(Arc::new(table))
    }

    fn at(table: Arc<CoreTable>) -> Self {
        Self { opened: RwLock::new(table), is_behind: AtomicBool::new(false), progress: Progress::default() }
    }

    /// The table as it was opened last.
    pub(crate) fn core(&self) -> Arc<CoreTable> {
        Arc::clone(&self.opened.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The table after its last change.
    pub(crate) fn seen(&self, py: Python<'_>) -> PyResult<Arc<CoreTable>> {
        if self.is_behind.load(Ordering::Acquire) {
            released(py, || self.open_again())?;
        }
        Ok(self.core())
    }

    fn open_again(&self) -> mortice::Result<()> {
        let last = self.core();
        let last = last.opened();
        self.show(CoreTable::open(&last.uri, &last.storage_options, last.options.clone())?);
        Ok(())
    }

    fn show(&self, table: CoreTable) {
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        self.is_behind.store(false, Ordering::Release);
    }

    /// Runs a function of the core that changes nothing, without the GIL.
    pub(crate) fn planned<T: Send>(
        &self,
        py: Python<'_>,
        plan: impl FnOnce(&TableLocation) -> mortice::Result<T> + Send,
    ) -> PyResult<T> {
        released(py, || plan(&self.location()))
    }

    /// Runs a function of the core that changes the table, without the GIL, and shows the table after it: as the change
    /// has left it, or opened again.
    ///
    /// An error of opening is not one of the change, which has completed: who uses the table next opens it again.
    pub(crate) fn changed<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&TableLocation) -> mortice::Result<T> + Send,
    ) -> PyResult<T> {
        released(py, || {
            let before = self.core();
            let location = self.location().with_seen_table(Arc::clone(before.opened()));
            let done = change(&location)?;
            let left = location.left_table().map(|table| table.with_read_options(before.opened().options.clone()));
            match left {
                Some(Ok(table)) => self.show(table.into()),
                Some(Err(_)) | None => self.is_behind.store(self.open_again().is_err(), Ordering::Release),
            }
            Ok(done)
        })
    }

    fn location(&self) -> TableLocation {
        let last = self.core();
        TableLocation::new(last.uri(), &last.opened().storage_options).with_progress(self.progress.clone())
    }
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (uri, storage_options, *, mmap, semantics, on_corrupt, on_damage, batch_rows, optimized_log_scan, threads, prune, use_metadata, use_column_stats, use_record_index, record_positions, memory_limit, spill_dir, spill_compressed))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        uri: String,
        storage_options: StorageArgument,
        mmap: bool,
        semantics: &str,
        on_corrupt: &str,
        on_damage: Option<&str>,
        batch_rows: usize,
        optimized_log_scan: bool,
        threads: Option<usize>,
        prune: bool,
        use_metadata: bool,
        use_column_stats: bool,
        use_record_index: bool,
        record_positions: bool,
        memory_limit: Option<u64>,
        spill_dir: Option<String>,
        spill_compressed: bool,
    ) -> PyResult<Self> {
        let options = (|| {
            let log_scan = if optimized_log_scan { LogScan::ByInstant } else { LogScan::ByBlock };
            let (semantics, on_corrupt) = (MergeSemantics::parse(semantics)?, OnCorrupt::parse(on_corrupt)?);
            let on_damage = on_damage.map(OnDamage::parse).transpose()?.unwrap_or_default();
            let memory_limit = memory_limit.unwrap_or(ReadOptions::default().memory_limit);
            ReadOptions {
                semantics,
                on_corrupt,
                on_damage,
                batch_rows,
                log_scan,
                threads,
                prune,
                metadata: use_metadata,
                column_stats: use_column_stats,
                record_index: use_record_index,
                record_positions,
                memory_limit,
                spill_dir,
                spill_compressed,
                mmap,
            }
            .checked()
        })()
        .map_err(|error| raised(py, &error))?;
        released(py, || {
            // Splits contain the storage options: settings of other stores and buckets are removed.
            let storage_options = mortice::storage::needed_options(&uri, &storage_options)?;
            CoreTable::open(&uri, &storage_options, options)
        })
        .map(Self::from_core)
    }

    /// Opens the table again.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        released(py, || self.open_again())
    }

    /// A table that stays in the state that this one has now.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        self.seen(py).map(Self::at)
    }

    /// How much of the service that runs on the table, or ran last, is done, and of how much.
    fn service_progress(&self) -> (u64, u64) {
        self.progress.current()
    }

    #[getter]
    fn uri(&self) -> String {
        self.core().uri().to_owned()
    }

    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<u8> {
        Ok(self.seen(py)?.config().version.number())
    }

    #[getter]
    fn has_meta_columns(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.seen(py)?.config().populate_meta_fields)
    }

    #[getter]
    fn has_change_data(&self) -> bool {
        self.core().config().cdc.is_some()
    }

    #[getter]
    fn merge_mode(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.seen(py)?.merge().mode.name().to_owned())
    }

    #[getter]
    fn custom_merge(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.seen(py)?.merge().custom().map(str::to_owned))
    }

    #[getter]
    fn record_key_fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.seen(py)?.config().record_key_fields.clone())
    }

    #[getter]
    fn partition_fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.seen(py)?.config().partition_fields.clone())
    }

    #[getter]
    fn ordering_fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.seen(py)?.config().ordering_fields.clone())
    }

    #[getter]
    fn properties(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        Ok(self.seen(py)?.config().properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn schema(&self, py: Python<'_>) -> PyResult<ArrowSchema> {
        let table = self.seen(py)?;
        released(py, || table.schema()).map(ArrowSchema)
    }

    fn avro_schema(&self, py: Python<'_>) -> PyResult<String> {
        let table = self.seen(py)?;
        released(py, || table.avro_schema())
    }

    #[pyo3(signature = (as_of=None))]
    fn has_column_ids(&self, py: Python<'_>, as_of: Option<String>) -> PyResult<bool> {
        let table = self.seen(py)?;
        released(py, || table.has_column_ids(as_of.as_deref()))
    }

    #[getter]
    fn semantics(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.seen(py)?.semantics().name())
    }

    fn timeline(&self, py: Python<'_>) -> PyResult<Vec<Instant>> {
        Ok(self.seen(py)?.timeline().instants().iter().map(Instant::from).collect())
    }

    fn archived(&self, py: Python<'_>) -> PyResult<Vec<Instant>> {
        let table = self.seen(py)?;
        released(py, || table.timeline().archived().map(|instants| instants.iter().map(Instant::from).collect()))
    }

    fn metadata(
        &self,
        py: Python<'_>,
        requested_time: &str,
        action: &str,
        state: &str,
        plan: bool,
    ) -> PyResult<Option<String>> {
        let table = self.seen(py)?;
        let is_it = |one: &&CoreInstant| {
            one.requested_time == *requested_time && one.action.name() == action && one.state.name() == state
        };
        released(py, || {
            let timeline = table.timeline();
            let at = RequestedTime::parse(requested_time);
            let active = at.iter().flat_map(|at| timeline.instants_at(at)).find(is_it);
            let instant = match active {
                Some(instant) => Some(instant),
                None => timeline.archived()?.iter().find(is_it),
            };
            let Some(instant) = instant else {
                let message = format!("no {action} of {requested_time} in state {state} is on the table's timeline");
                return Err(mortice::Error::invalid_argument(message));
            };
            let json = if plan { timeline.plan(instant)? } else { timeline.metadata(instant)? };
            Ok(json.map(|json| json.to_string()))
        })
    }

    /// What the instants of the active timeline are, in its order; of pending ones the action.
    fn instant_kinds(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let table = self.seen(py)?;
        let (timeline, table_type) = (table.timeline(), table.config().table_type);
        let kind = |instant: &CoreInstant| match instant.is_completed() {
            true => timeline.kind_of(instant, table_type),
            false => Ok(instant.action.name()),
        };
        released(py, || timeline.instants().iter().map(kind).collect())
    }

    fn follow(&self, py: Python<'_>, start: String) -> PyResult<Follower> {
        let start = match start.to_ascii_lowercase().as_str() {
            "earliest" => StartPosition::Earliest,
            "latest" => StartPosition::Latest,
            _ => StartPosition::After(start),
        };
        let table = self.seen(py)?;
        released(py, || table.follow(&start)).map(Follower::new)
    }

    fn position_here(&self, py: Python<'_>, position: &str, layout: u8) -> PyResult<Option<String>> {
        let table = self.seen(py)?;
        let here = || {
            let position =
                mortice::timeline::ReadPosition::from_query("position", position, mortice::names::TimelineZone::Utc)?;
            table.position_here(&position, layout).map(|here| here.map(String::from))
        };
        released(py, here)
    }

    #[pyo3(signature = (as_of=None, filters=None))]
    fn file_slices(
        &self,
        py: Python<'_>,
        as_of: Option<String>,
        filters: FilterArgument<'_>,
    ) -> PyResult<Vec<FileSlice>> {
        let filter = filter(filters);
        let table = self.seen(py)?;
        let slices = released(py, || table.file_slices(as_of.as_deref(), &filter))?;
        Ok(slices.iter().map(FileSlice::from).collect())
    }

    #[pyo3(signature = (columns, filters, as_of, merge, emit_deletes, merger=None))]
    #[allow(clippy::too_many_arguments)]
    fn snapshot(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filters: FilterArgument<'_>,
        as_of: Option<String>,
        merge: bool,
        emit_deletes: bool,
        merger: Option<Py<PyAny>>,
    ) -> PyResult<QueryPlan> {
        let merger = handle(merger);
        let rows = match (merge, emit_deletes) {
            (true, false) => SnapshotRows::Merged,
            (true, true) => SnapshotRows::MergedWithDeletes,
            (false, false) => SnapshotRows::Unmerged,
            (false, true) => {
                let message = "emit_deletes with merge=False: merging finds the deleted keys; leave one of the two out";
                return Err(raised(py, &mortice::Error::invalid_argument(message)));
            }
        };
        let kind = match as_of {
            Some(as_of) => QueryKind::TimeTravel { as_of, rows },
            None => QueryKind::Snapshot(rows),
        };
        self.query(py, kind, QueryOptions { columns, filter: filter(filters), merger })
    }

    fn read_optimized(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filters: FilterArgument<'_>,
        as_of: Option<String>,
    ) -> PyResult<QueryPlan> {
        let options = QueryOptions { columns, filter: filter(filters), merger: None };
        self.query(py, QueryKind::ReadOptimized { as_of }, options)
    }

    #[pyo3(signature = (columns, filters, begin, end, merger, *, holes, skip_compact, skip_cluster, skip_log_compact, fall_back_to_full_scan, schema_at_end, changelog, emit_deletes))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn incremental(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filters: FilterArgument<'_>,
        begin: String,
        end: Option<String>,
        merger: Option<Py<PyAny>>,
        holes: &str,
        skip_compact: bool,
        skip_cluster: bool,
        skip_log_compact: bool,
        fall_back_to_full_scan: Option<bool>,
        schema_at_end: bool,
        changelog: bool,
        emit_deletes: bool,
    ) -> PyResult<QueryPlan> {
        let options = QueryOptions { columns, filter: filter(filters), merger: handle(merger) };
        let skip =
            SkippedWrites { compaction: skip_compact, clustering: skip_cluster, log_compaction: skip_log_compact };
        let holes = HollowCommitPolicy::parse(holes).map_err(|error| raised(py, &error))?;
        let full_scan = match fall_back_to_full_scan {
            None => FullScanFallback::ByTableVersion,
            Some(true) => FullScanFallback::Enabled,
            Some(false) => FullScanFallback::Disabled,
        };
        let bounds = CommitBounds { begin, end, holes };
        let rows = incremental_rows(changelog, emit_deletes);
        let range = IncrementalRange { bounds, skip, full_scan, schema_at_end, rows };
        self.query(py, QueryKind::Incremental(range), options)
    }

    #[pyo3(signature = (columns, filters, begin, end, merger, *, holes))]
    #[allow(clippy::too_many_arguments)]
    fn changes(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filters: FilterArgument<'_>,
        begin: String,
        end: Option<String>,
        merger: Option<Py<PyAny>>,
        holes: &str,
    ) -> PyResult<QueryPlan> {
        let options = QueryOptions { columns, filter: filter(filters), merger: handle(merger) };
        let holes = HollowCommitPolicy::parse(holes).map_err(|error| raised(py, &error))?;
        self.query(py, QueryKind::Changes(CommitBounds { begin, end, holes }), options)
    }

    /// Returns the storage requests so far: listings, files opened, ranges read.
    fn storage_requests(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let RequestCounts { list, open, read } = self.seen(py)?.requests();
        Ok((list, open, read))
    }
}

impl Table {
    fn query(&self, py: Python<'_>, kind: QueryKind, options: QueryOptions) -> PyResult<QueryPlan> {
        Ok(QueryPlan(self.seen(py)?.query(kind, options)))
    }
}
