//! What pending writes need: of the timeline all that was completed since they began, which they compare before they
//! are completed; of the data files those that were the latest when they began, which they read until then.
//!
//! Hudi keeps one write before the first pending instant. A write that was requested earlier, and completed after the
//! pending one had begun, may be before that.

use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::commit::TimelineWriter;
use mortice_merge::config::TimelineLayout;
use mortice_table::timeline::{Instant, Timeline};

/// The first instant that pending writes need: a write that was completed since the first of them began, or that one
/// itself; none if no write is pending. All writes that were requested before it were completed before.
pub(crate) fn first_needed(timeline: &Timeline, writer: &TimelineWriter) -> Result<Option<RequestedTime>> {
    let Some(pending) = timeline.pending_writes().next() else { return Ok(None) };
    let begun = &pending.requested_time;
    let first = match writer.layout() {
        TimelineLayout::V1 => first_written_since(timeline, writer)?,
        TimelineLayout::V2 => {
            let is_later = |write: &&Instant| {
                let order = write.completion_time.as_ref().and_then(|time| begun.compare_to_completion(time));
                order.is_none_or(std::cmp::Ordering::is_le)
            };
            timeline.completed_writes().find(is_later).map(|write| write.requested_time.clone())
        }
    };
    Ok(Some(first.map_or_else(|| begun.clone(), |first| first.min(begun.clone()))))
}

/// The first completed write whose file was written when a write that is pending had begun, or later.
fn first_written_since(timeline: &Timeline, writer: &TimelineWriter) -> Result<Option<RequestedTime>> {
    let files = writer.files_with_status()?;
    let is_pending = |file: &Instant| timeline.pending_writes().any(|pending| pending.is_same(file));
    let begun = files.iter().filter(|(file, _)| is_pending(file)).map(|(_, status)| status.modified_ms).min();
    // Without its files it was completed or rolled back meanwhile: nothing is known of its beginning.
    let is_since = |modified: i64| begun.is_none_or(|begun| modified >= begun);
    let completed = files.iter().filter(|(file, status)| file.is_completed_write() && is_since(status.modified_ms));
    Ok(completed.map(|(file, _)| file.requested_time.clone()).min())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use bytes::Bytes;

    use super::*;
    use mortice_merge::config::{Properties, TableConfig};
    use mortice_storage::{FileStore, LocalStorage, Storage};

    /// What is needed of a table with these files of the timeline, written a minute apart in this order.
    fn needed(version: &str, names: &[&str]) -> Option<String> {
        let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", version)];
        let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true));
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (minute, name) in (0_u64..).zip(names) {
            let path = format!("{}/{name}", config.timeline_folder);
            store.put(&path, &Bytes::from_static(b""), None).unwrap();
            let file = std::fs::File::options().write(true).open(folder.path().join(&path)).unwrap();
            file.set_modified(start + Duration::from_secs(minute * 60)).unwrap();
        }
        let storage: Arc<dyn Storage> = Arc::<LocalStorage>::clone(&store);
        let timeline = Timeline::load(&storage, &config).unwrap();
        let writer = TimelineWriter::new(store, &config);
        first_needed(&timeline, &writer).unwrap().map(|time| time.to_string())
    }

    #[test]
    fn completion_times_say_what_was_completed_since() {
        for (names, first) in [
            (&["1_2.commit", "3_4.commit"][..], None),
            (&["1_2.commit", "3_9.commit", "4_5.commit", "6.commit.requested"], Some("3")),
            (&["1_2.commit", "3_5.commit", "6.commit.requested", "6.inflight", "7_8.commit"], Some("6")),
            (&["1_2.commit", "3_6.commit", "6.deltacommit.requested"], Some("3")),
            (&["1_9.deltacommit", "2.compaction.requested", "6.deltacommit.requested"], Some("1")),
        ] {
            assert_eq!(needed("9", names).as_deref(), first, "{names:?}");
        }
    }

    #[test]
    fn times_of_files_say_it_up_to_version_7() {
        for (names, first) in [
            (&["1.commit.requested", "1.commit", "3.commit.requested", "3.commit"][..], None),
            (&["1.commit", "3.commit.requested", "6.commit.requested", "4.commit", "3.commit"], Some("3")),
            (&["1.commit", "3.commit", "6.commit.requested", "6.inflight", "7.commit"], Some("6")),
            (&["1.commit", "2.deltacommit.requested", "6.deltacommit.requested", "4.deltacommit"], Some("2")),
        ] {
            assert_eq!(needed("6", names).as_deref(), first, "{names:?}");
        }
    }
}
