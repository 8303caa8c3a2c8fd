//! The part of commit metadata that planning a query needs, of completed commits, delta commits and replace commits
//! (`HoodieCommitMetadata`, `HoodieReplaceCommitMetadata`).
//!
//! This is a partial reader: a commit has 31 fields for each of up to 100,000 files, and a plan needs a third of them
//! or none.
//! [`super::metadata`] reads and writes all of them.
//!
//! Layout 1 stores JSON, layout 2 an Avro container with the same names; the first bytes distinguish them. An empty
//! file is valid and has no metadata. Unknown keys are those of newer releases.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::avro_value::{AvroRecord, MetadataValue, is_container};
use mortice_base::error::{Error, Result};

/// The operation of writers that do not store one.
const UNKNOWN: &str = "UNKNOWN";

/// Metadata of a completed write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitMetadata {
    /// `WriteOperationType`: `UPSERT`, `COMPACT`, `CLUSTER`, …; `UNKNOWN` if none is stored.
    pub operation: String,
    /// Extra metadata, strings by key: schema, checkpoints.
    pub extra: BTreeMap<String, String>,
    /// Statistics of the files written, by partition.
    pub write_stats: BTreeMap<String, Vec<WriteStat>>,
    /// The ids of replaced file groups, by partition.
    pub replaced: BTreeMap<String, Vec<String>>,
}

/// Statistics of one file written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WriteStat {
    /// The id of the file group.
    pub file_id: Option<String>,
    /// The path of the file, relative to the table.
    pub path: Option<String>,
    /// The base instant of the slice that was updated; the string `null` for a new file group.
    pub prev_commit: Option<String>,
    /// For logs: the name of the slice's base file, depending on the table version.
    pub base_file: Option<String>,
    /// For logs: log file names, depending on the table version.
    pub log_files: Option<Vec<String>>,
    /// The file size after the write, in bytes.
    pub file_size_in_bytes: Option<i64>,
    /// For logs: the offset of the first block that was written.
    pub log_offset: Option<i64>,
    /// Rows written.
    pub num_writes: Option<i64>,
    /// Rows inserted.
    pub num_inserts: Option<i64>,
    /// Rows updated.
    pub num_update_writes: Option<i64>,
    /// Rows deleted.
    pub num_deletes: Option<i64>,
    /// Sizes of the change data capture files in bytes, by path.
    pub cdc_stats: Option<BTreeMap<String, i64>>,
}

/// The part of the metadata to parse. Statistics are most of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataPart {
    /// The operation and the extra metadata.
    Header,
    /// The operation and the replaced file groups.
    Replaced,
    /// Everything.
    All,
}

impl CommitMetadata {
    /// Parses the bytes of a completed instant's file. Returns `None` if it is empty.
    ///
    /// # Errors
    /// `InvalidTable` or `CorruptLog` if the bytes are neither valid JSON nor a valid container.
    pub fn parse(bytes: &[u8], part: MetadataPart) -> Result<Option<Self>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if is_container(bytes) { from_avro(bytes, part).map(Some) } else { from_json(bytes).map(Some) }
    }

    /// Returns the table's Avro schema at that time; `None` if it is missing or empty.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.extra.get("schema").map(|text| text.trim()).filter(|text| !text.is_empty() && *text != "null")
    }

    /// Returns the paths of all files written, relative to the table.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.write_stats.values().flatten().filter_map(|stat| stat.path.as_deref())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    operation_type: Option<String>,
    #[serde(default)]
    extra_metadata: Option<BTreeMap<String, Option<String>>>,
    #[serde(default)]
    compacted: Option<bool>,
    #[serde(default)]
    partition_to_write_stats: Option<BTreeMap<String, Option<Vec<WriteStat>>>>,
    #[serde(default)]
    partition_to_replace_file_ids: Option<BTreeMap<String, Option<Vec<String>>>>,
}

fn from_json(bytes: &[u8]) -> Result<CommitMetadata> {
    let json: Json = serde_json::from_slice(bytes)
        .map_err(|error| Error::invalid_table("commit metadata is neither JSON nor Avro").caused_by(error))?;
    // Old releases mark a compaction as such, but do not store its operation.
    let unnamed = if json.compacted == Some(true) { "COMPACT" } else { UNKNOWN };
    let operation = json.operation_type.filter(|name| name != UNKNOWN).unwrap_or_else(|| unnamed.to_owned());
    Ok(CommitMetadata {
        operation,
        extra: without_nulls(json.extra_metadata),
        write_stats: without_nulls(json.partition_to_write_stats),
        replaced: without_nulls(json.partition_to_replace_file_ids),
    })
}

fn without_nulls<T>(map: Option<BTreeMap<String, Option<T>>>) -> BTreeMap<String, T> {
    map.into_iter().flatten().filter_map(|(key, value)| Some((key, value?))).collect()
}

fn from_avro(bytes: &[u8], part: MetadataPart) -> Result<CommitMetadata> {
    let columns: &[&str] = match part {
        MetadataPart::Header => &["operationType", "extraMetadata"],
        MetadataPart::Replaced => &["operationType", "partitionToReplaceFileIds"],
        MetadataPart::All => &["operationType", "extraMetadata", "partitionToWriteStats", "partitionToReplaceFileIds"],
    };
    from_record(AvroRecord::read(bytes, columns)?.root())
}

/// Converts an Avro record.
pub(super) fn from_record(root: MetadataValue<'_>) -> Result<CommitMetadata> {
    let operation = root.field("operationType")?.map(MetadataValue::text).transpose()?.unwrap_or(UNKNOWN).to_owned();
    let mut metadata = CommitMetadata { operation, ..CommitMetadata::default() };
    for (key, value) in entries(root.field("extraMetadata")?)? {
        metadata.extra.insert(key.to_owned(), value.text()?.to_owned());
    }
    for (partition, stats) in entries(root.field("partitionToWriteStats")?)? {
        let stats: Result<_> = stats.items()?.into_iter().map(write_stat).collect();
        metadata.write_stats.insert(partition.to_owned(), stats?);
    }
    for (partition, ids) in entries(root.field("partitionToReplaceFileIds")?)? {
        metadata.replaced.insert(partition.to_owned(), strings(ids)?);
    }
    Ok(metadata)
}

fn entries<'a>(map: Option<MetadataValue<'a>>) -> Result<Vec<(&'a str, MetadataValue<'a>)>> {
    map.map_or(Ok(Vec::new()), MetadataValue::entries)
}

fn strings(list: MetadataValue<'_>) -> Result<Vec<String>> {
    list.items()?.into_iter().map(|item| item.text().map(str::to_owned)).collect()
}

fn write_stat(stat: MetadataValue<'_>) -> Result<WriteStat> {
    let text = |name| -> Result<Option<String>> {
        Ok(stat.field(name)?.map(MetadataValue::text).transpose()?.map(str::to_owned))
    };
    let long = |name| -> Result<Option<i64>> { stat.field(name)?.map(MetadataValue::long).transpose() };
    let cdc = stat.field("cdcStats")?.map(MetadataValue::entries).transpose()?;
    let cdc: Option<Result<_>> =
        cdc.map(|entries| entries.into_iter().map(|(path, len)| Ok((path.to_owned(), len.long()?))).collect());
    Ok(WriteStat {
        file_id: text("fileId")?,
        path: text("path")?,
        prev_commit: text("prevCommit")?,
        base_file: text("baseFile")?,
        log_files: stat.field("logFiles")?.map(strings).transpose()?,
        file_size_in_bytes: long("fileSizeInBytes")?,
        log_offset: long("logOffset")?,
        num_writes: long("numWrites")?,
        num_inserts: long("numInserts")?,
        num_update_writes: long("numUpdateWrites")?,
        num_deletes: long("numDeletes")?,
        cdc_stats: cdc.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    #[test]
    fn json_of_layout_1() {
        let text = r#"{"partitionToWriteStats":{"p=x":[{"fileId":"f","path":"p=x/.f_1.log.1_0-1-2","prevCommit":"1",
            "logFiles":[".f_1.log.1_0-1-2"],"baseFile":null,"numWrites":3,"fileSizeInBytes":10,"recordsStats":{"a":1}}],
            "q":null},"compacted":false,"extraMetadata":{"schema":"{}","nothing":null},"operationType":"UPSERT",
            "partitionToReplaceFileIds":{"p=x":["g"]},"new in 2.0":[1]}"#;
        let metadata = CommitMetadata::parse(text.as_bytes(), MetadataPart::All).unwrap().unwrap();
        assert_eq!(metadata.operation, "UPSERT");
        assert_eq!(metadata.schema(), Some("{}"));
        assert_eq!(metadata.paths().collect::<Vec<_>>(), ["p=x/.f_1.log.1_0-1-2"]);
        assert_eq!(metadata.write_stats["p=x"][0].num_writes, Some(3));
        assert_eq!(metadata.replaced["p=x"], ["g"]);
    }

    #[test]
    fn missing_fields_are_not_an_error() {
        assert_eq!(CommitMetadata::parse(b"", MetadataPart::All).unwrap(), None);
        let metadata = CommitMetadata::parse(b"{}", MetadataPart::All).unwrap().unwrap();
        assert_eq!((metadata.operation.as_str(), metadata.schema()), ("UNKNOWN", None));
        let empty = br#"{"extraMetadata":{"schema":""}}"#;
        assert_eq!(CommitMetadata::parse(empty, MetadataPart::All).unwrap().unwrap().schema(), None);
        let compaction = br#"{"compacted":true,"operationType":"UNKNOWN"}"#;
        assert_eq!(CommitMetadata::parse(compaction, MetadataPart::All).unwrap().unwrap().operation, "COMPACT");
    }

    #[test]
    fn other_bytes_are_rejected() {
        for bytes in [b"PAR1".as_slice(), b"{\"operationType\":", b"Obj\x01"] {
            let error = CommitMetadata::parse(bytes, MetadataPart::All).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::InvalidTable | ErrorKind::CorruptLog), "{error}");
        }
    }
}
