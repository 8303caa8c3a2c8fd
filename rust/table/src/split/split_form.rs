//! Serialization of queries and splits for other processes of the same release.
//!
//! All are JSON objects with the number of the format. A query takes some kilobytes (the table's schema, its merge
//! configuration), the rest of a split some hundred bytes: a process that receives many splits of a query receives the
//! query once.
//!
//! | bytes | fields |
//! |---|---|
//! | [`Query::to_bytes`] | `form`, `query` |
//! | [`Split::to_bytes_without_query`] | `form`, `split` |
//! | [`Split::to_bytes`] | `form`, `query`, `split`: self-contained |
//!
//! In `split`, a file is its name if its path is `partition/name`; other paths begin with `/`.
//!
//! The bytes may come from anywhere: they are plain data, memory is allocated in proportion to them, and they cannot
//! name a file outside of the table, other than the source of a bootstrapped one.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::change::{ChangeSource, FileGroupChange};
use super::part::SlicePart;
use super::split::{Query, Split};
use crate::file_group::{BaseFile, BootstrapSource, FileSlice, LogFile};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// The number of the format. It changes with every change that another release cannot read or would read differently.
const FORM: u32 = 14;

/// The most rows of a batch: Arrow's offsets have 31 bits.
const MOST_BATCH_ROWS: usize = (1 << 31) - 1;

/// The most threads of a read.
const MOST_THREADS: usize = 1 << 16;

#[derive(Deserialize)]
struct FormNumber {
    form: u32,
}

#[derive(Serialize, Deserialize)]
struct Message<'a> {
    form: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<Cow<'a, Query>>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    split: Option<SplitForm<'a>>,
}

/// A split without its query: a sequence, so that field names are not repeated for each split.
#[derive(Serialize, Deserialize)]
struct SplitForm<'a>(
    #[serde(borrow)] SliceForm<'a>,
    /// The change to read.
    Option<Cow<'a, FileGroupChange>>,
    Option<SlicePart>,
);

/// A file slice: partition, file id, base instant, base file, log files.
#[derive(Serialize, Deserialize)]
struct SliceForm<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    RequestedTime,
    #[serde(borrow)] Option<BaseForm<'a>>,
    #[serde(borrow)] Vec<(Cow<'a, str>, VersionForm<'a>)>,
);

/// The version of a file's content: its size, and its etag if a listing reported one.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum VersionForm<'a> {
    Len(u64),
    LenAndEtag(u64, #[serde(borrow)] Cow<'a, str>),
}

/// A base file: file, length, instant, bootstrap source.
#[derive(Serialize, Deserialize)]
struct BaseForm<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] VersionForm<'a>,
    RequestedTime,
    Option<Cow<'a, BootstrapSource>>,
);

impl Query {
    /// Serializes the query for [`Query::from_bytes`] in another process.
    ///
    /// # Errors
    /// `InvalidArgument` if it cannot be represented.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        written(Some(self), None)
    }

    /// Reads the output of [`Query::to_bytes`].
    ///
    /// # Errors
    /// `InvalidArgument` for other input, including queries of other formats.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        checked(read::<Message<'_>>(bytes)?.query.ok_or_else(|| incomplete("query"))?.into_owned())
    }
}

impl Split {
    /// Serializes the split with its query, for [`Split::from_bytes`] in another process. The merger is omitted.
    ///
    /// # Errors
    /// `InvalidArgument` if it cannot be represented.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        written(Some(&self.query), Some(self))
    }

    /// Reads the output of [`Split::to_bytes`].
    ///
    /// # Errors
    /// `InvalidArgument` for other input, including splits of other formats.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let Message { query, split, .. } = read(bytes)?;
        let query = checked(query.ok_or_else(|| incomplete("query"))?.into_owned())?;
        split.ok_or_else(|| incomplete("split"))?.into_split(Arc::new(query))
    }

    /// Serializes the split without its query, for [`Split::with_query`]. The merger is omitted.
    ///
    /// # Errors
    /// `InvalidArgument` if it cannot be represented.
    pub fn to_bytes_without_query(&self) -> Result<Vec<u8>> {
        written(None, Some(self))
    }

    /// Reads the output of [`Split::to_bytes_without_query`] as a split of `query`, which must be the query it was
    /// created with.
    ///
    /// # Errors
    /// `InvalidArgument` for other input, including splits of other formats.
    pub fn with_query(query: &Arc<Query>, bytes: &[u8]) -> Result<Self> {
        let split = read::<Message<'_>>(bytes)?.split.ok_or_else(|| incomplete("split"))?;
        split.into_split(Arc::clone(query))
    }
}

fn written(query: Option<&Query>, split: Option<&Split>) -> Result<Vec<u8>> {
    let form = Message { form: FORM, query: query.map(Cow::Borrowed), split: split.map(SplitForm::from_split) };
    serde_json::to_vec(&form).map_err(|error| Error::invalid_argument("a split cannot be serialized").caused_by(error))
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    let FormNumber { form } = parsed(bytes)?;
    if form != FORM {
        let message = format!(
            "a split of serialization format {form}; this release of mortice reads format {FORM}: use one release in all processes"
        );
        return Err(Error::invalid_argument(message));
    }
    parsed(bytes)
}

fn parsed<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::invalid_argument("not a split of this release of mortice").caused_by(error))
}

/// Checks the options that memory and threads are allocated by.
fn checked(query: Query) -> Result<Query> {
    let options = query.options.clone().checked()?;
    if options.batch_rows > MOST_BATCH_ROWS || options.threads.is_some_and(|threads| threads > MOST_THREADS) {
        let message = format!("a split of batches of {} rows and {:?} threads", options.batch_rows, options.threads);
        return Err(Error::invalid_argument(message));
    }
    Ok(query)
}

fn incomplete(field: &str) -> Error {
    Error::invalid_argument(format!("the bytes of a split lack the field {field:?}"))
}

impl<'a> SplitForm<'a> {
    fn from_split(split: &'a Split) -> Self {
        Self(SliceForm::from_slice(&split.slice), split.change.as_deref().map(Cow::Borrowed), split.part)
    }

    fn into_split(self, query: Arc<Query>) -> Result<Split> {
        let Self(slice, change, part) = self;
        let (slice, change) = (Arc::new(slice.into_slice()), change.map(|change| Box::new(change.into_owned())));
        let split = Split { query, slice, change, part, merger: None };
        let leads_out = |path: &&str| path.starts_with('/') || path.split('/').any(|part| matches!(part, "." | ".."));
        if let Some(path) = own_files(&split).into_iter().find(leads_out) {
            return Err(Error::invalid_argument(format!("a split names {path:?}, which is not a file of its table")));
        }
        Ok(split)
    }
}

/// Returns the paths of the files of a split that are in the table: all but sources of a bootstrapped one.
fn own_files(split: &Split) -> Vec<&str> {
    let (logs, before) = match split.change.as_ref().map(|change| &change.source) {
        None | Some(ChangeSource::Inserted | ChangeSource::Deleted) => (&[][..], None),
        Some(ChangeSource::Logs(logs)) => (logs.as_slice(), None),
        Some(ChangeSource::ChangeLogs { files, before, .. }) => (files.as_slice(), before.as_deref()),
    };
    let slices = || std::iter::once(split.slice.as_ref()).chain(before);
    let bases = slices().filter_map(|slice| slice.base_file.as_ref()).map(|base| base.path.as_str());
    let logs = slices().flat_map(|slice| &slice.log_files).chain(logs).map(|log| log.path.as_str());
    bases.chain(logs).collect()
}

impl<'a> SliceForm<'a> {
    fn from_slice(slice: &'a FileSlice) -> Self {
        let FileSlice { partition, file_id, base_instant, base_file, log_files } = slice;
        let base = base_file.as_ref().map(|base| {
            let file = file_of(&base.path, partition);
            let version = VersionForm::new(base.len, base.etag.as_deref());
            BaseForm(file, version, base.instant.clone(), base.source.as_deref().map(Cow::Borrowed))
        });
        let log = |log: &'a LogFile| (file_of(&log.path, partition), VersionForm::new(log.len, log.etag.as_deref()));
        let logs = log_files.iter().map(log).collect();
        Self(Cow::Borrowed(partition), Cow::Borrowed(file_id), base_instant.clone(), base, logs)
    }

    fn into_slice(self) -> FileSlice {
        let Self(partition, file_id, base_instant, base, logs) = self;
        let partition = partition.into_owned();
        let base_file = base.map(|BaseForm(file, version, instant, source)| {
            let (path, (len, etag)) = (path_of(&file, &partition), version.into_parts());
            let source = source.map(|source| Box::new(source.into_owned()));
            BaseFile { path, len, etag, instant, source, registered_name: None }
        });
        let log_files = logs.into_iter().map(|(file, version)| {
            let (path, (len, etag)) = (path_of(&file, &partition), version.into_parts());
            LogFile { path, len, etag }
        });
        let log_files = log_files.collect();
        FileSlice { partition, file_id: file_id.into_owned(), base_instant, base_file, log_files }
    }
}

impl<'a> VersionForm<'a> {
    fn new(len: u64, etag: Option<&'a str>) -> Self {
        etag.map_or(Self::Len(len), |etag| Self::LenAndEtag(len, Cow::Borrowed(etag)))
    }

    fn into_parts(self) -> (u64, Option<String>) {
        match self {
            Self::Len(len) => (len, None),
            Self::LenAndEtag(len, etag) => (len, Some(etag.into_owned())),
        }
    }
}

/// Returns the name of a file of a partition, or its path after a `/` if the path is not `partition/name`.
fn file_of<'a>(path: &'a str, partition: &str) -> Cow<'a, str> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if folder == partition { Cow::Borrowed(name) } else { Cow::Owned(format!("/{path}")) }
}

fn path_of(file: &str, partition: &str) -> String {
    match file.strip_prefix('/') {
        Some(path) => path.to_owned(),
        None if partition.is_empty() => file.to_owned(),
        None => format!("{partition}/{file}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(partition: &str, base: &str, log: &str) -> FileSlice {
        FileSlice {
            partition: partition.to_owned(),
            file_id: "f".to_owned(),
            base_instant: "001".into(),
            base_file: Some(BaseFile {
                path: base.to_owned(),
                len: 7,
                etag: Some("\"abc\"".to_owned()),
                instant: "000".into(),
                source: Some(Box::new(BootstrapSource {
                    path: "/s/\"x\"".to_owned(),
                    len: 3,
                    path_values: Vec::new(),
                })),
                registered_name: None,
            }),
            log_files: vec![LogFile { path: log.to_owned(), len: u64::MAX, etag: None }],
        }
    }

    #[test]
    fn file_slices_round_trip_wherever_their_files_are() {
        for (partition, base, log) in [
            ("", "f_0.parquet", ".f.log.1"),
            ("a/b=ü", "a/b=ü/f_0.parquet", "a/b=ü/.f.log.1"),
            ("a", "f_0.parquet", "ab/.f.log.1"),
            ("a", "a/a/f_0.parquet", "b/a/.f.log.1"),
            ("", "a/f_0.parquet", "a/.f.log.1"),
        ] {
            let slice = slice(partition, base, log);
            let bytes = serde_json::to_vec(&SliceForm::from_slice(&slice)).unwrap();
            let again: SliceForm<'_> = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(again.into_slice(), slice);
        }
        let bytes = serde_json::to_string(&SliceForm::from_slice(&slice("a/b", "a/b/f_0.parquet", "a/b/.f"))).unwrap();
        assert_eq!(bytes.matches("a/b").count(), 1);
    }

    #[test]
    fn a_file_is_in_the_partition_unless_it_has_a_path_of_its_own() {
        for (file, partition, path) in [("a/b", "p", "p/a/b"), ("a/b", "", "a/b"), ("/a/b", "p", "a/b"), ("b", "", "b")]
        {
            assert_eq!(path_of(file, partition), path);
        }
    }

    #[test]
    fn other_formats_are_refused_by_number_and_other_bytes_at_all() {
        for (bytes, says) in [
            (r#"{"form":9,"split":[]}"#, "format 9"),
            (r#"{"form":13}"#, "format 13"),
            (r#"{"form":14}"#, "\"query\""),
            (r"[9,{}]", "not a split"),
            ("", "not a split"),
        ] {
            let error = Split::from_bytes(bytes.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
