//! The archive up to table version 7: log files `.commits_.archive.<n>_1-0-1`, with an entry for each state of an
//! instant.
//!
//! The newest file is replaced by one with another block until it is large. So it is whole at any time, and there are
//! few files.

use bytes::Bytes;

use super::changed_archive::changed_by_another;
use crate::service_table::ServiceTable;
use mortice_base::error::Result;
use mortice_base::names::ArchiveFileName;
use mortice_commit::commit::{TimelineWriter, epoch_text, read_to_replace, replace_unchanged};
use mortice_formats::log::writer::{BlockHeader, avro_block_of_datums};
use mortice_merge::config::TimelineZone;
use mortice_storage::{FileStatus, FileVersion, FolderEntry};
use mortice_table::timeline::metadata::{
    ARCHIVED_ENTRY_SCHEMA, ArchivedEntryEncoder, HoodieRequestedReplaceMetadata, TimelineMetadata,
};
use mortice_table::timeline::{Action, ArchivedAction, Instant, InstantState};

/// Files of so many bytes are not added to.
const LARGE: u64 = 1 << 20;
const TOKEN: &str = "1-0-1";

/// The newest file of the archive, as it was read.
pub(crate) struct LogBase {
    version: i64,
    /// None if the next file is begun.
    content: Option<(Bytes, FileVersion)>,
}

impl LogBase {
    /// Reads the newest file of the archive.
    pub(super) fn read(table: &ServiceTable) -> Result<Self> {
        let folder = table.in_store(&table.config.archive_folder);
        match newest_file(table, &folder)? {
            Some((name, len)) if len < LARGE => {
                let path = format!("{folder}/{}", name.name);
                let content = read_to_replace(&*table.store, &path)?;
                Ok(Self { version: name.version, content: Some(content.ok_or_else(|| changed_by_another(&path))?) })
            }
            newest => Ok(Self { version: newest.map_or(0, |(name, _)| name.version).saturating_add(1), content: None }),
        }
    }
}

/// Adds instants to the archive.
pub(super) fn append(table: &ServiceTable, base: LogBase, instants: &[Instant]) -> Result<()> {
    let block = block_of(&table.timeline_writer(), instants, table.config.timeline_zone)?;
    let folder = table.in_store(&table.config.archive_folder);
    let path = format!("{folder}/.commits_.archive.{}_{TOKEN}", base.version);
    let (old, version) = base.content.unzip();
    let content = Bytes::from([old.unwrap_or_default().as_ref(), block.as_slice()].concat());
    let written = replace_unchanged(&*table.store, &path, &content, version.as_ref())?;
    written.map(drop).ok_or_else(|| changed_by_another(&table.store.full_path(&path)))
}

fn newest_file(table: &ServiceTable, folder: &str) -> Result<Option<(ArchiveFileName, u64)>> {
    let entries = table.store.list(folder)?.unwrap_or_default();
    let files = entries.into_iter().filter_map(|entry| match entry {
        FolderEntry::File(status) => ArchiveFileName::parse(&status.name).map(|name| (name, status.len)),
        FolderEntry::Folder(_) => None,
    });
    Ok(files.max_by_key(|(name, _)| name.version))
}

fn block_of(writer: &TimelineWriter, instants: &[Instant], zone: TimelineZone) -> Result<Vec<u8>> {
    let encoder = ArchivedEntryEncoder::new()?;
    let files = writer.files_with_status()?;
    let mut datums = Vec::new();
    for instant in instants {
        let is_same = |file: &&(Instant, FileStatus)| {
            file.0.requested_time == instant.requested_time
                && file.0.action.completes_as() == instant.action.completes_as()
        };
        let mut states: Vec<&(Instant, FileStatus)> = files.iter().filter(is_same).collect();
        states.sort_by_key(|(state, _)| state.state);
        for (state, status) in states {
            let content =
                writer.read(&state.file_name)?.ok_or_else(|| changed_by_another(&writer.path(&state.file_name)))?;
            let entered = epoch_text(status.modified_ms, zone).unwrap_or_else(|| instant.requested_time.to_string());
            datums.push(encoder.encode(state, &content, &entered)?);
        }
    }
    let header = BlockHeader::of_archive().with_schema(ARCHIVED_ENTRY_SCHEMA.trim());
    Ok(avro_block_of_datums(&datums, &header)?.bytes().to_vec())
}

/// Writes instants to an archive that is empty, a file for each chunk.
pub(super) fn write_all<'a>(table: &ServiceTable, chunks: impl Iterator<Item = &'a [ArchivedAction]>) -> Result<()> {
    let encoder = ArchivedEntryEncoder::new()?;
    let header = BlockHeader::of_archive().with_schema(ARCHIVED_ENTRY_SCHEMA.trim());
    for (number, actions) in (1_u64..).zip(chunks) {
        let mut datums = Vec::new();
        for ArchivedAction { instant, metadata, plan } in actions {
            if let Some(plan) = plan {
                let (action, state) = (planned_by(instant.action), state_of_plan(instant.action, plan));
                let requested = Instant { state, action, ..instant.clone() };
                datums.push(encoder.encode(&requested, plan, instant.requested_time.as_str())?);
            }
            let completed =
                instant.completion_time.as_ref().map_or(instant.requested_time.as_str(), |time| time.as_str());
            datums.push(encoder.encode(instant, metadata.as_deref().unwrap_or_default(), completed)?);
        }
        let block = avro_block_of_datums(&datums, &header)?;
        let path = format!("{}/.commits_.archive.{number}_{TOKEN}", table.in_store(&table.config.archive_folder));
        table.store.put(&path, &Bytes::from(block.bytes().to_vec()), None)?;
    }
    Ok(())
}

/// The state whose content the history has for a plan. Of a write that replaces file groups Hudi archives the inflight
/// file (`MetadataConversionUtils.createLSMTimelineInstant`).
fn state_of_plan(completed: Action, plan: &[u8]) -> InstantState {
    match completed {
        Action::ReplaceCommit if HoodieRequestedReplaceMetadata::from_bytes(plan).is_err() => InstantState::Inflight,
        _ => InstantState::Requested,
    }
}

/// The action of a plan in the archive.
fn planned_by(completed: Action) -> Action {
    match completed {
        Action::Commit => Action::Compaction,
        Action::DeltaCommit => Action::LogCompaction,
        other => other,
    }
}

/// The names of the files of the archive, and of the plan of a merge of them.
pub(super) fn files(table: &ServiceTable, folder: &str) -> Result<Vec<String>> {
    let names = table.store.list(folder)?.unwrap_or_default().into_iter().map(|entry| entry.name().to_owned());
    Ok(names.filter(|name| ArchiveFileName::parse(name).is_some() || name == "mergeArchivePlan").collect())
}
