//! Rollbacks and savepoints: `show_rollbacks`, `show_rollback_detail`, `show_savepoints`.

use super::call::Call;
use super::metadata::{metadata_of, newest_first};
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_table::timeline::Action;
use mortice_table::timeline::metadata::HoodieRollbackMetadata;

/// `show_rollbacks`, the oldest first, as Hudi.
pub(super) fn rollbacks(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let mut rows = Vec::new();
    for rollback in newest_first(call.timeline(), false, Action::Rollback)?.into_iter().rev() {
        let Some(done) = metadata_of::<HoodieRollbackMetadata>(call.timeline(), rollback)? else { continue };
        rows.extend(done.commits_rollback.iter().map(|undone| {
            row![
                done.start_rollback_time.as_str(),
                undone.as_str(),
                done.total_files_deleted,
                done.time_taken_in_millis,
                done.partition_metadata.len(),
            ]
        }));
    }
    rows.truncate(call.arguments.limit());
    Ok(rows)
}

/// `show_rollback_detail`.
pub(super) fn files(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let time = call.arguments.required("instant_time")?;
    let found = newest_first(call.timeline(), false, Action::Rollback)?;
    let no_rollback = || Error::invalid_argument(format!("there is no completed rollback {time}"));
    let rollback = found.into_iter().find(|one| one.requested_time == *time).ok_or_else(no_rollback)?;
    let done = metadata_of::<HoodieRollbackMetadata>(call.timeline(), rollback)?.ok_or_else(no_rollback)?;
    let undone = format!("[{}]", done.commits_rollback.join(", "));
    let files = done.partition_metadata.iter().flat_map(|(partition, one)| {
        let deleted = one.success_delete_files.iter().map(|file| (file, true));
        deleted.chain(one.failed_delete_files.iter().map(|file| (file, false))).map(move |file| (partition, file))
    });
    let rows = files.map(|(partition, (file, is_deleted))| {
        row![done.start_rollback_time.as_str(), undone.as_str(), partition, file.as_str(), is_deleted]
    });
    Ok(rows.take(call.arguments.limit()).collect())
}

/// `show_savepoints`.
pub(super) fn savepoints(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let found = newest_first(call.timeline(), false, Action::Savepoint)?;
    Ok(found.into_iter().map(|one| row![one.requested_time.as_str()]).collect())
}
