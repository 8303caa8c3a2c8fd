//! A copy of a bundled table, cut back to what it was before one of its commits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mortice::config::ReadOptions;
use mortice::filter::Filter;
use mortice::log::{BlockKind, LogFile};
use mortice::plan::OpenTable;
use mortice::storage::{FileStore, LocalStorage, MemoryFile};

use crate::zip_archive::ZipArchive;

pub const METADATA: &str = ".hoodie/metadata";

/// A table in a temporary folder.
pub struct TableCopy {
    folder: tempfile::TempDir,
}

impl TableCopy {
    pub fn new(name: &str) -> Self {
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name).join("table.zip");
        let folder = tempfile::tempdir().unwrap();
        let files = ZipArchive::open(&archive).files(|path| !path.ends_with('/'));
        let properties = files.iter().map(|(path, _)| path).filter(|path| path.ends_with(".hoodie/hoodie.properties"));
        let root = properties.min_by_key(|path| path.len()).unwrap().strip_suffix(".hoodie/hoodie.properties").unwrap();
        for (path, content) in &files {
            let path = folder.path().join(path.strip_prefix(root).unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        Self { folder }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub fn store(&self) -> Arc<dyn FileStore> {
        Arc::new(LocalStorage::new(&self.folder.path().to_string_lossy(), true))
    }

    pub fn open(&self, options: ReadOptions) -> Arc<OpenTable> {
        let uri = self.folder.path().to_string_lossy().into_owned();
        let place = Arc::new(LocalStorage::new(&uri, true));
        Arc::new(OpenTable::at(place, &uri, &Default::default(), options).unwrap())
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(path)).unwrap()
    }

    pub fn files_below(&self, folder: &str) -> Vec<String> {
        let files = self.store().list_recursively(folder).unwrap();
        files.into_iter().map(|(path, _)| path).filter(|path| !path.ends_with(".crc")).collect()
    }

    /// The timeline's folder of the table, or of its metadata table.
    pub fn timeline(&self, root: &str) -> String {
        let prefix = if root.is_empty() { ".hoodie".to_owned() } else { format!("{root}/.hoodie") };
        let of_layout_2 = format!("{prefix}/timeline");
        if self.folder.path().join(&of_layout_2).is_dir() { of_layout_2 } else { prefix }
    }

    /// The names of a timeline's files.
    pub fn instant_files(&self, root: &str) -> Vec<String> {
        let files = self.store().list(&self.timeline(root)).unwrap().unwrap();
        let names = files.iter().map(|entry| entry.name().to_owned());
        names.filter(|name| name.starts_with(|first: char| first.is_ascii_digit()) && name.contains('.')).collect()
    }

    fn delete(&self, path: &str) {
        std::fs::remove_file(self.folder.path().join(path)).unwrap();
    }

    /// Deletes all that `instant` and later ones wrote to the timelines and the metadata table. The instant itself
    /// stays inflight in the table.
    pub fn cut_before(&self, instant: &str) {
        for root in ["", METADATA] {
            for name in self.instant_files(root) {
                let time = name.split(['_', '.']).next().unwrap();
                let is_kept =
                    root.is_empty() && time == instant && (name.contains("requested") || name.contains("inflight"));
                if time >= instant && !is_kept {
                    self.delete(&format!("{}/{name}", self.timeline(root)));
                }
            }
        }
        for path in self.metadata_files() {
            if self.instant_of(&path).as_str() >= instant {
                self.delete(&path);
            }
        }
        for path in self.data_files() {
            if self.instant_of(&path).as_str() > instant {
                self.delete(&path);
            }
        }
    }

    fn data_files(&self) -> Vec<String> {
        let files = self.files_below("").into_iter();
        files
            .filter(|path| !path.contains(".hoodie") && (path.ends_with(".parquet") || path.contains(".log.")))
            .collect()
    }

    /// The base and log files of the metadata table.
    pub fn metadata_files(&self) -> Vec<String> {
        let files =
            self.files_below(METADATA).into_iter().filter(|path| !path.starts_with(".hoodie/metadata/.hoodie/"));
        files.filter(|path| path.ends_with(".hfile") || path.contains(".log.")).collect()
    }

    /// The instant that wrote a file: of a log its first block's.
    pub fn instant_of(&self, path: &str) -> String {
        if !path.contains(".log.") {
            return path.rsplit('_').next().unwrap().split('.').next().unwrap().to_owned();
        }
        let log = LogFile::new(Arc::new(MemoryFile::new(path, self.read(path))));
        let block = log.blocks(false).next().unwrap().unwrap();
        assert!(matches!(block.kind, BlockKind::Sound(_)));
        block.header.instant_time().unwrap().into_owned()
    }
}

/// Whether the metadata table tells what a listing of storage tells, and has no markers left.
pub fn check_listing(table: &TableCopy, what: &str) {
    let listing = |metadata: bool| {
        let table = table.open(ReadOptions { metadata, ..ReadOptions::default() });
        let mut slices = table.file_slices(None, &Filter::default()).unwrap();
        slices.sort_by(|one, other| (&one.partition, &one.file_id).cmp(&(&other.partition, &other.file_id)));
        slices
            .iter()
            .map(|slice| {
                (slice.partition.clone(), slice.files().map(|(path, len)| (path.to_owned(), len)).collect::<Vec<_>>())
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(listing(true), listing(false), "{what}");
    let metadata = table.open(ReadOptions::default());
    assert!(metadata.metadata_table().is_ok(), "{what}");
    assert!(!table.files_below(METADATA).iter().any(|path| path.contains(".temp/") || path.contains(".heartbeat/")));
}
