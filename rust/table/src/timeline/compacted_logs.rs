//! Log files that completed compactions did not merge.
//!
//! If an instant that was archived is later than the first active one (a restore or savepoint remained active), Hudi
//! 1.2 finds no completion time for it (`CompletionTimeQueryViewV2.getCompletionTime`), treats it as pending, and omits
//! its logs from compactions. So times do not show which logs a compaction has merged; only its plan does, active or
//! archived.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use serde_json::Value as Json;

use super::instant::Instant;
use super::timeline::{CompactedLogs, Timeline};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;

impl Timeline {
    /// Returns true if a write is archived although an instant that was requested no later is still active.
    #[must_use]
    pub fn is_archived_amid_active(&self, requested_time: &RequestedTime) -> bool {
        let is_archived = self.writes_at(requested_time).next().is_none() && self.is_before_start(requested_time);
        let first = self.instants().first();
        is_archived && first.is_some_and(|first| first.requested_time <= *requested_time)
    }

    /// Returns true if a completed compaction skipped a log file that it could have merged. Returns false if its plan
    /// is not known.
    ///
    /// # Errors
    /// Errors of reading the plan.
    pub fn was_skipped_by(&self, log: &str, compaction: &RequestedTime) -> Result<bool> {
        Ok(self.compacted_logs(compaction)?.is_some_and(|logs| !logs.contains(log)))
    }

    fn compacted_logs(&self, compaction: &RequestedTime) -> Result<CompactedLogs> {
        let cache = || self.compacted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(logs) = cache().get(compaction) {
            return Ok(logs.clone());
        }
        let logs = self.planned_logs(compaction)?;
        cache().insert(compaction.clone(), logs.clone());
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
        Ok(plan.as_ref().and_then(planned_log_names).map(Arc::new))
    }
}

/// Returns the names of the log files of all operations of a compaction plan.
fn planned_log_names(plan: &Json) -> Option<HashSet<String>> {
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
    fn planned_log_names_all_operations() {
        let plan = json!({"operations": [{"deltaFilePaths": [".a", "p/.b"]}, {"deltaFilePaths": null}, {}]});
        assert_eq!(planned_log_names(&plan), Some(HashSet::from([".a".to_owned(), ".b".to_owned()])));
        assert_eq!(planned_log_names(&json!({"operations": []})), Some(HashSet::new()));
        assert_eq!(planned_log_names(&json!({"clusteringPlan": {}})), None);
    }
}
