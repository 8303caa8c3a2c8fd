//! The folder of a table, in memory where there is such a file system: nothing waits for a disk.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::stopped_services::copy_files;
use mortice_base::names::{BaseFileName, LogFileName};
use mortice_base::time::SimulatedTime;
use mortice_storage::{FileStore, LocalStorage, Storage};

const IN_MEMORY: &str = "/dev/shm";

/// The folder of a table. Clones are the same one.
#[derive(Clone)]
pub(super) struct TableFolder {
    folder: Arc<tempfile::TempDir>,
    pub(super) storage: Arc<LocalStorage>,
    /// That of all who use the table.
    pub(super) time: SimulatedTime,
}

impl TableFolder {
    pub(super) fn new() -> Self {
        Self::with_files(|_| {})
    }

    /// A folder with files. Its time begins after theirs.
    fn with_files(add: impl FnOnce(&Path)) -> Self {
        let folder = match Path::new(IN_MEMORY).is_dir() {
            true => tempfile::tempdir_in(IN_MEMORY).unwrap(),
            false => tempfile::tempdir().unwrap(),
        };
        add(folder.path());
        let last = tempfile::NamedTempFile::new_in(folder.path()).unwrap();
        let time = SimulatedTime::starting_at(last.as_file().metadata().unwrap().modified().unwrap().into());
        time.advance(Duration::from_millis(10));
        let storage = LocalStorage::new(&folder.path().to_string_lossy(), true).in_time(Arc::new(time.clone()));
        Self { folder: Arc::new(folder), storage: Arc::new(storage), time }
    }

    /// Another folder with the same files.
    pub(super) fn copy(&self) -> Self {
        Self::with_files(|copy| copy_files(self.folder.path(), copy))
    }

    pub(super) fn uri(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    /// Gives a file that was just written the time of the table.
    pub(super) fn date(&self, path: &str) {
        if let Ok(file) = File::options().write(true).open(self.folder.path().join(path)) {
            file.set_modified(self.time.file_time()).unwrap();
        }
    }

    /// Makes a file look older by an hour.
    pub(super) fn age(&self, path: &str) {
        if let Ok(file) = File::options().write(true).open(self.folder.path().join(path)) {
            let modified = file.metadata().unwrap().modified().unwrap();
            file.set_modified(modified - Duration::from_secs(3600)).unwrap();
        }
    }

    /// Returns true if a new file is a data file of a write that has been rolled back, or is being: no marker names it,
    /// or a rollback of its instant is on the timeline.
    pub(super) fn is_late(&self, path: &str) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else { return false };
        let base = BaseFileName::parse(name).map(|name| name.instant);
        // Up to version 7 logs have the instant of their slice: rollbacks name it, whichever write they undo.
        let names_write = base.is_some() || !self.paths(".hoodie/timeline").is_empty();
        let Some(instant) = base.or_else(|| LogFileName::parse(name).map(|name| name.instant)) else { return false };
        if folder.starts_with(".hoodie/metadata/") {
            // Up to version 7 names have the instants of slices.
            let timeline = self.paths(".hoodie/metadata/.hoodie/timeline");
            return !timeline.is_empty() && !timeline.iter().any(|path| path.contains(instant.as_str()));
        }
        let temporary = self.paths(".hoodie/.temp");
        let prefix = format!("{name}.marker.");
        let is_marker = |path: &String| path.rsplit('/').next().is_some_and(|name| name.starts_with(&prefix));
        let is_marked = temporary.iter().any(|temp| self.paths(&format!("{temp}/{folder}")).iter().any(is_marker));
        // The plan of a compaction is executed again after a rollback.
        let plan = format!("{instant}.compaction.requested");
        let is_plan = |path: &String| path.ends_with(&plan);
        let is_planned = [".hoodie", ".hoodie/timeline"].iter().any(|folder| self.paths(folder).iter().any(is_plan));
        !is_marked || (names_write && !is_planned && self.rollbacks_name(instant.as_str()))
    }

    /// Returns true if a plan or a result of a rollback on the timeline names a file or an instant.
    pub(super) fn rollbacks_name(&self, name: &str) -> bool {
        let timeline = [".hoodie", ".hoodie/timeline"].map(|folder| self.paths(folder)).concat();
        let names = |path: &String| {
            let content = self.storage.get(path).map(|(content, _)| content).unwrap_or_default();
            content.windows(name.len()).any(|window| window == name.as_bytes())
        };
        timeline.iter().filter(|path| path.contains(".rollback")).any(names)
    }

    pub(super) fn delete(&self, path: &str) {
        self.storage.delete(path).unwrap();
    }

    /// The paths of the files in a folder.
    pub(super) fn paths(&self, folder: &str) -> Vec<String> {
        let entries = self.storage.list(folder).unwrap().unwrap_or_default();
        entries.iter().map(|entry| format!("{folder}/{}", entry.name())).collect()
    }
}
