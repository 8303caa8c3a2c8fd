//! The archive from table version 8 on (`LSMTimelineWriter`): parquet files sorted by instant, of levels, and manifests
//! that name them.
//!
//! | # | operation | if the process stops after it |
//! |---|---|---|
//! | 1 | `<min>_<max>_0.parquet`, of a name that is free | no manifest names it: it is deleted later |
//! | 2 | `manifest_<n>`, of the next number that is free | readers use the manifest of `_version_`; it is deleted later |
//! | 3 | `_version_`: `n`, if it is as it was read | the instants are archived |
//!
//! Files and manifests are created once and never replaced: an archiver that stalls cannot exchange one that another
//! has made its own. `_version_` alone decides.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::file::properties::WriterProperties;
use serde::Serialize;

use super::changed_archive::changed_by_another;
use crate::service_table::ServiceTable;
use mortice_avro::Schema;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{TimelineWriter, next_after, read_to_replace, replace_unchanged};
use mortice_formats::avro_parquet::{
    Dictionaries, ListStructure, ParquetCodec, ParquetColumns, ParquetWriter, ROW_GROUP_BYTES,
};
use mortice_storage::{FileVersion, PutOutcome};
use mortice_table::timeline::metadata::HISTORY_SCHEMA;
use mortice_table::timeline::{Action, ArchivedAction, HistoryFile, Instant, history_files};

/// The version of rows.
const VERSION: i32 = 1;
/// The file that names the newest manifest.
const POINTER: &str = "_version_";
const MANIFEST: &str = "manifest_";
/// Names that are tried before others are said to take them all.
const NAMES: usize = 100;

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

/// The history as it was read.
pub(crate) struct HistoryBase {
    /// The version of `_version_`; none if there is no such file.
    pointer: Option<FileVersion>,
    /// The number of the manifest.
    number: u64,
    files: Vec<HistoryFile>,
}

impl HistoryBase {
    /// Reads `_version_`, then the manifest that it names.
    pub(super) fn read(table: &ServiceTable) -> Result<Self> {
        let pointer = read_to_replace(&*table.store, &path_of(table, POINTER))?.map(|(_, version)| version);
        let (number, files) = history_files(&*table.storage, &table.config.archive_folder)?;
        Ok(Self { pointer, number, files })
    }

    pub(super) fn files(&self) -> &[HistoryFile] {
        &self.files
    }

    /// Makes these the files of the history.
    pub(super) fn replaced_by(self, table: &ServiceTable, files: Vec<HistoryFile>) -> Result<Self> {
        let number = put_manifest(table, self.number, &files)?;
        let pointer_path = path_of(table, POINTER);
        let content = Bytes::from(number.to_string());
        match replace_unchanged(&*table.store, &pointer_path, &content, self.pointer.as_ref())? {
            Some(pointer) => Ok(Self { pointer: Some(pointer), number, files }),
            None => {
                // Numbers only grow, so that nobody will make it the newest. Hudi could not create one of that number.
                if history_files(&*table.storage, &table.config.archive_folder)?.0 != number {
                    table.store.delete(&path_of(table, &manifest_name(number)))?;
                }
                Err(changed_by_another(&table.store.full_path(&pointer_path)))
            }
        }
    }
}

/// Adds instants, oldest first, to the history. Returns it as it is then.
pub(super) fn append(table: &ServiceTable, base: HistoryBase, instants: &[Instant]) -> Result<HistoryBase> {
    let (Some(first), Some(last)) = (instants.first(), instants.last()) else { return Ok(base) };
    let mut file = HistoryWriter::new()?;
    file.write(&rows_of(&actions_of(&table.timeline_writer(), instants)?)?)?;
    let (least, greatest) = (first.requested_time.clone(), last.requested_time.clone());
    let file = put_file(table, least, greatest, 0, &file.finish()?)?;
    let mut files = base.files.clone();
    files.push(file);
    base.replaced_by(table, files)
}

/// Writes instants, oldest first, to a history that is empty, a file for each chunk.
pub(super) fn write_all<'a>(table: &ServiceTable, chunks: impl Iterator<Item = &'a [ArchivedAction]>) -> Result<()> {
    let mut files = Vec::new();
    for actions in chunks {
        let (Some(first), Some(last)) = (actions.first(), actions.last()) else { continue };
        let mut file = HistoryWriter::new()?;
        file.write(&rows_of(actions)?)?;
        let (least, greatest) = (first.instant.requested_time.clone(), last.instant.requested_time.clone());
        files.push(put_file(table, least, greatest, 0, &file.finish()?)?);
    }
    if files.is_empty() { Ok(()) } else { HistoryBase::read(table)?.replaced_by(table, files).map(drop) }
}

/// The names of all files of a history.
pub(super) fn files(table: &ServiceTable, folder: &str) -> Result<Vec<String>> {
    let mut names: Vec<String> =
        table.store.list(folder)?.unwrap_or_default().into_iter().map(|entry| entry.name().to_owned()).collect();
    // Without it nothing is archived.
    names.sort_by_key(|name| name != POINTER);
    Ok(names)
}

/// Writes a file of the history, of instants from `least` to `greatest`. If a file of that name is there, as an
/// archiver was stopped, the name has a later time.
pub(super) fn put_file(
    table: &ServiceTable,
    least: RequestedTime,
    greatest: RequestedTime,
    level: u32,
    content: &Bytes,
) -> Result<HistoryFile> {
    let mut end = greatest.to_string();
    for _ in 0..NAMES {
        let name = format!("{least}_{end}_{level}.parquet");
        let path = path_of(table, &name);
        if let PutOutcome::Written(_) = table.store.put_if_absent(&path, content)? {
            return Ok(HistoryFile { name, len: content.len() as u64 });
        }
        end = next_after(&end)?;
    }
    Err(all_taken(table, "files of the history that no manifest names"))
}

/// Creates the manifest after all that are there, and returns its number.
fn put_manifest(table: &ServiceTable, number: u64, files: &[HistoryFile]) -> Result<u64> {
    let named = |file: &HistoryFile| ManifestFile { file_name: file.name.clone(), file_len: file.len };
    let content = serde_json::to_vec_pretty(&Manifest { files: files.iter().map(named).collect() })
        .map_err(|error| Error::internal("a manifest cannot be written as JSON").caused_by(error))?;
    let content = Bytes::from(content);
    let entries = table.storage.list(&table.config.archive_folder)?.unwrap_or_default();
    let numbers = entries.iter().filter_map(|entry| entry.name().strip_prefix(MANIFEST)?.parse::<u64>().ok());
    let mut number = numbers.fold(number, u64::max);
    for _ in 0..NAMES {
        number =
            number.checked_add(1).ok_or_else(|| Error::invalid_table("the last manifest has the greatest number"))?;
        let path = path_of(table, &manifest_name(number));
        if let PutOutcome::Written(_) = table.store.put_if_absent(&path, &content)? {
            return Ok(number);
        }
    }
    Err(all_taken(table, "manifests"))
}

fn all_taken(table: &ServiceTable, what: &str) -> Error {
    let message = format!("{what} are created by other writers all the time; archive again");
    Error::new(ErrorKind::WriteConflict, message).in_file(table.full_path(&table.config.archive_folder))
}

fn manifest_name(number: u64) -> String {
    format!("{MANIFEST}{number}")
}

/// The path of a file of the history in the store.
fn path_of(table: &ServiceTable, name: &str) -> String {
    format!("{}/{name}", table.in_store(&table.config.archive_folder))
}

/// Instants with their completed files, and the plans of those that have one.
fn actions_of(writer: &TimelineWriter, instants: &[Instant]) -> Result<Vec<ArchivedAction>> {
    let mut actions = Vec::new();
    for instant in instants {
        let completed = writer.read(&instant.file_name)?;
        let completed = completed.ok_or_else(|| changed_by_another(&writer.path(&instant.file_name)))?;
        let metadata = Some(completed.to_vec()).filter(|bytes| !bytes.is_empty());
        let plan = plan_of(writer, instant)?.map(|plan| plan.to_vec());
        actions.push(ArchivedAction { instant: instant.clone(), metadata, plan });
    }
    Ok(actions)
}

/// The rows of instants.
fn rows_of(actions: &[ArchivedAction]) -> Result<RecordBatch> {
    let text = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let binary = |content: fn(&ArchivedAction) -> Option<&[u8]>| {
        Arc::new(BinaryArray::from_iter(actions.iter().map(content))) as ArrayRef
    };
    let instants = || actions.iter().map(|action| &action.instant);
    let columns = [
        ("instantTime", text(instants().map(|one| Some(one.requested_time.as_str())).collect())),
        (
            "completionTime",
            text(instants().map(|one| one.completion_time.as_ref().map(|time| time.as_str())).collect()),
        ),
        ("action", text(instants().map(|one| Some(one.action.name())).collect())),
        ("metadata", binary(|action| action.metadata.as_deref())),
        ("plan", binary(|action| action.plan.as_deref())),
        ("version", Arc::new(Int32Array::from(vec![VERSION; actions.len()])) as ArrayRef),
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

    pub(super) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let rows = self.columns.convert(rows)?;
        self.writer.write(&rows).map_err(unwritten)
    }

    pub(super) fn finish(mut self) -> Result<Bytes> {
        self.writer.finish().map_err(unwritten)?;
        Ok(std::mem::take(self.writer.output()?).into())
    }
}

fn unwritten(error: Error) -> Error {
    Error::internal("the history cannot be written as parquet").caused_by(error)
}
