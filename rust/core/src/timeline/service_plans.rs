//! Plans and results of table services: Avro containers in both layouts (`HoodieCompactionPlan`,
//! `HoodieRequestedReplaceMetadata`, `HoodieCleanerPlan`, `HoodieCleanMetadata`, `HoodieSavepointMetadata`). An empty file is legal and plans nothing.

use std::collections::BTreeMap;

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
    Ok(CompactionOperation {
        partition: text("partitionPath")?,
        file_id: text("fileId")?,
        base_instant: text("baseInstantTime")?,
        log_files: logs.iter().map(|path| name_of(path)).collect(),
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

/// File names by partition.
pub(super) type FilesByPartition = BTreeMap<String, Vec<String>>;

/// The files that the `.requested` file of a clean plans to delete; releases before 0.7 told names, later ones paths.
pub(super) fn files_to_clean(bytes: &[u8]) -> Result<FilesByPartition> {
    let mut files = FilesByPartition::new();
    if bytes.is_empty() {
        return Ok(files);
    }
    let record = Record::read(bytes, &["filesToBeDeletedPerPartition", "filePathsToBeDeletedPerPartition"])?;
    let entries = |name| record.root().field(name)?.map_or(Ok(Vec::new()), Value::entries);
    for (partition, names) in entries("filesToBeDeletedPerPartition")? {
        files.entry(partition.to_owned()).or_default().extend(texts(names)?.iter().map(|name| name_of(name)));
    }
    for (partition, infos) in entries("filePathsToBeDeletedPerPartition")? {
        for info in infos.items()? {
            let path = optional_text(info, "filePath")?;
            files.entry(partition.to_owned()).or_default().extend(path.map(|path| name_of(&path)));
        }
    }
    Ok(files)
}

/// The files that a completed savepoint keeps.
pub(super) fn savepoint(bytes: &[u8]) -> Result<FilesByPartition> {
    let mut files = FilesByPartition::new();
    if bytes.is_empty() {
        return Ok(files);
    }
    let record = Record::read(bytes, &["partitionMetadata"])?;
    for (partition, told) in record.root().field("partitionMetadata")?.map_or(Ok(Vec::new()), Value::entries)? {
        let names = told.field("savepointDataFile")?.map_or(Ok(Vec::new()), texts)?;
        files.insert(partition.to_owned(), names.iter().map(|name| name_of(name)).collect());
    }
    Ok(files)
}

fn name_of(path: &str) -> String {
    path.rsplit_once('/').map_or(path, |(_, name)| name).to_owned()
}

fn optional_text(value: Value<'_>, name: &'static str) -> Result<Option<String>> {
    Ok(value.field(name)?.map(Value::text).transpose()?.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    /// A container of one record, given as its Avro bytes.
    fn container(fields: &str, datum: &[u8]) -> Vec<u8> {
        let schema = format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#);
        let long = |value: usize| {
            let mut value = value << 1;
            let mut bytes = Vec::new();
            while value > 0x7f {
                bytes.push((value & 0x7f) as u8 | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
            bytes
        };
        let mut bytes = [b"Obj\x01".as_slice(), &long(1), &long(11), b"avro.schema", &long(schema.len())].concat();
        bytes.extend_from_slice(schema.as_bytes());
        bytes.extend([[0].as_slice(), &[7; 16], &long(1), &long(datum.len()), datum, &[7; 16]].concat());
        bytes
    }

    fn text(value: &str) -> Vec<u8> {
        [&[value.len() as u8 * 2], value.as_bytes()].concat()
    }

    const OPERATIONS: &str = r#"{"name":"operations","type":["null",{"type":"array","items":{"type":"record","name":"o","fields":[
        {"name":"baseInstantTime","type":["null","string"]},
        {"name":"deltaFilePaths","type":["null",{"type":"array","items":"string"}],"default":null},
        {"name":"fileId","type":["null","string"]},{"name":"partitionPath","type":["null","string"]}]}}]}"#;

    #[test]
    fn compaction_plans() {
        let operation = [
            &[2, 2, 2],
            text("10").as_slice(),
            &[2, 2],
            &text("/t/p/.f_10.log.1"),
            &[0, 2],
            &text("f"),
            &[2],
            &text("p"),
            &[0],
        ]
        .concat();
        let expected = CompactionOperation {
            partition: "p".into(),
            file_id: "f".into(),
            base_instant: "10".into(),
            log_files: vec![".f_10.log.1".into()],
        };
        assert_eq!(compaction(&container(OPERATIONS, &operation)).unwrap(), [expected]);
        assert!(compaction(&container(OPERATIONS, &[0])).unwrap().is_empty());
        assert!(compaction(b"").unwrap().is_empty());
        assert_eq!(compaction(b"{}").unwrap_err().kind(), Kind::CorruptLog);
    }

    #[test]
    fn only_a_plan_makes_a_replace_commit_clustering() {
        let fields = |plan: &str| {
            format!(
                r#"{{"name":"operationType","type":["null","string"]}},{{"name":"clusteringPlan","type":["null",{plan}]}}"#
            )
        };
        let fields = fields(r#"{"type":"record","name":"c","fields":[{"name":"version","type":"int"}]}"#);
        let cluster = [&[2], text("CLUSTER").as_slice(), &[2, 0]].concat();
        assert!(is_clustering(&container(&fields, &cluster)).unwrap());
        assert!(!is_clustering(&container(&fields, &[0, 0])).unwrap());
        assert!(!is_clustering(b"").unwrap());
    }

    #[test]
    fn what_a_clean_kept() {
        let field = r#"{"name":"earliestCommitToRetain","type":"string"}"#;
        assert_eq!(earliest_retained(&container(field, &text("20"))).unwrap().as_deref(), Some("20"));
        assert_eq!(earliest_retained(&container(field, &text(""))).unwrap(), None);
        assert_eq!(earliest_retained(&container(r#"{"name":"other","type":"string"}"#, &text("20"))).unwrap(), None);
        let wrong = container(r#"{"name":"earliestCommitToRetain","type":"long"}"#, &[2]);
        assert_eq!(earliest_retained(&wrong).unwrap_err().kind(), Kind::InvalidTable);
    }
}
