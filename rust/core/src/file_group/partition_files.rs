//! The files of a partition by kind, recognised by name: base files and logs. Other files are ignored.

use crate::names::{BaseFileName, LogFileName};

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

    fn has(&self, name: &str) -> bool {
        self.base_files.iter().any(|base| base.name.name == name)
            || self.log_files.iter().any(|log| log.name.name == name)
    }

    /// Returns true if there is no data file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base_files.is_empty() && self.log_files.is_empty()
    }

    /// Returns the path of a file of this partition, relative to the table.
    pub(super) fn path(&self, name: &str) -> String {
        if self.partition.is_empty() { name.to_owned() } else { format!("{}/{name}", self.partition) }
    }
}
