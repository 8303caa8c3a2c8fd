//! Lists the partitions of a table and their files in storage (`FileSystemBackedTableMetadata`).
//!
//! A folder with the file `.hoodie_partition_metadata` (or that name with the extension of base files) is a partition;
//! its subfolders are not listed. The root is the partition of a table that is not partitioned; there the file may be
//! missing, as in tables of hudi-rs: Hudi's readers do not look for it (`BaseHoodieTableFileIndex.listPartitionPaths`).
//! `.hoodie` is not listed.

use std::sync::{Mutex, OnceLock, PoisonError};

use super::partition_files::PartitionFiles;
use super::view::FORMATS;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, LogFileName};
use mortice_merge::config::TableConfig;
use mortice_storage::{FileStatus, FolderEntry, Storage, parallel};

const MARKER: &str = ".hoodie_partition_metadata";
const TABLE_FOLDER: &str = ".hoodie";

/// The files of a table in storage.
#[derive(Debug, Default)]
pub struct StorageListing {
    /// The partitions with their data files, sorted by path.
    pub partitions: Vec<PartitionFiles>,
    /// A file that has the format of base files, but not the name of one. It may be registered in the table
    /// ([`mortice_base::names::is_registered`]); a listing of the storage cannot tell.
    pub unknown: Option<String>,
}

/// Returns all partitions with their data files, sorted by path.
///
/// # Errors
/// `InvalidTable` if a folder has data files but no marker; `Io` if a folder cannot be listed.
pub fn list_table(storage: &dyn Storage) -> Result<Vec<PartitionFiles>> {
    list_where(storage, &|_| true).map(|listed| listed.partitions)
}

/// Returns partitions with their data files, like [`list_table`], without unwanted folders and their subfolders.
/// Folders are listed in parallel: a table may have many partitions, and each request takes a round trip.
///
/// # Errors
/// As for [`list_table`].
pub fn list_where(storage: &dyn Storage, wanted: &(dyn Fn(&str) -> bool + Sync)) -> Result<StorageListing> {
    let partitions = Mutex::new(Vec::new());
    let unknown = OnceLock::new();
    parallel::work_through(vec![String::new()], storage.requests_at_once(), |folder: &String| {
        // A folder may be deleted between two listings: a clean deletes empty partitions.
        let Some(entries) = storage.list(folder)? else { return Ok(Vec::new()) };
        let (files, below) = split(entries);
        let listed = data_files(folder, &files);
        if let Some(file) = files.iter().find(|file| is_unknown(&file.name)) {
            unknown.get_or_init(|| joined(folder, &file.name));
        }
        if files.iter().any(is_marker) {
            partitions.lock().unwrap_or_else(PoisonError::into_inner).push(listed);
            return Ok(Vec::new());
        }
        if folder.is_empty() && !listed.is_empty() && !is_partitioned(storage)? {
            partitions.lock().unwrap_or_else(PoisonError::into_inner).push(listed);
        } else if let Some(stray) = first_name(&listed) {
            let message = format!(
                "{stray} is in a folder without {MARKER}, which is not a partition for Hudi; the table was copied without its hidden files, or the file is not the table's"
            );
            return Err(Error::invalid_table(message).in_file(storage.full_path(folder)));
        }
        let below = below.into_iter().map(|name| joined(folder, &name)).filter(|path| path != TABLE_FOLDER);
        Ok(below.filter(|path| wanted(path)).collect())
    })?;
    let mut partitions = partitions.into_inner().unwrap_or_else(PoisonError::into_inner);
    partitions.sort_by(|one, other| one.partition.cmp(&other.partition));
    Ok(StorageListing { partitions, unknown: unknown.into_inner() })
}

/// Whether a file may be one that another tool has written.
fn is_unknown(name: &str) -> bool {
    let has_format = name.rsplit_once('.').is_some_and(|(_, extension)| FORMATS.contains(&extension));
    has_format
        && !name.starts_with(['.', '_'])
        && BaseFileName::parse(name).is_none()
        && LogFileName::parse(name).is_none()
}

/// Returns the paths of all partitions, sorted; `""` is the root.
///
/// # Errors
/// As for [`list_table`].
pub fn partitions(storage: &dyn Storage) -> Result<Vec<String>> {
    Ok(list_table(storage)?.into_iter().map(|files| files.partition).collect())
}

/// Returns the data files of one partition; no files if the folder does not exist.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub fn files_of(storage: &dyn Storage, partition: &str) -> Result<PartitionFiles> {
    let (files, _) = split(storage.list(partition)?.unwrap_or_default());
    Ok(data_files(partition, &files))
}

/// Whether the properties of the table at `storage` name partition columns. They are read only where the root has data
/// files without a marker.
fn is_partitioned(storage: &dyn Storage) -> Result<bool> {
    Ok(!TableConfig::read(storage)?.partition_fields.is_empty())
}

fn data_files(partition: &str, files: &[FileStatus]) -> PartitionFiles {
    let files = files.iter().map(|file| (file.name.as_str(), file.len, file.etag.as_deref()));
    PartitionFiles::with_etags(partition, files)
}

fn split(entries: Vec<FolderEntry>) -> (Vec<FileStatus>, Vec<String>) {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            FolderEntry::File(status) => files.push(status),
            FolderEntry::Folder(name) => folders.push(name),
        }
    }
    (files, folders)
}

fn is_marker(status: &FileStatus) -> bool {
    status.name.strip_prefix(MARKER).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn first_name(files: &PartitionFiles) -> Option<&str> {
    let base = files.base_files.first().map(|base| base.name.name.as_str());
    base.or(files.log_files.first().map(|log| log.name.name.as_str()))
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::timeline::MemoryStorage;

    fn storage(paths: &[&str]) -> std::sync::Arc<dyn Storage> {
        MemoryStorage::holding(paths.iter().map(|path| (*path, b"".as_slice())))
    }

    const BASE: &str = "f-0_0-1-2_20240101000000000.parquet";
    const LOG: &str = ".f-0_20240101000000000.log.1_0-1-2";

    #[test]
    fn partitions_are_the_folders_with_a_marker() {
        let storage = storage(&[
            ".hoodie/hoodie.properties",
            ".hoodie/metadata/files/.hoodie_partition_metadata",
            "2024/01/02/.hoodie_partition_metadata",
            &format!("2024/01/02/{BASE}"),
            &format!("2024/01/02/.{BASE}.crc"),
            &format!("2024/01/02/{LOG}"),
            &format!("2024/01/02/below/{BASE}"),
            "a b=é z/.hoodie_partition_metadata.parquet",
            "empty/of data/_SUCCESS",
        ]);
        let listed = list_table(&*storage).unwrap();
        assert_eq!(partitions(&*storage).unwrap(), ["2024/01/02", "a b=é z"]);
        assert_eq!((listed[0].base_files.len(), listed[0].log_files.len()), (1, 1));
        assert!(listed[1].is_empty());
        assert_eq!(files_of(&*storage, "2024/01/02").unwrap(), listed[0]);
        assert!(files_of(&*storage, "none").unwrap().is_empty());
    }

    #[test]
    fn the_root_is_the_partition_of_a_table_without() {
        let listed = list_table(&*storage(&[".hoodie/x", ".hoodie_partition_metadata", BASE])).unwrap();
        assert_eq!((listed.len(), listed[0].partition.as_str(), listed[0].base_files.len()), (1, "", 1));
    }

    #[test]
    fn the_root_of_a_table_without_partitions_needs_no_marker() {
        let listed = |properties: &str| {
            let stored = format!("hoodie.table.name=t\nhoodie.table.version=9\n{properties}");
            let files =
                [(".hoodie/hoodie.properties", stored.as_bytes()), (BASE, b"".as_slice()), (LOG, b"".as_slice())];
            let below = [("a/.hoodie_partition_metadata", b"".as_slice())];
            list_table(&*MemoryStorage::holding(files.into_iter().chain(below)))
        };
        let found = listed("").unwrap();
        assert_eq!(found.iter().map(|files| files.partition.as_str()).collect::<Vec<_>>(), ["", "a"]);
        assert_eq!((found[0].base_files.len(), found[0].log_files.len()), (1, 1));
        assert_eq!(
            listed("hoodie.table.partition.fields=a\n").unwrap_err().kind(),
            mortice_base::ErrorKind::InvalidTable
        );
    }

    #[test]
    fn data_without_a_marker_is_not_passed_over() {
        let error = list_table(&*storage(&[".hoodie/x", &format!("p=1/{BASE}")])).unwrap_err();
        assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidTable);
        assert!(error.to_string().contains("p=1") && error.to_string().contains(MARKER), "{error}");
    }

    /// Lets the first listings below the root wait for another one for a while; counts the listings and the maximum
    /// number of concurrent ones.
    struct Slow {
        storage: std::sync::Arc<dyn Storage>,
        listed: AtomicUsize,
        busy: AtomicUsize,
        most: AtomicUsize,
    }

    impl Storage for Slow {
        fn root(&self) -> &str {
            self.storage.root()
        }

        fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
            let number = self.listed.fetch_add(1, Ordering::SeqCst);
            self.most.fetch_max(self.busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let turns = if (1..10).contains(&number) { 10_000 } else { 0 };
            let is_alone = |_: &usize| self.most.load(Ordering::SeqCst) < 2;
            (0..turns).take_while(is_alone).for_each(|_| std::thread::yield_now());
            self.busy.fetch_sub(1, Ordering::SeqCst);
            self.storage.list(folder)
        }

        fn open(&self, path: &str) -> Result<std::sync::Arc<dyn mortice_storage::FileSource>> {
            self.storage.open(path)
        }

        fn requests_at_once(&self) -> usize {
            16
        }
    }

    #[test]
    fn many_partitions_are_listed_side_by_side() {
        let paths: Vec<String> = (0..300)
            .flat_map(|at| {
                let folder = format!("year={}/day={at:03}", at % 3);
                [format!("{folder}/{BASE}"), format!("{folder}/.hoodie_partition_metadata")]
            })
            .chain([".hoodie/x".to_owned()])
            .collect();
        let (zero, paths) = (AtomicUsize::default, paths.iter().map(String::as_str).collect::<Vec<_>>());
        let slow = Slow { storage: storage(&paths), listed: zero(), busy: zero(), most: zero() };
        let found = list_table(&slow).unwrap();
        assert_eq!(found.len(), 300);
        assert!(found.is_sorted_by(|one, other| one.partition < other.partition));
        assert_eq!(slow.listed.load(Ordering::SeqCst), 1 + 3 + 300);
        let most = slow.most.load(Ordering::SeqCst);
        assert!((2..=16).contains(&most), "{most} at once");
        let some = list_where(&slow, &|folder| folder.starts_with("year=1")).unwrap().partitions;
        assert!(some.len() == 100 && some.iter().all(|files| files.partition.starts_with("year=1/")));
    }
}
