//! The byte ranges of files that completed writes have recorded. A reader compares them with what it finds: bytes
//! that a completed write wrote must be there and be readable; others may be the rest of an interrupted write.
//!
//! Up to table version 7 several writes append to one log, each from its `logOffset`; `fileSizeInBytes` is the length
//! of the whole file after the write. From version 8 on a log is written by the instant in its name.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::commit_metadata::{CommitMetadata, MetadataPart, WriteStat};
use super::instant::Instant;
use super::range::TimelineRange;
use super::timeline::Timeline;
use mortice_base::error::{ErrorKind, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_merge::config::TimelineLayout;

/// Bytes of a file that a completed write wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenRange {
    /// The write.
    pub instant: RequestedTime,
    /// The bytes; the end is the length of the file after the write.
    pub bytes: Range<u64>,
}

/// The ranges of the files of one write, by path.
type RangesOfWrite = HashMap<String, Range<u64>>;

/// The ranges of all archived writes.
type ArchivedRanges = Arc<Vec<(RequestedTime, RangesOfWrite)>>;

/// What completed writes wrote to files. The metadata of a write is read when it is needed, and once.
pub struct WrittenRanges {
    timeline: Timeline,
    read: Mutex<HashMap<RequestedTime, Arc<RangesOfWrite>>>,
    archived: Mutex<Option<ArchivedRanges>>,
    schemas: Mutex<HashMap<RequestedTime, Option<String>>>,
}

impl WriteStat {
    /// Returns the bytes of the file that the write wrote; `None` if the statistic has no size.
    #[must_use]
    pub fn written_bytes(&self) -> Option<Range<u64>> {
        let end = self.file_size_in_bytes.and_then(|bytes| u64::try_from(bytes).ok()).filter(|end| *end > 0)?;
        // A file without an offset was written from its start.
        let start = self.log_offset.and_then(|offset| u64::try_from(offset).ok()).unwrap_or(0);
        Some(start.min(end)..end)
    }
}

impl WrittenRanges {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(timeline: Timeline) -> Self {
        Self { timeline, read: Mutex::default(), archived: Mutex::default(), schemas: Mutex::default() }
    }

    /// Returns what completed writes wrote to a log, given its path relative to the table. Empty if no metadata of a
    /// write names it, for example if its archived metadata was deleted.
    ///
    /// # Errors
    /// Those of the storage. Metadata that cannot be parsed is skipped: readers report it elsewhere.
    pub fn of_log(&self, path: &str) -> Result<Vec<WrittenRange>> {
        let Some(log) = LogFileName::parse(path.rsplit('/').next().unwrap_or(path)) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        if self.timeline.layout == TimelineLayout::V2 {
            for write in self.timeline.writes_at(&log.instant).filter(|write| write.is_completed()) {
                self.add(write, path, &mut found)?;
            }
            if !found.is_empty() {
                return Ok(found);
            }
        }
        // Tables that were upgraded from version 6 have logs of several writes, too.
        for write in self.timeline.completed_writes().filter(|write| write.requested_time >= log.instant) {
            self.add(write, path, &mut found)?;
        }
        if self.timeline.is_before_start(&log.instant) {
            let archived = self.archived()?;
            let of_log = archived.iter().filter_map(|(instant, ranges)| {
                Some(WrittenRange { instant: instant.clone(), bytes: ranges.get(path)?.clone() })
            });
            found.extend(of_log);
        }
        found.sort_by(|one, other| one.instant.cmp(&other.instant));
        Ok(found)
    }

    /// Returns what the write of an instant wrote to a base file, given its path relative to the table.
    ///
    /// # Errors
    /// As for [`WrittenRanges::of_log`].
    pub fn of_base_file(&self, path: &str, instant: &RequestedTime) -> Result<Option<WrittenRange>> {
        let mut found = Vec::new();
        for write in self.timeline.writes_at(instant).filter(|write| write.is_completed()) {
            self.add(write, path, &mut found)?;
        }
        Ok(found.pop())
    }

    /// Returns the Avro schema that a completed write of the active timeline recorded, without meta columns.
    ///
    /// # Errors
    /// Those of the storage. Metadata that cannot be parsed is skipped, as by [`WrittenRanges::of_log`].
    pub fn schema_of(&self, instant: &RequestedTime) -> Result<Option<String>> {
        let known = || self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = known().get(instant) {
            return Ok(schema.clone());
        }
        let Some(write) = self.timeline.writes_at(instant).find(|write| write.is_completed()) else { return Ok(None) };
        let schema = match self.timeline.commit_metadata(write, MetadataPart::Header) {
            Ok(metadata) => metadata.and_then(|metadata| metadata.schema().map(str::to_owned)),
            Err(error) if is_unreadable(error.kind()) => None,
            Err(error) => return Err(error),
        };
        known().insert(instant.clone(), schema.clone());
        Ok(schema)
    }

    fn add(&self, write: &Instant, path: &str, found: &mut Vec<WrittenRange>) -> Result<()> {
        let ranges = self.ranges_of(write)?;
        found.extend(
            ranges.get(path).map(|bytes| WrittenRange { instant: write.requested_time.clone(), bytes: bytes.clone() }),
        );
        Ok(())
    }

    fn ranges_of(&self, write: &Instant) -> Result<Arc<RangesOfWrite>> {
        let known = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ranges) = known().get(&write.requested_time) {
            return Ok(Arc::clone(ranges));
        }
        let metadata = match self.timeline.commit_metadata(write, MetadataPart::All) {
            Ok(metadata) => metadata.unwrap_or_default(),
            Err(error) if is_unreadable(error.kind()) => CommitMetadata::default(),
            Err(error) => return Err(error),
        };
        let ranges = Arc::new(ranges_of_files(metadata));
        known().insert(write.requested_time.clone(), Arc::clone(&ranges));
        Ok(ranges)
    }

    /// Reads the whole archive: which of its writes wrote to a log is not known before.
    fn archived(&self) -> Result<ArchivedRanges> {
        let mut known = self.archived.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(archived) = &*known {
            return Ok(Arc::clone(archived));
        }
        let mut archived = Vec::new();
        let all = TimelineRange::default();
        let visited = self.timeline.visit_archived_writes_in(&all, &mut |write, metadata| {
            archived.push((write.requested_time.clone(), ranges_of_files(metadata)));
            Ok(())
        });
        match visited {
            Err(error) if !is_unreadable(error.kind()) => return Err(error),
            _ => {}
        }
        let archived = Arc::new(archived);
        *known = Some(Arc::clone(&archived));
        Ok(archived)
    }
}

fn is_unreadable(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidTable | ErrorKind::CorruptLog | ErrorKind::FileCleaned | ErrorKind::NotFound)
}

/// A writer that rolled a log over has a statistic for each file, one that appended twice may have two for one file.
fn ranges_of_files(metadata: CommitMetadata) -> RangesOfWrite {
    let mut ranges = RangesOfWrite::new();
    for stat in metadata.write_stats.into_values().flatten() {
        let file = stat.path.clone().zip(stat.written_bytes());
        let change_logs = stat.cdc_stats.into_iter().flatten();
        let change_logs = change_logs.filter_map(|(path, len)| Some((path, 0..u64::try_from(len).ok()?)));
        for (path, bytes) in file.into_iter().chain(change_logs) {
            let known = ranges.entry(path).or_insert_with(|| bytes.clone());
            *known = known.start.min(bytes.start)..known.end.max(bytes.end);
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::MemoryStorage;
    use mortice_merge::config::{Properties, TableConfig};

    const LOG: &str = "p/.f_1.log.1_0-1-2";

    fn commit(path: &str, offset: i64, size: i64) -> String {
        format!(
            r#"{{"partitionToWriteStats":{{"p":[{{"path":"{path}","logOffset":{offset},"fileSizeInBytes":{size}}}]}}}}"#
        )
    }

    fn ranges(version: &str, files: &[(&str, &str)]) -> WrittenRanges {
        let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", version)];
        let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
        let paths: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("{}/{name}", config.timeline_folder), *text)).collect();
        let storage = MemoryStorage::holding(paths.iter().map(|(path, text)| (path.as_str(), text.as_bytes())));
        WrittenRanges::new(Timeline::load(&storage, &config).unwrap())
    }

    fn found(ranges: &WrittenRanges, path: &str) -> Vec<(String, Range<u64>)> {
        let found = ranges.of_log(path).unwrap();
        found.into_iter().map(|one| (one.instant.to_string(), one.bytes)).collect()
    }

    #[test]
    fn writes_that_append_have_their_own_bytes() {
        let (one, two) = (commit(LOG, 0, 10), commit(LOG, 15, 40));
        let files = [
            ("1.commit", "{}"),
            ("2.deltacommit", one.as_str()),
            ("3.deltacommit.inflight", ""),
            ("4.deltacommit", two.as_str()),
            ("5.deltacommit", "not metadata"),
        ];
        let ranges = ranges("6", &files);
        assert_eq!(found(&ranges, LOG), [("2".to_owned(), 0..10), ("4".to_owned(), 15..40)]);
        assert!(found(&ranges, "p/.g_1.log.1_0-1-2").is_empty());
        assert!(found(&ranges, "p/f_0-1-2_1.parquet").is_empty());
    }

    #[test]
    fn from_version_8_the_name_has_the_write() {
        let (own, other) = (commit("p/.f_3.log.1_0-1-2", 0, 10), commit("p/.f_3.log.1_0-9-9", 0, 20));
        let ranges = ranges("8", &[("3_4.deltacommit", &own), ("5_6.deltacommit", &other)]);
        assert_eq!(found(&ranges, "p/.f_3.log.1_0-1-2"), [("3".to_owned(), 0..10)]);
        // A file that a failed attempt of a task has left.
        assert!(found(&ranges, "p/.f_3.log.1_0-1-3").is_empty());
    }

    #[test]
    fn a_statistic_without_a_size_says_nothing() {
        let stat = |offset, size| WriteStat { log_offset: offset, file_size_in_bytes: size, ..WriteStat::default() };
        assert_eq!(stat(None, Some(7)).written_bytes(), Some(0..7));
        assert_eq!(stat(Some(3), Some(7)).written_bytes(), Some(3..7));
        assert_eq!(stat(Some(3), Some(0)).written_bytes(), None);
        assert_eq!(stat(Some(-1), Some(-1)).written_bytes(), None);
    }
}
