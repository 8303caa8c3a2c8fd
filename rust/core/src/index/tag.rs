//! Finds the file groups of keys by the index of a write.

use std::sync::Arc;

use arrow_array::Array;

use super::incoming_keys::partitions_of;
use super::options::{IndexOptions, IndexType};
use super::tagged::Tagged;
use super::{bucket, layout_check, record_level, simple};
use crate::error::{Error, Result};
use crate::keys::RowKeys;
use crate::metadata_table::RECORD_INDEX;
use crate::plan::{OpenTable, WriteView};

/// Finds the file group of each row's key. Under a global index it may be in another partition than the row.
///
/// # Errors
/// `InvalidArgument` or `Unsupported` if the table was not written with this index; what listing and reading files may fail with.
pub fn tag(table: &Arc<OpenTable>, index: &IndexOptions, keys: &RowKeys) -> Result<Tagged> {
    let is_global = index.kind.is_global();
    if matches!(index.kind, IndexType::RecordLevel | IndexType::GlobalRecordLevel)
        && let Some(metadata) = table.metadata_index(RECORD_INDEX)?
    {
        let tagged = record_level::tag(table, metadata, keys, is_global)?;
        // Writers with a bucket index leave the record index empty.
        layout_check::check(table, &tagged.view, index.kind)?;
        return Ok(tagged);
    }
    let view = view_of(table, index, keys)?;
    layout_check::check(table, &view, index.kind)?;
    match (index.kind, &index.bucket) {
        (IndexType::Simple, _) => simple::tag(table, view, keys, false, false),
        (IndexType::GlobalSimple, _) => simple::tag(table, view, keys, true, false),
        (IndexType::Bloom, _) => simple::tag(table, view, keys, false, true),
        (IndexType::GlobalBloom, _) => simple::tag(table, view, keys, true, true),
        (IndexType::Bucket, Some(options)) => {
            let tagged = bucket::tag(Arc::clone(&view), keys, options)?;
            bucket::check_keys(table, &view, options)?;
            Ok(tagged)
        }
        (IndexType::Bucket, None) => Err(Error::internal("a bucket index without its options")),
        // A table whose record index is not built yet is searched as Hudi does
        // (`SparkMetadataTableGlobalRecordLevelIndex.getFallbackIndexType`).
        (IndexType::RecordLevel | IndexType::GlobalRecordLevel, _) => simple::tag(table, view, keys, is_global, false),
    }
}

/// Refuses to insert rows without looking for their keys into a table that was written with another index than this one.
///
/// # Errors
/// As for [`tag`].
pub fn check_layout(table: &OpenTable, index: &IndexOptions) -> Result<()> {
    layout_check::check_buckets(table, &table.write_view(None)?, index.kind)
}

/// The file slices that rows may be in: those of their partitions, or of all under a global index.
fn view_of(table: &OpenTable, index: &IndexOptions, keys: &RowKeys) -> Result<Arc<WriteView>> {
    if index.kind.is_global() {
        return table.write_view(None).map(Arc::new);
    }
    table.write_view(Some(&partitions_of(keys))).map(Arc::new)
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
