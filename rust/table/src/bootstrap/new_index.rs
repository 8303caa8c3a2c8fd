//! The files of a new bootstrap index (`HFileBootstrapIndexWriter`): one by partition, and one by file group.

use std::borrow::Cow;

use md5::{Digest as _, Md5};

use super::index::{FILE, INFO};
use mortice_avro::{ContainerHeader, Schema, UnknownMembers, Value, encode_value};
use mortice_base::error::Result;
use mortice_formats::hfile::HFileWriter;

const FILE_BY_ID: &str =
    ".hoodie/.aux/.bootstrap/.fileids/00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile";
const PARTITION_SCHEMA: &str = include_str!("schemas/HoodieBootstrapPartitionMetadata.avsc");
const FILE_SCHEMA: &str = include_str!("schemas/HoodieBootstrapFilePartitionInfo.avsc");
const INFO_SCHEMA: &str = include_str!("schemas/HoodieBootstrapIndexInfo.avsc");

/// A source file and the file group of its skeleton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIndexEntry {
    /// The partition of the table.
    pub partition: String,
    /// The file group.
    pub file_id: String,
    /// The folder of the source file, from the source's base path.
    pub source_partition: String,
    /// The URI of the source file.
    pub source: String,
    /// Its bytes.
    pub len: u64,
    /// When it was modified, in milliseconds since the epoch.
    pub modified_ms: i64,
}

/// Returns the path and the content of each file of the index, as Hudi's readers find them.
///
/// # Errors
/// `InvalidArgument` for a path of more than 32,767 bytes, which is no key of an HFile.
pub fn index_files(
    source_base: &str,
    entries: &[NewIndexEntry],
    created_ms: i64,
) -> Result<[(&'static str, Vec<u8>); 2]> {
    let mut sorted: Vec<&NewIndexEntry> = entries.iter().collect();
    sorted.sort_by(|one, other| (&one.partition, &one.file_id).cmp(&(&other.partition, &other.file_id)));
    let mut by_partition = Vec::new();
    for group in sorted.chunk_by(|one, other| one.partition == other.partition) {
        let Some(first) = group.first() else { continue };
        let files = group.iter().map(|entry| (Cow::from(&entry.file_id), file_status(entry))).collect();
        let value = object([
            ("version", Value::Int(1)),
            ("bootstrapPartitionPath", string(&first.source_partition)),
            ("partitionPath", string(&first.partition)),
            ("fileIdToBootstrapFile", Value::Object(files)),
        ]);
        by_partition.push((format!("part={}", first.partition), value));
    }
    let by_file = sorted.iter().map(|entry| file_cell(entry)).collect();
    let file = |schema: &str, cells| index_file(schema, cells, source_base, created_ms);
    Ok([(FILE, file(PARTITION_SCHEMA, by_partition)?), (FILE_BY_ID, file(FILE_SCHEMA, by_file)?)])
}

/// The cell of a file group.
fn file_cell(entry: &NewIndexEntry) -> (String, Value<'_>) {
    let value = object([
        ("version", Value::Int(1)),
        ("bootstrapPartitionPath", string(&entry.source_partition)),
        ("bootstrapFileStatus", file_status(entry)),
        ("partitionPath", string(&entry.partition)),
    ]);
    (format!("part={};fileid={}", entry.partition, entry.file_id), value)
}

fn index_file(
    schema: &str,
    mut cells: Vec<(String, Value<'_>)>,
    source_base: &str,
    created_ms: i64,
) -> Result<Vec<u8>> {
    // `a` is before `a-b`, and `part=a;…` behind `part=a-b;…`.
    cells.sort_by(|(one, _), (other, _)| one.as_bytes().cmp(other.as_bytes()));
    let mut file = HFileWriter::new(schema, created_ms);
    for (key, value) in &cells {
        file.append(key.as_bytes(), &container(schema, value)?)?;
    }
    let keys = i64::try_from(cells.len()).unwrap_or(i64::MAX);
    let info = object([
        ("version", Value::Int(1)),
        ("bootstrapBasePath", string(source_base)),
        ("createdTimestamp", Value::Int(created_ms)),
        ("numKeys", Value::Int(keys)),
    ]);
    file.add_info(INFO, &container(INFO_SCHEMA, &info)?);
    file.finish()
}

fn container(schema: &str, value: &Value<'_>) -> Result<Vec<u8>> {
    let schema = Schema::parse(schema)?;
    let mut datum = Vec::new();
    encode_value(value, schema.root(), UnknownMembers::Refuse, &mut datum)?;
    let sync = Md5::digest(&datum).into();
    ContainerHeader::new(schema, sync).write(&datum)
}

/// `HoodieFileStatus`, as far as it is known of every storage.
fn file_status(entry: &NewIndexEntry) -> Value<'_> {
    object([
        ("version", Value::Int(1)),
        ("path", object([("version", Value::Int(1)), ("uri", string(&entry.source))])),
        ("length", Value::Int(i64::try_from(entry.len).unwrap_or(i64::MAX))),
        ("isDir", Value::Boolean(false)),
        ("blockReplication", Value::Int(1)),
        ("blockSize", Value::Int(0)),
        ("modificationTime", Value::Int(entry.modified_ms)),
        ("accessTime", Value::Int(entry.modified_ms)),
    ])
}

fn string(text: &str) -> Value<'_> {
    Value::String(Cow::from(text))
}

fn object<'a, const N: usize>(members: [(&'static str, Value<'a>); N]) -> Value<'a> {
    Value::Object(members.into_iter().map(|(name, value)| (Cow::from(name), value)).collect())
}
