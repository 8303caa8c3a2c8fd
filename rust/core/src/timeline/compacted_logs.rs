//! Logs that compactions passed by.
//!
//! Of an archived instant that was requested after the first active one (a restore or a savepoint stayed behind), Hudi 1.2 finds no
//! completion time (`CompletionTimeQueryViewV2.getCompletionTime`), takes it to be under way, and leaves its logs out of compactions.
//! So which logs a compaction merged is told by its plan alone, active or archived, not by times.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use serde_json::Value as Json;

use super::instant::Instant;
use super::timeline::{CompactedLogs, Timeline};
use crate::error::Result;
use crate::names::RequestedTime;

impl Timeline {
    /// Whether a write is archived although an instant that was requested no later is still active.
    #[must_use]
    pub fn is_archived_amid_active(&self, requested_time: &RequestedTime) -> bool {
        let is_archived = self.writes_at(requested_time).next().is_none() && self.is_before_start(requested_time);
        let first = self.instants().first();
        is_archived && first.is_some_and(|first| first.requested_time <= *requested_time)
    }

    /// Whether the completed compaction of a requested time passed a log by that it could have merged. False where it is not known.
    ///
    /// # Errors
    /// What reading its plan may fail with.
    pub fn was_passed_by(&self, log: &str, compaction: &RequestedTime) -> Result<bool> {
        Ok(self.compacted_logs(compaction)?.is_some_and(|logs| !logs.contains(log)))
    }

    fn compacted_logs(&self, compaction: &RequestedTime) -> Result<CompactedLogs> {
        let known = || self.compacted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(logs) = known().get(compaction) {
            return Ok(logs.clone());
        }
        let logs = self.planned_logs(compaction)?;
        known().insert(compaction.clone(), logs.clone());
        Ok(logs)
    }

    fn planned_logs(&self, compaction: &RequestedTime) -> Result<CompactedLogs> {
        let active = self.writes_at(compaction).find(|instant| instant.is_completed());
        let archived = |instant: &&Instant| instant.action.is_write();
        let instant = match active {
            Some(instant) => Some(instant),
            None => self.archived_at(compaction)?.find(archived),
        };
        let Some(instant) = instant else { return Ok(None) };
        let plan = self.plan(instant)?;
        Ok(plan.as_ref().and_then(logs_of).map(Arc::new))
    }
}

/// The log files of all operations of a compaction's plan.
fn logs_of(plan: &Json) -> Option<HashSet<String>> {
    let operations = plan.get("operations")?.as_array()?;
    let paths = operations.iter().filter_map(|operation| operation.get("deltaFilePaths")?.as_array());
    let name = |path: &Json| Some(path.as_str()?.rsplit('/').next()?.to_owned());
    Some(paths.flatten().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn logs_of_all_operations() {
        let plan = json!({"operations": [{"deltaFilePaths": [".a", "p/.b"]}, {"deltaFilePaths": null}, {}]});
        assert_eq!(logs_of(&plan), Some(HashSet::from([".a".to_owned(), ".b".to_owned()])));
        assert_eq!(logs_of(&json!({"operations": []})), Some(HashSet::new()));
        assert_eq!(logs_of(&json!({"clusteringPlan": {}})), None);
    }
}
