//! Files of a plan that are not there: removed since, which a new plan helps with, or lost.

use std::sync::Arc;

use crate::split::Query;
use crate::timeline::{Action, Timeline};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{BaseFileName, LogFileName};
use mortice_merge::config::TableConfig;
use mortice_storage::{self as storage, Storage};

/// Returns the error of a read. If it is that of a missing file which the newest state of the table still needs, it
/// says so: to plan the query again would end in the same error for ever.
pub(in crate::read) fn explained(error: Error, query: &Query) -> Error {
    if error.kind() != ErrorKind::FileCleaned || query.range.is_some() {
        return error;
    }
    let path = error.location().path.clone();
    let inside = path.as_deref().and_then(|path| path.strip_prefix(query.uri.trim_end_matches('/'))?.strip_prefix('/'));
    let Some(inside) = inside.filter(|inside| matches!(is_needed(query, inside), Ok(true))) else { return error };
    let message = format!(
        "the file {inside} does not exist, and the newest state of the table needs it: no clean, rollback or restore has \
         removed it. It does not help to plan the query again. The table is damaged: verify it (`mortice verify`), then \
         copy the file back, or restore a savepoint; if only the metadata table has the file, build that again \
         (`build_metadata` with `rebuild`)"
    );
    let lost = Error::new(ErrorKind::FileCleaned, message).in_file(path.unwrap_or_default());
    match &error.location().instant {
        Some(instant) => lost.at_instant(instant),
        None => lost,
    }
}

/// Returns true if a completed write has written the file, and nothing on the timeline has removed it or may do so.
fn is_needed(query: &Query, path: &str) -> Result<bool> {
    let (partition, name) = path.rsplit_once('/').unwrap_or(("", path));
    let base = BaseFileName::parse(name).map(|base| base.instant);
    let Some(written) = base.or_else(|| LogFileName::parse(name).map(|log| log.instant)) else { return Ok(false) };
    let storage: Arc<dyn Storage> = storage::open(&query.uri, &query.storage, false)?;
    let timeline = Timeline::load(&storage, &TableConfig::read(storage.as_ref())?)?;
    let is_removing =
        [Action::Rollback, Action::Restore].iter().any(|action| timeline.pending(*action).next().is_some());
    if is_removing || !timeline.is_visible(&written) {
        return Ok(false);
    }
    Ok(timeline.files_of_cleans()?.by(partition, name).is_none())
}
