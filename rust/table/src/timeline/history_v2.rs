//! The archived timeline of layout 2 (`LSMTimeline`, `HoodieLSMTimelineInstant`).
//!
//! ```text
//! history/_version_                    the number of the newest manifest, as a string
//! history/manifest_<n>                 {"files":[{"fileName":…,"fileLen":…},…]}: only these files are read
//! history/<min>_<max>_<level>.parquet  instantTime, completionTime, action, metadata, plan
//! ```
//! `metadata` has the bytes of the completed instant's file. The times in a file name are requested times. If
//! `_version_` cannot be read, the newest manifest is used; without a manifest, nothing has been archived.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema};
use serde::Deserialize;

use super::archived_action::ArchivedAction;
use super::commit_metadata::{CommitMetadata, MetadataPart};
use super::instant::{Action, Instant, InstantState};
use super::range::{TimelineRange, WriteVisitor};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{CompletionTime, RequestedTime, TimelinePosition};
use mortice_formats::base_file::{BaseBatches, open_parquet};
use mortice_storage::{FolderEntry, Storage};

const TEXT_REQUESTED: (&str, DataType) = ("instantTime", DataType::Utf8);
const TEXT_COMPLETION: (&str, DataType) = ("completionTime", DataType::Utf8);
const TEXT_ACTION: (&str, DataType) = ("action", DataType::Utf8);
const BYTES_METADATA: (&str, DataType) = ("metadata", DataType::Binary);
const BYTES_PLAN: (&str, DataType) = ("plan", DataType::Binary);
const INT_VERSION: (&str, DataType) = ("version", DataType::Int32);

/// A small batch, as the commit metadata of a row can have megabytes.
const BATCH_ROWS: usize = 64;

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    files: Vec<ManifestFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestFile {
    file_name: String,
    #[serde(default)]
    file_len: u64,
}

/// A file of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryFile {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub len: u64,
}

/// Returns the number of the newest manifest and its files; 0 without a manifest.
///
/// # Errors
/// Errors of reading the manifest.
pub fn history_files(storage: &dyn Storage, folder: &str) -> Result<(u64, Vec<HistoryFile>)> {
    let Some(manifest) = newest_manifest(storage, folder)? else { return Ok((0, Vec::new())) };
    let number = manifest.trim_start_matches("manifest_").parse().unwrap_or_default();
    Ok((number, manifest_files(storage, folder, number)?))
}

/// Returns the files of a manifest.
///
/// # Errors
/// Errors of reading the manifest.
pub fn manifest_files(storage: &dyn Storage, folder: &str, number: u64) -> Result<Vec<HistoryFile>> {
    let file = |file: ManifestFile| HistoryFile { name: file.file_name, len: file.file_len };
    Ok(read_manifest(storage, folder, &format!("manifest_{number}"))?.files.into_iter().map(file).collect())
}

/// Reads all columns of a file of the history, in the order of its schema.
///
/// # Errors
/// Errors of reading the file.
pub fn history_batches(storage: &dyn Storage, path: &str) -> Result<BaseBatches> {
    let columns = [TEXT_REQUESTED, TEXT_COMPLETION, TEXT_ACTION, BYTES_METADATA, BYTES_PLAN, INT_VERSION];
    batches(storage, path, &columns)
}

/// Returns the instants of files that have some of this time or later.
pub(super) fn instants_since(
    storage: &dyn Storage,
    folder: &str,
    from: &RequestedTime,
) -> Result<BTreeSet<(RequestedTime, Action)>> {
    let mut instants = BTreeSet::new();
    for name in files(storage, folder)? {
        let (_, newest) = requested_times(&name);
        if newest.is_none_or(|newest| newest >= *from) {
            let found = read_instants(storage, &format!("{folder}/{name}"))?.into_values();
            instants.extend(found.map(|instant| (instant.requested_time, instant.action)));
        }
    }
    Ok(instants)
}

/// Returns all archived instants, sorted.
pub(super) fn instants(storage: &dyn Storage, folder: &str) -> Result<Vec<Instant>> {
    let mut instants = BTreeMap::new();
    for name in files(storage, folder)? {
        for (_, instant) in read_instants(storage, &format!("{folder}/{name}"))? {
            instants.insert((instant.requested_time.clone(), instant.action), instant);
        }
    }
    Ok(instants.into_values().collect())
}

/// Returns all archived instants with the contents of their files.
pub(super) fn actions(storage: &dyn Storage, folder: &str) -> Result<Vec<ArchivedAction>> {
    let mut actions = BTreeMap::new();
    for name in files(storage, folder)? {
        let path = format!("{folder}/{name}");
        let mut instants = read_instants(storage, &path)?;
        let bytes_of = |column| {
            let mut found = BTreeMap::new();
            visit_bytes(storage, &path, column, &mut |row, bytes| {
                found.extend(bytes.filter(|bytes| !bytes.is_empty()).map(|bytes| (row, bytes.to_vec())));
                Ok(())
            })
            .map_err(|error| error.in_file(storage.full_path(&path)))?;
            Ok::<_, Error>(found)
        };
        let (mut metadata, mut plans) = (bytes_of(BYTES_METADATA)?, bytes_of(BYTES_PLAN)?);
        while let Some((row, instant)) = instants.pop_first() {
            let key = (instant.requested_time.clone(), instant.action);
            actions.insert(key, ArchivedAction { instant, metadata: metadata.remove(&row), plan: plans.remove(&row) });
        }
    }
    Ok(actions.into_values().collect())
}

/// Returns the bytes of an archived instant's metadata or plan. Returns `None` if it is not in the archive or had no
/// such file.
pub(super) fn metadata(
    storage: &dyn Storage,
    folder: &str,
    wanted: &Instant,
    is_plan: bool,
) -> Result<Option<Vec<u8>>> {
    let time = &wanted.requested_time;
    for name in files(storage, folder)? {
        let (oldest, newest) = requested_times(&name);
        if oldest.is_some_and(|oldest| *time < oldest) || newest.is_some_and(|newest| newest < *time) {
            continue;
        }
        let path = format!("{folder}/{name}");
        let action = wanted.action.completes_as();
        let same = |(row, one): (usize, Instant)| (one.requested_time == *time && one.action == action).then_some(row);
        let Some(row) = read_instants(storage, &path)?.into_iter().find_map(same) else { continue };
        let mut found = None;
        let column = if is_plan { BYTES_PLAN } else { BYTES_METADATA };
        visit_bytes(storage, &path, column, &mut |at, bytes| {
            if at == row {
                found = bytes.filter(|bytes| !bytes.is_empty()).map(<[u8]>::to_vec);
            }
            Ok(())
        })
        .map_err(|error| error.in_file(storage.full_path(&path)))?;
        return Ok(found);
    }
    Ok(None)
}

/// Visits the completed writes of a range, file by file. Files that only have requests before `requested_from` are
/// skipped.
pub(super) fn visit_writes(
    storage: &dyn Storage,
    folder: &str,
    range: &TimelineRange,
    requested_from: Option<&RequestedTime>,
    visit: &mut WriteVisitor<'_>,
) -> Result<()> {
    // A write is completed after it is requested.
    let is_after = |oldest| range.end.as_ref().is_some_and(|end| TimelinePosition::from(oldest) > *end);
    let is_wanted = |one: &Instant| {
        let completion = one.completion_time.as_ref();
        completion.is_some_and(|time| range.contains_write(&time.into(), &one.requested_time))
    };
    for name in files(storage, folder)? {
        let (oldest, newest) = requested_times(&name);
        let is_before = requested_from.zip(newest).is_some_and(|(from, newest)| newest < *from);
        if !is_before && !oldest.is_some_and(is_after) {
            visit_file(storage, &format!("{folder}/{name}"), &is_wanted, visit)?;
        }
    }
    Ok(())
}

/// Visits the completed writes that `is_wanted` chooses, of files that have instants of this requested time or later.
pub(super) fn visit_chosen_writes(
    storage: &dyn Storage,
    folder: &str,
    requested_from: Option<&RequestedTime>,
    is_wanted: &dyn Fn(&Instant) -> bool,
    visit: &mut WriteVisitor<'_>,
) -> Result<()> {
    for name in files(storage, folder)? {
        let (_, newest) = requested_times(&name);
        if requested_from.zip(newest).is_none_or(|(from, newest)| newest >= *from) {
            visit_file(storage, &format!("{folder}/{name}"), is_wanted, visit)?;
        }
    }
    Ok(())
}

fn visit_file(
    storage: &dyn Storage,
    path: &str,
    is_wanted: &dyn Fn(&Instant) -> bool,
    visit: &mut WriteVisitor<'_>,
) -> Result<()> {
    let mut writes = read_instants(storage, path)?;
    writes.retain(|_, instant| instant.action.is_write() && is_wanted(instant));
    if writes.is_empty() {
        return Ok(());
    }
    visit_metadata(storage, path, writes, visit).map_err(|error| error.in_file(storage.full_path(path)))
}

/// Returns the first and the last requested time of a file.
fn requested_times(name: &str) -> (Option<RequestedTime>, Option<RequestedTime>) {
    let mut parts = name.split('_').map(RequestedTime::parse);
    (parts.next().flatten(), parts.next().flatten())
}

/// Returns the instants of a file by row. Instants of unknown actions are omitted.
fn read_instants(storage: &dyn Storage, path: &str) -> Result<BTreeMap<usize, Instant>> {
    let mut instants = BTreeMap::new();
    let mut row = 0;
    for batch in batches(storage, path, &[TEXT_REQUESTED, TEXT_COMPLETION, TEXT_ACTION])? {
        let batch = batch?;
        let actions = strings(&batch, 2)?.map(|action| action.and_then(Action::named));
        for ((requested, completion), action) in strings(&batch, 0)?.zip(strings(&batch, 1)?).zip(actions) {
            if let (Some(requested), Some(action)) = (requested, action) {
                let instant = instant(requested, completion, action);
                instants.insert(row, instant.map_err(|error| error.in_file(storage.full_path(path)))?);
            }
            row += 1;
        }
    }
    Ok(instants)
}

fn instant(requested: &str, completion: Option<&str>, action: Action) -> Result<Instant> {
    let completion_time = completion.map(|time| CompletionTime::from_metadata("completionTime", time));
    Ok(Instant {
        requested_time: RequestedTime::from_metadata("instantTime", requested)?,
        completion_time: completion_time.transpose()?,
        action: action.completes_as(),
        state: InstantState::Completed,
        file_name: String::new(),
    })
}

fn visit_metadata(
    storage: &dyn Storage,
    path: &str,
    mut writes: BTreeMap<usize, Instant>,
    visit: &mut WriteVisitor<'_>,
) -> Result<()> {
    visit_bytes(storage, path, BYTES_METADATA, &mut |row, bytes| {
        let Some(write) = writes.remove(&row) else { return Ok(()) };
        let metadata = CommitMetadata::parse(bytes.unwrap_or_default(), MetadataPart::All)
            .map_err(|error| error.at_instant(&write.requested_time))?;
        visit(&write, metadata.unwrap_or_default())
    })?;
    match writes.into_values().next() {
        None => Ok(()),
        Some(write) => {
            let message = "a file of the archived timeline has fewer rows than when its instants were read";
            Err(Error::invalid_table(message).in_file(storage.full_path(path)).at_instant(&write.requested_time))
        }
    }
}

/// Receives a row number and the row's bytes.
type VisitBytes<'v> = dyn FnMut(usize, Option<&[u8]>) -> Result<()> + 'v;

/// Visits a column of bytes, row by row.
fn visit_bytes(storage: &dyn Storage, path: &str, column: (&str, DataType), visit: &mut VisitBytes<'_>) -> Result<()> {
    let mut row = 0;
    for batch in batches(storage, path, &[column])? {
        let batch = batch?;
        let column = batch.column(0).as_binary_opt::<i32>();
        for bytes in column.ok_or_else(|| Error::invalid_table("the column metadata or plan is not binary"))? {
            visit(row, bytes)?;
            row += 1;
        }
    }
    Ok(())
}

/// Returns the names of the files in the newest manifest.
fn files(storage: &dyn Storage, folder: &str) -> Result<Vec<String>> {
    let Some(manifest) = newest_manifest(storage, folder)? else { return Ok(Vec::new()) };
    Ok(read_manifest(storage, folder, &manifest)?.files.into_iter().map(|file| file.file_name).collect())
}

fn read_manifest(storage: &dyn Storage, folder: &str, name: &str) -> Result<Manifest> {
    let path = format!("{folder}/{name}");
    let bytes = storage.open(&path)?.read_all()?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Error::invalid_table("not a manifest of the archived timeline")
            .caused_by(error)
            .in_file(storage.full_path(&path))
    })
}

fn newest_manifest(storage: &dyn Storage, folder: &str) -> Result<Option<String>> {
    match storage.open(&format!("{folder}/_version_")).and_then(|source| source.read_all()) {
        Ok(bytes) => {
            if let Some(number) = str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse::<u64>().ok()) {
                return Ok(Some(format!("manifest_{number}")));
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let numbers = storage.list(folder)?.into_iter().flatten().filter_map(|entry| match entry {
        FolderEntry::File(status) => status.name.strip_prefix("manifest_")?.parse::<u64>().ok(),
        FolderEntry::Folder(_) => None,
    });
    Ok(numbers.max().map(|number| format!("manifest_{number}")))
}

/// Reads some columns of a file. Other columns are not fetched.
fn batches(storage: &dyn Storage, path: &str, columns: &[(&str, DataType)]) -> Result<BaseBatches> {
    let fields = columns.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true));
    let wanted = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let open = || open_parquet(storage.open(path)?)?.batches(&wanted, BatchLimit::with_rows(BATCH_ROWS));
    open().map_err(|error| error.in_file(storage.full_path(path)))
}

fn strings(batch: &RecordBatch, column: usize) -> Result<impl Iterator<Item = Option<&str>>> {
    let column = batch.columns().get(column).and_then(|column| column.as_string_opt::<i32>());
    let column = column.ok_or_else(|| Error::invalid_table("the column of a time or an action is not a string"))?;
    Ok(column.iter())
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, BinaryArray, StringArray};
    use parquet::arrow::ArrowWriter;

    use super::*;
    use crate::timeline::MemoryStorage;

    fn file(rows: &[(&str, &str)]) -> Vec<u8> {
        let column = |strings: Vec<&str>| Arc::new(StringArray::from(strings)) as ArrayRef;
        let requested = column(rows.iter().map(|row| row.0).collect());
        let completion = column(rows.iter().map(|row| row.1).collect());
        let action = column(rows.iter().map(|_| "commit").collect());
        let columns = [("instantTime", requested), ("completionTime", completion), ("action", action)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn only_files_of_the_newest_manifest_count() {
        let (one, other) = (file(&[("1", "3"), ("2", "5")]), file(&[("4", "6")]));
        let manifest = br#"{"files":[{"fileName":"1_2_0.parquet","fileLen":7}]}"#.as_slice();
        let files = [
            ("h/manifest_2", manifest),
            ("h/manifest_1", b"torn".as_slice()),
            ("h/1_2_0.parquet", &one),
            ("h/4_4_0.parquet", &other),
        ];
        for version in [Some(b"2".as_slice()), Some(b"x"), None] {
            let storage = MemoryStorage::holding(files.into_iter().chain(version.map(|text| ("h/_version_", text))));
            let instants = instants(&*storage, "h").unwrap();
            let times = instants
                .iter()
                .map(|one| (one.requested_time.as_str(), one.completion_time.as_ref().map(CompletionTime::as_str)));
            assert!(times.eq([("1", Some("3")), ("2", Some("5"))]), "{version:?}");
        }
    }

    /// Rows of requested time, completion time and action; the metadata has all three.
    fn full_file(rows: &[(&str, Option<&str>, &str)]) -> Vec<u8> {
        let requested: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.0)).collect::<StringArray>());
        let completion: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<StringArray>());
        let action: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.2)).collect::<StringArray>());
        let metadata = rows.iter().map(|row| format!(r#"{{"operationType":"OF {}"}}"#, row.0));
        let metadata: ArrayRef = Arc::new(metadata.map(String::into_bytes).map(Some).collect::<BinaryArray>());
        let columns = [
            ("instantTime", requested, true),
            ("completionTime", completion, true),
            ("action", action, true),
            ("metadata", metadata, true),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn writes_of_a_range_are_visited_with_their_metadata() {
        let one = full_file(&[("1", Some("3"), "deltacommit"), ("2", Some("9"), "commit"), ("3", Some("4"), "clean")]);
        let other = full_file(&[("5", Some("6"), "replacecommit"), ("6", None, "deltacommit")]);
        let manifest = br#"{"files":[{"fileName":"1_3_0.parquet"},{"fileName":"5_6_0.parquet"}]}"#;
        let whole = [("h/manifest_1", manifest.as_slice()), ("h/1_3_0.parquet", &one), ("h/5_6_0.parquet", &other)];
        let visited = |files: &[(&'static str, &[u8])], begin: &str, end: Option<&str>, from: Option<&str>| {
            let range = TimelineRange {
                begin: Some(begin.into()),
                end: end.map(TimelinePosition::from),
                ..TimelineRange::default()
            };
            let mut visited = Vec::new();
            let mut visit = |write: &Instant, metadata: CommitMetadata| {
                assert_eq!(metadata.operation, format!("OF {}", write.requested_time));
                visited.push(format!("{write}"));
                Ok(())
            };
            visit_writes(
                &*MemoryStorage::holding(files.iter().copied()),
                "h",
                &range,
                from.map(RequestedTime::from).as_ref(),
                &mut visit,
            )
            .unwrap();
            visited
        };
        assert_eq!(visited(&whole, "0", None, None), ["1.deltacommit", "2.commit", "5.replacecommit"]);
        assert_eq!(visited(&whole, "3", None, None), ["2.commit", "5.replacecommit"]);
        assert_eq!(visited(&whole, "3", Some("6"), None), ["5.replacecommit"]);
        // Files with all requests before the look-back or after the end are not opened.
        assert_eq!(visited(&[whole[0], whole[2]], "5", None, Some("4")), ["5.replacecommit"]);
        assert_eq!(visited(&[whole[0], whole[1]], "0", Some("4"), None), ["1.deltacommit"]);
    }

    #[test]
    fn metadata_is_found_by_instant_and_action() {
        let one =
            full_file(&[("1", Some("3"), "deltacommit"), ("2", Some("9"), "compaction"), ("2", Some("4"), "clean")]);
        let manifest = br#"{"files":[{"fileName":"1_2_0.parquet"},{"fileName":"5_6_0.parquet"}]}"#;
        // The second file is not opened.
        let storage = MemoryStorage::holding([("h/manifest_1", manifest.as_slice()), ("h/1_2_0.parquet", &one)]);
        let found = |time: &str, action| {
            let (requested_time, state) = (time.into(), InstantState::Completed);
            let wanted = Instant { requested_time, completion_time: None, action, state, file_name: String::new() };
            metadata(&*storage, "h", &wanted, false).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(found("2", Action::Commit).as_deref(), Some(r#"{"operationType":"OF 2"}"#));
        assert_eq!((found("2", Action::Rollback), found("3", Action::Commit)), (None, None));
    }

    #[test]
    fn without_manifest_history_is_empty_and_a_truncated_one_is_an_error() {
        let storage = MemoryStorage::holding([("h/x", b"".as_slice())]);
        assert!(instants(&*storage, "h").unwrap().is_empty());
        assert!(instants(&*storage, "none").unwrap().is_empty());
        let storage = MemoryStorage::holding([("h/manifest_1", b"{".as_slice())]);
        let error = instants(&*storage, "h").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTable);
        assert!(error.location().path.as_deref().is_some_and(|path| path.ends_with("h/manifest_1")));
    }
}
