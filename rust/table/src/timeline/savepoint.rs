//! The files that a savepoint keeps from being cleaned (`SavepointActionExecutor`).
//!
//! Since 0.14 a savepoint lists all files of the latest slices at its instant. Before, it listed base files only, and
//! the cleaner kept no others. The log files of such a savepoint are found in the commits that wrote them. If one has
//! been cleaned, reading fails.

use std::collections::{BTreeMap, BTreeSet};

use super::instant::{Action, Instant};
use super::range::TimelineRange;
use super::service_plans::{self, FilesByPartition};
use super::timeline::Timeline;
use mortice_base::error::Result;
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_merge::config::TimelineLayout;

impl Timeline {
    /// Returns the completed savepoints, oldest first.
    pub fn savepoints(&self) -> impl Iterator<Item = &Instant> {
        self.instants().iter().filter(|instant| instant.action == Action::Savepoint && instant.is_completed())
    }

    /// Returns the names of the files that a savepoint keeps, by partition. `has_logs` is true if the table can have
    /// log files.
    ///
    /// # Errors
    /// Errors of reading the savepoint and, for an old savepoint, the commits before it.
    pub fn files_of_savepoint(&self, savepoint: &Instant, has_logs: bool) -> Result<FilesByPartition> {
        let mut files = self.read(savepoint, &savepoint.file_name, service_plans::savepoint)?;
        let mut names = files.values().flatten();
        if has_logs && self.layout == TimelineLayout::V1 && names.all(|name| LogFileName::parse(name).is_none()) {
            for (partition, logs) in self.logs_until(&savepoint.requested_time, &files)? {
                files.entry(partition).or_default().extend(logs);
            }
        }
        Ok(files)
    }

    /// Returns the log files that commits up to an instant have written to the slices of these base files, and to file
    /// groups without a base file.
    fn logs_until(
        &self,
        instant: &RequestedTime,
        bases: &FilesByPartition,
    ) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let mut slices: BTreeMap<(String, String), RequestedTime> = BTreeMap::new();
        for (partition, names) in bases {
            for base in names.iter().filter_map(|name| BaseFileName::parse(name)) {
                slices.insert((partition.clone(), base.file_id), base.instant);
            }
        }
        let (mut logs, mut gone) = (Vec::new(), BTreeSet::new());
        let range = TimelineRange { end: Some(instant.into()), ..TimelineRange::default() };
        self.visit_writes_in(&range, &mut |_, metadata| {
            for path in metadata.paths() {
                let (partition, name) = path.rsplit_once('/').unwrap_or(("", path));
                if let Some(log) = LogFileName::parse(name) {
                    logs.push((partition.to_owned(), log));
                } else if let Some(base) = BaseFileName::parse(name) {
                    // A group with a base file that the savepoint does not keep has been replaced.
                    gone.insert((partition.to_owned(), base.file_id));
                }
            }
            let ids = |(partition, ids): (String, Vec<String>)| ids.into_iter().map(move |id| (partition.clone(), id));
            gone.extend(metadata.replaced.into_iter().flat_map(ids));
            Ok(())
        })?;
        let mut kept: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (partition, log) in logs {
            let group = (partition.clone(), log.file_id.clone());
            let is_kept = slices.get(&group).map_or(!gone.contains(&group), |base| *base == log.instant);
            if is_kept {
                kept.entry(partition).or_default().insert(log.name);
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use crate::timeline::timeline;

    #[test]
    fn only_completed_savepoints_count() {
        let timeline = timeline(&["1.commit", "1.savepoint", "2.commit", "2.savepoint.inflight"]);
        let savepoints: Vec<String> = timeline.savepoints().map(ToString::to_string).collect();
        assert_eq!(savepoints, ["1.savepoint"]);
        // An empty file keeps nothing.
        let savepoint = timeline.savepoints().next().unwrap();
        assert!(timeline.files_of_savepoint(savepoint, true).unwrap().is_empty());
    }
}
