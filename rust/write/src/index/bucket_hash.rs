//! The bucket that a key's hash selects (`BucketIdentifier`), and the ids of new file groups. The first eight digits of
//! a file id are the bucket.

use uuid::Uuid;

use super::layout_check::is_like_bucket;

/// The hash of values, of which a bucket is the remainder (`List.hashCode`).
pub(super) fn hash_of(values: &[Option<&str>]) -> u32 {
    let hash = values.iter().fold(1_i32, |hash, value| {
        // As Java hashes null.
        let value = value.map_or(0, java_hash);
        hash.wrapping_mul(31).wrapping_add(value)
    });
    (hash & i32::MAX).unsigned_abs()
}

/// `String.hashCode`.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The id of a new file group of a bucket, without its last part: a random UUID that begins with the bucket's eight
/// digits.
#[must_use]
pub fn new_bucket_prefix(bucket: u32) -> String {
    let random = Uuid::new_v4().to_string();
    format!("{bucket:08}{}", random.get(8..).unwrap_or_default())
}

/// A random UUID: the id of a new file group without its last part (`FSUtils.createNewFileIdPfx`), but none that begins
/// like a bucket.
#[must_use]
pub fn new_group_prefix() -> String {
    loop {
        let id = Uuid::new_v4().to_string();
        if !is_like_bucket(&id) {
            return id;
        }
    }
}

/// The values of the hashed fields in a record key `field:value,field:value` (`KeyGenUtils.extractRecordKeysByFields`);
/// a key without a comma or without a colon is a value itself. Values are not escaped in keys: a value ends at the last
/// comma before the next colon that has one before it.
pub(super) fn hash_keys<'k>(key: &'k str, fields: &[String]) -> Vec<Option<&'k str>> {
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

/// Where the comma is that ends a value: the last one before the first colon that has one before it; none in the last
/// value.
fn end_of_value(value: &str) -> Option<usize> {
    let colons = value.match_indices(':').map(|(at, _)| at);
    colons.into_iter().find_map(|colon| value.get(..colon)?.rfind(','))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::index::bucket_layout::BucketLayout;
    use crate::index::options::{BucketEngine, BucketOptions};
    use proptest::prelude::*;

    pub(in crate::index) fn options(buckets: u32, fields: &[&str]) -> BucketOptions {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        BucketOptions { engine: BucketEngine::Simple, buckets, rules: None, fields }
    }

    pub(in crate::index) fn bucket_of(key: &str, options: &BucketOptions) -> u32 {
        BucketLayout::fixed(options).unwrap().bucket_of(key, "p").unwrap()
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

    /// `List.hashCode` of Java's strings, by its definition: in arithmetic that does not wrap.
    pub(in crate::index) fn hash_of_list(values: &[&str]) -> u32 {
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
            let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
            let options = options(buckets, &chosen);
            prop_assert_eq!(bucket_of(&parts.join(","), &options), hash_of_list(&expected) % buckets);
            // A key of one field has its value alone.
            prop_assert_eq!(bucket_of(&values[0], &options), hash_of_list(&[&values[0]]) % buckets);
        }
    }
}
