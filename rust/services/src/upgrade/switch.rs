//! Changes the version of a table, under its lock.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::first_properties::{GivenProperties, version_of};
use super::layout_change::{LayoutChange, delete_instants};
use super::property_changes::change_properties;
use super::settle::{Readiness, check_ready};
use super::stored_keys::check_stored_keys;
use super::version_path::VersionStep;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::commit::{read_to_replace, update_properties};
use mortice_commit::metadata_upkeep::MetadataUpkeep;
use mortice_commit::writable_table::WritableTable;
use mortice_merge::config::option_names::{WRITE_COMPLEX_KEYGEN_NEW_ENCODING, WRITE_COMPLEX_KEYGEN_VALIDATION_ENABLE};
use mortice_merge::config::{PropertiesFile, TableConfig, TimelineLayout};
use mortice_storage::FileStore;
use mortice_table::file_group::list_table;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Action;

/// What deletes logs that were compacted.
const CLEAN: &str = "hoodie.clean.policy=KEEP_LATEST_FILE_VERSIONS, hoodie.clean.fileversions.retained=1";
/// The partition of rows without a value, up to version 4 and since.
const OLD_NULL: &str = "default";
const NEW_NULL: &str = "__HIVE_DEFAULT_PARTITION__";
const HIVE_STYLE: &str = "hoodie.datasource.write.hive_style_partitioning";
/// Where releases up to table version 5 copied plans of compactions to, and read them from.
const COPIED_PLANS: &str = ".hoodie/.aux";
const PROPERTIES: &str = ".hoodie/hoodie.properties";
/// The folders of the active timeline, up to table version 7 and from 8 on.
const OLD_TIMELINE: &str = ".hoodie";
const NEW_TIMELINE: &str = ".hoodie/timeline";

/// The properties of a table, and what they are after steps to a version.
///
/// # Errors
/// As for [`change_properties`]; `InvalidTable` if there are no properties; those of the storage.
pub(super) fn properties_after(
    store: &dyn FileStore,
    steps: &[VersionStep],
    to: u8,
    given: &GivenProperties,
) -> Result<(PropertiesFile, PropertiesFile)> {
    let missing = || Error::invalid_table("the file is missing").in_file(store.full_path(PROPERTIES));
    let (content, _) = read_to_replace(store, PROPERTIES)?.ok_or_else(missing)?;
    let before = PropertiesFile::parse(&content)?;
    let mut after = before.clone();
    change_properties(&mut after, steps, to, given)?;
    Ok((before, after))
}

/// Refuses what a later version would read differently.
///
/// # Errors
/// `Unsupported` for record keys, logs and partitions that the version does not have; as for [`check_stored_keys`].
pub(super) fn check_files(
    target: &WritableTable,
    table: &OpenTable,
    steps: &[VersionStep],
    after: &TableConfig,
) -> Result<()> {
    let version = table.config.version.number();
    if steps.contains(&VersionStep::UpTo6) {
        check_null_partition(table, after)?;
        if version < 3 {
            check_stored_keys(table, after, target.options())?;
        }
    }
    let is_of_values = target.options().given_boolean(WRITE_COMPLEX_KEYGEN_NEW_ENCODING)? == Some(true);
    if steps.contains(&VersionStep::UpTo9) && is_of_values {
        return Err(Error::unsupported(format!(
            "the record keys of the complex key generator are values without the name of their field (HUDI-7001), and table version 9 \
             writes the name: its updates would insert rows; write the table again, or set {WRITE_COMPLEX_KEYGEN_VALIDATION_ENABLE}=false"
        )));
    }
    let has_old_times = steps.contains(&VersionStep::DownTo6) && target.store().is_remote();
    if !has_old_times && !steps.contains(&VersionStep::DownTo9) {
        return Ok(());
    }
    let files = list_table(table.storage.as_ref())?;
    let mut logs = files.iter().flat_map(|files| &files.log_files);
    if let Some(log) = logs.clone().find(|log| log.name.is_native()) {
        return Err(Error::unsupported(format!(
            "native log files, such as {}, do not exist below table version 10; compact the table and delete its logs by a clean \
             ({CLEAN}), then run it again",
            log.name.name
        )));
    }
    match logs.next().filter(|_| has_old_times) {
        None => Ok(()),
        Some(log) => Err(Error::unsupported(format!(
            "a downgrade below table version 8 with log files, such as {}, on storage that does not set the times of files: Hudi 1.x \
             reads from them when commits were completed, and would merge compacted logs again; delete the logs by a clean ({CLEAN}), \
             then run it again",
            log.name.name
        ))),
    }
}

/// Refuses partitions by the name that the null partition had up to version 4: rows without a partition value would be
/// written to another one from then on (`FourToFiveUpgradeHandler`).
fn check_null_partition(table: &OpenTable, after: &TableConfig) -> Result<()> {
    let Some(first) = after.partition_fields.first().filter(|_| table.config.version.number() < 5) else {
        return Ok(());
    };
    let is_hive_style = after.properties.get(HIVE_STYLE).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    let folder = if is_hive_style { format!("{first}={OLD_NULL}") } else { OLD_NULL.to_owned() };
    let is_of_null = |partition: &str| partition.split('/').next() == Some(folder.as_str());
    match list_table(table.storage.as_ref())?.into_iter().find(|files| is_of_null(&files.partition)) {
        None => Ok(()),
        Some(files) => Err(Error::unsupported(format!(
            "the partition {:?}: below table version 5 it is that of rows without a partition value, which is {NEW_NULL} from 5 on; write its \
             rows to that partition and delete it with the release of Hudi that writes the table",
            files.partition
        ))),
    }
}

/// Changes the version, if the table is ready. Until the properties are replaced, the table is as it was.
///
/// # Errors
/// `WriteConflict` if another writer has changed the version, or is writing; as for [`check_files`],
/// [`change_properties`] and [`LayoutChange::write`]; those of the storage.
pub(super) fn switch(
    target: &WritableTable,
    table: &OpenTable,
    steps: &[VersionStep],
    to: u8,
    given: &GivenProperties,
) -> Result<Readiness> {
    let store = target.store();
    if check_ready(target, table, steps)? != Readiness::Ready {
        return Ok(Readiness::Logs);
    }
    let (_, after) = properties_after(store.as_ref(), steps, to, given)?;
    let after = TableConfig::from_properties(after.properties())?;
    check_files(target, table, steps, &after)?;
    target.mark_changed();
    if steps.iter().any(|step| step.rebuilds_metadata()) {
        MetadataUpkeep::drop_to_rebuild(store, table, target.metadata_options())?;
        MetadataUpkeep::forget_definitions(store.as_ref())?;
    }
    if steps.iter().any(|step| step.changes_layout()) {
        LayoutChange::new(store, table, &after)?.write()?;
    }
    if steps.contains(&VersionStep::UpTo9) {
        MetadataUpkeep::define_versions(store.as_ref())?;
    }
    let version = table.config.version.number();
    update_properties(store.as_ref(), |properties| {
        if version_of(&properties.properties()) != version {
            let message = "another process has changed the version of the table meanwhile";
            return Err(Error::new(ErrorKind::WriteConflict, message));
        }
        change_properties(properties, steps, to, given)
    })?;
    Ok(Readiness::Ready)
}

/// Deletes what the old version has left, and gives the metadata table the version of the table.
///
/// # Errors
/// Those of the storage: run it again.
pub(super) fn clear(target: &WritableTable, table: &OpenTable) -> Result<()> {
    let (store, config) = (target.store(), &table.config);
    match config.layout() {
        TimelineLayout::V1 => {
            delete_instants(store, NEW_TIMELINE, TimelineLayout::V2)?;
            delete_copied_plans(store, table)?;
        }
        TimelineLayout::V2 => delete_instants(store, OLD_TIMELINE, TimelineLayout::V1)?,
    }
    MetadataUpkeep::set_version(store.as_ref(), config.version.number())
}

/// Deletes the copies of compaction plans that are pending, which no release from 0.14 on reads
/// (`FiveToSixUpgradeHandler`).
fn delete_copied_plans(store: &Arc<dyn FileStore>, table: &OpenTable) -> Result<()> {
    let plans = table.timeline.pending(Action::Compaction);
    plans
        .map(|plan| plan.requested_time.as_str())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .try_for_each(|instant| store.delete(&format!("{COPIED_PLANS}/{instant}.compaction.requested")))
}
