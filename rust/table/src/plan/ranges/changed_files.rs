//! The changes that the commits of a range made, derived from their metadata (`HoodieCDCExtractor`).
//!
//! | write statistic | change |
//! |---|---|
//! | with change logs | the records of the change logs |
//! | of a log | the records of the log, applied to the previous slice |
//! | of a base file, by a delete that wrote no row | all rows of the previous base file are deleted |
//! | of a base file, all rows inserted | all rows are inserted |
//! | a replaced file group | all rows of its last slice are deleted |
//!
//! Compaction, log compaction and clustering change no rows.

use std::collections::BTreeMap;

use super::written_files::reported_len;
use crate::timeline::{CommitMetadata, Instant, Timeline, TimelineRange, WriteStat};
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};

/// The change that one commit made to one file group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plan) struct FoundChange {
    /// The requested time of the commit.
    pub instant: RequestedTime,
    /// The partition.
    pub partition: String,
    /// The id of the file group.
    pub file_id: String,
    /// The kind of change.
    pub how: ChangeKind,
}

/// The path of a file that a commit wrote, relative to the table, and its size if it is reported.
pub(in crate::plan) type WrittenFile = (String, Option<u64>);

/// How a commit changed a file group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plan) enum ChangeKind {
    /// It wrote a base file of new rows.
    Inserted(WrittenFile),
    /// It deleted all rows of the base file that `before` wrote.
    Emptied {
        /// The requested time of the previous commit.
        before: RequestedTime,
    },
    /// It replaced the file group by others.
    Replaced,
    /// It wrote log files.
    Logged {
        /// The log files.
        logs: Vec<WrittenFile>,
        /// The name of the base file of the slice, if it is reported.
        base_file: Option<String>,
        /// The names of the existing log files, in no order. They may include some of those that it wrote.
        logs_before: Vec<String>,
    },
    /// It wrote a base file and change logs.
    WithChangeLogs {
        /// The base file.
        base_file: WrittenFile,
        /// The change logs.
        change_logs: Vec<WrittenFile>,
        /// The requested time of the previous commit.
        before: Option<RequestedTime>,
    },
}

/// Returns the changes of the commits in a range, by commit.
pub(in crate::plan) fn changes_in(timeline: &Timeline, timeline_range: &TimelineRange) -> Result<Vec<FoundChange>> {
    let mut changes = Vec::new();
    timeline.visit_writes_in(timeline_range, &mut |write, metadata| {
        add_changes(write, metadata, &mut changes).map_err(|error| error.at_instant(&write.requested_time))
    })?;
    Ok(changes)
}

fn add_changes(write: &Instant, metadata: CommitMetadata, changes: &mut Vec<FoundChange>) -> Result<()> {
    if !metadata.changes_rows() {
        return Ok(());
    }
    let CommitMetadata { operation, write_stats, replaced, .. } = metadata;
    let instant = &write.requested_time;
    let change = |partition: &str, file_id: String, how| FoundChange {
        instant: instant.clone(),
        partition: partition.to_owned(),
        file_id,
        how,
    };
    for (partition, stats) in write_stats {
        // A log file that was rolled over has a write statistic for each file.
        let mut logged: BTreeMap<String, ChangeKind> = BTreeMap::new();
        for stat in stats {
            let file_id = stat.file_id.clone();
            let Some(kind) = change_kind(stat, &operation)? else { continue };
            let lost =
                || Error::invalid_table("a write statistic of a commit has a path, but no fileId").at_instant(instant);
            let file_id = file_id.ok_or_else(lost)?;
            match kind {
                ChangeKind::Logged { logs, base_file, logs_before } => {
                    let known = logged.entry(file_id).or_insert_with(no_logs);
                    if let ChangeKind::Logged { logs: all, base_file: below, logs_before: all_before } = known {
                        all.extend(logs);
                        all_before.extend(logs_before);
                        *below = base_file.or_else(|| below.take());
                    }
                }
                how => changes.push(change(&partition, file_id, how)),
            }
        }
        changes.extend(logged.into_iter().map(|(file_id, how)| change(&partition, file_id, how)));
    }
    for (partition, file_ids) in replaced {
        changes.extend(file_ids.into_iter().map(|file_id| change(&partition, file_id, ChangeKind::Replaced)));
    }
    Ok(())
}

const fn no_logs() -> ChangeKind {
    ChangeKind::Logged { logs: Vec::new(), base_file: None, logs_before: Vec::new() }
}

/// Returns the change that a write statistic describes; `None` if nothing changed.
fn change_kind(stat: WriteStat, operation: &str) -> Result<Option<ChangeKind>> {
    let Some(path) = stat.path.filter(|path| !path.is_empty()) else { return Ok(None) };
    let name = path.rsplit('/').next().unwrap_or_default();
    let non_null = |text: Option<String>| text.filter(|text| !text.is_empty() && text != "null");
    let before =
        non_null(stat.prev_commit).map(|time| RequestedTime::from_metadata("prevCommit", &time)).transpose()?;
    if LogFileName::parse(name).is_some() {
        return Ok(Some(ChangeKind::Logged {
            logs: vec![(path, reported_len(stat.file_size_in_bytes))],
            base_file: non_null(stat.base_file),
            logs_before: stat.log_files.unwrap_or_default(),
        }));
    }
    let base_file = (path, reported_len(stat.file_size_in_bytes));
    let change_logs: Vec<WrittenFile> =
        stat.cdc_stats.unwrap_or_default().into_iter().map(|(path, bytes)| (path, reported_len(Some(bytes)))).collect();
    let count = Option::unwrap_or_default;
    let (writes, inserts) = (count(stat.num_writes), count(stat.num_inserts));
    let (updates, deletes) = (count(stat.num_update_writes), count(stat.num_deletes));
    match before {
        before if !change_logs.is_empty() => Ok(Some(ChangeKind::WithChangeLogs { base_file, change_logs, before })),
        Some(before) if operation.starts_with("DELETE") && writes == 0 && deletes != 0 => {
            Ok(Some(ChangeKind::Emptied { before }))
        }
        _ if updates == 0 && writes == inserts => Ok(Some(ChangeKind::Inserted(base_file))),
        // A file that was rewritten without changes.
        Some(_) if updates == 0 && inserts == 0 && deletes == 0 => Ok(None),
        _ => Err(Error::unsupported(
            "a base file was rewritten without a change log, so its changes are unknown; hoodie.table.cdc.enabled was not set when it was written",
        )
        .in_file(base_file.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Action, InstantState, MetadataPart};
    use mortice_base::ErrorKind;

    fn changes(operation: &str, stats: &str, replaced: &str) -> Result<Vec<FoundChange>> {
        let json = format!(
            r#"{{"operationType":"{operation}","partitionToWriteStats":{{"p":[{stats}]}},"partitionToReplaceFileIds":{{{replaced}}}}}"#
        );
        let write = Instant {
            requested_time: "5".into(),
            completion_time: None,
            action: Action::DeltaCommit,
            state: InstantState::Completed,
            file_name: String::new(),
        };
        let metadata = CommitMetadata::parse(json.as_bytes(), MetadataPart::All).unwrap().unwrap();
        let mut changes = Vec::new();
        add_changes(&write, metadata, &mut changes)?;
        Ok(changes)
    }

    fn only(operation: &str, stat: &str) -> Option<ChangeKind> {
        let found = changes(operation, stat, "").unwrap();
        assert!(found.len() <= 1 && found.iter().all(|change| (&*change.partition, &*change.file_id) == ("p", "f")));
        found.into_iter().next().map(|change| change.how)
    }

    const BASE: &str = r#""fileId":"f","path":"p/f_0-1-2_5.parquet","fileSizeInBytes":9"#;

    fn base() -> WrittenFile {
        ("p/f_0-1-2_5.parquet".to_owned(), Some(9))
    }

    #[test]
    fn kinds_of_write_statistics() {
        let new = format!(r#"{{{BASE},"prevCommit":"null","numWrites":3,"numInserts":3}}"#);
        assert_eq!(only("INSERT", &new), Some(ChangeKind::Inserted(base())));
        let emptied = format!(r#"{{{BASE},"prevCommit":"3","numWrites":0,"numDeletes":2}}"#);
        assert_eq!(only("DELETE", &emptied), Some(ChangeKind::Emptied { before: "3".into() }));
        let captured =
            format!(r#"{{{BASE},"prevCommit":"3","numWrites":4,"numUpdateWrites":1,"cdcStats":{{"p/c":7}}}}"#);
        let how = ChangeKind::WithChangeLogs {
            base_file: base(),
            change_logs: vec![("p/c".into(), Some(7))],
            before: Some("3".into()),
        };
        assert_eq!(only("UPSERT", &captured), Some(how));
        let as_it_was = format!(r#"{{{BASE},"prevCommit":"3","numWrites":4}}"#);
        assert_eq!(only("UPSERT", &as_it_was), None);
        let uncaptured = format!(r#"{{{BASE},"prevCommit":"3","numWrites":4,"numUpdateWrites":1}}"#);
        let error = changes("UPSERT", &uncaptured, "").unwrap_err();
        assert_eq!(
            (error.kind(), error.location().path.as_deref()),
            (ErrorKind::Unsupported, Some("p/f_0-1-2_5.parquet"))
        );
    }

    #[test]
    fn the_logs_of_a_file_group_are_one_change() {
        let log = |version: u32| {
            format!(
                r#"{{"fileId":"f","path":"p/.f_3.log.{version}_0-1-2","fileSizeInBytes":{version},"baseFile":"f_0-1-1_3.parquet","logFiles":[".f_3.log.1_0-0-0"]}}"#
            )
        };
        let how = ChangeKind::Logged {
            logs: vec![("p/.f_3.log.2_0-1-2".into(), Some(2)), ("p/.f_3.log.3_0-1-2".into(), Some(3))],
            base_file: Some("f_0-1-1_3.parquet".into()),
            logs_before: vec![".f_3.log.1_0-0-0".into(), ".f_3.log.1_0-0-0".into()],
        };
        assert_eq!(only("UPSERT", &format!("{},{}", log(2), log(3))), Some(how));
    }

    #[test]
    fn table_services_change_nothing() {
        let stat = format!(r#"{{{BASE},"prevCommit":"3","numWrites":4,"numUpdateWrites":1}}"#);
        for operation in ["COMPACT", "CLUSTER", "LOG_COMPACT", "INDEX", "UNKNOWN"] {
            assert_eq!(changes(operation, &stat, r#""p":["g"]"#).unwrap(), [], "{operation}");
        }
        let gone = changes("DELETE_PARTITION", "", r#""p":["f","g"]"#).unwrap();
        assert!(gone.iter().all(|change| change.how == ChangeKind::Replaced) && gone.len() == 2);
    }
}
