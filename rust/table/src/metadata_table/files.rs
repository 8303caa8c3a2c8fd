//! Partitions and their files, from the metadata table's partition `files`:
//!
//! | key | `filesystemMetadata` |
//! |---|---|
//! | `__all_partitions__` | the partitions, by path |
//! | the path of a partition, `.` for the root | its files, each with its size |
//!
//! Entries marked as deleted are ignored. A partition in the list that has no record has no files: each commit lists
//! its partitions again, so the clean that removes one finds it in the logs, where both entries cancel out
//! (`HoodieMetadataPayload`), and the entry of the base file stays. Hudi reads such a partition as empty, too
//! (`BaseTableMetadata.fetchAllFilesInPartition`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};

use super::open::{KEY, MetadataTable};
use crate::file_group::PartitionFiles;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, is_registered};

/// The partition of the metadata table with file listings.
pub const FILES: &str = "files";
/// The key of the record that lists partitions.
pub const ALL_PARTITIONS: &str = "__all_partitions__";
const ENTRIES: &str = "filesystemMetadata";
/// The name of the table's root as a partition.
const ROOT: &str = ".";

/// The listing of the selected partitions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PartitionListing {
    /// The partitions, sorted by path.
    pub files: Vec<PartitionFiles>,
    /// The number of partitions that were not selected.
    pub left_out: usize,
}

/// Selects partitions.
type Choose<'a> = &'a dyn Fn(&[&str]) -> Result<Vec<bool>>;

/// Names and sizes.
type Names = Vec<(String, u64)>;

impl MetadataTable {
    /// Returns the table's partitions with their files. If `choose` is given, only the partitions that it selects are
    /// returned, and little else is read.
    ///
    /// # Errors
    /// Errors of reading the metadata table; `InvalidTable` if it has no list of partitions.
    pub fn list(&self, choose: Option<Choose<'_>>) -> Result<PartitionListing> {
        let Some(choose) = choose else {
            let mut lists = self.lists(None)?;
            let partitions = partitions(&mut lists)?;
            return listed(partitions, lists, 0);
        };
        let partitions = partitions(&mut self.lists(Some(&BTreeSet::from([ALL_PARTITIONS.to_owned()])))?)?;
        let paths: Vec<&str> = partitions.iter().map(|name| path_of(name)).collect();
        let wanted = choose(&paths)?;
        let all = partitions.len();
        if wanted.len() != all {
            return Err(Error::internal(format_args!("{} choices for {all} partitions", wanted.len())));
        }
        let chosen =
            partitions.into_iter().zip(wanted).filter_map(|(partition, is_wanted)| is_wanted.then_some(partition));
        let partitions: Vec<String> = chosen.collect();
        let left_out = all.saturating_sub(partitions.len());
        if partitions.is_empty() {
            return Ok(PartitionListing { files: Vec::new(), left_out });
        }
        let lists = self.lists(Some(&partitions.iter().cloned().collect()))?;
        listed(partitions, lists, left_out)
    }

    /// Returns the files that base records of these partitions list, and that logs have removed; by the names of the
    /// partitions in the metadata table, as `partitions` are.
    ///
    /// # Errors
    /// Errors of reading the metadata table.
    pub fn removed_files(&self, partitions: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<String>>> {
        let mut in_base = HashMap::new();
        for batch in self.base_rows_of_keys(FILES, &[KEY, ENTRIES], partitions)? {
            live_entries(&batch, &mut in_base)?;
        }
        in_base.retain(|_, files| !files.is_empty());
        if in_base.is_empty() {
            return Ok(BTreeMap::new());
        }
        let listed = self.lists(Some(&in_base.keys().cloned().collect()))?;
        let removed = in_base.into_iter().map(|(partition, files)| {
            let listed = listed.get(&partition).into_iter().flatten();
            let listed: HashSet<&str> = listed.map(|(name, _)| name.as_str()).collect();
            let removed = files.into_iter().map(|(name, _)| name).filter(|name| !listed.contains(name.as_str()));
            (partition, removed.collect())
        });
        Ok(removed.collect())
    }

    /// Returns the entries that are not deleted, by key; if keys are given, only theirs.
    fn lists(&self, keys: Option<&BTreeSet<String>>) -> Result<HashMap<String, Names>> {
        let mut lists = HashMap::new();
        let columns = [KEY, ENTRIES];
        let rows = keys.map_or_else(|| self.rows(FILES, &columns), |keys| self.rows_of_keys(FILES, &columns, keys))?;
        for batch in rows {
            live_entries(&batch, &mut lists)?;
        }
        Ok(lists)
    }
}

/// Returns the names of the partitions in the metadata table, sorted by path.
fn partitions(lists: &mut HashMap<String, Names>) -> Result<Vec<String>> {
    let Some(names) = lists.remove(ALL_PARTITIONS) else {
        return Err(Error::invalid_table("invalid metadata table: its list of partitions is missing"));
    };
    let mut names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    names.sort_unstable_by(|one, other| path_of(one).cmp(path_of(other)));
    Ok(names)
}

fn listed(partitions: Vec<String>, mut lists: HashMap<String, Names>, left_out: usize) -> Result<PartitionListing> {
    let files = partitions.into_iter().map(|name| {
        // As Hudi: a partition without a record has no files (`fetchAllFilesInPartition`).
        let names = lists.remove(&name).unwrap_or_default();
        check_registered(&names).map_err(|error| error.in_file(path_of(&name)))?;
        Ok(PartitionFiles::new(path_of(&name), names.iter().map(|(name, len)| (name.as_str(), *len))))
    });
    Ok(PartitionListing { files: files.collect::<Result<_>>()?, left_out })
}

/// Makes sure that no registered file is passed over because its name is not understood.
fn check_registered(names: &Names) -> Result<()> {
    match names.iter().find(|(name, _)| is_registered(name) && BaseFileName::parse(name).is_none()) {
        None => Ok(()),
        Some((name, _)) => Err(Error::unsupported(format!(
            "invalid name {name:?} of a file that another tool has registered: it needs an instant, and a file in the partition"
        ))),
    }
}

fn path_of(name: &str) -> &str {
    if name == ROOT { "" } else { name }
}

fn live_entries(batch: &RecordBatch, lists: &mut HashMap<String, Names>) -> Result<()> {
    let misfit = || Error::invalid_table("invalid metadata table: a record has no files with sizes");
    let keys = batch.column_by_name(KEY).and_then(|keys| keys.as_string_opt::<i32>()).ok_or_else(misfit)?;
    let maps = batch.column_by_name(ENTRIES).and_then(|maps| maps.as_map_opt()).ok_or_else(misfit)?;
    for (row, key) in keys.iter().enumerate() {
        let (Some(key), true) = (key, maps.is_valid(row)) else { return Err(misfit()) };
        let entries = maps.value(row);
        let [names, infos] = entries.columns() else { return Err(misfit()) };
        let (names, infos) = names.as_string_opt::<i32>().zip(infos.as_struct_opt()).ok_or_else(misfit)?;
        let sizes = infos.column_by_name("size").and_then(|sizes| sizes.as_primitive_opt::<Int64Type>());
        let deleted = infos.column_by_name("isDeleted").and_then(|deleted| deleted.as_boolean_opt());
        let (sizes, deleted) = sizes.zip(deleted).ok_or_else(misfit)?;
        let mut live = Names::new();
        for ((name, size), deleted) in names.iter().zip(sizes).zip(deleted) {
            let (Some(name), Some(size), Some(deleted)) = (name, size, deleted) else { return Err(misfit()) };
            if !deleted {
                live.push((name.to_owned(), u64::try_from(size).map_err(|_| misfit())?));
            }
        }
        if lists.insert(key.to_owned(), live).is_some() {
            return Err(Error::invalid_table(format!("invalid metadata table: two records have the key {key:?}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(of: &[(&str, &[(&str, u64)])]) -> HashMap<String, Names> {
        let names = |names: &[(&str, u64)]| names.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        of.iter().map(|(key, entries)| ((*key).to_owned(), names(entries))).collect()
    }

    const BASE: &str = "f-0_0-1-2_20240101000000000.parquet";

    #[test]
    fn partitions_have_their_files_by_path() {
        let mut lists = lists(&[
            (ALL_PARTITIONS, &[("b", 0), (".", 0), ("a/1", 0)]),
            ("a/1", &[(BASE, 7), ("_SUCCESS", 0)]),
            ("b", &[]),
            (".", &[]),
        ]);
        let partitions = partitions(&mut lists).unwrap();
        assert_eq!(partitions, [".", "a/1", "b"]);
        let found = listed(partitions, lists, 3).unwrap();
        let paths: Vec<&str> = found.files.iter().map(|files| files.partition.as_str()).collect();
        assert_eq!((paths, found.left_out), (vec!["", "a/1", "b"], 3));
        assert_eq!((found.files[1].base_files[0].len, found.files[1].log_files.len()), (7, 0));
    }

    #[test]
    fn a_partition_without_a_record_is_empty_and_a_missing_list_of_partitions_is_an_error() {
        assert!(partitions(&mut lists(&[("a", &[])])).is_err());
        let found = listed(vec!["a".into(), "b".into()], lists(&[("b", &[(BASE, 7)])]), 0).unwrap();
        let sizes: Vec<(&str, usize)> =
            found.files.iter().map(|files| (files.partition.as_str(), files.base_files.len())).collect();
        assert_eq!(sizes, [("a", 0), ("b", 1)]);
    }
}
