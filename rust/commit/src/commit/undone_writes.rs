//! Completed writes that had been rolled back before they were completed.
//!
//! A writer that was taken for dead may complete its instant after another one has rolled it back. It looks for the
//! rollback then, and deletes the completed file; if it is killed in between, the file stays, without the data files
//! that it names.

use std::collections::BTreeSet;

use super::timeline_writer::TimelineWriter;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_table::timeline::{Action, Instant, InstantState, Timeline};

/// A completed write, and the rollback that had undone it before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneWrite {
    /// The write.
    pub write: Instant,
    /// The rollback.
    pub rollback: Instant,
}

impl UndoneWrite {
    /// Finds them on a timeline: a completed rollback names the write, and the write has no inflight file, which a
    /// later execution of a plan that was rolled back would have again. Usually this reads nothing, or lists the
    /// timeline once.
    ///
    /// # Errors
    /// Those of the storage; `InvalidTable` for a rollback that cannot be read.
    pub fn find(files: &TimelineWriter, timeline: &Timeline) -> Result<Vec<Self>> {
        let is_rollback = |instant: &&Instant| instant.action == Action::Rollback && instant.is_completed();
        if !timeline.instants().iter().any(|instant| is_rollback(&instant)) {
            return Ok(Vec::new());
        }
        let inflight: BTreeSet<RequestedTime> =
            files.files()?.into_iter().filter(is_inflight_write).map(|file| file.requested_time).collect();
        let mut writes: Vec<&Instant> =
            timeline.completed_writes().filter(|write| !inflight.contains(&write.requested_time)).collect();
        let Some(first) = writes.first().map(|write| write.requested_time.clone()) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for rollback in timeline.instants().iter().filter(is_rollback) {
            if rollback.requested_time < first {
                continue;
            }
            for target in files.rollback_targets(rollback)? {
                let is_target = |write: &&Instant| {
                    write.requested_time == target.as_str() && write.requested_time < rollback.requested_time
                };
                if let Some(at) = writes.iter().position(is_target) {
                    found.push(Self { write: writes.remove(at).clone(), rollback: rollback.clone() });
                }
            }
        }
        without_archived(found, timeline)
    }

    /// Takes the write off the timeline: deletes the completed file. Call it under the table's lock.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn remove(&self, files: &TimelineWriter) -> Result<()> {
        files.revert_to_inflight(&self.write.requested_time, self.write.action)
    }
}

fn is_inflight_write(file: &Instant) -> bool {
    file.state == InstantState::Inflight && file.action.is_write()
}

/// Archival deletes inflight files first: an archiver may have been stopped then.
fn without_archived(mut found: Vec<UndoneWrite>, timeline: &Timeline) -> Result<Vec<UndoneWrite>> {
    if !found.is_empty() {
        let archived: BTreeSet<&RequestedTime> =
            timeline.archived()?.iter().map(|instant| &instant.requested_time).collect();
        found.retain(|undone| !archived.contains(&undone.write.requested_time));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use mortice_merge::config::{Properties, TableConfig};
    use mortice_storage::{FileStore, LocalStorage, Storage};
    use mortice_table::timeline::metadata::{
        HoodieInstantInfo, HoodieRollbackMetadata, HoodieRollbackPlan, TimelineMetadata,
    };

    struct Table {
        folder: tempfile::TempDir,
        config: TableConfig,
    }

    impl Table {
        /// A commit that was completed after the rollback that names it.
        fn new() -> Self {
            let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", "6")];
            let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
            let table = Self { folder: tempfile::tempdir().unwrap(), config };
            table.put("1.commit", b"{}");
            table.roll_back("5", "1");
            table
        }

        fn roll_back(&self, time: &str, target: &str) {
            let info =
                HoodieInstantInfo { commit_time: target.to_owned(), action: "commit".to_owned(), ..Default::default() };
            let plan = HoodieRollbackPlan { instant_to_rollback: Some(info), ..Default::default() };
            let result = HoodieRollbackMetadata { commits_rollback: vec![target.to_owned()], ..Default::default() };
            self.put(&format!("{time}.rollback.requested"), &plan.to_avro().unwrap());
            self.put(&format!("{time}.rollback"), &result.to_avro().unwrap());
        }

        fn store(&self) -> Arc<LocalStorage> {
            Arc::new(LocalStorage::new(&self.folder.path().to_string_lossy(), true))
        }

        fn put(&self, name: &str, content: &[u8]) {
            let path = format!("{}/{name}", self.config.timeline_folder);
            self.store().put(&path, &Bytes::copy_from_slice(content), None).unwrap();
        }

        fn timeline(&self) -> Timeline {
            let storage: Arc<dyn Storage> = self.store();
            Timeline::load(&storage, &self.config).unwrap()
        }

        fn writer(&self) -> TimelineWriter {
            TimelineWriter::new(self.store(), &self.config)
        }

        /// The requested times of undone writes, with those of their rollbacks.
        fn undone(&self) -> Vec<[String; 2]> {
            let found = UndoneWrite::find(&self.writer(), &self.timeline()).unwrap();
            found.iter().map(|one| [&one.write, &one.rollback].map(|one| one.requested_time.to_string())).collect()
        }
    }

    #[test]
    fn a_write_that_was_completed_after_its_rollback_is_undone() {
        let table = Table::new();
        assert_eq!(table.undone(), [["1".to_owned(), "5".to_owned()]]);
        let found = UndoneWrite::find(&table.writer(), &table.timeline()).unwrap();
        table.put("1.inflight", b"");
        found.first().unwrap().remove(&table.writer()).unwrap();
        let timeline = table.timeline();
        assert!(!timeline.is_completed(&"1".into()) && timeline.has_pending_at(&"1".into()));
    }

    #[test]
    fn other_writes_stay() {
        let table = Table::new();
        table.put("1.inflight", b"");
        assert!(table.undone().is_empty(), "a plan that was executed again has an inflight file");
        let table = Table::new();
        table.put("7.commit", b"{}");
        table.roll_back("6", "7");
        assert_eq!(table.undone().len(), 1, "a rollback is later than what it undoes");
        table.roll_back("8", "3");
        assert_eq!(table.undone().len(), 1, "what was rolled back in time is not there");
    }

    #[test]
    fn a_rollback_that_is_pending_has_undone_nothing_yet() {
        let table = Table::new();
        std::fs::remove_file(table.folder.path().join(".hoodie/5.rollback")).unwrap();
        assert!(table.undone().is_empty());
    }
}
