//! The choice of an index: the one place that knows all of them.

use std::sync::Arc;

use super::bloom::BloomIndex;
use super::bucket::BucketIndex;
use super::index::Index;
use super::options::{BucketOptions, IndexOptions, IndexType, TypedIndex};
use super::provenance::Provenance;
use super::record_level::RecordIndex;
use super::simple::SimpleIndex;
use mortice_base::error::Result;
use mortice_merge::config::TableConfig;

/// The index that options name, for a table.
///
/// # Errors
/// `Unsupported`, with the alternatives, for indexes that cannot be used here; `InvalidArgument` for unknown names and
/// for values that do not fit.
pub fn choose_index(config: &TableConfig, options: &IndexOptions) -> Result<Arc<dyn Index>> {
    choose_index_of(config, options, Provenance::Given)
}

/// The same, for rows of a known provenance.
///
/// # Errors
/// As for [`choose_index`].
pub fn choose_index_of(config: &TableConfig, options: &IndexOptions, provenance: Provenance) -> Result<Arc<dyn Index>> {
    let TypedIndex { kind, updates_partition } = TypedIndex::from_options(config, options)?;
    Ok(match kind {
        IndexType::Simple | IndexType::GlobalSimple => Arc::new(SimpleIndex::new(kind, updates_partition)),
        IndexType::Bloom | IndexType::GlobalBloom => Arc::new(BloomIndex::new(kind, updates_partition)),
        IndexType::Bucket => Arc::new(BucketIndex::new(BucketOptions::from_options(config, options)?)),
        IndexType::RecordLevel | IndexType::GlobalRecordLevel => {
            Arc::new(RecordIndex::new(kind, updates_partition, provenance))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use crate::index::options::BucketEngine;
    use mortice_base::error::ErrorKind;
    use mortice_merge::config::{Properties, WriteOptions};
    use mortice_table::file_group::{FileSlice, LogFile};

    const TYPE: &str = "hoodie.index.type";

    fn choose(options: &[(&str, &str)]) -> Result<Arc<dyn Index>> {
        let text = "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.record.merge.mode=COMMIT_TIME_ORDERING\nhoodie.table.recordkey.fields=a,b\nhoodie.table.partition.fields=p\n";
        let config = TableConfig::from_properties(Properties::parse(text.as_bytes()).unwrap()).unwrap();
        let options = IndexOptions::resolve(&WriteOptions::resolve(options.iter().copied())?)?;
        choose_index(&config, &options)
    }

    /// The types of `hoodie.index.type`, the names that messages have, and whether keys are unique in the table, rows
    /// move between partitions, and the keys of inserts are looked for.
    const TYPES: [(&str, &str, [bool; 3]); 8] = [
        ("SIMPLE", "SIMPLE", [false, false, false]),
        ("GLOBAL_SIMPLE", "GLOBAL_SIMPLE", [true, true, false]),
        ("BLOOM", "BLOOM", [false, false, false]),
        ("GLOBAL_BLOOM", "GLOBAL_BLOOM", [true, true, false]),
        ("BUCKET", "BUCKET", [false, false, true]),
        ("RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX", [true, true, false]),
        ("GLOBAL_RECORD_LEVEL_INDEX", "GLOBAL_RECORD_LEVEL_INDEX", [true, true, false]),
        ("RECORD_LEVEL_INDEX", "RECORD_LEVEL_INDEX", [false, false, false]),
    ];

    #[test]
    fn each_type_is_the_index_of_its_name() {
        for (given, name, [is_global, updates_partition, tags_inserts]) in TYPES {
            let index = choose(&[(TYPE, given)]).unwrap();
            assert_eq!(index.name(), name);
            assert_eq!(index.is_global(), is_global, "{given}");
            assert_eq!(index.updates_partition(), updates_partition, "{given}");
            assert_eq!(index.tags_inserts(), tags_inserts, "{given}");
            assert_eq!(index.buckets().is_some(), given == "BUCKET", "{given}");
        }
        assert_eq!(choose(&[]).unwrap().name(), "SIMPLE");
        let options =
            [(TYPE, "BUCKET"), ("hoodie.bucket.index.num.buckets", "7"), ("hoodie.bucket.index.hash.field", "b")];
        let fields = vec!["b".to_owned()];
        let expected = BucketOptions { engine: BucketEngine::Simple, buckets: 7, rules: None, fields };
        assert_eq!(choose(&options).unwrap().buckets(), Some(&expected));
    }

    #[test]
    fn a_global_index_looks_in_all_partitions_and_another_one_in_those_of_the_rows() {
        let of_rows = BTreeSet::from(["p".to_owned()]);
        for (given, _, [is_global, ..]) in TYPES {
            let index = choose(&[(TYPE, given)]).unwrap();
            assert_eq!(index.partitions(&of_rows), (!is_global).then_some(&of_rows), "{given}");
        }
    }

    #[test]
    fn a_key_is_certainly_in_a_file_group_without_logs_unless_its_hash_alone_names_the_group() {
        let name = ".f_20260101000000000.log.1_0-0-0".to_owned();
        let log = LogFile { path: format!("p/{name}"), len: 1, etag: None };
        let mut slice = FileSlice {
            partition: "p".to_owned(),
            file_id: "f".to_owned(),
            base_instant: "20260101000000000".into(),
            base_file: None,
            log_files: Vec::new(),
        };
        for (given, ..) in TYPES {
            assert_eq!(choose(&[(TYPE, given)]).unwrap().is_certain(&slice), given != "BUCKET", "{given}");
        }
        slice.log_files = vec![log];
        for (given, ..) in TYPES {
            assert!(!choose(&[(TYPE, given)]).unwrap().is_certain(&slice), "{given}");
        }
    }

    #[test]
    fn other_indexes_are_refused_by_name() {
        for (options, kind, word) in [
            (&[("hoodie.index.type", "INMEMORY")][..], ErrorKind::Unsupported, "INMEMORY"),
            (&[("hoodie.index.type", "HBASE")], ErrorKind::Unsupported, "HBASE"),
            (&[("hoodie.index.type", "FLINK_STATE")], ErrorKind::Unsupported, "FLINK_STATE"),
            (&[("hoodie.index.class", "org.acme.Index")], ErrorKind::Unsupported, "org.acme"),
            (
                &[("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.num.buckets", "0")],
                ErrorKind::InvalidArgument,
                "num.buckets",
            ),
            (
                &[("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.hash.field", "c")],
                ErrorKind::InvalidArgument,
                "\"c\"",
            ),
            (&[("hoodie.index.type", "SIMPEL")], ErrorKind::InvalidArgument, "SIMPEL"),
        ] {
            let error = choose(options).unwrap_err();
            assert!(error.kind() == kind && error.to_string().contains(word), "{error}");
        }
    }
}
