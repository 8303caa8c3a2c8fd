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
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};

use super::open::{KEY, MetadataTable, SelectedRows};
use super::shard::PartitionPart;
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
#[derive(Debug, PartialEq, Eq)]
pub struct PartitionListing<T = PartitionFiles> {
    /// The files of each partition, or what a query makes of them, sorted by the paths of the partitions.
    pub files: Vec<T>,
    /// The number of partitions that were not selected.
    pub left_out: usize,
}

/// Selects partitions.
pub type ChoosePartitions<'a> = &'a dyn Fn(&[&str]) -> Result<Vec<bool>>;

/// Makes something of the files of a partition.
pub type EachPartition<'a, T> = &'a mut (dyn FnMut(PartitionFiles) -> T + Send);

/// The files of a partition, with their sizes.
type Entries<'a> = Vec<(&'a str, u64)>;

impl MetadataTable {
    /// Returns the table's partitions with their files. If `choose` is given, only the partitions that it selects are
    /// returned, and little else is read.
    ///
    /// # Errors
    /// Errors of reading the metadata table; `InvalidTable` if it has no list of partitions.
    pub fn list(&self, choose: Option<ChoosePartitions<'_>>) -> Result<PartitionListing> {
        self.list_each(choose, &mut |files| files)
    }

    /// Returns what `each` makes of the files of the table's partitions, as [`Self::list`]. It is called with one
    /// partition after the other, as they are read: the files of a table are never in memory at once.
    ///
    /// # Errors
    /// As for [`Self::list`].
    pub fn list_each<T: Send>(
        &self,
        choose: Option<ChoosePartitions<'_>>,
        each: EachPartition<'_, T>,
    ) -> Result<PartitionListing<T>> {
        let Some(choose) = choose else {
            return self.read(SelectedRows::Part(PartitionPart::ALL), each)?.sorted(None, each);
        };
        let partitions = self.partitions()?;
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
        let read = self.read(SelectedRows::Keys(&partitions.iter().cloned().collect()), each)?;
        Ok(PartitionListing { left_out, ..read.sorted(Some(partitions), each)? })
    }

    /// Returns the names of all partitions in the metadata table, sorted by path.
    fn partitions(&self) -> Result<Vec<String>> {
        let key = BTreeSet::from([ALL_PARTITIONS.to_owned()]);
        self.read(SelectedRows::Keys(&key), &mut drop)?.names()
    }

    /// Reads listings, and calls `each` with those of partitions.
    fn read<T: Send>(&self, rows: SelectedRows<'_>, each: EachPartition<'_, T>) -> Result<ReadPartitions<T>> {
        let read = Mutex::new((ReadPartitions::default(), each));
        self.for_each_batch(FILES, rows, &[KEY, ENTRIES], &|batch| {
            let (read, each) = &mut *read.lock().unwrap_or_else(PoisonError::into_inner);
            live_entries(batch, &mut |key, entries| read.add(key, &entries, *each))
        })?;
        Ok(read.into_inner().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Returns the files that base records of these partitions list, and that logs have removed; by the names of the
    /// partitions in the metadata table, as `partitions` are.
    ///
    /// # Errors
    /// Errors of reading the metadata table.
    pub fn removed_files(&self, partitions: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<String>>> {
        let mut in_base = names_of(&self.base_rows_of_keys(FILES, &[KEY, ENTRIES], partitions)?)?;
        in_base.retain(|_, files| !files.is_empty());
        if in_base.is_empty() {
            return Ok(BTreeMap::new());
        }
        let listed = names_of(&self.rows_of_keys(FILES, &[KEY, ENTRIES], &in_base.keys().cloned().collect())?)?;
        let removed = in_base.into_iter().map(|(partition, mut files)| {
            let listed: HashSet<&str> = listed.get(&partition).into_iter().flatten().map(String::as_str).collect();
            files.retain(|name| !listed.contains(name.as_str()));
            (partition, files)
        });
        Ok(removed.collect())
    }
}

/// What was read of listings.
struct ReadPartitions<T> {
    /// The names of all partitions, if their record was read.
    all: Option<Vec<String>>,
    /// By the name of the partition. A partition that is not among `all` may be invalid.
    by_name: HashMap<String, Result<T>>,
}

impl<T> Default for ReadPartitions<T> {
    fn default() -> Self {
        Self { all: None, by_name: HashMap::new() }
    }
}

impl<T> ReadPartitions<T> {
    fn add(&mut self, key: &str, entries: &Entries<'_>, each: EachPartition<'_, T>) -> Result<()> {
        let is_known = if key == ALL_PARTITIONS {
            self.all.replace(entries.iter().map(|(name, _)| (*name).to_owned()).collect()).is_some()
        } else {
            let checked = check_registered(entries).map_err(|error| error.in_file(path_of(key)));
            let found = checked.map(|()| each(PartitionFiles::new(path_of(key), entries.iter().copied())));
            self.by_name.insert(key.to_owned(), found).is_some()
        };
        if is_known { Err(read_twice(key)) } else { Ok(()) }
    }

    /// Returns the names of all partitions, sorted by path.
    fn names(&mut self) -> Result<Vec<String>> {
        let Some(mut names) = self.all.take() else {
            return Err(Error::invalid_table("invalid metadata table: its list of partitions is missing"));
        };
        names.sort_unstable_by(|one, other| path_of(one).cmp(path_of(other)));
        Ok(names)
    }

    /// Returns what was made of these partitions, or of all, in their order.
    fn sorted(mut self, partitions: Option<Vec<String>>, each: EachPartition<'_, T>) -> Result<PartitionListing<T>> {
        let partitions = partitions.map_or_else(|| self.names(), Ok)?;
        let files = partitions.iter().map(|name| {
            // As Hudi: a partition without a record has no files (`fetchAllFilesInPartition`).
            self.by_name.remove(name).unwrap_or_else(|| Ok(each(PartitionFiles::new(path_of(name), []))))
        });
        Ok(PartitionListing { files: files.collect::<Result<_>>()?, left_out: 0 })
    }
}

fn read_twice(key: &str) -> Error {
    Error::invalid_table(format!("invalid metadata table: two records have the key {key:?}"))
}

/// Makes sure that no registered file is passed over because its name is not understood.
fn check_registered(entries: &Entries<'_>) -> Result<()> {
    match entries.iter().find(|(name, _)| is_registered(name) && BaseFileName::parse(name).is_none()) {
        None => Ok(()),
        Some((name, _)) => Err(Error::unsupported(format!(
            "invalid name {name:?} of a file that another tool has registered: it needs an instant, and a file in the partition"
        ))),
    }
}

/// Returns the names of the files of partitions.
fn names_of(batches: &[RecordBatch]) -> Result<HashMap<String, Vec<String>>> {
    let mut names = HashMap::new();
    for batch in batches {
        live_entries(batch, &mut |key, entries| {
            let of_partition = entries.into_iter().map(|(name, _)| name.to_owned()).collect();
            names.insert(key.to_owned(), of_partition).map_or(Ok(()), |_: Vec<String>| Err(read_twice(key)))
        })?;
    }
    Ok(names)
}

fn path_of(name: &str) -> &str {
    if name == ROOT { "" } else { name }
}

/// Calls `each` with the key of each record and its entries that are not deleted.
fn live_entries(batch: &RecordBatch, each: &mut dyn for<'a> FnMut(&'a str, Entries<'a>) -> Result<()>) -> Result<()> {
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
        let mut live = Entries::new();
        for ((name, size), deleted) in names.iter().zip(sizes).zip(deleted) {
            let (Some(name), Some(size), Some(deleted)) = (name, size, deleted) else { return Err(misfit()) };
            if !deleted {
                live.push((name, u64::try_from(size).map_err(|_| misfit())?));
            }
        }
        each(key, live)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads records, given by their keys and entries.
    fn read(records: &[(&str, &[(&str, u64)])]) -> Result<ReadPartitions<PartitionFiles>> {
        let mut read = ReadPartitions::default();
        for (key, entries) in records {
            read.add(key, &entries.to_vec(), &mut |files| files)?;
        }
        Ok(read)
    }

    fn sorted(records: &[(&str, &[(&str, u64)])], partitions: Option<&[&str]>) -> Result<Vec<PartitionFiles>> {
        let partitions = partitions.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        read(records)?.sorted(partitions, &mut |files| files).map(|listing| listing.files)
    }

    const BASE: &str = "f-0_0-1-2_20240101000000000.parquet";

    #[test]
    fn partitions_have_their_files_by_path() {
        let records: [(&str, &[(&str, u64)]); 4] = [
            (".", &[]),
            (ALL_PARTITIONS, &[("b", 0), (".", 0), ("a/1", 0)]),
            ("a/1", &[(BASE, 7), ("_SUCCESS", 0)]),
            ("b", &[]),
        ];
        assert_eq!(read(&records).unwrap().names().unwrap(), [".", "a/1", "b"]);
        let found = sorted(&records, None).unwrap();
        let paths: Vec<&str> = found.iter().map(|files| files.partition.as_str()).collect();
        assert_eq!(paths, ["", "a/1", "b"]);
        assert_eq!((found[1].base_files[0].len, found[1].log_files.len()), (7, 0));
    }

    #[test]
    fn a_partition_without_a_record_is_empty_and_a_missing_list_of_partitions_is_an_error() {
        assert!(sorted(&[("a", &[])], None).is_err());
        let found = sorted(&[("b", &[(BASE, 7)])], Some(&["a", "b"])).unwrap();
        let sizes: Vec<(&str, usize)> =
            found.iter().map(|files| (files.partition.as_str(), files.base_files.len())).collect();
        assert_eq!(sizes, [("a", 0), ("b", 1)]);
    }

    #[test]
    fn two_records_of_a_key_are_an_error() {
        assert!(read(&[("a", &[]), ("a", &[])]).is_err());
        assert!(read(&[(ALL_PARTITIONS, &[]), (ALL_PARTITIONS, &[])]).is_err());
    }

    #[test]
    fn a_partition_that_is_not_of_the_table_may_be_invalid() {
        let records: [(&str, &[(&str, u64)]); 2] =
            [(ALL_PARTITIONS, &[("a", 0)]), ("b", &[("a.parquet_x_hudiext", 1)])];
        assert_eq!(sorted(&records, None).unwrap().len(), 1);
        assert!(sorted(&records, Some(&["b"])).is_err());
    }
}
