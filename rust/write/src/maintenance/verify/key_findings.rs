//! What is wrong with record keys: keys of several rows, and what the record index says of rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file_group_numbers::FileGroupNumbers;
use super::findings::{Finding, FindingKind};
use super::key_reader::{add_index_keys, add_row_keys, threads};
use super::sorted_keys::{KeyPlace, KeySorter, Origin};
use super::stored_files::joined;
use crate::metadata_upkeep::{METADATA_ROOT, is_record_index_partitioned};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::meta_columns;
use mortice_formats::filter::Filter;
use mortice_merge::spill::SpillFolder;
use mortice_storage::FileStore;
use mortice_table::metadata_table::RECORD_INDEX;
use mortice_table::plan::OpenTable;

/// Findings of a kind, at most; those beyond are counted.
const MOST_FINDINGS: usize = 100;
/// Bytes of keys that are sorted in memory, of all threads together.
const SORT_MEMORY: usize = 256 << 20;
/// Bytes of each thread, at least.
const LEAST_BUFFER: usize = 1 << 20;

/// Reads the keys of all rows and of the record index, if the table has one, and compares them. Memory is bounded: keys are sorted in
/// files of the table's `spill_dir`.
///
/// # Errors
/// Those of planning and of the spilled files; what is wrong with the table is in the findings.
pub(super) fn key_findings(store: &Arc<dyn FileStore>, table: &OpenTable, is_global: bool) -> Result<Vec<Finding>> {
    let slices = table.file_slices(None, &Filter::default())?;
    let mut numbers = FileGroupNumbers::of_slices(&slices)?;
    let folder = SpillFolder::new(table.options.spill_dir.as_deref());
    let buffer_memory = (SORT_MEMORY / threads(table)).max(LEAST_BUFFER);
    let sorter = KeySorter::new(folder, buffer_memory);
    let mut found = add_row_keys(table, &slices, &numbers, &sorter)?;
    let index = if found.is_empty() { add_index(store, table, &mut numbers, &sorter)? } else { Ok(None) };
    let mut check = KeyCheck {
        numbers,
        is_global,
        index: None,
        // A row that an update replaces (`-U`) leaves its key in the index, as in Hudi, and the key may have no row afterwards.
        leaves_stale_keys: stores_operations(table)?,
        found: BTreeMap::new(),
        further: BTreeMap::new(),
    };
    match index {
        Ok(index) => check.index = index,
        Err(finding) => found.push(finding),
    }
    sorter.finish()?.for_each(&mut |key, places| check.add(key, places))?;
    found.extend(check.findings());
    Ok(found)
}

fn stores_operations(table: &OpenTable) -> Result<bool> {
    if table.config.stores_operations() || table.timeline.latest_visible().is_none() {
        return Ok(table.config.stores_operations());
    }
    Ok(table.schema_at(None)?.0.files.field(meta_columns::OPERATION).is_some())
}

/// What a record index has one location of a key for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexScope {
    Table,
    Partition,
}

/// Adds the keys of the record index. A finding if it cannot be read; none if there is no index.
fn add_index(
    store: &Arc<dyn FileStore>,
    table: &OpenTable,
    numbers: &mut FileGroupNumbers,
    sorter: &KeySorter,
) -> Result<std::result::Result<Option<IndexScope>, Finding>> {
    let mut add = || -> Result<Option<IndexScope>> {
        let Some(metadata) = table.metadata_index(RECORD_INDEX)? else { return Ok(None) };
        let is_partitioned = is_record_index_partitioned(&**store)?;
        add_index_keys(metadata, numbers, sorter)?;
        Ok(Some(if is_partitioned { IndexScope::Partition } else { IndexScope::Table }))
    };
    match add() {
        Ok(scope) => Ok(Ok(scope)),
        Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Unsupported) => Err(error),
        Err(error) => {
            let path = joined(METADATA_ROOT, RECORD_INDEX);
            Ok(Err(Finding::new(FindingKind::UnreadableMetadataTable, path, error.text())))
        }
    }
}

/// Compares the places of each key.
struct KeyCheck {
    numbers: FileGroupNumbers,
    is_global: bool,
    index: Option<IndexScope>,
    /// Whether writers leave keys in the index that no row has.
    leaves_stale_keys: bool,
    found: BTreeMap<FindingKind, Vec<Finding>>,
    further: BTreeMap<FindingKind, u64>,
}

impl KeyCheck {
    fn add(&mut self, key: &str, places: &[KeyPlace]) -> Result<()> {
        let (rows, indexed) = places.split_at(places.partition_point(|place| place.origin == Origin::Row));
        self.check_duplicates(key, rows)?;
        match self.index {
            None => Ok(()),
            Some(IndexScope::Table) => self.check_index(key, rows, indexed),
            Some(IndexScope::Partition) => self.check_index_by_partition(key, rows, indexed),
        }
    }

    /// A key of several rows, of the table or of a partition.
    fn check_duplicates(&mut self, key: &str, rows: &[KeyPlace]) -> Result<()> {
        if let [KeyPlace { count: 1, .. }] | [] = rows {
            return Ok(());
        }
        let mut first: BTreeMap<String, u32> = BTreeMap::new();
        for row in rows {
            let (partition, _) = self.numbers.group(row.group)?;
            let scope = if self.is_global { String::new() } else { partition.to_owned() };
            let other = *first.entry(scope).or_insert(row.group);
            let (other_partition, other_id) = self.numbers.group(other)?;
            let message = match (other == row.group, row.count) {
                (true, 1) => continue,
                (true, count) => format!("{count} rows of the file group have the record key {key:?}"),
                (false, _) => {
                    format!("the record key {key:?} is also in file group {other_id} of {other_partition:?}")
                }
            };
            self.report(FindingKind::DuplicateKey, row.group, message)?;
        }
        Ok(())
    }

    /// Compares the rows of a key with what the index says, which has one location of it.
    fn check_index(&mut self, key: &str, rows: &[KeyPlace], indexed: &[KeyPlace]) -> Result<()> {
        let Some(row) = rows.first() else {
            return indexed.iter().try_for_each(|place| self.report_stale(key, place));
        };
        if indexed.is_empty() {
            let message = format!("the record index does not have the record key {key:?}");
            return self.report(FindingKind::IndexMissingKey, row.group, message);
        }
        for place in indexed.iter().filter(|place| rows.iter().all(|row| row.group != place.group)) {
            let (partition, file_id) = self.numbers.group(row.group)?;
            let message = format!(
                "the record index has the record key {key:?} here, and it is in file group {file_id} of {partition:?}"
            );
            self.report(FindingKind::IndexWrongLocation, place.group, message)?;
        }
        Ok(())
    }

    fn check_index_by_partition(&mut self, key: &str, rows: &[KeyPlace], indexed: &[KeyPlace]) -> Result<()> {
        let mut partitions: BTreeMap<String, [Vec<KeyPlace>; 2]> = BTreeMap::new();
        for place in rows.iter().chain(indexed) {
            let (partition, _) = self.numbers.group(place.group)?;
            let [rows, indexed] = partitions.entry(partition.to_owned()).or_default();
            if place.origin == Origin::Row { rows.push(*place) } else { indexed.push(*place) }
        }
        partitions.values().try_for_each(|[rows, indexed]| self.check_index(key, rows, indexed))
    }

    fn report_stale(&mut self, key: &str, place: &KeyPlace) -> Result<()> {
        if self.leaves_stale_keys {
            return Ok(());
        }
        let group = if self.numbers.is_live(place.group) { "" } else { ", which is not a live file group" };
        let message = format!("the record index has the record key {key:?} here{group}, and no row has it");
        self.report(FindingKind::IndexStaleKey, place.group, message)
    }

    fn report(&mut self, kind: FindingKind, group: u32, message: String) -> Result<()> {
        let (partition, file_id) = self.numbers.group(group)?;
        let of_kind = self.found.entry(kind).or_default();
        if of_kind.len() < MOST_FINDINGS {
            of_kind.push(Finding::new(kind, joined(partition, file_id), message));
        } else {
            let further = self.further.entry(kind).or_default();
            *further = further.checked_add(1).ok_or_else(|| Error::internal("too many findings to count"))?;
        }
        Ok(())
    }

    fn findings(self) -> impl Iterator<Item = Finding> {
        let further = self.further.into_iter().map(|(kind, count)| {
            let message = format!("{count} more findings of this kind, which are not listed");
            Finding::new(kind, "", message)
        });
        self.found.into_values().flatten().chain(further)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: [(&str, &str); 3] = [("p", "f-0"), ("p", "g-0"), ("q", "h-0")];

    fn check(is_global: bool, index: Option<IndexScope>, keys: &[(&str, &[u32], &[u32])]) -> Vec<Finding> {
        let slice = |(partition, file_id): (&str, &str)| mortice_table::file_group::FileSlice {
            partition: partition.to_owned(),
            file_id: file_id.to_owned(),
            base_instant: "1".into(),
            base_file: None,
            log_files: Vec::new(),
        };
        let mut numbers = FileGroupNumbers::of_slices(&GROUPS.map(slice)).unwrap();
        numbers.number_of("p", "gone-0").unwrap();
        let mut check = KeyCheck {
            numbers,
            is_global,
            index,
            leaves_stale_keys: false,
            found: BTreeMap::new(),
            further: BTreeMap::new(),
        };
        for (key, rows, indexed) in keys {
            let place = |origin| move |group: &u32| KeyPlace { origin, group: *group, count: 1 };
            let rows = rows.iter().map(place(Origin::Row));
            let places: Vec<KeyPlace> = rows.chain(indexed.iter().map(place(Origin::Index))).collect();
            check.add(key, &places).unwrap();
        }
        check.findings().collect()
    }

    fn kinds(found: &[Finding]) -> Vec<(FindingKind, &str)> {
        found.iter().map(|one| (one.kind, one.path.as_str())).collect()
    }

    #[test]
    fn duplicates_are_those_of_a_partition_or_of_the_table() {
        let keys: [(&str, &[u32], &[u32]); 3] = [("a", &[0, 1], &[]), ("b", &[0, 2], &[]), ("c", &[2], &[])];
        assert_eq!(kinds(&check(false, None, &keys)), [(FindingKind::DuplicateKey, "p/g-0")]);
        let global = check(true, None, &keys);
        assert_eq!(kinds(&global), [(FindingKind::DuplicateKey, "p/g-0"), (FindingKind::DuplicateKey, "q/h-0")]);
        assert!(global.last().unwrap().message.contains("f-0"), "{global:?}");
    }

    #[test]
    fn an_index_is_compared_with_rows() {
        use FindingKind::{IndexMissingKey, IndexStaleKey, IndexWrongLocation};
        for (rows, indexed, expected) in [
            (&[0][..], &[0][..], vec![]),
            (&[0], &[], vec![(IndexMissingKey, "p/f-0")]),
            (&[0], &[1], vec![(IndexWrongLocation, "p/g-0")]),
            (&[0], &[3], vec![(IndexWrongLocation, "p/gone-0")]),
            (&[], &[1], vec![(IndexStaleKey, "p/g-0")]),
            (&[], &[3], vec![(IndexStaleKey, "p/gone-0")]),
            // A key of two partitions has one location.
            (&[0, 2], &[2], vec![]),
        ] {
            let found = check(false, Some(IndexScope::Table), &[("a", rows, indexed)]);
            assert_eq!(kinds(&found), expected, "{rows:?} {indexed:?}");
        }
    }

    #[test]
    fn an_index_of_partitions_has_a_location_in_each() {
        use FindingKind::{IndexMissingKey, IndexStaleKey};
        for (rows, indexed, expected) in [
            (&[0, 2][..], &[0, 2][..], vec![]),
            (&[0, 2], &[2], vec![(IndexMissingKey, "p/f-0")]),
            (&[0], &[0, 2], vec![(IndexStaleKey, "q/h-0")]),
        ] {
            let found = check(false, Some(IndexScope::Partition), &[("a", rows, indexed)]);
            assert_eq!(kinds(&found), expected, "{rows:?} {indexed:?}");
        }
    }

    #[test]
    fn findings_beyond_the_most_are_counted() {
        let names: Vec<String> = (0..MOST_FINDINGS + 7).map(|number| number.to_string()).collect();
        let keys: Vec<(&str, &[u32], &[u32])> = names.iter().map(|name| (name.as_str(), &[][..], &[1][..])).collect();
        let found = check(false, Some(IndexScope::Table), &keys);
        assert_eq!(found.len(), MOST_FINDINGS + 1);
        assert!(found.last().unwrap().message.starts_with("7 more"), "{:?}", found.last());
    }
}
