//! Plans clustering, and executes plans (`HoodieClusteringJob`, `BaseHoodieTableServiceClient.cluster`).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;

use super::rings::{buckets_of_plan, ring_layout, store_rings};
use super::row_order::RowOrder;
use super::run::ClusteringRun;
use crate::clustering::planning::{
    ClusteringOptions, PlannedClustering, RingBounds, RingPlan, clustering_plan, planned_clustering,
};
use crate::compaction::check_merge;
use crate::open::open_for_service;
use crate::request::ServiceRequest;
use crate::transaction::{self, CommitExtra, Committed, ExecutePlan, Transaction, WriteResult, begin_service};
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{Clock, TimelineWriter};
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_table::read::LogCheck;
use mortice_table::timeline::WriteOperation;
use mortice_table::timeline::metadata::{HoodieRequestedReplaceMetadata, TimelineMetadata};
use mortice_write::index::{choose_index, has_consistent_hashing};
use mortice_write::rows::WriteSchema;
use mortice_write::write::WriteStatus;

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct ClusteringResult {
    /// The requested time of the new plan; none if there was nothing to plan.
    pub scheduled: Option<RequestedTime>,
    /// The commits of the plans that were executed.
    pub commits: Vec<WriteResult>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// Plans a clustering of a table, and executes all plans that are pending.
///
/// # Errors
/// `Unsupported` and `InvalidArgument` for tables and options that are not supported; as for [`Transaction::begin`] and
/// [`Transaction::commit`]. A plan whose execution fails stays pending.
pub fn run_clustering(
    location: &TableLocation,
    request: ServiceRequest,
    options: &BTreeMap<String, String>,
) -> Result<ClusteringResult> {
    let target = open_table(location, options)?;
    let mut result = ClusteringResult::default();
    if request.schedule {
        result.scheduled = schedule(&target)?;
    }
    if request.run {
        result.commits = execute_pending(&target, &execute_plan)?.into_iter().map(WriteResult::new).collect();
    }
    target.leave();
    result.warnings = target.warnings();
    Ok(result)
}

/// What [`run_clustering`] would do now: the plans that it would execute, with their requested times, and the one that
/// it would make, which has none yet. Nothing is changed.
///
/// # Errors
/// As for [`run_clustering`].
pub fn plan_clustering(
    location: &TableLocation,
    request: ServiceRequest,
    options: &BTreeMap<String, String>,
) -> Result<Vec<(Option<RequestedTime>, PlannedClustering)>> {
    plans_of(&*open_table(location, options)?, request)
}

/// The same, of an opened table.
pub(crate) fn plans_of(
    target: &WritableTable,
    request: ServiceRequest,
) -> Result<Vec<(Option<RequestedTime>, PlannedClustering)>> {
    let table = target.latest();
    if request.schedule {
        check_not_bucketed(target, &table)?;
    }
    let live = table.write_view(None)?.slices;
    let mut previews = Vec::new();
    if request.run {
        let writer = target.timeline_writer(&table);
        for instant in pending(target)? {
            let plan = pending_plan(&writer, &table, &live, &instant)?;
            previews.push((Some(instant), plan));
        }
    }
    if request.schedule {
        let instant = Clock::new(&table.config, target.time()).requested_time(&[&table.timeline])?;
        if let Some(plan) = plan_of_table(target, &table, live.clone(), &instant)? {
            previews.push((None, planned_clustering(&plan.to_avro()?, &live, &instant)?));
        }
    }
    Ok(previews)
}

/// The clustering that is pending in the table as it was last seen, oldest first.
///
/// # Errors
/// Those of reading the timeline.
pub fn pending(target: &WritableTable) -> Result<Vec<RequestedTime>> {
    let table = target.latest();
    Ok(table.timeline.pending_clustering()?.into_iter().map(|instant| instant.requested_time.clone()).collect())
}

fn pending_plan(
    writer: &TimelineWriter,
    table: &OpenTable,
    live: &[FileSlice],
    instant: &RequestedTime,
) -> Result<PlannedClustering> {
    let plan = writer.read_requested(instant, WriteOperation::Cluster.action(&table.config))?;
    let plan = plan.ok_or_else(|| Error::invalid_table("a pending clustering has no plan").at_instant(instant))?;
    planned_clustering(&plan, live, instant)
}

/// Opens a table that is to be clustered, and checks the options.
///
/// # Errors
/// As for [`open_for_service`] and [`check_order`].
pub fn open_table(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<Arc<WritableTable>> {
    let target = open_for_service(location, options, "cluster")?;
    check_order(&target)?;
    Ok(Arc::new(target))
}

/// Makes sure that rows of the table can be sorted as options say: a plan that cannot be executed would stay, and keep
/// writes from its file groups.
pub(crate) fn check_order(target: &WritableTable) -> Result<()> {
    let (table, options) = (target.latest(), ClusteringOptions::resolve(target.options())?);
    let columns = options.sort_columns();
    if columns.is_empty() || table.timeline.completed_writes().next().is_none() {
        return Ok(());
    }
    let schema = avro::arrow_schema(&WriteSchema::of_table(&table)?.stored, ArrowMapping::Table)?;
    let rows = RecordBatch::new_empty(Arc::new(schema));
    let sample = |_: &[String]| Ok(std::iter::once(Ok(rows.clone())));
    let order = RowOrder::by_columns(&columns, options.layout, &rows.schema(), sample);
    order.and_then(|order| order.map_or(Ok(()), |order| order.keys(&rows).map(drop))).map_err(|error| {
        Error::invalid_argument(format!("clustering cannot sort by {}: {}", columns.join(","), error.text()))
    })
}

/// Rows of a bucket belong to its file group: there is nothing to rewrite but the ranges of consistent hashing.
fn check_not_bucketed(target: &WritableTable, table: &OpenTable) -> Result<()> {
    if has_consistent_hashing(table)? {
        return Ok(());
    }
    let index = choose_index(&table.config, &target.settings().index)?;
    if index.buckets().is_some() {
        return Err(Error::unsupported("clustering of a table with a bucket index").in_file(&table.uri));
    }
    index.check_inserts(table)
}

/// Plans a clustering, and returns its requested time; none if there is nothing to do.
///
/// # Errors
/// As for [`run_clustering`].
pub fn schedule(target: &WritableTable) -> Result<Option<RequestedTime>> {
    let table = target.latest();
    check_not_bucketed(target, &table)?;
    check_order(target)?;
    let make_plan = |table: &OpenTable, instant: &RequestedTime| {
        let live = table.write_view(None)?.slices;
        let plan = plan_of_table(target, table, live, instant)?;
        plan.map(|plan| plan.to_avro().map(Bytes::from)).transpose()
    };
    transaction::schedule(target, WriteOperation::Cluster.action(&table.config), &make_plan)
}

fn plan_of_table(
    target: &WritableTable,
    table: &OpenTable,
    live: Vec<FileSlice>,
    instant: &RequestedTime,
) -> Result<Option<HoodieRequestedReplaceMetadata>> {
    if live.iter().any(|slice| !slice.log_files.is_empty()) {
        check_merge(table)?;
    }
    let hour = instant.as_str().get(8..10).and_then(|hour| hour.parse().ok());
    let hour = hour.ok_or_else(|| Error::internal("an instant without an hour").at_instant(instant))?;
    let options = ClusteringOptions::resolve(target.options())?;
    let has_rings = has_consistent_hashing(table)?;
    let (store, options) = (target.store().as_ref(), options.of_table(has_rings)?);
    let plan = if has_rings {
        let layout = ring_layout(table, &target.settings().index)?;
        let bounds = RingBounds::resolve(target.options())?;
        let planner =
            RingPlan { store, timeline: &table.timeline, layout: &layout, options: &options, bounds: &bounds };
        planner.make(live.clone(), hour)?
    } else {
        clustering_plan(store, &table.timeline, live.clone(), &options, hour)?
    };
    if let Some(plan) = plan.as_ref().filter(|_| table.checks_logs()) {
        let planned = planned_clustering(&plan.to_avro()?, &live, instant)?;
        planned.groups.iter().try_for_each(|group| table.check_logs(&group.slices, LogCheck::Blocks))?;
    }
    Ok(plan)
}

/// Executes all plans that are pending, in the order of their times, but for those that others execute.
pub(super) fn execute_pending(target: &Arc<WritableTable>, execute: ExecutePlan<'_>) -> Result<Vec<Committed>> {
    let mut done = Vec::new();
    for instant in pending(target)? {
        if let Some(transaction) = begin_service(target, WriteOperation::Cluster, &instant)? {
            done.push(execute(transaction)?);
        }
    }
    Ok(done)
}

/// Executes a plan that has begun in this process: writes its files and completes it.
pub(crate) fn execute_plan(transaction: Transaction) -> Result<Committed> {
    let written = write_groups(&transaction);
    let (transaction, (statuses, extra)) = transaction.or_abort(written)?;
    transaction.commit(statuses, &extra)
}

fn write_groups(transaction: &Transaction) -> Result<(Vec<WriteStatus>, CommitExtra)> {
    let (table, instant) = (transaction.table(), transaction.instant());
    let target = transaction.target();
    let plan = plan_of(transaction)?;
    let schema = WriteSchema::of_table(table)?;
    let run = ClusteringRun::new(
        transaction.store(),
        table,
        &schema,
        instant,
        &ClusteringOptions::resolve(target.options())?,
        &target.settings().base_files,
    )
    .with_buckets(buckets_of_plan(table, &plan, &target.settings().index)?);
    let statuses = run.write_groups(&plan, target.progress())?;
    store_rings(transaction, &plan)?;
    let schema = schema.columns.json().to_owned();
    Ok((statuses, CommitExtra { schema, replaced: plan.replaced_groups(), ..CommitExtra::default() }))
}

/// The plan of a clustering that has begun.
///
/// # Errors
/// Those of reading it; as for [`planned_clustering`].
pub fn plan_of(transaction: &Transaction) -> Result<PlannedClustering> {
    let table = transaction.table();
    let writer = TimelineWriter::new(transaction.store().clone(), &table.config);
    pending_plan(&writer, table, &table.write_view(None)?.slices, transaction.instant())
}
