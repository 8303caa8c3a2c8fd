//! Repairs of single files: `delete_marker`, `repair_add_partition_meta`, `repair_migrate_partition_meta`,
//! `repair_corrupted_clean_files`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::call::Call;
use super::metadata::plan_of;
use super::paths::name_of;
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_table::timeline::Action;
use mortice_table::timeline::metadata::HoodieCleanerPlan;
use mortice_write::write::Markers;

/// The file that marks a folder as a partition; with the extension of base files behind it in its other form.
const PARTITION_FILE: &str = ".hoodie_partition_metadata";
/// The folder that has no partitions.
const TABLE_FOLDER: &str = ".hoodie/";

/// `delete_marker`.
pub(super) fn delete_markers(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let store = call.location.open_store()?;
    for time in call.arguments.list("instant_time") {
        let instant = RequestedTime::parse(&time)
            .ok_or_else(|| Error::invalid_argument(format!("instant_time {time:?} is not the time of an instant")))?;
        Markers::new(Arc::clone(&store), &instant).remove()?;
    }
    Ok(vec![row![true]])
}

/// What marks a folder with data files as a partition.
#[derive(Default)]
struct PartitionMarks {
    has_data: bool,
    text: bool,
    base_format: bool,
}

/// The folders with data files or marks, by path.
fn folders(call: &Call<'_>) -> Result<BTreeMap<String, PartitionMarks>> {
    let mut found: BTreeMap<String, PartitionMarks> = BTreeMap::new();
    for (path, _) in call.table.storage.list_recursively("")? {
        if path.starts_with(TABLE_FOLDER) {
            continue;
        }
        let name = name_of(&path);
        let folder = path.strip_suffix(name).unwrap_or_default().trim_end_matches('/');
        let marks = found.entry(folder.to_owned()).or_default();
        match name.strip_prefix(PARTITION_FILE) {
            Some("") => marks.text = true,
            Some(_) => marks.base_format = true,
            None => marks.has_data |= BaseFileName::parse(name).is_some() || LogFileName::parse(name).is_some(),
        }
    }
    found.retain(|_, marks| marks.has_data || marks.text || marks.base_format);
    Ok(found)
}

/// `repair_add_partition_meta`: of folders of any depth, where Hudi looks at the third one.
pub(super) fn add_partition_files(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let is_dry_run = call.arguments.boolean("dry_run");
    let last = call.timeline().completed_writes().next_back();
    let last = last.map(|one| one.requested_time.clone());
    let mut rows = Vec::new();
    for (partition, marks) in folders(call)? {
        let is_present = marks.text || marks.base_format;
        let mut action = "None";
        if !is_present && !is_dry_run {
            let last = last.as_ref().ok_or_else(|| Error::invalid_argument("the table has no completed commit"))?;
            let depth = partition.split('/').filter(|part| !part.is_empty()).count();
            let text = format!("#partition metadata\ncommitTime={last}\npartitionDepth={depth}\n");
            let path =
                if partition.is_empty() { PARTITION_FILE.to_owned() } else { format!("{partition}/{PARTITION_FILE}") };
            call.location.open_store()?.put_if_absent(&path, &Bytes::from(text))?;
            action = "Repaired";
        }
        rows.push(row![partition, if is_present { "Yes" } else { "No" }, action]);
    }
    Ok(rows)
}

/// `repair_migrate_partition_meta`, dry runs alone.
pub(super) fn migrate_partition_files(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    if !call.arguments.boolean("dry_run") {
        return Err(Error::unsupported(
            "repair_migrate_partition_meta does not write partition files in the format of base files; readers take either form, so leave them as they are",
        ));
    }
    let rows =
        folders(call)?.into_iter().filter(|(_, marks)| marks.text || marks.base_format).map(|(partition, marks)| {
            let action = if marks.text { "MIGRATE" } else { "NONE" };
            row![partition, marks.text.to_string(), marks.base_format.to_string(), action]
        });
    Ok(rows.collect())
}

/// `repair_corrupted_clean_files`: deletes the files of pending cleans whose plan is no Avro file.
pub(super) fn delete_unreadable_cleans(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let timeline = call.timeline();
    for clean in timeline.pending(Action::Clean) {
        match plan_of::<HoodieCleanerPlan>(timeline, clean) {
            Ok(Some(_)) => continue,
            Err(error) if !matches!(error.kind(), ErrorKind::InvalidTable | ErrorKind::CorruptLog) => {
                return Err(error);
            }
            Ok(None) | Err(_) => {}
        }
        let store = call.location.open_store()?;
        // The file of the state that it has reached last: what is left is pending in its former state.
        for state in ["inflight", "requested"] {
            let name = format!("{}.{}.{state}", clean.requested_time, Action::Clean);
            let path = format!("{}/{name}", call.table.config.timeline_folder);
            store.check_removable(&path)?;
            store.delete(&path)?;
        }
    }
    Ok(vec![row![true]])
}
