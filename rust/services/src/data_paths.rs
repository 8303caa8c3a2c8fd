//! Paths of data files in plans and markers.
//!
//! A plan may come from another writer, and its paths are deleted. So only those are accepted that are in a partition
//! of the table and have the name of a data file of the instant that is rolled back.

use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_storage::Storage;

/// A data file: its partition, `""` for a table without partitions, and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DataPath {
    pub(crate) partition: String,
    pub(crate) name: String,
}

impl DataPath {
    /// Parses a path relative to the table, as markers have it.
    pub(crate) fn parse(path: &str) -> Result<Self> {
        let (partition, name) = path.rsplit_once('/').unwrap_or(("", path));
        Self::new(partition, name)
    }

    /// A path of a plan: a full one with or without its scheme, or a name, of a file in `partition`.
    pub(crate) fn of_plan(partition: &str, path: &str) -> Result<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let data_path = Self::new(partition, name)?;
        let is_inside = folder.is_empty() || partition.is_empty() || ends_with_folder(folder, partition);
        if is_inside { Ok(data_path) } else { Err(outside(path)) }
    }

    fn new(partition: &str, name: &str) -> Result<Self> {
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
        let is_partition = partition.is_empty() || partition.split('/').all(|part| is_plain(part) && part != ".hoodie");
        if !is_partition || !is_plain(name) || name == ".hoodie" {
            return Err(outside(&format!("{partition}/{name}")));
        }
        Ok(Self { partition: partition.to_owned(), name: name.to_owned() })
    }

    /// The path relative to the table.
    pub(crate) fn path(&self) -> String {
        if self.partition.is_empty() { self.name.clone() } else { format!("{}/{}", self.partition, self.name) }
    }

    /// Returns true if the name is that of a data file of an instant. Up to table version 7 these are, of log files,
    /// those of slices that began with the instant.
    pub(crate) fn is_of(&self, instant: &RequestedTime) -> bool {
        let base = BaseFileName::parse(&self.name).map(|name| name.instant);
        let of = base.or_else(|| LogFileName::parse(&self.name).map(|name| name.instant));
        of.is_some_and(|of| of == *instant)
    }

    /// Makes sure that the name is that of a data file of an instant.
    pub(crate) fn check_is_of(&self, instant: &RequestedTime) -> Result<()> {
        if self.is_of(instant) {
            return Ok(());
        }
        let message = format!(
            "a plan or marker of the rollback of {instant} names a file that is not a data file of this instant: it is not deleted, and \
             nothing was rolled back; compare the plan in the timeline folder with the files of the table"
        );
        Err(Error::invalid_table(message).in_file(self.path()).at_instant(instant))
    }
}

fn ends_with_folder(folder: &str, partition: &str) -> bool {
    folder.strip_suffix(partition).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn outside(path: &str) -> Error {
    let message = "a plan or marker names a path outside of the table's partitions: nothing was deleted";
    Error::invalid_table(message).in_file(path)
}

/// The full path of a file as plans have it: without a scheme, as the same store is `s3://` here and `s3a://` in
/// Hadoop.
pub(crate) fn plan_path(store: &dyn Storage, path: &str) -> String {
    let full = store.full_path(path);
    match full.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or(format!("/{path}"), |(_, inside)| format!("/{inside}")),
        None => match std::path::absolute(&full) {
            Ok(absolute) => absolute.to_string_lossy().into_owned(),
            Err(_) => full,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_storage::LocalStorage;

    #[test]
    fn paths_are_in_partitions() {
        let path = DataPath::parse("p/q=1/f-0_0-1-2_7.parquet").unwrap();
        assert_eq!((path.partition.as_str(), path.path().as_str()), ("p/q=1", "p/q=1/f-0_0-1-2_7.parquet"));
        assert_eq!(DataPath::parse("f-0_0-1-2_7.parquet").unwrap().partition, "");
        for wrong in ["../f", "p/../f", "/etc/passwd", "p//f", "p/", ".hoodie/hoodie.properties", "p/..", "", "./f"] {
            assert_eq!(DataPath::parse(wrong).unwrap_err().kind(), mortice_base::ErrorKind::InvalidTable, "{wrong}");
        }
    }

    #[test]
    fn paths_of_plans_are_full_or_names() {
        for (partition, path) in [
            ("p/q=1", "s3a://b/t/p/q=1/f"),
            ("p/q=1", "/t/p/q=1/f"),
            ("p/q=1", "f"),
            ("p/q=1", "file:/t/p/q=1/f"),
            ("", "/t/f"),
        ] {
            assert_eq!(DataPath::of_plan(partition, path).unwrap().name, "f", "{path}");
        }
        for (partition, path) in [("p", "/t/q/f"), ("p", "/t/xp/f"), ("p", "/t/p/.."), ("../p", "/t/../p/f")] {
            assert!(DataPath::of_plan(partition, path).is_err(), "{partition} {path}");
        }
    }

    #[test]
    fn names_are_of_the_instant() {
        for (name, is_of) in [
            ("f-0_0-1-2_7.parquet", true),
            (".f-0_7.log.1_0-1-2", true),
            (".f-0_7.log.1_0-1-2.cdc", true),
            ("f-0_0-1-2_8.parquet", false),
            (".f-0_8.log.1_0-1-2", false),
            (".hoodie_partition_metadata", false),
            ("f-0_0-1-2_7.parquet.crc", false),
        ] {
            let path = DataPath::parse(name).unwrap();
            assert_eq!((path.is_of(&"7".into()), path.check_is_of(&"7".into()).is_ok()), (is_of, is_of), "{name}");
        }
    }

    #[test]
    fn plans_have_paths_without_a_scheme() {
        assert_eq!(plan_path(&LocalStorage::new("/t", true), "p/f"), "/t/p/f");
        let here = std::env::current_dir().unwrap().to_string_lossy().into_owned();
        assert_eq!(plan_path(&LocalStorage::new("t", true), "p/f"), format!("{here}/t/p/f"));
    }
}
