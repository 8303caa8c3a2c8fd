//! Upgrades and downgrades that a user asks for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::layout_change::LayoutChange;
use super::property_changes::changed_properties;
use super::request::{UpgradeRequest, UpgradeResult};
use super::settle::{Readiness, compacts, failed_before_6, logs_are_left, planned_compactions, settle};
use super::switch::{check_files, clear, properties_after, switch};
use super::version_path::VersionStep;
use crate::recovery::{check_no_restore, failed_writes};
use crate::transaction::change_metadata;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::commit::{check_version, read_to_replace};
use mortice_commit::writable_table::{TableLocation, WritableTable, read_options};
use mortice_formats::filter::Filter;
use mortice_merge::config::option_names::METADATA_ENABLE;
use mortice_merge::config::{ReadOptions, TableConfig, table_properties};
use mortice_storage::FileStore;
use mortice_table::plan::OpenTable;

/// How often logs are compacted that others have written meanwhile.
const ATTEMPTS: usize = 5;
const METADATA_PROPERTIES: &str = ".hoodie/metadata/.hoodie/hoodie.properties";
/// Properties that name the partitions of a metadata table, or of one that is to be built again.
const METADATA_PARTITIONS: [&str; 3] = [
    "hoodie.table.metadata.partitions",
    "hoodie.table.metadata.partitions.inflight",
    "mortice.metadata.partitions.to.rebuild",
];

/// Brings a table to another version, as Hudi does: rolls failed writes back, compacts all logs, converts the timeline
/// and the archive if the version has another layout, changes the properties, and builds the metadata table again. A
/// table that has the version gets what a call that was stopped has not done.
///
/// # Errors
/// `InvalidArgument` for a version on the other side; `Unsupported` and `InvalidTable`, by name, for what a version
/// does not have; `WriteConflict` while another writer is writing; those of services and of the storage. The table is
/// of the old version then, or, if the properties were replaced before, of the new one. It can be run again.
pub fn run_upgrade(
    location: &TableLocation,
    request: &UpgradeRequest,
    options: &BTreeMap<String, String>,
) -> Result<UpgradeResult> {
    let options = &with_metadata_choice(location, options)?;
    let planned = plan_upgrade(location, request, options)?;
    if planned.from >= 6 || planned.to == 6 {
        return run_steps(location, request, options, planned);
    }
    // Services change no table below version 6.
    let to_6 = UpgradeRequest { to: 6, ..*request };
    let first = run_steps(location, &to_6, options, plan_upgrade(location, &to_6, options)?)?;
    let second = run_steps(location, request, options, plan_upgrade(location, request, options)?)?;
    Ok(UpgradeResult { from: planned.from, properties: planned.properties, rolled_back: first.rolled_back, ..second })
}

/// Does what is planned.
fn run_steps(
    location: &TableLocation,
    request: &UpgradeRequest,
    options: &BTreeMap<String, String>,
    mut done: UpgradeResult,
) -> Result<UpgradeResult> {
    done.compactions.clear();
    let steps = VersionStep::path(done.from, done.to)?;
    let given = table_properties(options)?;
    if !steps.is_empty() {
        let target = open_table(location, request, options)?;
        if target.latest().config.version.number() != done.from {
            let message = "another process has changed the version of the table meanwhile; run it again";
            return Err(Error::new(ErrorKind::WriteConflict, message).in_file(location.uri()));
        }
        let mut readiness = Readiness::Logs;
        for _ in 0..ATTEMPTS {
            if !steps.contains(&VersionStep::UpTo6) {
                done.compactions.extend(settle(location, &target, &steps, options)?);
            }
            let switched = target.locked(|table, _| switch(&target, &table, &steps, done.to, &given));
            readiness = switched.map_err(|error| error.in_file(location.uri()))?;
            if readiness == Readiness::Ready {
                break;
            }
        }
        if readiness != Readiness::Ready {
            return Err(logs_are_left(&target.latest()).in_file(location.uri()));
        }
    }
    let target = open_table(location, request, options)?;
    target.locked(|table, _| {
        target.mark_changed();
        clear(&target, &table)
    })?;
    change_metadata(&target, false)?;
    Ok(done)
}

/// What [`run_upgrade`] would do. Nothing is changed.
///
/// # Errors
/// As for [`run_upgrade`].
pub fn plan_upgrade(
    location: &TableLocation,
    request: &UpgradeRequest,
    options: &BTreeMap<String, String>,
) -> Result<UpgradeResult> {
    let options = &with_metadata_choice(location, options)?;
    let target = open_table(location, request, options)?;
    let table = target.latest();
    planned(location, &target, &table, request, options).map_err(|error| error.in_file(location.uri()))
}

fn planned(
    location: &TableLocation,
    target: &WritableTable,
    table: &OpenTable,
    request: &UpgradeRequest,
    options: &BTreeMap<String, String>,
) -> Result<UpgradeResult> {
    let from = table.config.version.number();
    request.check_direction(from)?;
    let steps = VersionStep::path(from, request.to)?;
    let warnings = target.warnings();
    let mut planned = UpgradeResult { from, to: request.to, warnings, ..UpgradeResult::default() };
    if steps.is_empty() {
        return Ok(planned);
    }
    check_no_restore(&table.timeline)?;
    let store = target.store();
    let (before, after) = properties_after(store.as_ref(), &steps, request.to, &table_properties(options)?)?;
    planned.properties = changed_properties(&before, &after);
    let after = TableConfig::from_properties(after.properties())?;
    // What follows the change of the properties is a change of a table of that version.
    check_version(&after)?;
    check_files(target, table, &steps, &after)?;
    if steps.contains(&VersionStep::UpTo6) {
        planned.rolled_back = failed_before_6(target, table)?;
        planned.log_files = if compacts(table, &steps) { log_files(table)? } else { 0 };
        planned.rebuilt = metadata_partitions_before_6(store.as_ref(), &table.config)?;
        return Ok(planned);
    }
    let (policy, heartbeat) = (target.concurrency().failed_writes, target.concurrency().heartbeat);
    planned.rolled_back = failed_writes(store.as_ref(), &table.timeline, policy, heartbeat)?;
    for compaction in planned_compactions(location, table, &steps, options)? {
        planned.compactions.extend(compaction.instant);
        let files: usize = compaction.slices.iter().map(|slice| slice.log_files.len()).sum();
        planned.log_files = planned.log_files.saturating_add(files as u64);
    }
    if steps.iter().any(|step| step.changes_layout()) {
        (planned.timeline_files, planned.archived) = LayoutChange::new(store, table, &after)?.counts()?;
    }
    if steps.iter().any(|step| step.rebuilds_metadata()) {
        planned.rebuilt.clone_from(&table.config.metadata_partitions);
    }
    Ok(planned)
}

/// The number of log files, all of which the steps after 6 merge into base files.
fn log_files(table: &OpenTable) -> Result<u64> {
    let slices = table.file_slices(None, &Filter::default())?;
    Ok(slices.iter().map(|slice| slice.log_files.len() as u64).sum())
}

/// The partitions of the metadata table. Before version 4 no property names them, and it has one.
fn metadata_partitions_before_6(store: &dyn FileStore, config: &TableConfig) -> Result<Vec<String>> {
    let is_there = config.version.number() < 4 && read_to_replace(store, METADATA_PROPERTIES)?.is_some();
    Ok(if is_there { vec!["files".to_owned()] } else { config.metadata_partitions.clone() })
}

/// The options, by which a table without a metadata table gets none, unless they ask for it.
fn with_metadata_choice(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>> {
    let store = location.open_store()?;
    let config = TableConfig::load(&*store)?;
    let mut options = options.clone();
    if metadata_partitions_before_6(store.as_ref(), &config)?.is_empty()
        && METADATA_PARTITIONS.iter().all(|name| config.properties.list(&[name]).is_empty())
    {
        options.entry(METADATA_ENABLE.name().to_owned()).or_insert_with(|| false.to_string());
    }
    Ok(options)
}

/// Opens the table, whose metadata table may be damaged, and which may have a version that nothing else changes.
fn open_table(
    location: &TableLocation,
    request: &UpgradeRequest,
    options: &BTreeMap<String, String>,
) -> Result<WritableTable> {
    let table: Arc<OpenTable> = location.open_table(ReadOptions { metadata: false, ..read_options(options)? })?;
    WritableTable::of_table_to_upgrade(location, table, options, request.change.name())
}
