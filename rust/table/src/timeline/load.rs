//! Lists the active timeline (`HoodieActiveTimeline`, `TimelineLayout.filterHoodieInstants`).
//!
//! Files of earlier states remain in storage. The highest state of an instant counts. A compaction and the commit that
//! it becomes are one instant, as are log compaction and delta commit, clustering and replace commit. A savepoint and
//! its commit are two instants.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::DateTime;

use super::instant::{Action, Instant};
use super::timeline::Timeline;
use super::{layout_v1, layout_v2};
use mortice_base::error::{Error, Result};
use mortice_base::names::{CompletionTime, RequestedTime};
use mortice_merge::config::{TableConfig, TimelineLayout, TimelineZone};
use mortice_storage::{FileStatus, FolderEntry, Storage};

/// The folder of a table's properties and timeline.
const METADATA_FOLDER: &str = ".hoodie";

impl Timeline {
    /// Lists the active timeline of a table. Other files are read when they are needed.
    ///
    /// # Errors
    /// `InvalidTable` if the timeline folder is missing; `Io` if it cannot be listed.
    pub fn load(storage: &Arc<dyn Storage>, config: &TableConfig) -> Result<Self> {
        let folder = &config.timeline_folder;
        let entries = match storage.list(folder)? {
            Some(entries) => entries,
            None if is_new_table(storage.as_ref())? => Vec::new(),
            None => {
                let message = format!(
                    "the timeline folder of table version {} is missing: the table was copied incompletely, or an upgrade was interrupted; copy the whole .hoodie folder, or finish the upgrade",
                    config.version
                );
                return Err(Error::invalid_table(message).in_file(storage.full_path(folder)));
            }
        };
        let mut highest: BTreeMap<(RequestedTime, Action), Instant> = BTreeMap::new();
        for entry in entries {
            let FolderEntry::File(status) = entry else { continue };
            let Some(instant) = parse(&status, config)? else { continue };
            let key = (instant.requested_time.clone(), instant.action.completes_as());
            // An interrupted upgrade can leave both names of a completed instant. The name with the completion time is
            // used.
            let rank = |instant: &Instant| (instant.state, instant.file_name.contains('_'));
            if highest.get(&key).is_none_or(|known| rank(known) < rank(&instant)) {
                highest.insert(key, instant);
            }
        }
        let (layout, archive) = (config.layout(), Some(config.archive_folder.clone()));
        Ok(Self::new(Arc::clone(storage), folder.clone(), layout, archive, highest.into_values().collect()))
    }
}

/// Whether a table has no data yet: object stores have no empty folders, so its timeline folder appears with the first
/// instant.
fn is_new_table(storage: &dyn Storage) -> Result<bool> {
    let root = storage.list("")?.unwrap_or_default();
    Ok(!root.is_empty() && root.iter().all(|entry| entry.name() == METADATA_FOLDER))
}

impl Timeline {
    /// Returns the timeline of instants that were listed before, by the names of their files and their completion
    /// times.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not one of a file of the timeline.
    pub fn from_files(
        storage: &Arc<dyn Storage>,
        config: &TableConfig,
        files: &[(String, Option<CompletionTime>)],
    ) -> Result<Self> {
        let instant = |(name, completion): &(String, Option<CompletionTime>)| {
            let instant = Self::parse_file_name(config.layout(), name)
                .ok_or_else(|| Error::invalid_argument(format!("{name:?} is not a file of a timeline")))?;
            Ok(Instant { completion_time: completion.clone(), ..instant })
        };
        let instants = files.iter().map(instant).collect::<Result<Vec<_>>>()?;
        let (folder, archive) = (config.timeline_folder.clone(), Some(config.archive_folder.clone()));
        Ok(Self::new(Arc::clone(storage), folder, config.layout(), archive, instants))
    }

    /// Returns when the files of completed instants were written, by requested time. Names of layout 1 do not say when
    /// an instant was completed. Files of which the storage reports no time are left out.
    ///
    /// # Errors
    /// Those of listing the folder.
    pub fn times_of_files(&self, config: &TableConfig) -> Result<BTreeMap<RequestedTime, CompletionTime>> {
        let entries = self.storage.list(&self.folder)?.unwrap_or_default();
        let completed = entries.iter().filter_map(|entry| {
            let FolderEntry::File(status) = entry else { return None };
            let instant = Self::parse_file_name(self.layout, &status.name).filter(Instant::is_completed)?;
            Some((instant.requested_time, modification_time(status, config.timeline_zone).ok()?))
        });
        Ok(completed.collect())
    }

    /// Returns the instant of a file name in the timeline folder, in the state that the file stands for; `None` for
    /// other files.
    #[must_use]
    pub fn parse_file_name(layout: TimelineLayout, name: &str) -> Option<Instant> {
        match layout {
            TimelineLayout::V1 => layout_v1::parse(name),
            TimelineLayout::V2 => layout_v2::parse(name),
        }
    }
}

fn parse(status: &FileStatus, config: &TableConfig) -> Result<Option<Instant>> {
    if config.layout() == TimelineLayout::V1 {
        return Ok(layout_v1::parse(&status.name));
    }
    let Some(mut instant) = layout_v2::parse(&status.name) else { return Ok(None) };
    if instant.is_completed() && instant.completion_time.is_none() {
        instant.completion_time = Some(modification_time(status, config.timeline_zone)?);
    }
    Ok(Some(instant))
}

/// Formats a modification time as an instant in the timeline's time zone. `LOCAL` is the writer's zone, which is not
/// stored: like Hudi, this uses the reader's zone.
fn modification_time(status: &FileStatus, zone: TimelineZone) -> Result<CompletionTime> {
    let time = DateTime::from_timestamp_millis(status.modified_ms).filter(|_| status.modified_ms > 0);
    let time = time.ok_or_else(|| {
        Error::invalid_table(
            "a completed instant has no completion time in its name, and the storage reports no modification time",
        )
        .in_file(&status.name)
    })?;
    CompletionTime::from_metadata("modification time", &zone.digits(time)).map_err(|error| error.in_file(&status.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::InstantState;
    use crate::timeline::MemoryStorage;
    use mortice_merge::config::Properties;

    fn load(version: &str, names: &[&str]) -> Timeline {
        let zone = ("hoodie.table.timeline.timezone", "UTC");
        let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", version), zone];
        let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
        let paths: Vec<String> = names.iter().map(|name| format!("{}/{name}", config.timeline_folder)).collect();
        let storage = MemoryStorage::holding(paths.iter().map(|path| (path.as_str(), b"".as_slice())));
        Timeline::load(&storage, &config).unwrap()
    }

    fn names_and_states(timeline: &Timeline) -> Vec<(String, InstantState)> {
        timeline.instants().iter().map(|instant| (instant.to_string(), instant.state)).collect()
    }

    #[test]
    fn the_highest_state_is_used_and_instants_are_sorted_by_time() {
        let timeline = load(
            "6",
            &[
                "3.compaction.requested",
                "3.compaction.inflight",
                "1.commit.requested",
                "1.inflight",
                "1.commit",
                "2.compaction.requested",
                "2.compaction.inflight",
                "2.commit",
                "1.savepoint.inflight",
                "1.savepoint",
                "hoodie.properties",
                ".1.commit.crc",
                "archived/x",
            ],
        );
        assert_eq!(
            names_and_states(&timeline),
            [
                ("1.commit".to_owned(), InstantState::Completed),
                ("1.savepoint".to_owned(), InstantState::Completed),
                ("2.commit".to_owned(), InstantState::Completed),
                ("3.compaction".to_owned(), InstantState::Inflight),
            ]
        );
    }

    #[test]
    fn clustering_and_what_it_becomes_are_one_instant() {
        let timeline = load(
            "9",
            &["1.clustering.requested", "1.clustering.inflight", "1_4.replacecommit", "2.logcompaction.requested"],
        );
        assert_eq!(
            names_and_states(&timeline),
            [
                ("1.replacecommit".to_owned(), InstantState::Completed),
                ("2.logcompaction".to_owned(), InstantState::Requested)
            ]
        );
        assert_eq!(timeline.instants()[0].completion_time, Some("4".into()));
    }

    #[test]
    fn a_completed_name_without_completion_time_takes_the_files_time() {
        let timeline = load("8", &["20240101000000000.deltacommit"]);
        assert_eq!(timeline.instants()[0].completion_time, Some("19700101000001000".into()));
        let both = load("8", &["1.deltacommit", "1_2.deltacommit"]);
        assert_eq!(both.instants()[0].completion_time, Some("2".into()));
        assert_eq!(both.instants().len(), 1);
    }

    #[test]
    fn a_missing_timeline_folder_is_an_error() {
        let config = [("hoodie.table.name", "t"), ("hoodie.table.version", "9")].into_iter().collect::<Properties>();
        let config = TableConfig::from_properties(config).unwrap();
        let error = Timeline::load(&MemoryStorage::holding([(".hoodie/x", b"".as_slice()), ("p/y", b"")]), &config)
            .err()
            .unwrap();
        assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidTable);
        assert!(error.to_string().contains(".hoodie/timeline"), "{error}");
    }

    #[test]
    fn a_table_without_data_needs_no_timeline_folder() {
        let config = [("hoodie.table.name", "t"), ("hoodie.table.version", "9")].into_iter().collect::<Properties>();
        let config = TableConfig::from_properties(config).unwrap();
        let storage = MemoryStorage::holding([(".hoodie/hoodie.properties", b"".as_slice())]);
        assert!(Timeline::load(&storage, &config).unwrap().instants().is_empty());
    }
}
