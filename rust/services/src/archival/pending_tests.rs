//! Archival beside a pending write: what was completed since that began stays, and if another archiver has archived it,
//! the pending write finds it in the archive.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::archive_base::ArchiveBase;
use super::run::archive_instants;
use super::tests::{Table, time};
use crate::service_table::ServiceTable;
use mortice_base::error::{ErrorKind, Result};
use mortice_base::progress::Progress;
use mortice_commit::commit::{ConflictCheck, ConflictUnit, TimelineWriter, WrittenGroups};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::{ReadOptions, TableConfig};
use mortice_storage::{FileStore, FolderEntry, Storage};
use mortice_table::timeline::metadata::{
    HoodieCommitMetadata, HoodieInstantInfo, HoodieRollbackPlan, HoodieWriteStat, OrderedMap, TimelineMetadata,
};
use mortice_table::timeline::{Instant, Timeline};

const OWN: u8 = 4;

impl Table {
    /// Requests commits on these days.
    fn with_requests(self, days: &[u8]) -> Self {
        for day in days {
            let path = format!("{}/{}.commit.requested", self.folder(), time(*day, "000000000"));
            self.put(&self.store(), &path, b"");
        }
        self
    }

    /// Completes the commit of a day, which wrote `p/FILE_ID`, after this write was requested.
    fn complete_late(&self, day: u8, file_id: &str) {
        let stat = HoodieWriteStat { file_id: Some(file_id.to_owned()), ..HoodieWriteStat::default() };
        let commit = HoodieCommitMetadata {
            operation_type: Some(format!("DAY_{day}")),
            partition_to_write_stats: Some(OrderedMap::from_iter([("p", vec![stat])])),
            ..HoodieCommitMetadata::default()
        };
        let requested = time(day, "000000000");
        let (name, content) = match self.version < 8 {
            true => (format!("{requested}.commit"), commit.to_json()),
            false => (format!("{requested}_{}.commit", time(OWN, "120000000")), commit.to_avro().unwrap()),
        };
        self.put(&self.store(), &format!("{}/{name}", self.folder()), &content);
    }

    fn service_table(&self) -> ServiceTable {
        let store: Arc<dyn FileStore> = Arc::new(self.store());
        let table = TableLocation::in_store(Arc::clone(&store), "table").open_table(ReadOptions::default());
        ServiceTable::new(&store, &table.unwrap())
    }

    /// Archives the first completed writes, also past pending ones.
    fn archive_first(&self, count: usize) {
        let mut table = self.service_table();
        let base = ArchiveBase::read(&mut table).unwrap();
        let first: Vec<Instant> = table.timeline.completed_writes().take(count).cloned().collect();
        archive_instants(&table, base, &first, 10, &Progress::default()).unwrap();
    }

    fn forget_archive(&self, config: &TableConfig) {
        for entry in self.store().list(&config.archive_folder).unwrap().unwrap_or_default() {
            if let FolderEntry::File(file) = entry {
                self.store().delete(&format!("{}/{}", config.archive_folder, file.name)).unwrap();
            }
        }
    }

    /// Checks this write, of `p/f`, which began with the timeline `before`.
    fn check(&self, before: &Timeline) -> Result<()> {
        let now = self.service_table();
        let groups = WrittenGroups { all: BTreeSet::from([("p".to_owned(), "f".to_owned())]), merged: BTreeSet::new() };
        let check = ConflictCheck {
            writer: &TimelineWriter::new(Arc::new(self.store()), &now.config),
            config: &now.config,
            before,
            now: &now.timeline,
            instant: &time(OWN, "000000000").as_str().into(),
            groups: &groups,
            unit: ConflictUnit::FileGroup,
            among: None,
        };
        check.run()
    }
}

/// Requests of three days, of which that of the last is this write's.
fn requested(version: u8) -> Table {
    Table::new(version).with_commits(1..=1).with_requests(&[2, 3, OWN])
}

#[test]
fn what_was_completed_since_a_pending_write_began_stays_active() {
    for version in [6, 9] {
        let table = requested(version);
        table.complete_late(2, "f");
        table.complete_late(3, "g");
        let table = table.with_commits(5..=10);
        table.archive(Arc::new(table.store())).unwrap();
        assert!(table.days().1.contains(&"DAY_2".to_owned()), "{version}: {:?}", table.days());
        table.complete_late(OWN, "h");
        table.archive(Arc::new(table.store())).unwrap();
        assert!(table.days().0.contains(&"DAY_2".to_owned()), "{version}: {:?}", table.days());
    }
}

#[test]
fn what_another_archiver_has_archived_is_compared() {
    for version in [6, 9] {
        for (file_id, conflicts) in [("f", true), ("g", false)] {
            let table = requested(version);
            let before = table.timeline();
            table.complete_late(2, file_id);
            table.complete_late(3, "h");
            table.archive_first(2);
            let checked = table.check(&before);
            assert_eq!(checked.is_err(), conflicts, "{version} {file_id}");
            if let Err(error) = checked {
                assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
                assert!(error.to_string().contains(&time(2, "000000000")), "{error}");
            }
        }
    }
}

#[test]
fn what_has_vanished_conflicts() {
    for version in [6, 9] {
        let table = requested(version);
        let before = table.timeline();
        table.complete_late(2, "g");
        table.complete_late(3, "h");
        table.archive_first(2);
        table.check(&before).unwrap();
        table.forget_archive(&table.service_table().config);
        let error = table.check(&before).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict, "{error}");
        assert!(error.to_string().contains("neither on the timeline nor in the archive"), "{error}");
    }
}

#[test]
fn what_was_rolled_back_does_not_conflict() {
    for version in [6, 9] {
        let table = requested(version);
        let before = table.timeline();
        let remove = |table: &Table| {
            let path = format!("{}/{}.commit.requested", table.folder(), time(2, "000000000"));
            table.store().delete(&path).unwrap();
        };
        remove(&table);
        let error = table.check(&before).unwrap_err();
        assert!(
            error.kind() == ErrorKind::WriteConflict && error.to_string().contains("what it wrote is not known"),
            "{error}"
        );
        let target = HoodieInstantInfo { commit_time: time(2, "000000000"), ..HoodieInstantInfo::default() };
        let plan = HoodieRollbackPlan { instant_to_rollback: Some(target), ..HoodieRollbackPlan::default() };
        let path = format!("{}/{}.rollback.requested", table.folder(), time(5, "000000000"));
        table.put(&table.store(), &path, &plan.to_avro().unwrap());
        table.check(&before).unwrap();
    }
}
