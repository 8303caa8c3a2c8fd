//! The archive from table version 8 on (`LSMTimelineWriter`): parquet files sorted by instant, of levels, and manifests that name them.
//!
//! | # | operation | if the process stops after it |
//! |---|---|---|
//! | 1 | `<min>_<max>_0.parquet` | no manifest names it: it is replaced or deleted later |
//! | 2 | `manifest_<n+1>` | readers use the manifest of `_version_`; it is replaced later |
//! | 3 | `_version_`: `n+1` | the instants are archived |

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::file::properties::WriterProperties;
use serde::Serialize;

use crate::commit::TimelineWriter;
use crate::services::service_table::ServiceTable;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_formats::avro_parquet::{
    Dictionaries, ListStructure, ParquetCodec, ParquetColumns, ParquetWriter, ROW_GROUP_BYTES,
};
use mortice_table::timeline::metadata::HISTORY_SCHEMA;
use mortice_table::timeline::{Action, HistoryFile, Instant, history_files};

/// The version of rows.
const VERSION: i32 = 1;

#[derive(Serialize)]
struct Manifest {
    files: Vec<ManifestFile>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ManifestFile {
    file_name: String,
    file_len: u64,
}

/// Adds instants, oldest first, to the history.
///
/// # Errors
/// Those of the storage.
pub(super) fn append(table: &ServiceTable, instants: &[Instant]) -> Result<()> {
    let (Some(first), Some(last)) = (instants.first(), instants.last()) else { return Ok(()) };
    let mut file = HistoryWriter::new()?;
    file.write(&rows_of(&table.timeline_writer(), instants)?)?;
    let name = format!("{}_{}_0.parquet", first.requested_time, last.requested_time);
    let (number, mut files) = history_files(&*table.storage, &table.config.archive_folder)?;
    let len = put_file(table, &name, file.finish()?)?;
    files.retain(|file| file.name != name);
    files.push(HistoryFile { name, len });
    put_manifest(table, number, files)
}

/// Writes a file of the history. Returns its size.
pub(super) fn put_file(table: &ServiceTable, name: &str, content: Bytes) -> Result<u64> {
    let len = content.len() as u64;
    replace(table, name, &content)?;
    Ok(len)
}

/// Writes the next manifest, and then makes it the one that readers use.
pub(super) fn put_manifest(table: &ServiceTable, number: u64, files: Vec<HistoryFile>) -> Result<()> {
    let next =
        number.checked_add(1).ok_or_else(|| Error::invalid_table("the last manifest has the greatest number"))?;
    let files = files.into_iter().map(|file| ManifestFile { file_name: file.name, file_len: file.len });
    let content = serde_json::to_vec_pretty(&Manifest { files: files.collect() })
        .map_err(|error| Error::internal("a manifest cannot be written as JSON").caused_by(error))?;
    replace(table, &format!("manifest_{next}"), &Bytes::from(content))?;
    replace(table, "_version_", &Bytes::from(next.to_string()))
}

fn replace(table: &ServiceTable, name: &str, content: &Bytes) -> Result<()> {
    let folder = table.in_store(&table.config.archive_folder);
    table.store.put(&format!("{folder}/{name}"), content, None).map(drop)
}

/// The rows of instants: their completed files, and the plans of those that have one.
fn rows_of(writer: &TimelineWriter, instants: &[Instant]) -> Result<RecordBatch> {
    let (mut metadata, mut plans) = (Vec::new(), Vec::new());
    for instant in instants {
        metadata.push(writer.read(&instant.file_name)?.filter(|bytes| !bytes.is_empty()));
        plans.push(plan_of(writer, instant)?);
    }
    let text = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let binary = |values: &[Option<Bytes>]| {
        Arc::new(BinaryArray::from_iter(values.iter().map(|value| value.as_deref()))) as ArrayRef
    };
    let columns = [
        ("instantTime", text(instants.iter().map(|one| Some(one.requested_time.as_str())).collect())),
        (
            "completionTime",
            text(instants.iter().map(|one| one.completion_time.as_ref().map(|time| time.as_str())).collect()),
        ),
        ("action", text(instants.iter().map(|one| Some(one.action.name())).collect())),
        ("metadata", binary(&metadata)),
        ("plan", binary(&plans)),
        ("version", Arc::new(Int32Array::from(vec![VERSION; instants.len()])) as ArrayRef),
    ];
    RecordBatch::try_from_iter(columns)
        .map_err(|error| Error::internal(format!("instants of the history are no rows: {error}")))
}

/// The plan of an instant, whose pending action may have another name than the completed one.
fn plan_of(writer: &TimelineWriter, instant: &Instant) -> Result<Option<Bytes>> {
    let pending: &[Action] = match instant.action {
        Action::Clean => &[Action::Clean],
        Action::Commit => &[Action::Compaction],
        Action::DeltaCommit => &[Action::LogCompaction],
        Action::ReplaceCommit => &[Action::Clustering, Action::ReplaceCommit],
        _ => &[],
    };
    for action in pending {
        if let Some(plan) = writer.read_requested(&instant.requested_time, *action)?.filter(|plan| !plan.is_empty()) {
            return Ok(Some(plan));
        }
    }
    Ok(None)
}

/// Writes a parquet file as Hudi's Avro writer does.
pub(super) struct HistoryWriter {
    columns: ParquetColumns,
    writer: ParquetWriter<Vec<u8>>,
}

impl HistoryWriter {
    /// # Errors
    /// `Internal` if the schema cannot be used.
    pub(super) fn new() -> Result<Self> {
        let schema = Schema::parse(HISTORY_SCHEMA.trim())?;
        let columns = ParquetColumns::new(&schema, ListStructure::ThreeLevels)?;
        let properties = WriterProperties::builder();
        let writer = ParquetWriter::new(
            Vec::new(),
            &columns,
            properties,
            (ParquetCodec::Gzip, Dictionaries::All),
            ROW_GROUP_BYTES,
        )?;
        Ok(Self { columns, writer })
    }

    /// # Errors
    /// `Internal` for rows of other columns.
    pub(super) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let rows = self.columns.convert(rows)?;
        self.writer.write(&rows).map_err(unwritten)
    }

    /// # Errors
    /// As for [`Self::write`].
    pub(super) fn finish(mut self) -> Result<Bytes> {
        self.writer.finish().map_err(unwritten)?;
        Ok(std::mem::take(self.writer.output()?).into())
    }
}

fn unwritten(error: Error) -> Error {
    Error::internal("the history cannot be written as parquet").caused_by(error)
}
