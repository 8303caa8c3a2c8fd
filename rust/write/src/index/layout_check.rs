//! Refuses an index that the table's file groups contradict: its keys would not be found, and every update would add a
//! row.

use std::collections::BTreeMap;

use super::hashing_files::RING_FOLDER;
use mortice_base::error::{Error, Result};
use mortice_base::names::bucket_in;
use mortice_merge::config::TableType;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, WriteView};

/// Hudi's tables have some thousand buckets at most, 256 unless set. A random id begins with a smaller number once in
/// 43,000 groups.
const MOST_BUCKETS: u32 = 100_000;
/// A table's only file group is no bucket if its number is this or more: one random id in 43,000 is too many to refuse
/// the table for. One in 4,300,000 is below this.
const MOST_BUCKETS_OF_ONE_GROUP: u32 = 1_000;

/// Whether the id of a file group may be that of a bucket.
pub(super) fn is_like_bucket(file_id: &str) -> bool {
    bucket_in(file_id).is_some_and(|bucket| bucket < MOST_BUCKETS)
}

/// Whether the file groups of a table, which have these ids, are buckets.
pub fn are_buckets(file_ids: &[&str]) -> bool {
    match file_ids {
        [] => false,
        [only] => bucket_in(only).is_some_and(|bucket| bucket < MOST_BUCKETS_OF_ONE_GROUP),
        all => all.iter().all(|file_id| is_like_bucket(file_id)),
    }
}

/// The buckets that have several of these file groups, by partition and number. File groups of no bucket are left out.
pub fn shared_buckets(slices: &[FileSlice]) -> BTreeMap<(&str, u32), Vec<&FileSlice>> {
    let mut buckets: BTreeMap<(&str, u32), Vec<&FileSlice>> = BTreeMap::new();
    for slice in slices {
        if let Some(bucket) = bucket_in(&slice.file_id) {
            buckets.entry((&slice.partition, bucket)).or_default().push(slice);
        }
    }
    buckets.retain(|_, groups| groups.len() > 1);
    buckets
}

/// Whether a table has consistent hashing.
///
/// # Errors
/// Those of listing its folder.
pub fn has_consistent_hashing(table: &OpenTable) -> Result<bool> {
    Ok(table.storage.list(RING_FOLDER)?.is_some_and(|entries| !entries.is_empty()))
}

/// Refuses a table with consistent hashing, for another index.
pub(super) fn refuse_consistent_hashing(table: &OpenTable) -> Result<()> {
    if has_consistent_hashing(table)? {
        return Err(Error::invalid_argument(
            "the table has a bucket index with consistent hashing (.hoodie/.bucket_index); set hoodie.index.type to BUCKET and hoodie.index.bucket.engine to CONSISTENT_HASHING",
        )
        .in_file(&table.uri));
    }
    Ok(())
}

/// Refuses file groups that are buckets. `index` is the name of one that has none.
pub(super) fn refuse_buckets(table: &OpenTable, view: &WriteView, index: &str) -> Result<()> {
    refuse_consistent_hashing(table)?;
    // The only group of the partitions that are written to may have others in the rest of the table.
    let rest = match view.slices.as_slice() {
        [only] if is_like_bucket(&only.file_id) => Some(table.write_view(None)?),
        _ => None,
    };
    let slices = &rest.as_ref().unwrap_or(view).slices;
    if are_buckets(&slices.iter().map(|slice| slice.file_id.as_str()).collect::<Vec<_>>()) {
        return Err(Error::invalid_argument(format!(
            "the file groups of the table are buckets, but the index of this write is {index}; set hoodie.index.type to BUCKET, and hoodie.bucket.index.num.buckets to the number of buckets in a partition"
        ))
        .in_file(&table.uri));
    }
    Ok(())
}

/// Refuses file groups of a merge-on-read table that have no base file. `index` is the name of one that puts new keys
/// into base files.
pub(super) fn refuse_logs_alone(table: &OpenTable, view: &WriteView, index: &str) -> Result<()> {
    let log_only = view.slices.iter().find(|slice| slice.base_file.is_none());
    match log_only {
        Some(slice) if table.config.table_type == TableType::MergeOnRead => Err(Error::invalid_argument(format!(
            "file group {:?} in partition {:?} has logs and no base file: another index than {index} wrote it (INMEMORY, Flink's), and its keys would not be found; compact the table with its own writer first",
            slice.file_id, slice.partition
        ))
        .in_file(&table.uri)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::bucket::tests::slice;
    use super::*;

    fn are(buckets: &[&str]) -> bool {
        let ids: Vec<_> = buckets.iter().map(|digits| format!("{digits}-b9cf-48dc-8a4e-000000000000-0")).collect();
        are_buckets(&ids.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn one_random_id_that_looks_like_a_bucket_is_none() {
        assert!(!are(&[]));
        assert!(are(&["00000255"]) && are(&["00000000"]));
        assert!(!are(&["00072813"]), "a random id");
        assert!(are(&["00072813", "00004095"]), "two are not random");
        assert!(!are(&["00072813", "0004095a"]) && !are(&["00000001", "12345678"]));
    }

    /// Two writers that begin the same bucket at the same time.
    #[test]
    fn buckets_that_have_several_file_groups_are_found_by_partition() {
        let slices = [
            slice("p", "00000001-a-0"),
            slice("q", "00000001-b-0"),
            slice("p", "00000002-c-0"),
            slice("p", "00000001-d-0"),
            slice("p", "no-bucket"),
            slice("p", "no-bucket-either"),
            slice("q", "00000007-e-0"),
            slice("q", "00000007-f-0"),
            slice("q", "00000007-g-0"),
        ];
        let found: Vec<_> = shared_buckets(&slices)
            .into_iter()
            .map(|(bucket, groups)| (bucket, groups.iter().map(|one| one.file_id.as_str()).collect::<Vec<_>>()))
            .collect();
        let expected = [
            (("p", 1), vec!["00000001-a-0", "00000001-d-0"]),
            (("q", 7), vec!["00000007-e-0", "00000007-f-0", "00000007-g-0"]),
        ];
        assert_eq!(found, expected);
        assert!(shared_buckets(&[]).is_empty());
    }

    #[test]
    fn ids_of_other_forms_and_numbers_beyond_all_buckets_are_not_like_buckets() {
        for (id, expected) in [
            ("00000000-0000-0000-0000-000000000000-0", true),
            ("00099999-b9cf", true),
            ("00100000-b9cf", false),
            ("0000001a-b9cf", false),
            ("000001-b9cf", false),
            ("", false),
        ] {
            assert_eq!(is_like_bucket(id), expected, "{id}");
        }
        // A table's only group must have a small number; with others, all of them may be large.
        assert!(are(&["00000999"]) && !are(&["00001000"]) && are(&["00001000", "00001001"]));
    }
}
