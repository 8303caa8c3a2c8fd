//! Names and contents of the files of instants in the other layout of the timeline
//! (`SevenToEightUpgradeHandler.upgradeActiveTimelineInstant`, `EightToSevenDowngradeHandler`).
//!
//! | | layout 1 | layout 2 |
//! |---|---|---|
//! | completed | `<t>.<action>` | `<t>_<c>.<action>` |
//! | pending clustering, and requested files of replace commits | `replacecommit` | `clustering` |
//! | commit metadata | JSON | Avro |
//!
//! Plans, and the results of other services, are the same in both.

use bytes::Bytes;

use mortice_base::error::Result;
use mortice_base::names::CompletionTime;
use mortice_merge::config::TimelineLayout;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieReplaceCommitMetadata, TimelineMetadata};
use mortice_table::timeline::{Action, Instant};

/// The name of a file in layout 2. Hudi renames pending replace commits, whether they are clustering or not.
pub(super) fn name_in_layout_2(file: &Instant, completion: Option<&CompletionTime>) -> String {
    match completion {
        Some(completion) => format!("{}_{completion}.{}", file.requested_time, file.action),
        None => renamed(file, Action::ReplaceCommit, Action::Clustering),
    }
}

/// The name of a file in layout 1.
pub(super) fn name_in_layout_1(file: &Instant) -> String {
    match file.is_completed() {
        true => format!("{}.{}", file.requested_time, file.action),
        false => renamed(file, Action::Clustering, Action::ReplaceCommit),
    }
}

fn renamed(file: &Instant, from: Action, to: Action) -> String {
    file.file_name.replacen(&format!(".{from}."), &format!(".{to}."), 1)
}

/// The content of a file in a layout.
///
/// # Errors
/// `InvalidTable` for content that is not that of such a file.
pub(super) fn content_in(layout: TimelineLayout, file: &Instant, content: &Bytes) -> Result<Bytes> {
    let converted = match (file.action, file.is_completed()) {
        (Action::Commit | Action::DeltaCommit, _) => converted::<HoodieCommitMetadata>(layout, content),
        (Action::ReplaceCommit, true) => converted::<HoodieReplaceCommitMetadata>(layout, content),
        (Action::ReplaceCommit | Action::Clustering, false) if file.file_name.ends_with(".inflight") => {
            converted::<HoodieCommitMetadata>(layout, content)
        }
        _ => Ok(content.clone()),
    };
    converted.map_err(|error| error.at_instant(&file.requested_time))
}

fn converted<T: TimelineMetadata>(layout: TimelineLayout, content: &Bytes) -> Result<Bytes> {
    let Some(metadata) = T::from_bytes(content)? else { return Ok(content.clone()) };
    match layout {
        TimelineLayout::V1 => Ok(Bytes::from(metadata.to_json())),
        TimelineLayout::V2 => metadata.to_avro().map(Bytes::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::timeline::Timeline;

    #[test]
    fn names_of_both_layouts() {
        let completion = CompletionTime::parse("2").unwrap();
        for (one, two) in [
            ("1.deltacommit.requested", "1.deltacommit.requested"),
            ("1.inflight", "1.inflight"),
            ("1.commit", "1_2.commit"),
            ("1.replacecommit.requested", "1.clustering.requested"),
            ("1.replacecommit.inflight", "1.clustering.inflight"),
            ("1.replacecommit", "1_2.replacecommit"),
            ("1.compaction.inflight", "1.compaction.inflight"),
            ("1.savepoint", "1_2.savepoint"),
        ] {
            let file = Timeline::parse_file_name(TimelineLayout::V1, one).unwrap();
            assert_eq!(name_in_layout_2(&file, file.is_completed().then_some(&completion)), two);
            let file = Timeline::parse_file_name(TimelineLayout::V2, two).unwrap();
            assert_eq!(name_in_layout_1(&file), one);
        }
    }

    #[test]
    fn commit_metadata_is_json_or_avro() {
        let json = br#"{"operationType":"UPSERT","extraMetadata":{"a":"b"}}"#;
        for name in ["1.deltacommit", "1.commit", "1.inflight", "1.replacecommit", "1.replacecommit.inflight"] {
            let file = Timeline::parse_file_name(TimelineLayout::V1, name).unwrap();
            let avro = content_in(TimelineLayout::V2, &file, &Bytes::from_static(json)).unwrap();
            assert!(avro.starts_with(b"Obj"), "{name}");
            let back = content_in(TimelineLayout::V1, &file, &avro).unwrap();
            assert!(back.starts_with(b"{") && String::from_utf8_lossy(&back).contains("\"a\" : \"b\""), "{name}");
        }
        let plan = Timeline::parse_file_name(TimelineLayout::V1, "1.replacecommit.requested").unwrap();
        assert_eq!(content_in(TimelineLayout::V2, &plan, &Bytes::from_static(b"x")).unwrap(), "x");
        let empty = Timeline::parse_file_name(TimelineLayout::V1, "1.deltacommit.requested").unwrap();
        assert_eq!(content_in(TimelineLayout::V2, &empty, &Bytes::new()).unwrap(), "");
    }
}
