//! The content of a completed instant.

use bytes::Bytes;

use super::CommitExtra;
use crate::commit::{TimelineWriter, WriteOperation, WrittenGroups};
use crate::error::Result;
use crate::timeline::Action;
use crate::timeline::metadata::{HoodieCommitMetadata, HoodieReplaceCommitMetadata, OrderedMap};
use crate::write::WriteStatus;

/// The metadata of a commit, apart from replaced file groups.
pub(super) fn commit_metadata(
    operation: WriteOperation,
    statuses: &[WriteStatus],
    extra: &CommitExtra,
) -> HoodieCommitMetadata {
    let mut stats: OrderedMap<Vec<_>> = OrderedMap::new();
    for status in statuses {
        let Some(stat) = status.to_write_stat() else { continue };
        match stats.get_mut(&status.partition) {
            Some(partition) => partition.push(stat),
            None => stats.insert(status.partition.clone(), vec![stat]),
        }
    }
    let user = extra.user_metadata.iter().filter(|(name, _)| *name != "schema");
    let user = user.map(|(name, value)| (name.clone(), value.clone()));
    let metadata: OrderedMap<String> = user.chain([("schema".to_owned(), extra.schema.clone())]).collect();
    HoodieCommitMetadata {
        partition_to_write_stats: Some(stats),
        compacted: Some(operation == WriteOperation::Compact),
        extra_metadata: Some(metadata),
        operation_type: Some(operation.name().to_owned()),
        ..HoodieCommitMetadata::default()
    }
}

/// The bytes of the completed instant.
///
/// # Errors
/// As for [`TimelineWriter::commit_content`].
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
