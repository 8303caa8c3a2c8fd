//! The parts of plans and results of table services that planning a query needs. [`super::metadata`] reads the files.
//! An empty file is valid and plans nothing.

use std::collections::BTreeMap;

use super::metadata::{
    HoodieCleanMetadata, HoodieCleanPartitionMetadata, HoodieCleanerPlan, HoodieCompactionOperation,
    HoodieCompactionPlan, HoodieRequestedReplaceMetadata, HoodieSavepointMetadata, HoodieSavepointPartitionMetadata,
    HoodieSliceInfo, TimelineMetadata,
};
use super::operations;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// One file group that a compaction is to merge.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CompactionOperation {
    /// The partition, `""` for a table without partitions.
    pub partition: String,
    /// The id of the file group.
    pub file_id: String,
    /// The base instant of the slice that is merged; `None` if the plan does not have it.
    pub base_instant: Option<RequestedTime>,
    /// The names of the log files that are merged.
    pub log_files: Vec<String>,
}

/// Returns the operations of a compaction or log compaction plan, from the bytes of its `.requested` file.
pub(super) fn compaction(bytes: &[u8]) -> Result<Vec<CompactionOperation>> {
    let plan: HoodieCompactionPlan = read(bytes)?;
    plan.operations.unwrap_or_default().into_iter().map(operation).collect()
}

fn operation(operation: HoodieCompactionOperation) -> Result<CompactionOperation> {
    let base_instant = operation.base_instant_time.as_deref().filter(|time| !time.is_empty());
    Ok(CompactionOperation {
        // Null, its default, for a table without partitions.
        partition: operation.partition_path.unwrap_or_default(),
        file_id: operation.file_id.ok_or_else(|| without_file_id("compaction"))?,
        base_instant: base_instant.map(|time| RequestedTime::from_metadata("baseInstantTime", time)).transpose()?,
        log_files: operation.delta_file_paths.iter().flatten().map(|path| file_name(path)).collect(),
    })
}

/// Returns true if the `.requested` file of a replace commit plans clustering. Other replace commits have no plan.
pub(super) fn is_clustering(bytes: &[u8]) -> Result<bool> {
    let requested: HoodieRequestedReplaceMetadata = read(bytes)?;
    Ok(requested.operation_type.as_deref().is_some_and(operations::is_clustering)
        && requested.clustering_plan.is_some())
}

/// Partition and file id of each file group that the `.requested` file of a clustering plans to replace.
pub(super) fn clustered_groups(bytes: &[u8]) -> Result<Vec<(String, String)>> {
    let requested: HoodieRequestedReplaceMetadata = read(bytes)?;
    let groups = requested.clustering_plan.and_then(|plan| plan.input_groups).into_iter().flatten();
    let slices = groups.flat_map(|group| group.slices.into_iter().flatten());
    let group = |slice: HoodieSliceInfo| {
        let file_id = slice.file_id.ok_or_else(|| without_file_id("clustering"))?;
        // Null, its default, for a table without partitions.
        Ok((slice.partition_path.unwrap_or_default(), file_id))
    };
    slices.map(group).collect()
}

fn without_file_id(service: &str) -> Error {
    Error::invalid_table(format!("a file slice of a {service} plan has no fileId; roll the {service} back"))
}

/// `earliestCommitToRetain` of a completed clean: slices that only older instants need may be gone. `None` if the clean
/// went by versions, or the file is empty.
pub(super) fn earliest_retained(bytes: &[u8]) -> Result<Option<RequestedTime>> {
    let clean: HoodieCleanMetadata = read(bytes)?;
    parse_retained(&clean.earliest_commit_to_retain)
}

/// Parses the value of `earliestCommitToRetain`, which is empty if the clean kept a number of versions.
pub(super) fn parse_retained(text: &str) -> Result<Option<RequestedTime>> {
    let time = Some(text).filter(|text| !text.is_empty());
    time.map(|time| RequestedTime::from_metadata("earliestCommitToRetain", time)).transpose()
}

/// File names by partition.
pub(super) type FilesByPartition = BTreeMap<String, Vec<String>>;

/// Returns the files that the `.requested` file of a clean plans to delete. Plans before 0.7 have names, later ones
/// paths.
pub(super) fn files_to_clean(bytes: &[u8]) -> Result<FilesByPartition> {
    let plan: HoodieCleanerPlan = read(bytes)?;
    let mut files = FilesByPartition::new();
    for (partition, names) in plan.files_to_be_deleted_per_partition.into_iter().flatten() {
        files.entry(partition).or_default().extend(names.iter().map(|name| file_name(name)));
    }
    for (partition, infos) in plan.file_paths_to_be_deleted_per_partition.into_iter().flatten() {
        let paths = infos.iter().filter_map(|info| info.file_path.as_deref());
        files.entry(partition).or_default().extend(paths.map(file_name));
    }
    Ok(files)
}

/// Returns the files that a completed clean was to delete, `None` if its file is empty.
pub(super) fn cleaned_files(bytes: &[u8]) -> Result<Option<FilesByPartition>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let clean = HoodieCleanMetadata::from_avro(bytes)?;
    let names = |cleaned: HoodieCleanPartitionMetadata| {
        cleaned.delete_path_patterns.iter().map(|path| file_name(path)).collect()
    };
    Ok(Some(clean.partition_metadata.into_iter().map(|(partition, cleaned)| (partition, names(cleaned))).collect()))
}

/// Returns the files that a completed savepoint keeps.
pub(super) fn savepoint(bytes: &[u8]) -> Result<FilesByPartition> {
    let savepoint: HoodieSavepointMetadata = read(bytes)?;
    let names = |partition: HoodieSavepointPartitionMetadata| {
        partition.savepoint_data_file.iter().map(|name| file_name(name)).collect()
    };
    Ok(savepoint.partition_metadata.into_iter().map(|(partition, kept)| (partition, names(kept))).collect())
}

/// Parses a file. Returns the default of the type if the file is empty.
fn read<T: TimelineMetadata + Default>(bytes: &[u8]) -> Result<T> {
    if bytes.is_empty() { Ok(T::default()) } else { T::from_avro(bytes) }
}

fn file_name(path: &str) -> String {
    path.rsplit_once('/').map_or(path, |(_, name)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    /// A container of one record, given as its Avro bytes.
    fn container(name: &str, fields: &str, datum: &[u8]) -> Vec<u8> {
        let schema = format!(r#"{{"type":"record","name":"{name}","fields":[{fields}]}}"#);
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
            base_instant: Some("10".into()),
            log_files: vec![".f_10.log.1".into()],
        };
        assert_eq!(compaction(&container("HoodieCompactionPlan", OPERATIONS, &operation)).unwrap(), [expected]);
        assert!(compaction(&container("HoodieCompactionPlan", OPERATIONS, &[0])).unwrap().is_empty());
        assert!(compaction(b"").unwrap().is_empty());
        assert_eq!(compaction(b"{}").unwrap_err().kind(), ErrorKind::CorruptLog);
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
        assert!(is_clustering(&container("HoodieRequestedReplaceMetadata", &fields, &cluster)).unwrap());
        assert!(!is_clustering(&container("HoodieRequestedReplaceMetadata", &fields, &[0, 0])).unwrap());
        assert!(!is_clustering(b"").unwrap());
    }

    const CLEAN: &str = "HoodieCleanMetadata";

    #[test]
    fn earliest_retained_instant_of_a_clean() {
        let field = r#"{"name":"earliestCommitToRetain","type":"string"}"#;
        assert_eq!(earliest_retained(&container(CLEAN, field, &text("20"))).unwrap(), Some("20".into()));
        assert_eq!(earliest_retained(&container(CLEAN, field, &text(""))).unwrap(), None);
        assert_eq!(
            earliest_retained(&container(CLEAN, r#"{"name":"other","type":"string"}"#, &text("20"))).unwrap(),
            None
        );
        let unparsable = container(CLEAN, field, &text("null"));
        assert_eq!(earliest_retained(&unparsable).unwrap_err().kind(), ErrorKind::InvalidTable);
        let wrong = container(CLEAN, r#"{"name":"earliestCommitToRetain","type":"long"}"#, &[2]);
        assert_eq!(earliest_retained(&wrong).unwrap_err().kind(), ErrorKind::InvalidTable);
    }
}
