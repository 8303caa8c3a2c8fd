//! Plans clustering, and executes plans (`HoodieClusteringJob`, `BaseHoodieTableServiceClient.cluster`).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::row_order::{RowLayout, check_columns};
use super::run::{ClusteringRun, replaced_groups};
use crate::avro::{self, ArrowMapping};
use crate::client::schema::WriteSchema;
use crate::client::write::{WriteResult, check_supported, user_metadata};
use crate::client::{CommitExtra, RefusedRows, Transaction};
use crate::commit::{Clock, TimelineWriter, WriteOperation};
use crate::config::{ReadOptions, WriteOptions};
use crate::error::{Error, Result};
use crate::file_group::FileSlice;
use crate::names::RequestedTime;
use crate::plan::OpenTable;
use crate::services::{ClusteringOptions, PlannedClustering, plan_clustering, planned_clustering};
use crate::storage::{StorageOptions, open_file_store};
use crate::timeline::metadata::{HoodieRequestedReplaceMetadata, TimelineMetadata};
use crate::write::{BaseFileOptions, WriteStatus};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusteringSteps {
    /// Whether a clustering is planned.
    pub schedule: bool,
    /// Whether plans are executed, those that were pending before as well.
    pub run: bool,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct ClusterResult {
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
pub fn cluster(
    uri: &str,
    storage: &StorageOptions,
    options: &BTreeMap<String, String>,
    steps: ClusteringSteps,
) -> Result<ClusterResult> {
    let table = OpenTable::open(uri, storage, ReadOptions::default())?;
    let parsed = checked_options(&table, options)?;
    let mut result = ClusterResult { warnings: parsed.warnings().to_vec(), ..ClusterResult::default() };
    if steps.schedule {
        result.scheduled = schedule(uri, storage, parsed.values())?;
    }
    if steps.run {
        result.commits = execute_pending(uri, storage, options)?;
    }
    Ok(result)
}

/// Executes all plans that are pending, in the order of their times.
///
/// # Errors
/// As for [`cluster`].
pub(super) fn execute_pending(
    uri: &str,
    storage: &StorageOptions,
    options: &BTreeMap<String, String>,
) -> Result<Vec<WriteResult>> {
    let table = OpenTable::open(uri, storage, ReadOptions::default())?;
    let parsed = checked_options(&table, options)?;
    let pending = table.timeline.pending_clustering()?.into_iter();
    pending.map(|instant| execute(uri, storage, (parsed.values(), options), &instant.requested_time)).collect()
}

/// The plan that [`cluster`] would make now. Nothing is changed.
///
/// # Errors
/// As for [`cluster`].
pub fn clustering_preview(
    uri: &str,
    storage: &StorageOptions,
    options: &BTreeMap<String, String>,
) -> Result<Option<PlannedClustering>> {
    let table = OpenTable::open(uri, storage, ReadOptions::default())?;
    let parsed = checked_options(&table, options)?;
    let live = table.write_view(None)?.slices;
    let Some(plan) = plan_of_table(&table, live.clone(), uri, storage, parsed.values())? else { return Ok(None) };
    planned_clustering(&plan.to_avro()?, &live, &"0".parse()?).map(Some)
}

fn checked_options(table: &OpenTable, options: &BTreeMap<String, String>) -> Result<WriteOptions> {
    check_supported(&table.config).map_err(|error| error.in_file(&table.uri))?;
    if table.config.properties.get("hoodie.index.type").is_some_and(|index| index.eq_ignore_ascii_case("BUCKET")) {
        return Err(Error::unsupported("clustering of a table with a bucket index").in_file(&table.uri));
    }
    let parsed = WriteOptions::parse(options, "cluster", &table.config)?;
    let columns = ClusteringOptions::from_options(parsed.values())?.sort_columns();
    if !columns.is_empty() && table.timeline.completed_writes().next().is_some() {
        check_columns(&columns, &avro::arrow_schema(&WriteSchema::of_table(table)?.stored, ArrowMapping::Table)?)?;
    }
    RowLayout::from_options(parsed.values())?;
    Ok(parsed)
}

/// Plans a clustering: its requested instant is on the timeline then.
pub(super) fn schedule(
    uri: &str,
    storage: &StorageOptions,
    options: &BTreeMap<String, String>,
) -> Result<Option<RequestedTime>> {
    let make_plan = |table: &OpenTable| {
        let live = table.write_view(None)?.slices;
        let plan = plan_of_table(table, live, uri, storage, options)?;
        plan.map(|plan| plan.to_avro().map(Bytes::from)).transpose()
    };
    Transaction::schedule(uri, storage, options, WriteOperation::Cluster, &make_plan)
}

fn plan_of_table(
    table: &OpenTable,
    live: Vec<FileSlice>,
    uri: &str,
    storage: &StorageOptions,
    options: &BTreeMap<String, String>,
) -> Result<Option<HoodieRequestedReplaceMetadata>> {
    let store = open_file_store(uri, storage)?;
    let now = Clock::new(&table.config).requested_time(&[])?;
    let hour = now.as_str().get(8..10).and_then(|hour| hour.parse().ok()).unwrap_or_default();
    plan_clustering(store.as_ref(), &table.timeline, live, &ClusteringOptions::from_options(options)?, hour)
}

/// Executes a pending plan.
fn execute(
    uri: &str,
    storage: &StorageOptions,
    (options, given): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    instant: &RequestedTime,
) -> Result<WriteResult> {
    let transaction = Transaction::execute(uri, storage, options, WriteOperation::Cluster, instant)?;
    let (statuses, extra) = match write_groups(&transaction, options) {
        Ok((statuses, extra)) => (statuses, CommitExtra { user_metadata: user_metadata(given), ..extra }),
        Err(error) => {
            transaction.abort_execution(&error)?;
            return Err(error);
        }
    };
    let committed = transaction.commit(statuses, &extra)?;
    Ok(WriteResult { committed, refused: RefusedRows::default(), warnings: Vec::new() })
}

fn write_groups(
    transaction: &Transaction,
    options: &BTreeMap<String, String>,
) -> Result<(Vec<WriteStatus>, CommitExtra)> {
    let (table, instant) = (transaction.table(), transaction.instant());
    let plan = TimelineWriter::new(transaction.store().clone(), &table.config)
        .read_requested(instant, WriteOperation::Cluster.action(&table.config))?;
    let plan = plan.ok_or_else(|| Error::invalid_table("a pending clustering has no plan").at_instant(instant))?;
    let live = table.write_view(None)?.slices;
    let plan = planned_clustering(&plan, &live, instant)?;
    let schema = WriteSchema::of_table(table)?;
    let mut of_files = options.clone();
    let target = ClusteringOptions::from_options(options)?.target_file_bytes;
    of_files.insert("hoodie.parquet.max.file.size".to_owned(), target.to_string());
    let base = BaseFileOptions::from_hudi_options(&of_files)?;
    let layout = RowLayout::from_options(options)?;
    let run = ClusteringRun { store: transaction.store(), table, schema: &schema, instant, base, layout };
    let statuses = run.write_groups(&plan)?;
    let schema = schema.columns.json().to_owned();
    Ok((statuses, CommitExtra { schema, replaced: replaced_groups(&plan), ..CommitExtra::default() }))
}
