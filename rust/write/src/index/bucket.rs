//! The bucket index with a fixed number of buckets (`HoodieSimpleBucketIndex`, `BucketIdentifier`): a key's file group is that of the
//! bucket that its hash selects. The first eight digits of a file id are the bucket.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::Array;
use uuid::Uuid;

use super::layout_check::is_like_bucket;
use super::options::{BUCKETS, BucketOptions};
use super::stored_keys::StoredKeys;
use super::tagged::{Location, Tagged};
use mortice_base::error::{Error, Result};
use mortice_base::names::bucket_in;
use mortice_base::row_number::number_of;
use mortice_merge::keys::RowKeys;
use mortice_table::plan::{OpenTable, WriteView};

/// The bucket of a record key.
#[must_use]
pub fn bucket_of(key: &str, options: &BucketOptions) -> u32 {
    let hash = hash_keys(key, &options.fields).into_iter().fold(1_i32, |hash, value| {
        // As Java hashes null.
        let value = value.map_or(0, java_hash);
        hash.wrapping_mul(31).wrapping_add(value)
    });
    (hash & i32::MAX).unsigned_abs() % options.buckets.max(1)
}

/// `String.hashCode`.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The id of a new file group of a bucket, without its last part: a random UUID that begins with the bucket's eight digits.
#[must_use]
pub fn new_bucket_prefix(bucket: u32) -> String {
    let random = Uuid::new_v4().to_string();
    format!("{bucket:08}{}", random.get(8..).unwrap_or_default())
}

/// A random UUID: the id of a new file group without its last part (`FSUtils.createNewFileIdPfx`), but none that begins like a bucket.
#[must_use]
pub fn new_group_prefix() -> String {
    loop {
        let id = Uuid::new_v4().to_string();
        if !is_like_bucket(&id) {
            return id;
        }
    }
}

/// The values of the hashed fields in a record key `field:value,field:value` (`KeyGenUtils.extractRecordKeysByFields`); a key without
/// a comma or without a colon is a value itself. Values are not escaped in keys: a value ends at the last comma before the next colon
/// that has one before it.
fn hash_keys<'k>(key: &'k str, fields: &[String]) -> Vec<Option<&'k str>> {
    if !key.contains(',') || !key.contains(':') {
        return vec![Some(key)];
    }
    let is_hashed = |field: &str| match fields {
        [] => true,
        [only] if only.is_empty() => true,
        fields => fields.iter().any(|one| one == field),
    };
    let mut values = Vec::new();
    let mut rest = key;
    while let Some((field, value)) = rest.split_once(':') {
        let end = end_of_value(value);
        let (value, next) = match end {
            Some(comma) => (value.get(..comma).unwrap_or_default(), value.get(comma + 1..).unwrap_or_default()),
            None => (value, ""),
        };
        if is_hashed(field) {
            values.push(match value {
                "__null__" => None,
                "__empty__" => Some(""),
                value => Some(value),
            });
        }
        rest = next;
    }
    if values.is_empty() { vec![Some(key)] } else { values }
}

/// Where the comma is that ends a value: the last one before the first colon that has one before it; none in the last value.
fn end_of_value(value: &str) -> Option<usize> {
    let colons = value.match_indices(':').map(|(at, _)| at);
    colons.into_iter().find_map(|colon| value.get(..colon)?.rfind(','))
}

/// File groups whose keys are checked.
const CHECKED_GROUPS: usize = 8;
/// Keys of each.
const CHECKED_KEYS: usize = 16;

/// Refuses another number of buckets, or other hashed fields, than those of the table's writers: some keys of some base files have to be
/// in the buckets that hold them.
pub(super) fn check_keys(table: &OpenTable, view: &WriteView, options: &BucketOptions) -> Result<()> {
    let stored = StoredKeys::new(table)?;
    let groups = view.slices.iter().filter(|slice| slice.base_file.is_some()).take(CHECKED_GROUPS);
    for slice in groups {
        // A sample: `groups_of` refuses groups of no bucket, and those of logs only have no keys to check.
        let (Some(bucket), Some(file)) = (bucket_in(&slice.file_id), stored.open(slice)?) else { continue };
        let keys = stored.first_keys(file, CHECKED_KEYS)?;
        if let Some(key) = keys.iter().flatten().find(|key| bucket_of(key, options) != bucket) {
            return Err(Error::invalid_argument(format!(
                "key {key:?} is in bucket {bucket} of partition {:?}, but is {} of {} by this write's options; set {BUCKETS} and hoodie.bucket.index.hash.field to those of the table's writers",
                slice.partition,
                bucket_of(key, options),
                options.buckets
            ))
            .in_file(&table.uri));
        }
    }
    Ok(())
}

/// File groups by partition and bucket: indexes into a list of them.
type Groups<'v> = HashMap<(&'v str, u32), u32>;

/// Refuses file groups that are not those of so many buckets.
pub(super) fn check_groups(view: &WriteView, options: &BucketOptions) -> Result<()> {
    groups_of(view, options).map(|_| ())
}

fn groups_of<'v>(view: &'v WriteView, options: &BucketOptions) -> Result<(Vec<Location>, Groups<'v>)> {
    let (mut locations, mut groups) = (Vec::new(), Groups::new());
    for slice in &view.slices {
        let bucket = bucket_in(&slice.file_id).filter(|bucket| *bucket < options.buckets).ok_or_else(|| {
            Error::invalid_argument(format!(
                "file group {:?} in partition {:?} is not one of {} buckets: the table was written with another index, or with another number of buckets; set hoodie.index.type and {BUCKETS} to those of its writers",
                slice.file_id, slice.partition, options.buckets
            ))
        })?;
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
pub(super) fn tag(view: Arc<WriteView>, keys: &RowKeys, options: &BucketOptions) -> Result<Tagged> {
    let (locations, groups) = groups_of(&view, options)?;
    let mut tagged = Tagged::untagged(keys.record_keys.len(), Arc::clone(&view));
    tagged.groups = locations;
    for ((key, partition), location) in keys.record_keys.iter().zip(&keys.partitions).zip(&mut tagged.locations) {
        let (Some(key), Some(partition)) = (key, partition) else { return Err(Error::internal("a row without a key")) };
        *location = groups.get(&(partition, bucket_of(key, options))).copied();
    }
    Ok(tagged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;
    use mortice_table::file_group::FileSlice;
    use proptest::prelude::*;

    fn options(buckets: u32, fields: &[&str]) -> BucketOptions {
        BucketOptions { buckets, fields: fields.iter().map(|field| (*field).to_owned()).collect() }
    }

    #[test]
    fn values_of_hashed_fields() {
        let keys = |key: &'static str, fields: &[&str]| hash_keys(key, &options(1, fields).fields);
        assert_eq!(keys("a", &["id"]), [Some("a")]);
        assert_eq!(keys("id:a", &["id"]), [Some("id:a")], "without a comma the whole key is the value");
        assert_eq!(keys("id:a,sub:b", &["id", "sub"]), [Some("a"), Some("b")]);
        assert_eq!(keys("id:a,sub:b", &["sub"]), [Some("b")]);
        assert_eq!(keys("id:__null__,sub:__empty__", &["id", "sub"]), [None, Some("")]);
        assert_eq!(
            keys("id:a,b,sub:2014-10-22 13:50:42,x:y", &["id", "sub"]),
            [Some("a,b"), Some("2014-10-22 13:50:42")]
        );
        assert_eq!(keys("b:,c", &["id"]), [Some("b:,c")]);
    }

    #[test]
    fn hashes_are_those_of_java_lists() {
        // Arrays.asList("a").hashCode() is 31 + 97; asList("a", "b") is (31 + 97) * 31 + 98; of null 0 is added.
        assert_eq!(bucket_of("a", &options(1000, &["id"])), 128);
        assert_eq!(bucket_of("id:a,sub:b", &options(100_000, &["id", "sub"])), 4066);
        assert_eq!(bucket_of("id:__null__,sub:b", &options(100_000, &["id", "sub"])), 31 * 31 + 98);
        // The hash may be negative: its lowest 31 bits count.
        assert_eq!(
            bucket_of("polygenelubricants", &options(7, &["id"])),
            (i32::MIN.wrapping_add(31) & i32::MAX) as u32 % 7
        );
    }

    #[test]
    fn new_ids_are_uuids() {
        let id = new_group_prefix();
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
        assert!(id.get(14..15) == Some("4") && "89ab".contains(id.get(19..20).unwrap()), "{id}");
        assert_ne!(id, new_group_prefix());
        assert!(new_bucket_prefix(12).starts_with("00000012-"), "{}", new_bucket_prefix(12));
        assert_eq!(new_bucket_prefix(12).len(), id.len());
    }
    fn slice(partition: &str, file_id: &str) -> FileSlice {
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
        let tagged = tag(view, &rows, &options).unwrap();
        let found: Vec<_> = (0..3).map(|row| tagged.location(row).map(|location| location.file_id.clone())).collect();
        let of_b = (bucket_of("b", &options) == bucket).then(|| group.clone());
        assert_eq!(found, [Some(group), None, of_b]);
    }

    /// Another number of buckets would put keys beside those that are stored.
    #[test]
    fn file_groups_of_another_index_are_refused() {
        let other = |file_ids: &[&str]| {
            let slices = file_ids.iter().map(|file_id| slice("p", file_id)).collect();
            check_groups(&WriteView::of_slices(slices), &options(4, &["id"])).unwrap_err()
        };
        let beyond = other(&["00000004-0000-0000-0000-000000000000-0"]);
        assert!(beyond.kind() == ErrorKind::InvalidArgument && beyond.to_string().contains(BUCKETS), "{beyond}");
        let random = other(&["8dff5f0a-0000-0000-0000-000000000000-0"]);
        assert_eq!(random.kind(), ErrorKind::InvalidArgument, "{random}");
        let twice = other(&["00000001-0000-0000-0000-000000000000-0", "00000001-0000-0000-0000-000000000001-0"]);
        assert!(twice.kind() == ErrorKind::InvalidTable && twice.to_string().contains("--merge-buckets"), "{twice}");
    }

    /// `List.hashCode` of Java's strings, by its definition: in arithmetic that does not wrap.
    fn hash_of_list(values: &[&str]) -> u32 {
        let modulus = 1_i128 << 32;
        let hash = |text: &str| text.encode_utf16().fold(0, |hash, unit| (hash * 31 + i128::from(unit)) % modulus);
        let hash = values.iter().fold(1, |sum, value| (sum * 31 + hash(value)) % modulus);
        u32::try_from(hash).unwrap() & 0x7fff_ffff
    }

    proptest! {
        #[test]
        fn the_bucket_is_that_of_the_hashed_values(
            values in proptest::collection::vec("[a-zü🦀 ]{1,12}", 2..5),
            hashed in proptest::collection::vec(any::<bool>(), 5),
            buckets in 1_u32..1000,
        ) {
            let fields: Vec<String> = (0..values.len()).map(|number| format!("f{number}")).collect();
            let parts: Vec<String> = fields.iter().zip(&values).map(|(field, value)| format!("{field}:{value}")).collect();
            let is_hashed = |number: usize| hashed[number];
            let chosen: Vec<String> = (0..values.len()).filter(|number| is_hashed(*number)).map(|number| fields[number].clone()).collect();
            prop_assume!(!chosen.is_empty());
            let expected: Vec<&str> = (0..values.len()).filter(|number| is_hashed(*number)).map(|number| values[number].as_str()).collect();
            let options = BucketOptions { buckets, fields: chosen };
            prop_assert_eq!(bucket_of(&parts.join(","), &options), hash_of_list(&expected) % buckets);
            // A key of one field has its value alone.
            prop_assert_eq!(bucket_of(&values[0], &options), hash_of_list(&[&values[0]]) % buckets);
        }

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
            let tagged = tag(Arc::new(WriteView::of_slices(slices)), &keys(&rows), &options).unwrap();
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
