//! The index of a write, by Hudi's option names and defaults (`HoodieIndexConfig` of Hudi 1.2 on Spark).
//!
//! Which index a table was written with is not stored in it. An index that looks for keys elsewhere than the table's
//! writers put them finds none of them, and every update becomes a second row: so nothing is guessed but Hudi's
//! default, and `layout_check` refuses what the table's file groups contradict.

use super::partition_rules::PartitionExpressions;
use mortice_base::error::{Error, Result};
use mortice_merge::config::option_names::{
    BUCKET_INDEX_HASH_FIELD, BUCKET_INDEX_PARTITION_EXPRESSIONS, BUCKET_INDEX_PARTITION_RULE_TYPE, INDEX_BUCKET_ENGINE,
    INDEX_CLASS, INDEX_TYPE,
};
use mortice_merge::config::{TableConfig, WriteOptions, option_names};
use mortice_table::metadata_table::RECORD_INDEX;

/// What options say of the index. An index that is not there, or not for this table, is refused where it is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexOptions {
    class: Option<String>,
    /// The name of the type.
    kind: String,
    /// Whether rows move to other partitions, by the type of index.
    simple_moves: bool,
    bloom_moves: bool,
    record_level_moves: bool,
    bucket_engine: String,
    bucket_rules: Option<PartitionExpressions>,
    buckets: u32,
    hash_field: Option<String>,
}

impl IndexOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// Those of [`WriteOptions`].
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        Ok(Self {
            class: options.text(INDEX_CLASS).map(str::to_owned),
            kind: options.word(INDEX_TYPE)?.to_owned(),
            simple_moves: options.boolean(option_names::SIMPLE_INDEX_UPDATE_PARTITION_PATH)?,
            bloom_moves: options.boolean(option_names::BLOOM_INDEX_UPDATE_PARTITION_PATH)?,
            record_level_moves: options.boolean(option_names::RECORD_INDEX_UPDATE_PARTITION_PATH)?,
            bucket_engine: options.word(INDEX_BUCKET_ENGINE)?.to_owned(),
            bucket_rules: match options.text(BUCKET_INDEX_PARTITION_EXPRESSIONS).filter(|text| !text.is_empty()) {
                None => None,
                Some(expressions) => Some(PartitionExpressions {
                    expressions: expressions.to_owned(),
                    rule: options.word(BUCKET_INDEX_PARTITION_RULE_TYPE)?.to_owned(),
                }),
            },
            buckets: options.integer(option_names::BUCKET_INDEX_NUM_BUCKETS)?,
            hash_field: options.text(BUCKET_INDEX_HASH_FIELD).map(str::to_owned),
        })
    }
}

/// How keys are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexType {
    /// Keys of base files of the partitions that are written to.
    Simple,
    /// Keys of all base files.
    GlobalSimple,
    /// As `Simple`, of base files whose footers say that they can hold a key.
    Bloom,
    /// As `GlobalSimple`, of such base files.
    GlobalBloom,
    /// The hash of the key.
    Bucket,
    /// The metadata table's record index, over all partitions.
    GlobalRecordLevel,
    /// The same, of the partitions that are written to.
    RecordLevel,
}

/// The type of a table's index, and what is known of all types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedIndex {
    /// How keys are found.
    pub(super) kind: IndexType,
    /// Of global indexes: whether a row whose partition is another one than its key's moves there. Otherwise it stays.
    pub(super) updates_partition: bool,
}

/// What a bucket is (`BucketIndexEngineType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketEngine {
    /// A remainder of the hash: a partition has a fixed number of them.
    Simple,
    /// A range of the hash, which clustering splits and merges.
    ConsistentHashing,
}

/// Options of the bucket index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketOptions {
    /// What a bucket is.
    pub engine: BucketEngine,
    /// Buckets in a partition; with consistent hashing in a new one.
    pub buckets: u32,
    /// Numbers of buckets by partition.
    pub rules: Option<PartitionExpressions>,
    /// The key fields that are hashed.
    pub fields: Vec<String>,
}

impl IndexType {
    /// Whether a key is in one partition only.
    #[must_use]
    pub const fn is_global(self) -> bool {
        matches!(self, Self::GlobalSimple | Self::GlobalBloom | Self::GlobalRecordLevel)
    }

    /// Hudi's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simple => "SIMPLE",
            Self::GlobalSimple => "GLOBAL_SIMPLE",
            Self::Bloom => "BLOOM",
            Self::GlobalBloom => "GLOBAL_BLOOM",
            Self::Bucket => "BUCKET",
            Self::GlobalRecordLevel => "GLOBAL_RECORD_LEVEL_INDEX",
            Self::RecordLevel => "RECORD_LEVEL_INDEX",
        }
    }

    /// The type that options name; `SIMPLE` if they name none.
    ///
    /// # Errors
    /// `Unsupported`, with the alternatives, for indexes that cannot be used here; `InvalidArgument` for unknown names.
    pub fn from_options(options: &IndexOptions) -> Result<Self> {
        if let Some(class) = &options.class {
            return Err(Error::unsupported(format!(
                "option {INDEX_CLASS} {class:?}: an index of a Java class; write to this table with Hudi"
            )));
        }
        let name = options.kind.as_str();
        let log_index = |what: &str| {
            Err(Error::unsupported(format!(
                "option {INDEX_TYPE} {name:?}: {what}; write to this table with the engine that keeps the index, or use SIMPLE, BLOOM, BUCKET or RECORD_INDEX for a table of its own"
            )))
        };
        match name.to_ascii_uppercase().as_str() {
            "SIMPLE" => Ok(Self::Simple),
            "GLOBAL_SIMPLE" => Ok(Self::GlobalSimple),
            "BLOOM" => Ok(Self::Bloom),
            "GLOBAL_BLOOM" => Ok(Self::GlobalBloom),
            "BUCKET" => Ok(Self::Bucket),
            "RECORD_INDEX" | "GLOBAL_RECORD_LEVEL_INDEX" => Ok(Self::GlobalRecordLevel),
            "RECORD_LEVEL_INDEX" => Ok(Self::RecordLevel),
            "INMEMORY" => log_index("this index is in the memory of one process and is lost with it"),
            "FLINK_STATE" => log_index("this index is in the state of a Flink job"),
            "HBASE" => log_index("this index is in an HBase cluster"),
            _ => Err(Error::invalid_argument(format!(
                "option {INDEX_TYPE} {name:?} is not an index (supported: SIMPLE, GLOBAL_SIMPLE, BLOOM, GLOBAL_BLOOM, BUCKET, RECORD_INDEX, GLOBAL_RECORD_LEVEL_INDEX, RECORD_LEVEL_INDEX)"
            ))),
        }
    }
}

impl TypedIndex {
    /// What options say, for a table.
    pub(super) fn from_options(config: &TableConfig, options: &IndexOptions) -> Result<Self> {
        let kind = IndexType::from_options(options)?;
        let moves = match kind {
            IndexType::GlobalSimple => options.simple_moves,
            IndexType::GlobalBloom => options.bloom_moves,
            IndexType::GlobalRecordLevel if config.metadata_partitions.iter().any(|built| built == RECORD_INDEX) => {
                options.record_level_moves
            }
            // Measured: the index that takes the place of a record index that is not built has its own option.
            IndexType::GlobalRecordLevel => options.simple_moves,
            _ => false,
        };
        Ok(Self { kind, updates_partition: moves && !config.partition_fields.is_empty() })
    }
}

impl BucketOptions {
    /// Those of a table with consistent hashing, whichever index options name: for a clustering of it.
    ///
    /// # Errors
    /// `InvalidArgument` for hashed fields that are not those of the key.
    pub fn of_rings(config: &TableConfig, options: &IndexOptions) -> Result<Self> {
        let options = IndexOptions { bucket_engine: "CONSISTENT_HASHING".to_owned(), ..options.clone() };
        Self::from_options(config, &options)
    }

    /// The buckets that options name, for a table.
    pub(super) fn from_options(config: &TableConfig, options: &IndexOptions) -> Result<Self> {
        let engine = match options.bucket_engine.to_ascii_uppercase().as_str() {
            "SIMPLE" => BucketEngine::Simple,
            "CONSISTENT_HASHING" => BucketEngine::ConsistentHashing,
            other => {
                return Err(Error::unsupported(format!(
                    "option {INDEX_BUCKET_ENGINE} {other:?} (supported: SIMPLE, CONSISTENT_HASHING)"
                )));
            }
        };
        // Hudi has them under fixed numbers only.
        let rules = options.bucket_rules.clone().filter(|_| engine == BucketEngine::Simple);
        let buckets = options.buckets;
        let Some(named) = &options.hash_field else {
            return Ok(Self { engine, buckets, rules, fields: config.record_key_fields.clone() });
        };
        let fields: Vec<String> = named.split(',').map(|field| field.trim().to_owned()).collect();
        if let Some(other) = fields.iter().find(|field| !config.record_key_fields.contains(field)) {
            return Err(Error::invalid_argument(format!(
                "option {BUCKET_INDEX_HASH_FIELD} has {other:?}, which is not a key field of the table (they are {:?})",
                config.record_key_fields
            )));
        }
        Ok(Self { engine, buckets, rules, fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_merge::config::Properties;

    fn config(lines: &str) -> TableConfig {
        let text = format!(
            "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.record.merge.mode=COMMIT_TIME_ORDERING\nhoodie.table.recordkey.fields=a,b\n{lines}\n"
        );
        TableConfig::from_properties(Properties::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn read(options: &[(&str, &str)]) -> Result<TypedIndex> {
        let options = IndexOptions::resolve(&WriteOptions::resolve(options.iter().copied())?)?;
        TypedIndex::from_options(&config("hoodie.table.partition.fields=p"), &options)
    }

    #[test]
    fn defaults_are_those_of_hudi_on_spark() {
        let simple = TypedIndex { kind: IndexType::Simple, updates_partition: false };
        assert_eq!(read(&[]).unwrap(), simple);
        for (name, kind, updates_partition) in [
            ("global_simple", IndexType::GlobalSimple, true),
            ("BLOOM", IndexType::Bloom, false),
            ("GLOBAL_BLOOM", IndexType::GlobalBloom, true),
            ("RECORD_INDEX", IndexType::GlobalRecordLevel, true),
            ("GLOBAL_RECORD_LEVEL_INDEX", IndexType::GlobalRecordLevel, true),
            ("RECORD_LEVEL_INDEX", IndexType::RecordLevel, false),
        ] {
            assert_eq!(read(&[(INDEX_TYPE.name(), name)]).unwrap(), TypedIndex { kind, updates_partition });
        }
        let fields = vec!["a".into(), "b".into()];
        let bucket = BucketOptions { engine: BucketEngine::Simple, buckets: 256, rules: None, fields };
        assert_eq!(
            BucketOptions::from_options(&config(""), &IndexOptions::resolve(&WriteOptions::default()).unwrap())
                .unwrap(),
            bucket
        );
        // Without partitions nothing moves.
        let options =
            IndexOptions::resolve(&WriteOptions::resolve([(INDEX_TYPE.name(), "GLOBAL_SIMPLE")]).unwrap()).unwrap();
        assert!(!TypedIndex::from_options(&config(""), &options).unwrap().updates_partition);
    }

    #[test]
    fn rows_of_a_record_index_move_by_its_option_and_without_it_by_that_of_the_index_in_its_place() {
        let (own, other) = ("hoodie.record.index.update.partition.path", "hoodie.simple.index.update.partition.path");
        for (lines, given, moves) in [
            ("hoodie.table.metadata.partitions=files,record_index", None, false),
            ("hoodie.table.metadata.partitions=files,record_index", Some((own, "true")), true),
            ("hoodie.table.metadata.partitions=files,record_index", Some((other, "true")), false),
            ("hoodie.table.metadata.partitions=files", None, true),
            ("", Some((own, "false")), true),
            ("", Some((other, "false")), false),
        ] {
            let entries = given.into_iter().chain([(INDEX_TYPE.name(), "RECORD_INDEX")]);
            let options = IndexOptions::resolve(&WriteOptions::resolve(entries).unwrap()).unwrap();
            let config = config(&format!("hoodie.table.partition.fields=p\n{lines}"));
            let index = TypedIndex::from_options(&config, &options).unwrap();
            assert_eq!(index.updates_partition, moves, "{lines:?} {given:?}");
        }
    }
}
