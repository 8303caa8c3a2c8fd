//! Markers: files that name the data files of a commit before these exist (`WriteMarkers`).
//!
//! A data file without a marker survives a rollback. At the commit, data files with a marker that the commit does not
//! have are those of task attempts that failed: they are removed.
//!
//! | kind | where |
//! |---|---|
//! | direct (`DirectWriteMarkers`) | `.hoodie/.temp/<instant>/<partition>/<data file>.marker.<kind>`, empty |
//! | by Hudi's timeline server (`TimelineServerBasedWriteMarkers`) | `.hoodie/.temp/<instant>/MARKERS.type`; `MARKERS<n>`, of which each line is the path of a marker |
//!
//! Direct ones are written; both are read.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::FileStore;

const TEMP: &str = ".hoodie/.temp";
const EXTENSION: &str = ".marker.";
const LISTS: &str = "MARKERS";
const TYPE: &str = "MARKERS.type";

/// What is done to the data file (`IOType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkerKind {
    /// A base file of a new file group; from table version 8 any log file.
    Create,
    /// A base file that replaces another of its group.
    Merge,
    /// A log file up to table version 7.
    Append,
}

impl MarkerKind {
    /// The word at the end of a marker's name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Merge => "MERGE",
            Self::Append => "APPEND",
        }
    }
}

/// A marker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marker {
    /// The data file's path from the table.
    pub data_path: String,
    /// What is done to it.
    pub kind: MarkerKind,
}

impl Marker {
    /// Parses a path below the marker folder; none for other files.
    fn parse(path: &str) -> Option<Self> {
        let (data_path, word) = path.rsplit_once(EXTENSION)?;
        let kind =
            [MarkerKind::Create, MarkerKind::Merge, MarkerKind::Append].into_iter().find(|kind| kind.word() == word)?;
        Some(Self { data_path: data_path.to_owned(), kind })
    }
}

/// The markers of one instant.
#[derive(Clone)]
pub struct Markers {
    table: Arc<dyn FileStore>,
    folder: String,
}

impl Markers {
    /// Those of an instant of the table at the store's root.
    #[must_use]
    pub fn new(table: Arc<dyn FileStore>, instant: &RequestedTime) -> Self {
        Self { table, folder: format!("{TEMP}/{instant}") }
    }

    /// Those of an instant of the table at `root`, a folder of the store: the metadata table's. Paths are relative to
    /// that table.
    #[must_use]
    pub fn below(store: Arc<dyn FileStore>, root: &str, instant: &RequestedTime) -> Self {
        Self { table: store, folder: format!("{root}/{TEMP}/{instant}") }
    }

    /// Creates the marker of a data file, durable once this has returned. One that is there already is no error: a
    /// marker says that the file may exist.
    ///
    /// # Errors
    /// Those of the store: the data file must not be written then.
    pub fn create(&self, data_path: &str, kind: MarkerKind) -> Result<()> {
        let path = format!("{}/{data_path}{EXTENSION}{}", self.folder, kind.word());
        self.table.put_if_absent(&path, &Bytes::new()).map(|_| ())
    }

    /// All markers, of both kinds.
    ///
    /// # Errors
    /// `InvalidTable` for a list or a marker that cannot be read: what it names must not be taken for committed. Those
    /// of the store.
    pub fn list(&self) -> Result<BTreeSet<Marker>> {
        let prefix = format!("{}/", self.folder);
        let mut markers = BTreeSet::new();
        for (path, _) in self.table.list_recursively(&self.folder)? {
            let Some(name) = path.strip_prefix(&prefix) else { continue };
            if name == TYPE || is_side_file(name) {
                continue;
            }
            if let Some(marker) = Marker::parse(name) {
                markers.insert(marker);
            } else if name.starts_with(LISTS) && !name.contains('/') {
                let (bytes, _) = self.table.get(&path)?;
                let unreadable =
                    || Error::invalid_table("list of markers cannot be read").in_file(self.table.full_path(&path));
                let text = std::str::from_utf8(&bytes).map_err(|_| unreadable())?;
                for line in text.lines().filter(|line| !line.is_empty()) {
                    markers.insert(Marker::parse(line).ok_or_else(unreadable)?);
                }
            } else {
                let message = "file in a marker folder that is not a marker";
                return Err(Error::invalid_table(message).in_file(self.table.full_path(&path)));
            }
        }
        Ok(markers)
    }

    /// Data files that were begun and are not part of the commit (`HoodieTable.reconcileAgainstMarkers`), given the
    /// paths from the table that it has. Log files that were appended to are left alone: their blocks are skipped.
    ///
    /// # Errors
    /// As for [`Self::list`].
    pub fn uncommitted(&self, committed: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
        let begun = self.list()?.into_iter().filter(|marker| marker.kind != MarkerKind::Append);
        Ok(begun.map(|marker| marker.data_path).filter(|path| !committed.contains(path.as_str())).collect())
    }

    /// Removes data files that [`Self::uncommitted`] found.
    ///
    /// # Errors
    /// As for [`Self::remove`].
    pub fn delete_data_files(&self, paths: &BTreeSet<String>) -> Result<()> {
        paths.iter().try_for_each(|path| self.table.check_removable(path))?;
        paths.iter().try_for_each(|path| self.table.delete(path))
    }

    /// Removes the markers and their folder; lists and their type last, so that what is left after a failure can be
    /// read.
    ///
    /// # Errors
    /// `InvalidTable` if a link leads out of the table: nothing is removed then; those of the store.
    pub fn remove(&self) -> Result<()> {
        let mut paths: Vec<String> =
            self.table.list_recursively(&self.folder)?.into_iter().map(|(path, _)| path).collect();
        paths.sort_by_key(|path| path.ends_with(TYPE));
        paths.iter().try_for_each(|path| self.table.check_removable(path))?;
        paths.iter().try_for_each(|path| self.table.delete(path))?;
        self.table.remove_empty_folders(&self.folder)
    }
}

/// Checksums that Hadoop's local file system keeps beside files, and files that are being written.
fn is_side_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with('.') && (name.ends_with(".crc") || name.ends_with(".tmp"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::LocalStorage;
    use mortice_storage::Storage;

    struct Table(tempfile::TempDir);

    impl Table {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn store(&self) -> Arc<LocalStorage> {
            Arc::new(LocalStorage::new(&self.0.path().to_string_lossy(), true))
        }

        fn put(&self, path: &str, text: &str) {
            self.store().put(path, &Bytes::copy_from_slice(text.as_bytes()), None).unwrap();
        }
    }

    fn marker(data_path: &str, kind: MarkerKind) -> Marker {
        Marker { data_path: data_path.into(), kind }
    }

    #[test]
    fn markers_are_created_listed_and_removed() {
        let table = Table::new();
        let markers = Markers::new(table.store(), &"001".into());
        assert!(markers.list().unwrap().is_empty());
        markers.create("p/q=1/f-0_0-1-2_001.parquet", MarkerKind::Create).unwrap();
        markers.create("p/q=1/f-0_0-1-2_001.parquet", MarkerKind::Create).unwrap();
        markers.create(".g-0_000.log.1_0-1-2", MarkerKind::Append).unwrap();
        let path = ".hoodie/.temp/001/p/q=1/f-0_0-1-2_001.parquet.marker.CREATE";
        assert_eq!(table.store().len_of(path).unwrap(), 0);
        table.put(".hoodie/.temp/001/p/q=1/.f-0_0-1-2_001.parquet.marker.CREATE.crc", "crc");
        let expected = [
            marker(".g-0_000.log.1_0-1-2", MarkerKind::Append),
            marker("p/q=1/f-0_0-1-2_001.parquet", MarkerKind::Create),
        ];
        assert_eq!(markers.list().unwrap(), expected.into());
        assert!(Markers::new(table.store(), &"002".into()).list().unwrap().is_empty());
        markers.remove().unwrap();
        assert!(markers.list().unwrap().is_empty());
        assert!(!table.0.path().join(".hoodie/.temp/001").exists());
        markers.remove().unwrap();
    }

    #[test]
    fn markers_of_the_timeline_server_are_read() {
        let table = Table::new();
        let markers = Markers::new(table.store(), &"001".into());
        table.put(".hoodie/.temp/001/MARKERS.type", "TIMELINE_SERVER_BASED");
        table.put(".hoodie/.temp/001/MARKERS0", "a/x.parquet.marker.CREATE\na/y.parquet.marker.MERGE\n");
        table.put(".hoodie/.temp/001/MARKERS19", "z.parquet.marker.CREATE\n");
        let found: Vec<String> = markers.list().unwrap().into_iter().map(|marker| marker.data_path).collect();
        assert_eq!(found, ["a/x.parquet", "a/y.parquet", "z.parquet"]);
        table.put(".hoodie/.temp/001/MARKERS1", "a/x.parquet.marker.CRE");
        assert_eq!(markers.list().unwrap_err().kind(), mortice_base::ErrorKind::InvalidTable);
        markers.remove().unwrap();
        table.put(".hoodie/.temp/001/a/unknown", "");
        assert!(markers.list().unwrap_err().to_string().contains("a/unknown"));
    }

    #[test]
    fn files_of_failed_attempts_are_found_and_removed() {
        let table = Table::new();
        let markers = Markers::new(table.store(), &"001".into());
        for (path, kind) in [
            ("p/f-0_0-1-2_001.parquet", MarkerKind::Create),
            ("p/f-0_0-1-3_001.parquet", MarkerKind::Create),
            ("p/g-0_0-1-3_001.parquet", MarkerKind::Merge),
            ("p/.h-0_000.log.1_0-1-2", MarkerKind::Append),
        ] {
            markers.create(path, kind).unwrap();
            table.put(path, "data");
        }
        let begun = markers.uncommitted(&BTreeSet::from(["p/f-0_0-1-3_001.parquet"])).unwrap();
        assert_eq!(begun, ["p/f-0_0-1-2_001.parquet", "p/g-0_0-1-3_001.parquet"].map(str::to_owned).into());
        markers.delete_data_files(&begun).unwrap();
        let left: Vec<String> =
            table.store().list_recursively("p").unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(left, ["p/.h-0_000.log.1_0-1-2", "p/f-0_0-1-3_001.parquet"]);
    }
}
