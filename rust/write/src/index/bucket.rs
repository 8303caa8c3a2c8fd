//! The bucket index (`HoodieSimpleBucketIndex`, `HoodieConsistentBucketIndex`): a key's file group is that of the
//! bucket that its hash selects.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::Array;

use super::bucket_layout::BucketLayout;
use super::incoming_keys::partitions_of;
use super::index::Index;
use super::options::{BucketOptions, IndexType};
use super::stored_keys::StoredKeys;
use super::tagged::{Location, Tagged};
use super::task_look_up::TaskLookUp;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::number_of;
use mortice_merge::config::option_names::BUCKET_INDEX_NUM_BUCKETS;
use mortice_merge::keys::RowKeys;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, WriteView};

/// `BUCKET`.
#[derive(Debug)]
pub(super) struct BucketIndex {
    options: BucketOptions,
}

impl BucketIndex {
    pub(super) const fn new(options: BucketOptions) -> Self {
        Self { options }
    }
}

impl Index for BucketIndex {
    fn kind(&self) -> IndexType {
        IndexType::Bucket
    }

    fn buckets(&self) -> Option<&BucketOptions> {
        Some(&self.options)
    }

    /// The file group of a new key is known, too (`HoodieBucketIndex.requiresTagging`).
    fn tags_inserts(&self) -> bool {
        true
    }

    fn tag(&self, table: &Arc<OpenTable>, keys: &RowKeys) -> Result<Tagged> {
        let layout = BucketLayout::of_table(table, &self.options)?;
        let view = table.write_view(self.partitions(&partitions_of(keys)))?;
        check(table, &view, &layout)?;
        tag(Arc::new(view), keys, &layout)
    }

    fn task_look_up(&self, _: &OpenTable) -> Result<TaskLookUp> {
        Ok(TaskLookUp::Buckets)
    }

    /// A bucket is that of a key whether or not the key is there.
    fn is_certain(&self, _: &FileSlice) -> bool {
        false
    }

    fn check_inserts(&self, table: &OpenTable) -> Result<()> {
        BucketLayout::of_table(table, &self.options).map(drop)
    }

    fn check_view(&self, table: &OpenTable, view: &WriteView) -> Result<()> {
        check(table, view, &BucketLayout::of_table(table, &self.options)?)
    }
}

fn check(table: &OpenTable, view: &WriteView, layout: &BucketLayout) -> Result<()> {
    check_groups(view, layout)?;
    check_keys(table, view, layout)
}

/// File groups whose keys are checked.
const CHECKED_GROUPS: usize = 8;
/// Keys of each.
const CHECKED_KEYS: usize = 16;

/// Refuses another number of buckets, or other hashed fields, than those of the table's writers: some keys of some base
/// files have to be in the buckets that hold them.
fn check_keys(table: &OpenTable, view: &WriteView, layout: &BucketLayout) -> Result<()> {
    let stored = StoredKeys::new(table)?;
    let groups = view.slices.iter().filter(|slice| slice.base_file.is_some()).take(CHECKED_GROUPS);
    for slice in groups {
        // A sample: `groups_of` refuses groups of no bucket, and those of logs only have no keys to check.
        let (partition, file_id) = (slice.partition.as_str(), &slice.file_id);
        let (Some(bucket), Some(file)) = (layout.bucket_of_group(partition, file_id)?, stored.open(slice)?) else {
            continue;
        };
        for key in stored.first_keys(file, CHECKED_KEYS)?.iter().flatten() {
            let expected = layout.bucket_of(key, partition)?;
            if expected != bucket {
                return Err(Error::invalid_argument(format!(
                    "key {key:?} is in bucket {bucket} of partition {partition:?}, but is {expected} of {} by this write's options; set {BUCKET_INDEX_NUM_BUCKETS} and hoodie.bucket.index.hash.field to those of the table's writers",
                    layout.described(partition)?
                ))
                .in_file(&table.uri));
            }
        }
    }
    Ok(())
}

/// File groups by partition and bucket: indexes into a list of them.
type Groups<'v> = HashMap<(&'v str, u32), u32>;

/// Refuses file groups that are not those of these buckets.
fn check_groups(view: &WriteView, layout: &BucketLayout) -> Result<()> {
    groups_of(view, layout).map(|_| ())
}

fn groups_of<'v>(view: &'v WriteView, layout: &BucketLayout) -> Result<(Vec<Location>, Groups<'v>)> {
    let (mut locations, mut groups) = (Vec::new(), Groups::new());
    for slice in &view.slices {
        let Some(bucket) = layout.bucket_of_group(&slice.partition, &slice.file_id)? else {
            return Err(Error::invalid_argument(format!(
                "file group {:?} in partition {:?} is not one of {}: the table was written with another index, or with another number of buckets; set hoodie.index.type, hoodie.index.bucket.engine and {BUCKET_INDEX_NUM_BUCKETS} to those of its writers",
                slice.file_id,
                slice.partition,
                layout.described(&slice.partition)?
            )));
        };
        let group = number_of(locations.len())?;
        if groups.insert((slice.partition.as_str(), bucket), group).is_some() {
            return Err(Error::invalid_table(format!(
                "partition {:?} has several file groups of bucket {bucket}, which concurrent writers have created; `mortice repair TABLE --merge-buckets` makes one of them",
                slice.partition
            )));
        }
        locations.push(Location {
            partition: slice.partition.clone(),
            file_id: slice.file_id.clone(),
            base_instant: slice.base_instant.clone(),
        });
    }
    Ok((locations, groups))
}

/// Finds the file groups of keys.
pub(super) fn tag(view: Arc<WriteView>, keys: &RowKeys, layout: &BucketLayout) -> Result<Tagged> {
    let (locations, groups) = groups_of(&view, layout)?;
    let mut tagged = Tagged::untagged(keys.record_keys.len(), Arc::clone(&view));
    tagged.groups = locations;
    for ((key, partition), location) in keys.record_keys.iter().zip(&keys.partitions).zip(&mut tagged.locations) {
        let (Some(key), Some(partition)) = (key, partition) else { return Err(Error::internal("a row without a key")) };
        *location = groups.get(&(partition, layout.bucket_of(key, partition)?)).copied();
    }
    Ok(tagged)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::bucket_hash::new_bucket_prefix;
    use super::super::bucket_hash::tests::{bucket_of, hash_of_list, options};
    use super::*;
    use mortice_base::error::ErrorKind;
    use proptest::prelude::*;

    fn layout(options: &BucketOptions) -> BucketLayout {
        BucketLayout::fixed(options).unwrap()
    }

    /// A file slice without files.
    pub(in super::super) fn slice(partition: &str, file_id: &str) -> FileSlice {
        FileSlice {
            partition: partition.to_owned(),
            file_id: file_id.to_owned(),
            base_instant: "20260101000000000".into(),
            base_file: None,
            log_files: Vec::new(),
        }
    }

    fn keys(rows: &[(&str, &str)]) -> RowKeys {
        RowKeys {
            record_keys: rows.iter().map(|(key, _)| Some(*key)).collect(),
            partitions: rows.iter().map(|(_, partition)| Some(*partition)).collect(),
        }
    }

    #[test]
    fn keys_go_to_the_file_group_of_their_bucket() {
        let options = options(4, &["id"]);
        let bucket = bucket_of("a", &options);
        let group = format!("{}-0", new_bucket_prefix(bucket));
        let view = Arc::new(WriteView::of_slices(vec![slice("p", &group)]));
        let rows = keys(&[("a", "p"), ("a", "q"), ("b", "p")]);
        let tagged = tag(view, &rows, &layout(&options)).unwrap();
        let found: Vec<_> = (0..3).map(|row| tagged.location(row).map(|location| location.file_id.clone())).collect();
        let of_b = (bucket_of("b", &options) == bucket).then(|| group.clone());
        assert_eq!(found, [Some(group), None, of_b]);
    }

    /// Another number of buckets would put keys beside those that are stored.
    #[test]
    fn file_groups_of_another_index_are_refused() {
        let other = |file_ids: &[&str]| {
            let slices = file_ids.iter().map(|file_id| slice("p", file_id)).collect();
            check_groups(&WriteView::of_slices(slices), &layout(&options(4, &["id"]))).unwrap_err()
        };
        let beyond = other(&["00000004-0000-0000-0000-000000000000-0"]);
        assert!(
            beyond.kind() == ErrorKind::InvalidArgument && beyond.to_string().contains(BUCKET_INDEX_NUM_BUCKETS.name()),
            "{beyond}"
        );
        let random = other(&["8dff5f0a-0000-0000-0000-000000000000-0"]);
        assert_eq!(random.kind(), ErrorKind::InvalidArgument, "{random}");
        let twice = other(&["00000001-0000-0000-0000-000000000000-0", "00000001-0000-0000-0000-000000000001-0"]);
        assert!(twice.kind() == ErrorKind::InvalidTable && twice.to_string().contains("--merge-buckets"), "{twice}");
    }

    proptest! {
        /// Each row of a partition that has the file group of its bucket is tagged with it, others with none.
        #[test]
        fn rows_are_tagged_with_the_group_of_their_bucket(
            groups in proptest::collection::btree_set(("[pq]", 0_u32..6), 0..8),
            rows in proptest::collection::vec(("[a-z]{1,4}", "[pqr]"), 0..30),
        ) {
            let options = options(6, &["id"]);
            let groups: Vec<(String, String)> =
                groups.into_iter().map(|(partition, bucket)| (partition, format!("{}-0", new_bucket_prefix(bucket)))).collect();
            let slices = groups.iter().map(|(partition, file_id)| slice(partition, file_id)).collect();
            let rows: Vec<(&str, &str)> = rows.iter().map(|(key, partition)| (key.as_str(), partition.as_str())).collect();
            let tagged = tag(Arc::new(WriteView::of_slices(slices)), &keys(&rows), &layout(&options)).unwrap();
            for (row, (key, partition)) in rows.iter().enumerate() {
                let first = format!("{:08}-", hash_of_list(&[key]) % 6);
                let expected = groups.iter().find(|(path, file_id)| path == partition && file_id.starts_with(&first));
                let found = tagged.location(row).map(|found| (found.partition.clone(), found.file_id.clone()));
                prop_assert_eq!(found.as_ref(), expected, "{} of {}", key, partition);
            }
            prop_assert_eq!(tagged.locations.len(), rows.len());
        }
    }
}
