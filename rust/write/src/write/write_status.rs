//! What a commit has to know of one file: the value that tasks send to the driver.

use serde::{Deserialize, Serialize};

use super::change_log::ChangeLogFile;
use super::column_range::ColumnRange;
use mortice_base::error::{Error, Result};
use mortice_table::timeline::metadata::{HoodieRuntimeStats, HoodieWriteStat};

/// The version of the serialised form. A driver refuses others: all processes of a job have one release of this
/// library.
const VERSION: u32 = 2;
/// Errors that are kept; more are counted.
const MAX_ERRORS: usize = 100;

/// A file that was written, and what is to be committed of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteStatus {
    /// The file group.
    pub file_id: String,
    /// The partition; empty for a table without partitions.
    pub partition: String,
    /// The file; none if all rows were refused and no file was written.
    pub file: Option<WrittenFile>,
    /// The slice that was written upon; none for a new file group.
    pub previous_commit: Option<String>,
    /// Rows written.
    pub writes: u64,
    /// Rows that are new.
    pub inserts: u64,
    /// Rows that update others.
    pub updates: u64,
    /// Keys deleted.
    pub deletes: u64,
    /// Rows that were refused, as far as they are kept.
    pub errors: Vec<RowError>,
    /// Rows that were refused.
    pub total_errors: u64,
    /// Milliseconds that the write took.
    pub millis: u64,
}

/// A file of a [`WriteStatus`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenFile {
    /// The file's path from the table.
    pub path: String,
    /// The file's length.
    pub bytes: u64,
    /// What a log file has besides.
    pub log: Option<LogFileStatus>,
    /// What was merged into it by a compaction.
    pub compacted: Option<CompactedLogs>,
    /// The base file that this one replaces, by name.
    pub previous_base_file: Option<String>,
    /// The least and the greatest record key, and the Bloom filter with its type: of a base file that has them.
    pub key_range: Option<(String, String)>,
    /// The type and the text of the Bloom filter.
    pub bloom: Option<(String, String)>,
    /// The ranges of the columns.
    pub columns: Vec<ColumnRange>,
    /// The change log beside a base file, if the table has change data capture.
    pub changes: Option<ChangeLogFile>,
}

impl WrittenFile {
    /// A file of which nothing is known but its path and its length.
    #[must_use]
    pub const fn new(path: String, bytes: u64) -> Self {
        Self {
            path,
            bytes,
            log: None,
            compacted: None,
            previous_base_file: None,
            key_range: None,
            bloom: None,
            columns: Vec::new(),
            changes: None,
        }
    }
}

/// What the statistics of a log file have besides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogFileStatus {
    /// The version in the file's name.
    pub version: i32,
    /// Where the first block of this commit begins.
    pub offset: u64,
    /// The slice's base file, by name; empty from table version 8.
    pub base_file: String,
    /// The slice's log files by name, this one last; from table version 8 this one alone.
    pub log_files: Vec<String>,
}

/// The logs that a compaction merged into a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactedLogs {
    /// Log files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records in them.
    pub records: u64,
    /// Records that became rows.
    pub updated: u64,
    /// Blocks.
    pub blocks: u64,
    /// Blocks that cannot be read.
    pub corrupt_blocks: u64,
    /// Blocks that rollbacks undid.
    pub rolled_back_blocks: u64,
}

/// A row that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowError {
    /// The record key, if it is known.
    pub record_key: Option<String>,
    /// What is wrong.
    pub message: String,
}

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    version: u32,
    status: T,
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

impl WriteStatus {
    /// Of a file group that nothing was written to.
    #[must_use]
    pub fn new(partition: &str, file_id: &str) -> Self {
        Self {
            file_id: file_id.to_owned(),
            partition: partition.to_owned(),
            file: None,
            previous_commit: None,
            writes: 0,
            inserts: 0,
            updates: 0,
            deletes: 0,
            errors: Vec::new(),
            total_errors: 0,
            millis: 0,
        }
    }

    /// Forgets the Bloom filter of its file, which is large, and which only the index of Bloom filters has use for.
    pub fn drop_bloom(&mut self) {
        if let Some(file) = &mut self.file {
            file.bloom = None;
        }
    }

    /// Adds a row that was refused.
    pub fn refuse(&mut self, record_key: Option<&str>, message: String) {
        self.total_errors = self.total_errors.saturating_add(1);
        if self.errors.len() < MAX_ERRORS {
            let record_key = record_key.map(str::to_owned);
            self.errors.push(RowError { record_key, message });
        }
    }

    /// The serialised form.
    ///
    /// # Errors
    /// `Internal` if the value cannot be serialised.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(&Envelope { version: VERSION, status: self })
            .map_err(|error| Error::internal(format!("a write status cannot be serialised: {error}")))
    }

    /// Reads the serialised form.
    ///
    /// # Errors
    /// `InvalidArgument` for the form of another release.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let unreadable =
            |error: serde_json::Error| Error::invalid_argument("write status cannot be read").caused_by(error);
        let VersionOnly { version } = serde_json::from_slice(bytes).map_err(unreadable)?;
        if version != VERSION {
            return Err(Error::invalid_argument(format!(
                "write status of version {version}, expected {VERSION}: install the same release of mortice on the driver and on all executors"
            )));
        }
        let Envelope { status, .. } = serde_json::from_slice(bytes).map_err(unreadable)?;
        Ok(status)
    }

    /// The statistics for commit metadata; none if no file was written.
    #[must_use]
    pub fn to_write_stat(&self) -> Option<HoodieWriteStat> {
        let file = self.file.as_ref()?;
        let log = file.log.as_ref();
        let count = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
        let compacted = file.compacted.as_ref();
        let of_logs = |number: fn(&CompactedLogs) -> u64| count(compacted.map_or(0, number));
        let [create, upsert] = if log.is_some() { [0, self.millis] } else { [self.millis, 0] };
        Some(HoodieWriteStat {
            file_id: Some(self.file_id.clone()),
            path: Some(file.path.clone()),
            prev_commit: Some(self.previous_commit.clone().unwrap_or_else(|| "null".to_owned())),
            num_writes: count(self.writes),
            num_deletes: count(self.deletes),
            num_update_writes: count(self.updates),
            num_inserts: count(self.inserts),
            total_write_bytes: count(log.map_or(file.bytes, |log| file.bytes.saturating_sub(log.offset))),
            total_write_errors: count(self.total_errors),
            partition_path: Some(self.partition.clone()),
            total_log_records: of_logs(|logs| logs.records),
            total_log_files_compacted: of_logs(|logs| logs.files),
            total_log_size_compacted: of_logs(|logs| logs.bytes),
            total_updated_records_compacted: of_logs(|logs| logs.updated),
            total_log_blocks: of_logs(|logs| logs.blocks),
            total_corrupt_log_block: of_logs(|logs| logs.corrupt_blocks),
            total_rollback_blocks: of_logs(|logs| logs.rolled_back_blocks),
            file_size_in_bytes: count(file.bytes),
            prev_base_file: file.previous_base_file.clone(),
            runtime_stats: Some(HoodieRuntimeStats {
                total_scan_time: Some(0),
                total_upsert_time: count(upsert),
                total_create_time: count(create),
                ..HoodieRuntimeStats::default()
            }),
            log_version: log.map(|log| log.version),
            log_offset: log.and_then(|log| count(log.offset)),
            base_file: log.map(|log| log.base_file.clone()),
            log_files: log.map(|log| log.log_files.clone()),
            cdc_stats: file
                .changes
                .as_ref()
                .map(|log| [(log.path.clone(), i64::try_from(log.bytes).unwrap_or(i64::MAX))].into_iter().collect()),
            ..HoodieWriteStat::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::ColumnValue;

    fn status() -> WriteStatus {
        let mut column = ColumnRange::new("x");
        column.widen(ColumnValue::from_f64(f64::NEG_INFINITY), ColumnValue::Decimal(i128::MAX));
        let log = LogFileStatus { version: 2, offset: 10, base_file: "b".into(), log_files: vec!["l".into()] };
        let mut status = WriteStatus::new("p", "f-0");
        status.file = Some(WrittenFile {
            path: "p/l".into(),
            bytes: 110,
            log: Some(log),
            compacted: None,
            previous_base_file: None,
            key_range: Some(("a".into(), "b".into())),
            bloom: None,
            columns: vec![column],
            changes: None,
        });
        status.refuse(Some("k"), "null".into());
        status
    }

    #[test]
    fn a_status_is_sent_and_read() {
        let bytes = status().to_bytes().unwrap();
        assert_eq!(WriteStatus::from_bytes(&bytes).unwrap(), status());
        let text = String::from_utf8(bytes).unwrap();
        for (old, new, word) in [
            (r#""version":2"#, r#""version":1"#, "version 1, expected 2"),
            (r#""file_id""#, r#""file_identity""#, "cannot be read"),
            ("{", "", "cannot be read"),
        ] {
            let error = WriteStatus::from_bytes(text.replacen(old, new, 1).as_bytes()).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn a_write_stat_has_what_hudi_reads() {
        let stat = status().to_write_stat().unwrap();
        assert_eq!((stat.prev_commit.as_deref(), stat.total_write_bytes), (Some("null"), Some(100)));
        assert_eq!((stat.log_version, stat.log_offset, stat.file_size_in_bytes), (Some(2), Some(10), Some(110)));
        assert_eq!(stat.total_write_errors, Some(1));
        assert!(WriteStatus::new("p", "f-0").to_write_stat().is_none());
    }

    #[test]
    fn errors_are_counted_beyond_those_that_are_kept() {
        let mut status = WriteStatus::new("", "f-0");
        (0..1000).for_each(|_| status.refuse(None, "x".into()));
        assert_eq!((status.errors.len(), status.total_errors), (MAX_ERRORS, 1000));
    }
}
