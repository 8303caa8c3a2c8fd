//! Finds the file groups of keys by the index of a write.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::Array;

use super::incoming_keys::partitions_of;
use super::options::{IndexOptions, IndexType};
use super::tagged::Tagged;
use super::{bucket, key_join, layout_check, record_level};
use mortice_base::error::{Error, Result};
use mortice_merge::keys::RowKeys;
use mortice_table::metadata_table::RECORD_INDEX;
use mortice_table::plan::{OpenTable, WriteView};

/// How keys are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookUp {
    /// By the keys of base files; `prune`: base files are left out by their footers.
    StoredKeys {
        /// Whether a base file is opened only if its footer says that it can hold one of the keys.
        prune: bool,
    },
    /// By the hash of the key.
    Buckets,
    /// In the record index of the metadata table.
    RecordIndex,
}

impl LookUp {
    /// How an index finds keys in a table.
    ///
    /// # Errors
    /// `InvalidTable` if the table's record index cannot be read.
    pub fn of_index(table: &OpenTable, kind: IndexType) -> Result<Self> {
        Ok(match kind {
            IndexType::Simple | IndexType::GlobalSimple => Self::StoredKeys { prune: false },
            IndexType::Bloom | IndexType::GlobalBloom => Self::StoredKeys { prune: true },
            IndexType::Bucket => Self::Buckets,
            IndexType::RecordLevel | IndexType::GlobalRecordLevel => match table.metadata_index(RECORD_INDEX)? {
                Some(_) => Self::RecordIndex,
                // A table whose record index is not built yet is searched as Hudi does
                // (`SparkMetadataTableGlobalRecordLevelIndex.getFallbackIndexType`).
                None => Self::StoredKeys { prune: false },
            },
        })
    }
}

/// Finds the file group of each row's key. Under a global index it may be in another partition than the row.
///
/// # Errors
/// `InvalidArgument` or `Unsupported` if the table was not written with this index; what listing and reading files may fail with.
pub fn tag(table: &Arc<OpenTable>, index: &IndexOptions, keys: &RowKeys) -> Result<Tagged> {
    let (look_up, is_global) = (LookUp::of_index(table, index.kind)?, index.kind.is_global());
    if look_up == LookUp::RecordIndex {
        let metadata = table.metadata_index(RECORD_INDEX)?;
        let metadata = metadata.ok_or_else(|| Error::internal("a record index that is not there"))?;
        let tagged = record_level::tag(table, metadata, keys, is_global)?;
        // Writers with a bucket index leave the record index empty.
        layout_check::check(table, &tagged.view, index.kind)?;
        return Ok(tagged);
    }
    let view = checked_view(table, index, &partitions_of(keys))?;
    match (look_up, &index.bucket) {
        (LookUp::Buckets, Some(options)) => bucket::tag(view, keys, options),
        (LookUp::StoredKeys { prune }, _) => key_join::tag(table, view, keys, is_global, prune),
        _ => Err(Error::internal("a bucket index without its options")),
    }
}

/// Refuses to insert rows without looking for their keys into a table that was written with another index than this one.
///
/// # Errors
/// As for [`tag`].
pub fn check_layout(table: &OpenTable, index: &IndexOptions) -> Result<()> {
    layout_check::check_buckets(table, &table.write_view(None)?, index.kind)
}

/// The file slices that rows of these partitions may be in, of a table that was written with this index.
///
/// # Errors
/// `InvalidArgument` or `Unsupported` if the table was not written with it; what listing and reading files may fail with.
pub fn checked_view(
    table: &Arc<OpenTable>,
    index: &IndexOptions,
    partitions: &BTreeSet<String>,
) -> Result<Arc<WriteView>> {
    // The partitions of a global index are all.
    view_of_partitions(table, index, (!index.kind.is_global()).then_some(partitions))
}

/// The same, of these partitions alone: rows whose file groups are known can be in no other.
///
/// # Errors
/// As for [`checked_view`].
pub fn view_of_partitions(
    table: &Arc<OpenTable>,
    index: &IndexOptions,
    partitions: Option<&BTreeSet<String>>,
) -> Result<Arc<WriteView>> {
    let view = table.write_view(partitions).map(Arc::new)?;
    layout_check::check(table, &view, index.kind)?;
    if let Some(options) = &index.bucket {
        bucket::check_groups(&view, options)?;
        bucket::check_keys(table, &view, options)?;
    }
    Ok(view)
}

impl Tagged {
    /// Rows that are inserted without looking for their keys.
    ///
    /// # Errors
    /// What listing files may fail with.
    pub fn of_inserts(table: &OpenTable, keys: &RowKeys) -> Result<Self> {
        let view = table.write_view(Some(&partitions_of(keys)))?;
        Ok(Self::untagged(keys.partitions.len(), Arc::new(view)))
    }
}
