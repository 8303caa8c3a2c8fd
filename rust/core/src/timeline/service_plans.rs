//! Plans and results of table services: Avro containers in both layouts (`HoodieCompactionPlan`,
//! `HoodieRequestedReplaceMetadata`, `HoodieCleanMetadata`). An empty file is legal and plans nothing.

use super::avro_value::{Record, Value};
use super::commit_metadata::texts;
use crate::error::Result;

/// One file group that a compaction is to merge.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CompactionOperation {
    /// The partition, `""` where the table has none.
    pub partition: String,
    /// The file group.
    pub file_id: String,
    /// The slice that is merged.
    pub base_instant: String,
    /// The log files that are merged, by name.
    pub log_files: Vec<String>,
}

/// The operations of a compaction or log compaction plan, from the bytes of its `.requested` file.
pub(super) fn compaction(bytes: &[u8]) -> Result<Vec<CompactionOperation>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let record = Record::read(bytes, &["operations"])?;
    let Some(operations) = record.root().field("operations")? else { return Ok(Vec::new()) };
    operations.items()?.into_iter().map(operation).collect()
}

fn operation(value: Value<'_>) -> Result<CompactionOperation> {
    let text = |name| -> Result<String> { Ok(optional_text(value, name)?.unwrap_or_default()) };
    let logs = value.field("deltaFilePaths")?.map(texts).transpose()?.unwrap_or_default();
    let name = |path: String| path.rsplit_once('/').map_or(path.clone(), |(_, name)| name.to_owned());
    Ok(CompactionOperation {
        partition: text("partitionPath")?,
        file_id: text("fileId")?,
        base_instant: text("baseInstantTime")?,
        log_files: logs.into_iter().map(name).collect(),
    })
}

/// Whether the `.requested` file of a replace commit plans clustering; others replace what they overwrite or delete.
pub(super) fn is_clustering(bytes: &[u8]) -> Result<bool> {
    if bytes.is_empty() {
        return Ok(false);
    }
    let record = Record::read(bytes, &["operationType", "clusteringPlan"])?;
    let operation = optional_text(record.root(), "operationType")?;
    Ok(operation.as_deref() == Some("CLUSTER") && record.root().field("clusteringPlan")?.is_some())
}

/// `earliestCommitToRetain` of a completed clean: slices that only older instants need may be gone. `None` where the clean
/// went by versions, or the file is empty.
pub(super) fn earliest_retained(bytes: &[u8]) -> Result<Option<String>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let record = Record::read(bytes, &["earliestCommitToRetain"])?;
    Ok(optional_text(record.root(), "earliestCommitToRetain")?.filter(|instant| !instant.is_empty()))
}

fn optional_text(value: Value<'_>, name: &'static str) -> Result<Option<String>> {
    Ok(value.field(name)?.map(Value::text).transpose()?.map(str::to_owned))
}
