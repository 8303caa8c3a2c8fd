//! The bloom indexes: as the simple ones, of base files whose footers say that they can hold a key (`HoodieBloomIndex`,
//! `HoodieGlobalBloomIndex`). A footer has the least key, the greatest, and a Bloom filter
//! (`HoodieBloomIndexCheckFunction`).

use std::sync::Arc;

use super::incoming_keys::partitions_of;
use super::index::Index;
use super::key_join::join;
use super::options::IndexType;
use super::tagged::Tagged;
use super::task_look_up::TaskLookUp;
use mortice_base::error::Result;
use mortice_formats::base_file::BaseFile;
use mortice_formats::bloom::{BloomFilter, BloomType};
use mortice_merge::keys::RowKeys;
use mortice_table::plan::OpenTable;

const LEAST: &str = "hoodie_min_record_key";
const GREATEST: &str = "hoodie_max_record_key";
const FILTER: &str = "org.apache.hudi.bloomfilter";
const FILTER_TYPE: &str = "hoodie_bloom_filter_type_code";

/// `BLOOM`, `GLOBAL_BLOOM`.
#[derive(Debug)]
pub(super) struct BloomIndex {
    kind: IndexType,
    updates_partition: bool,
}

impl BloomIndex {
    pub(super) const fn new(kind: IndexType, updates_partition: bool) -> Self {
        Self { kind, updates_partition }
    }
}

impl Index for BloomIndex {
    fn kind(&self) -> IndexType {
        self.kind
    }

    fn updates_partition(&self) -> bool {
        self.updates_partition
    }

    fn tag(&self, table: &Arc<OpenTable>, keys: &RowKeys) -> Result<Tagged> {
        let view = self.view(table, self.partitions(&partitions_of(keys)))?;
        join(table, view, keys, self.is_global(), |file, incoming, partition| {
            may_hold_any(file, incoming.keys(partition))
        })
    }

    /// Tasks read the keys of all base files: which rows come to a task that matches them is not known where the file
    /// is read.
    fn task_look_up(&self, _: &OpenTable) -> Result<TaskLookUp> {
        Ok(TaskLookUp::StoredKeys)
    }
}

/// Returns true if a file may hold one of the keys. A footer without bounds or filter excludes nothing.
pub(super) fn may_hold_any<'k>(file: &dyn BaseFile, keys: impl Iterator<Item = &'k str>) -> Result<bool> {
    let bounds = (file.footer_value(LEAST), file.footer_value(GREATEST));
    let is_within = |key: &&str| match &bounds {
        // Bounds are those of Java strings: of text with surrogates another order than that of bytes.
        (Some(least), Some(greatest)) if least.is_ascii() && greatest.is_ascii() && key.is_ascii() => {
            least.as_str() <= *key && *key <= greatest.as_str()
        }
        _ => true,
    };
    let mut candidates = keys.filter(is_within).peekable();
    if candidates.peek().is_none() {
        return Ok(false);
    }
    let Some(text) = file.footer_value(FILTER) else { return Ok(true) };
    let kind = file.footer_value(FILTER_TYPE).map_or(Ok(BloomType::Simple), |name| BloomType::parse(&name))?;
    let filter = BloomFilter::parse(&text, kind)?;
    Ok(candidates.any(|key| filter.may_contain(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    use mortice_base::error::ErrorKind;
    use mortice_formats::base_file;
    use mortice_formats::bloom::{BloomBuilder, BloomOptions};
    use mortice_storage::{LocalStorage, Storage};
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use proptest::prelude::*;

    /// A base file with these entries in its footer.
    fn with_footer(entries: &[(&str, String)]) -> Box<dyn BaseFile> {
        let folder = tempfile::tempdir().unwrap();
        let entries = entries.iter().map(|(name, value)| KeyValue::new((*name).to_owned(), value.clone())).collect();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(entries)).build();
        let rows = RecordBatch::try_from_iter([("id", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]).unwrap();
        let file = std::fs::File::create(folder.path().join("f.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        // Its footer is read here, before the folder is deleted.
        base_file::open(LocalStorage::new(&folder.path().to_string_lossy(), true).open("f.parquet").unwrap()).unwrap()
    }

    fn filter_of(keys: &[String], kind: BloomType) -> String {
        let mut builder = BloomBuilder::new(&BloomOptions { kind, entries: 8, ..BloomOptions::default() }).unwrap();
        keys.iter().for_each(|key| builder.add(key.as_bytes()).unwrap());
        builder.finish().to_text()
    }

    fn may_hold(entries: &[(&str, String)], keys: &[&str]) -> bool {
        may_hold_any(with_footer(entries).as_ref(), keys.iter().copied()).unwrap()
    }

    #[test]
    fn bounds_exclude_keys_outside_of_them_if_all_are_ascii() {
        let bounds = |least: &str, greatest: &str| [(LEAST, least.to_owned()), (GREATEST, greatest.to_owned())];
        let ascii = bounds("b", "d");
        for (keys, expected) in [
            (&["b"][..], true),
            (&["d"], true),
            (&["c", "x"], true),
            (&["a", "dd"], false),
            (&["ü"], true),
            (&[], false),
        ] {
            assert_eq!(may_hold(&ascii, keys), expected, "{keys:?}");
        }
        // As Java orders them U+FFFF is greater than the surrogates of U+1F980; as bytes are ordered it is less.
        assert!(may_hold(&bounds("a", "\u{ffff}"), &["🦀"]) && may_hold(&bounds("ü", "z"), &["a"]));
        assert!(may_hold(&ascii[..1], &["a"]) && may_hold(&[], &["a"]), "without a bound nothing is excluded");
        assert!(!may_hold(&[], &[]));
    }

    #[test]
    fn filters_exclude_keys_and_damaged_ones_are_refused() {
        let keys = ["k1".to_owned(), "k2".to_owned()];
        for (kind, footer) in [
            (BloomType::Simple, vec![]),
            (BloomType::Simple, vec![(FILTER_TYPE, "SIMPLE".to_owned())]),
            (BloomType::DynamicV0, vec![(FILTER_TYPE, "DYNAMIC_V0".to_owned())]),
        ] {
            let footer = [footer, vec![(FILTER, filter_of(&keys, kind))]].concat();
            assert!(may_hold(&footer, &["no", "k2"]) && !may_hold(&footer, &["no", "nor"]), "{kind:?}");
            // Bounds that let one key pass: the filter is asked for that one.
            let bounds = [(LEAST, "k1".to_owned()), (GREATEST, "k1".to_owned())];
            assert!(!may_hold(&[footer, bounds.to_vec()].concat(), &["k2"]), "{kind:?}");
        }
        for damaged in [
            vec![(FILTER, "?".to_owned())],
            vec![(FILTER, filter_of(&keys, BloomType::Simple)), (FILTER_TYPE, "?".to_owned())],
        ] {
            let error = may_hold_any(with_footer(&damaged).as_ref(), ["k1"].into_iter()).unwrap_err();
            assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_key_that_is_there_is_never_excluded(
            keys in proptest::collection::vec("[a-z]{1,3}|\\PC{1,4}", 1..20),
            is_dynamic in any::<bool>(),
        ) {
            let (kind, name) = if is_dynamic { (BloomType::DynamicV0, "DYNAMIC_V0") } else { (BloomType::Simple, "SIMPLE") };
            // The bounds as Java orders them.
            let units = |key: &&String| key.encode_utf16().collect::<Vec<_>>();
            let least = keys.iter().min_by_key(units).unwrap().clone();
            let greatest = keys.iter().max_by_key(units).unwrap().clone();
            let filter = filter_of(&keys, kind);
            let file = with_footer(&[(LEAST, least), (GREATEST, greatest), (FILTER, filter), (FILTER_TYPE, name.to_owned())]);
            for key in &keys {
                prop_assert!(may_hold_any(file.as_ref(), std::iter::once(key.as_str())).unwrap(), "{key:?}");
            }
        }
    }
}
