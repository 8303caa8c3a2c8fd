//! The files of a partition by kind, recognised by name: base files and logs. Other files are ignored.

use std::collections::HashMap;

use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};

/// The data files of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionFiles {
    /// The partition path relative to the table; `""` for the root.
    pub partition: String,
    /// Base files, in the order of the listing.
    pub base_files: Vec<ListedBase>,
    /// Log files, in the order of the listing, including change logs.
    pub log_files: Vec<ListedLog>,
}

/// A base file of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBase {
    /// The parsed file name.
    pub name: BaseFileName,
    /// The size in bytes.
    pub len: u64,
    /// The etag of the content, if the storage has one.
    pub etag: Option<String>,
}

/// A log file of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLog {
    /// The parsed file name.
    pub name: LogFileName,
    /// The size in bytes.
    pub len: u64,
    /// The etag of the content, if the storage has one.
    pub etag: Option<String>,
}

impl PartitionFiles {
    /// Selects the data files of a folder from its names and sizes. Checksum files, markers and other files are
    /// ignored.
    #[must_use]
    pub fn new<'a>(partition: &str, listed: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        Self::with_etags(partition, listed.into_iter().map(|(name, len)| (name, len, None)))
    }

    /// Selects the data files of a folder from its names, sizes and etags.
    #[must_use]
    pub fn with_etags<'a>(partition: &str, listed: impl IntoIterator<Item = (&'a str, u64, Option<&'a str>)>) -> Self {
        let mut files = Self { partition: partition.to_owned(), ..Self::default() };
        for (name, len, etag) in listed {
            let etag = etag.map(str::to_owned);
            if let Some(name) = BaseFileName::parse(name) {
                files.base_files.push(ListedBase { name, len, etag });
            } else if let Some(name) = LogFileName::parse(name) {
                files.log_files.push(ListedLog { name, len, etag });
            }
        }
        files
    }

    /// Adds files that the listing does not have, by name. Their sizes are unknown.
    pub fn add_missing<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let missing: Vec<(&str, u64)> =
            names.into_iter().filter(|name| !self.has(name)).map(|name| (name, 0)).collect();
        let Self { base_files, log_files, .. } = Self::new(&self.partition, missing);
        self.base_files.extend(base_files);
        self.log_files.extend(log_files);
    }

    /// Adds files that cleans have deleted, so that a slice that has lost files is selected, not an older one. A clean
    /// deletes whole slices: those older than a base file that is listed are not added, as they would not be selected.
    ///
    /// Args:
    ///     names: The names of the deleted files. Those that are listed are there again, or still.
    ///     is_visible: Whether the selection may use a base file of an instant.
    pub fn add_deleted<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a str>,
        is_visible: impl Fn(&RequestedTime) -> bool,
    ) {
        let mut newest: HashMap<&str, &RequestedTime> = HashMap::new();
        for base in self.base_files.iter().filter(|base| is_visible(&base.name.instant)) {
            let known = newest.entry(&base.name.file_id).or_insert(&base.name.instant);
            *known = (*known).max(&base.name.instant);
        }
        let is_needed = |name: &&str| {
            let base = BaseFileName::parse(name).map(|base| (base.file_id, base.instant));
            let parsed = base.or_else(|| LogFileName::parse(name).map(|log| (log.file_id, log.instant)));
            parsed.is_some_and(|(group, instant)| newest.get(group.as_str()).is_none_or(|base| **base <= instant))
        };
        let needed: Vec<&str> = names.into_iter().filter(is_needed).collect();
        self.add_missing(needed);
    }

    /// Returns the names and sizes of the files.
    pub fn names_and_lengths(&self) -> impl Iterator<Item = (&str, u64)> {
        let bases = self.base_files.iter().map(|base| (base.name.name.as_str(), base.len));
        bases.chain(self.log_files.iter().map(|log| (log.name.name.as_str(), log.len)))
    }

    /// Returns the names of the files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let bases = self.base_files.iter().map(|base| base.name.name.as_str());
        bases.chain(self.log_files.iter().map(|log| log.name.name.as_str()))
    }

    fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns true if there is no data file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base_files.is_empty() && self.log_files.is_empty()
    }

    /// Returns the path of a file of this partition, relative to the table.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        if self.partition.is_empty() { name.to_owned() } else { [&self.partition, "/", name].concat() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_files_are_added_unless_a_later_base_file_is_there() {
        let deleted = [
            "f_0-1-2_10.parquet",
            ".f_15.log.1_0-1-2",
            "f_0-1-2_20.parquet",
            "g_0-1-2_10.parquet",
            ".h_10.log.1_0-1-2",
        ];
        let listed = ["f_0-1-2_20.parquet", "g_0-1-2_30.parquet"];
        let with_deleted = |until: &str| {
            let mut files = PartitionFiles::new("p", listed.map(|name| (name, 1)));
            files.add_deleted(deleted, |instant| instant.as_str() <= until);
            let added = files.base_files.into_iter().skip(listed.len()).map(|base| base.name.name);
            added.chain(files.log_files.into_iter().map(|log| log.name.name)).collect::<Vec<_>>()
        };
        assert_eq!(with_deleted("30"), [".h_10.log.1_0-1-2"]);
        assert_eq!(with_deleted("20"), ["g_0-1-2_10.parquet", ".h_10.log.1_0-1-2"]);
        assert_eq!(with_deleted("10").len(), 4);
    }
}
