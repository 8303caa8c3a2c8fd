//! Rows of the file groups that hold their keys.

use std::collections::BTreeMap;

use crate::index::Tagged;
use crate::write::{LogNaming, SliceNames};
use mortice_base::error::{Error, Result};
use mortice_base::names::LogFileName;
use mortice_base::row_number::at;
use mortice_merge::config::{TableConfig, TableType, TimelineLayout};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::WriteView;

/// A row, and the number of its key's row in the base file.
pub(super) type Placed = (u32, Option<u64>);

/// Rows by partition and file group.
pub(super) type Updates = BTreeMap<(String, String), Vec<Placed>>;

/// Rows of each file group, ascending.
pub(super) fn of_tagged(tagged: &Tagged) -> Result<Updates> {
    let mut by_group: Vec<Vec<Placed>> = vec![Vec::new(); tagged.groups.len()];
    let mut add = |group: u32, placed: Placed| {
        let rows = by_group.get_mut(at(group));
        rows.ok_or_else(|| Error::internal("a row is tagged with a file group that is not there"))
            .map(|rows| rows.push(placed))
    };
    for (row, group) in (0_u32..).zip(&tagged.locations) {
        if let Some(group) = group {
            add(*group, (row, tagged.position(at(row))?))?;
        }
    }
    for further in &tagged.further {
        add(further.group, (further.row, further.position))?;
    }
    let mut updates = Updates::new();
    for (location, rows) in tagged.groups.iter().zip(by_group).filter(|(_, rows)| !rows.is_empty()) {
        updates.entry((location.partition.clone(), location.file_id.clone())).or_default().extend(rows);
    }
    for rows in updates.values_mut() {
        rows.sort_unstable();
        rows.dedup();
    }
    Ok(updates)
}

/// The slice that is written upon. Refuses groups under pending clustering (`SparkRejectUpdateStrategy`): the rows
/// would be lost with the group.
pub(super) fn slice_of<'v>(
    view: &'v WriteView,
    config: &TableConfig,
    partition: &str,
    file_id: &str,
) -> Result<&'v FileSlice> {
    if let Some(instant) = view.pending_clustering(partition, file_id) {
        return Err(Error::unsupported(format!(
            "rows of file group {file_id:?} in partition {partition:?}, which a pending clustering is to replace; execute the clustering or roll it back, then write again"
        ))
        .at_instant(instant));
    }
    let slices = if config.table_type == TableType::CopyOnWrite { &view.base_files } else { &view.slices };
    slices.iter().find(|slice| slice.partition == partition && slice.file_id == file_id).ok_or_else(|| {
        Error::invalid_table(format!(
            "the index has keys in file group {file_id:?} of partition {partition:?}, which is not a live file group"
        ))
    })
}

/// The names of new log files of a slice. Up to version 7 they have the slice's base instant: that of the pending
/// compaction, if there is one, which begins the next slice.
pub fn log_naming(view: &WriteView, config: &TableConfig, slice: &FileSlice) -> LogNaming {
    if config.layout() == TimelineLayout::V2 {
        return match config.cdc {
            None => LogNaming::ByDeltaCommit,
            Some(_) => LogNaming::ByDeltaCommitOf(SliceNames {
                base_instant: slice.base_instant.clone(),
                base_file: slice.base_file.as_ref().map(|base| base.name().to_owned()).unwrap_or_default(),
                log_files: slice.log_files.iter().map(|log| log.name().to_owned()).collect(),
            }),
        };
    }
    let names = |keep: &dyn Fn(&LogFileName) -> bool| {
        let logs = slice.log_files.iter().filter(|log| LogFileName::parse(log.name()).is_some_and(|name| keep(&name)));
        logs.map(|log| log.name().to_owned()).collect()
    };
    match view.pending_compaction(&slice.partition, &slice.file_id) {
        Some(instant) => LogNaming::BySlice {
            base_instant: instant.clone(),
            base_file: String::new(),
            log_files: names(&|name| name.instant == *instant),
        },
        None => LogNaming::BySlice {
            base_instant: slice.base_instant.clone(),
            base_file: slice.base_file.as_ref().map(|base| base.name().to_owned()).unwrap_or_default(),
            log_files: names(&|_| true),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{FurtherLocation, Location};
    use mortice_base::error::ErrorKind;
    use mortice_merge::config::Properties;

    fn location(partition: &str, file_id: &str) -> Location {
        Location { partition: partition.to_owned(), file_id: file_id.to_owned(), base_instant: "7".into() }
    }

    fn table(version: &str) -> TableConfig {
        let entries =
            [("hoodie.table.name", "t"), ("hoodie.table.version", version), ("hoodie.table.type", "MERGE_ON_READ")];
        TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap()
    }

    #[test]
    fn a_row_goes_to_all_file_groups_that_have_its_key() {
        let further = |row, group, position| FurtherLocation { row, group, position };
        let tagged = Tagged {
            locations: vec![Some(1), None, Some(0), Some(1)],
            groups: vec![location("p", "a"), location("p", "b"), location("q", "unused")],
            positions: vec![Some(9), None, None, Some(3)],
            further: vec![further(0, 0, Some(2)), further(0, 1, Some(9)), further(0, 1, Some(8))],
            ..Tagged::default()
        };
        let key = |file_id: &str| ("p".to_owned(), file_id.to_owned());
        let expected = Updates::from([
            (key("a"), vec![(0, Some(2)), (2, None)]),
            (key("b"), vec![(0, Some(8)), (0, Some(9)), (3, Some(3))]),
        ]);
        assert_eq!(of_tagged(&tagged).unwrap(), expected);
    }

    #[test]
    fn a_file_group_that_is_not_there_is_an_internal_error() {
        let tagged = Tagged { locations: vec![Some(1)], groups: vec![location("p", "a")], ..Tagged::default() };
        assert_eq!(of_tagged(&tagged).unwrap_err().kind(), ErrorKind::Internal);
        let stale = slice_of(&WriteView::default(), &table("6"), "p", "a").unwrap_err();
        assert!(stale.kind() == ErrorKind::InvalidTable && stale.to_string().contains("\"a\""), "{stale}");
    }

    /// Readers of table version 6 find the logs of a slice by its base instant; those of version 8 by the commit.
    #[test]
    fn log_names_are_those_of_the_table_version() {
        let slice = FileSlice {
            partition: "p".to_owned(),
            file_id: "f-0".to_owned(),
            base_instant: "7".into(),
            base_file: None,
            log_files: Vec::new(),
        };
        let view = WriteView::default();
        assert!(matches!(log_naming(&view, &table("8"), &slice), LogNaming::ByDeltaCommit));
        let LogNaming::BySlice { base_instant, base_file, log_files } = log_naming(&view, &table("6"), &slice) else {
            panic!("not by slice")
        };
        assert_eq!((base_instant.as_str(), base_file.as_str(), log_files.len()), ("7", "", 0));
    }
}
