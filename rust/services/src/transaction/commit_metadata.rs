//! The content of a completed instant.

use bytes::Bytes;

use super::CommitExtra;
use super::column_ids::ColumnIds;
use mortice_avro::Schema;
use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_commit::commit::{TimelineWriter, WrittenGroups};
use mortice_merge::config::STORES_OPERATIONS;
use mortice_table::schema::LATEST_SCHEMA;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, HoodieReplaceCommitMetadata, OrderedMap};
use mortice_table::timeline::{Action, WriteOperation};
use mortice_write::write::WriteStatus;

/// The metadata of a commit, apart from replaced file groups. Its schema has no `_hoodie_operation`, as in Hudi: that
/// files have the column is recorded beside it.
pub(super) fn commit_metadata(
    operation: WriteOperation,
    statuses: &[WriteStatus],
    extra: &CommitExtra,
    ids: Option<&ColumnIds>,
) -> Result<HoodieCommitMetadata> {
    let mut stats: OrderedMap<Vec<_>> = OrderedMap::new();
    for status in statuses {
        // No file was written, as all rows were refused.
        let Some(stat) = status.to_write_stat() else { continue };
        match stats.get_mut(&status.partition) {
            Some(partition) => partition.push(stat),
            None => stats.insert(status.partition.clone(), vec![stat]),
        }
    }
    let user = extra.user_metadata.iter().filter(|(name, _)| *name != "schema" && *name != LATEST_SCHEMA);
    let user = user.map(|(name, value)| (name.clone(), value.clone()));
    let (schema, has_operation) = without_operation(&extra.schema)?;
    let mark = has_operation.then(|| (STORES_OPERATIONS.to_owned(), "true".to_owned()));
    let ids = ids.map(|ids| (LATEST_SCHEMA.to_owned(), ids.latest.clone()));
    let metadata: OrderedMap<String> = user.chain(mark).chain([("schema".to_owned(), schema)]).chain(ids).collect();
    Ok(HoodieCommitMetadata {
        partition_to_write_stats: Some(stats),
        compacted: Some(operation == WriteOperation::Compact),
        extra_metadata: Some(metadata),
        operation_type: Some(operation.name().to_owned()),
        ..HoodieCommitMetadata::default()
    })
}

/// A schema without the column `_hoodie_operation`, and whether it had it.
fn without_operation(schema: &str) -> Result<(String, bool)> {
    // Few schemas have the column, and those of wide tables take time to be read.
    if !schema.contains(meta_columns::OPERATION) {
        return Ok((schema.to_owned(), false));
    }
    let found = Schema::parse(schema)?;
    match found.field(meta_columns::OPERATION) {
        None => Ok((schema.to_owned(), false)),
        Some(_) => Ok((found.without_fields(&[meta_columns::OPERATION])?.json().to_owned(), true)),
    }
}

/// The bytes of the completed instant.
pub(super) fn completed_content(
    files: &TimelineWriter,
    action: Action,
    metadata: &HoodieCommitMetadata,
    extra: &CommitExtra,
) -> Result<Bytes> {
    if action.completes_as() != Action::ReplaceCommit {
        return files.commit_content(metadata);
    }
    let replaced = extra.replaced.iter().map(|(partition, file_ids)| (partition.clone(), file_ids.clone()));
    let HoodieCommitMetadata { partition_to_write_stats, compacted, extra_metadata, operation_type, .. } =
        metadata.clone();
    files.commit_content(&HoodieReplaceCommitMetadata {
        partition_to_write_stats,
        compacted,
        extra_metadata,
        operation_type,
        partition_to_replace_file_ids: Some(replaced.collect()),
        ..HoodieReplaceCommitMetadata::default()
    })
}

/// The file groups of a write.
pub(super) fn written_groups(statuses: &[WriteStatus], extra: &CommitExtra) -> WrittenGroups {
    let mut groups = WrittenGroups::default();
    for status in statuses {
        let group = (status.partition.clone(), status.file_id.clone());
        let is_base = status.file.as_ref().is_some_and(|file| file.log.is_none());
        let is_existing = status.previous_commit.as_deref().is_some_and(|previous| previous != "null");
        if is_base && is_existing {
            groups.merged.insert(group.clone());
        }
        groups.all.insert(group);
    }
    for (partition, file_ids) in &extra.replaced {
        groups.all.extend(file_ids.iter().map(|file_id| (partition.clone(), file_id.clone())));
    }
    groups
}
