//! Completion times of instants of a timeline that does not store them, up to table version 7: the times at which their
//! files were written, as Hudi has them (`SevenToEightUpgradeHandler.upgradeActiveTimelineInstant`).
//!
//! From version 8 on a log belongs to the newest base file that was requested before the instant in its name was
//! completed. Copies of a table can have lost the times of files: then logs would belong to later base files, which
//! have their records already. So the time of an instant is earlier than the next base file of each slice that has its
//! logs.

use std::collections::BTreeMap;

use mortice_base::error::Result;
use mortice_base::names::{CompletionTime, RequestedTime};
use mortice_commit::commit::{millisecond_before, next_after};
use mortice_table::file_group::PartitionFiles;

/// The latest completion times that some instants may have.
#[derive(Debug, Default)]
pub(super) struct CompletionTimes(BTreeMap<RequestedTime, RequestedTime>);

impl CompletionTimes {
    /// By the data files of a table.
    pub(super) fn from_files(partitions: &[PartitionFiles]) -> Self {
        let mut next_bases: BTreeMap<RequestedTime, RequestedTime> = BTreeMap::new();
        for files in partitions {
            let mut bases: BTreeMap<&str, Vec<&RequestedTime>> = BTreeMap::new();
            for base in &files.base_files {
                bases.entry(&base.name.file_id).or_default().push(&base.name.instant);
            }
            for log in &files.log_files {
                let of_group = bases.get(log.name.file_id.as_str()).into_iter().flatten();
                let Some(next) = of_group.filter(|base| ***base > log.name.instant).min() else { continue };
                let known = next_bases.entry(log.name.instant.clone()).or_insert_with(|| (*next).clone());
                if **next < *known {
                    *known = (*next).clone();
                }
            }
        }
        Self(next_bases)
    }

    /// The completion time of an instant.
    ///
    /// Args:
    ///     requested: Its requested time.
    ///     written: When its file was written, if that is known.
    ///
    /// # Errors
    /// `InvalidTable` if the requested time is not one of the calendar.
    pub(super) fn completed_at(&self, requested: &RequestedTime, written: Option<String>) -> Result<CompletionTime> {
        let written = written.filter(|time| time.as_str() > requested.as_str());
        let limit = self.0.get(requested).and_then(millisecond_before).map(|limit| limit.to_string());
        let time = match (written, limit) {
            (Some(written), Some(limit)) => written.min(limit),
            (Some(time), None) | (None, Some(time)) => time,
            (None, None) => next_after(requested.as_str())?,
        };
        let time = time.max(requested.to_string());
        CompletionTime::from_metadata("completion time", &time).map_err(|error| error.at_instant(requested))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::names::{BaseFileName, LogFileName};
    use mortice_table::file_group::{ListedBase, ListedLog};

    const FIRST: &str = "20260101000000000";
    const SECOND: &str = "20260101000005000";

    fn times() -> CompletionTimes {
        let base = |instant: &str| {
            let name = BaseFileName::parse(&format!("f-0_0-0-0_{instant}.parquet")).unwrap();
            ListedBase { name, len: 1, etag: None }
        };
        let name = LogFileName::parse(&format!(".f-0_{FIRST}.log.1_0-0-0")).unwrap();
        let log_files = vec![ListedLog { name, len: 1, etag: None }];
        let partition = "p".to_owned();
        CompletionTimes::from_files(&[PartitionFiles {
            partition,
            base_files: vec![base(FIRST), base(SECOND)],
            log_files,
        }])
    }

    fn completed(requested: &str, written: Option<&str>) -> String {
        let requested = RequestedTime::parse(requested).unwrap();
        times().completed_at(&requested, written.map(str::to_owned)).unwrap().to_string()
    }

    #[test]
    fn the_time_of_the_file_unless_a_slice_contradicts() {
        assert_eq!(completed(FIRST, Some("20260101000003000")), "20260101000003000");
        assert_eq!(completed(FIRST, Some("20260101000007000")), "20260101000004999");
        assert_eq!(completed(SECOND, Some("20260101000007000")), "20260101000007000");
        assert_eq!(completed(SECOND, Some("20250101000000000")), "20260101000005001");
        assert_eq!(completed(FIRST, None), "20260101000004999");
    }
}
