//! `export_instants`: the files of instants in a local folder.

use std::sync::Arc;

use bytes::Bytes;

use super::call::Call;
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_merge::config::TimelineLayout;
use mortice_storage::{FileStore, StorageOptions, open_file_store};
use mortice_table::timeline::{Action, Instant};

/// Copies commits as they are, and cleans, rollbacks and savepoints as JSON; of archived instants, which Hudi looks for
/// in the archive of table versions up to 7 alone, the metadata as JSON. Other actions have no file.
pub(super) fn export(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let folder = call.arguments.required("local_folder")?;
    let target = open_file_store(&folder, &StorageOptions::new())?;
    if target.list("")?.is_none() {
        return Err(Error::invalid_argument(format!("{folder} is not a local folder")));
    }
    let actions = call.arguments.list("actions");
    let is_wanted = |one: &&Instant| one.is_completed() && actions.iter().any(|action| action == one.action.name());
    let mut instants: Vec<&Instant> = Vec::new();
    if call.table.config.layout() == TimelineLayout::V1 {
        instants.extend(call.timeline().archived()?.iter().filter(is_wanted));
    }
    instants.extend(call.timeline().instants().iter().filter(is_wanted));
    if call.arguments.boolean("desc") {
        instants.reverse();
    }
    let limit = usize::try_from(call.arguments.integer("limit")).unwrap_or(usize::MAX);
    let mut copied = 0_usize;
    for instant in instants {
        if copied >= limit {
            break;
        }
        let Some((name, content)) = content(call, instant)? else { continue };
        put(&target, &name, &content)?;
        copied = copied.saturating_add(1);
    }
    Ok(vec![row![format!("Exported {copied} Instants to {folder}")]])
}

/// The name and the content of an instant's file.
fn content(call: &Call<'_>, instant: &Instant) -> Result<Option<(String, Bytes)>> {
    let is_archived = instant.file_name.is_empty();
    let name =
        if is_archived { format!("{}.{}", instant.requested_time, instant.action) } else { instant.file_name.clone() };
    match instant.action {
        Action::Commit | Action::DeltaCommit if !is_archived => {
            let path = format!("{}/{}", call.table.config.timeline_folder, instant.file_name);
            Ok(Some((name, call.table.storage.open(&path)?.read_all()?)))
        }
        Action::Commit | Action::DeltaCommit | Action::Clean | Action::Rollback | Action::Savepoint => {
            let Some(json) = call.timeline().metadata(instant)? else { return Ok(None) };
            let text = serde_json::to_vec_pretty(&json).map_err(Error::internal_by("metadata is not JSON"))?;
            Ok(Some((name, Bytes::from(text))))
        }
        _ => Ok(None),
    }
}

fn put(target: &Arc<dyn FileStore>, name: &str, content: &Bytes) -> Result<()> {
    target.put(name, content, None).map(|_| ())
}
