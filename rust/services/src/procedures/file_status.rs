//! `show_file_status`: whether a file is there, or which table service has deleted it.

use super::call::Call;
use super::metadata::{metadata_of, newest_first};
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_table::timeline::metadata::{
    HoodieCleanMetadata, HoodieRestoreMetadata, HoodieRollbackMetadata, HoodieRollbackPartitionMetadata,
};
use mortice_table::timeline::{Action, Instant};

pub(super) fn status(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let (partition, file) = (call.arguments.text("partition"), call.arguments.required("file")?);
    if partition.is_none() && !call.table.config.partition_fields.is_empty() {
        return Err(Error::invalid_argument("the table is partitioned: name the partition of the file"));
    }
    if let Some((action, instant, timeline)) = deleted(call, &file)? {
        return Ok(vec![row!["deleted", action.name(), instant.requested_time.as_str(), timeline, ""]]);
    }
    let partition = partition.unwrap_or_default();
    let entries = call.table.storage.list(&partition)?.unwrap_or_default();
    if entries.iter().any(|entry| entry.name() == file) {
        let path = if partition.is_empty() { file } else { format!("{partition}/{file}") };
        return Ok(vec![row!["exist", "", "", "active", call.table.storage.full_path(&path)]]);
    }
    Ok(vec![row!["unknown", "", "", "", ""]])
}

/// The newest clean, rollback or restore that has deleted a file, in this order.
fn deleted<'a>(call: &'a Call<'_>, file: &str) -> Result<Option<(Action, &'a Instant, &'static str)>> {
    for (action, archives) in [
        (Action::Clean, [false, true].as_slice()),
        (Action::Rollback, [false, true].as_slice()),
        (Action::Restore, [false].as_slice()),
    ] {
        for is_archived in archives {
            for instant in newest_first(call.timeline(), *is_archived, action)? {
                if has_deleted(call, instant, file)? {
                    return Ok(Some((action, instant, if *is_archived { "archived" } else { "active" })));
                }
            }
        }
    }
    Ok(None)
}

fn has_deleted(call: &Call<'_>, instant: &Instant, file: &str) -> Result<bool> {
    let is_among = |names: &[String]| names.iter().any(|name| name.contains(file));
    let in_partition = |one: &HoodieRollbackPartitionMetadata| is_among(&one.success_delete_files);
    let in_rollback = |one: &HoodieRollbackMetadata| one.partition_metadata.values().any(in_partition);
    let timeline = call.timeline();
    Ok(match instant.action {
        Action::Clean => metadata_of::<HoodieCleanMetadata>(timeline, instant)?
            .is_some_and(|done| done.partition_metadata.values().any(|one| is_among(&one.success_delete_files))),
        Action::Rollback => {
            metadata_of::<HoodieRollbackMetadata>(timeline, instant)?.is_some_and(|done| in_rollback(&done))
        }
        _ => metadata_of::<HoodieRestoreMetadata>(timeline, instant)?
            .is_some_and(|done| done.hoodie_restore_metadata.values().flatten().flatten().any(in_rollback)),
    })
}
