//! The archived timeline of layout 1 (`HoodieArchivedTimeline`, `HoodieArchivedMetaEntry`).
//!
//! ```text
//! archived/.commits_.archive.<n>_1-0-1   log files of Avro data blocks: one record for each state of an instant
//! archived/mergeArchivePlan              plan of a merge of these files that has not finished: its output may be truncated
//! ```
//! Metadata is stored as Avro records, even if the active timeline has it as JSON: an entry has one member for each
//! kind of metadata. `stateTransitionTime`, since 0.14, is the time at which the instant entered the state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value as Json;

use super::archived_action::ArchivedAction;
use super::avro_value::{AvroRecord, MetadataValue};
use super::commit_metadata::{CommitMetadata, from_record};
use super::instant::{Action, Instant, InstantState};
use super::metadata::content_of_member;
use super::range::{TimelineRange, WriteVisitor};
use mortice_avro::{ArrowMapping, Datum, DecodeProgram, Decoder, RequestedColumn, Schema, Value, decode_value};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{ArchiveFileName, CompletionTime, RequestedTime};
use mortice_formats::log::content::avro_data;
use mortice_formats::log::{Block, BlockKind, BlockType, ForwardScan, HeaderKey};
use mortice_storage::{FileSource, FolderEntry, Storage};

const MERGE_PLAN: &str = "mergeArchivePlan";

/// The fields of an entry that identify its instant and state.
const HEAD: [&str; 4] = ["commitTime", "actionType", "actionState", "stateTransitionTime"];

/// How often the folder is listed if its files disappear meanwhile.
const LISTINGS: usize = 3;

/// The prefix of members that contain metadata.
const MEMBER: &str = "hoodie";

/// Visits the completed writes that were requested in a range, file by file, oldest file first.
pub(super) fn visit_writes(
    storage: &dyn Storage,
    folder: &str,
    range: &TimelineRange,
    visit: &mut WriteVisitor<'_>,
) -> Result<()> {
    let mut seen = BTreeSet::new();
    visit_entries(storage, folder, &mut |entries| {
        for (at, instant) in entries.instants()? {
            let is_wanted = instant.is_completed_write() && range.contains(&(&instant.requested_time).into());
            if is_wanted && seen.insert(instant.requested_time.clone()) {
                visit(&instant, entries.commit_metadata(at, &instant)?)?;
            }
        }
        Ok(())
    })
}

/// Which archived writes are looked for.
pub(super) struct WantedWrites<'a> {
    /// All of them were requested at this time or later.
    pub(super) from: Option<&'a RequestedTime>,
    /// These are among them, if they were archived.
    pub(super) known: &'a BTreeSet<RequestedTime>,
    /// Returns true for those that are visited.
    pub(super) is_wanted: &'a dyn Fn(&Instant) -> bool,
}

/// Visits completed writes, newest file first. Files are in the order of archiving: if one has instants from before
/// `from`, and all known writes were found, older files are not read.
pub(super) fn visit_wanted_writes(
    storage: &dyn Storage,
    folder: &str,
    wanted: &WantedWrites<'_>,
    visit: &mut WriteVisitor<'_>,
) -> Result<()> {
    let (mut again, mut seen) = (LISTINGS, BTreeSet::new());
    loop {
        again -= 1;
        match visit_newest_first(storage, folder, wanted, (&mut seen, &mut *visit)) {
            Err(error) if error.kind() == ErrorKind::NotFound && again > 0 => {}
            done => return done,
        }
    }
}

fn visit_newest_first(
    storage: &dyn Storage,
    folder: &str,
    wanted: &WantedWrites<'_>,
    (seen, visit): (&mut BTreeSet<RequestedTime>, &mut WriteVisitor<'_>),
) -> Result<()> {
    for name in files(storage, folder)?.into_iter().rev() {
        let mut reaches_back = false;
        visit_files(storage, folder, &[name], &mut |entries| {
            for (at, instant) in entries.instants()? {
                reaches_back |= wanted.from.is_some_and(|from| instant.requested_time < *from);
                let is_wanted = instant.is_completed_write() && (wanted.is_wanted)(&instant);
                if is_wanted && seen.insert(instant.requested_time.clone()) {
                    visit(&instant, entries.commit_metadata(at, &instant)?)?;
                }
            }
            Ok(())
        })?;
        if reaches_back && wanted.known.is_subset(seen) {
            break;
        }
    }
    Ok(())
}

/// Returns all archived instants, each in its highest archived state, sorted.
pub(super) fn instants(storage: &dyn Storage, folder: &str) -> Result<Vec<Instant>> {
    let mut highest: BTreeMap<(RequestedTime, Action), Instant> = BTreeMap::new();
    visit_entries(storage, folder, &mut |entries| {
        for (_, instant) in entries.instants()? {
            let key = (instant.requested_time.clone(), instant.action.completes_as());
            if highest.get(&key).is_none_or(|known| known.state < instant.state) {
                highest.insert(key, instant);
            }
        }
        Ok(())
    })?;
    Ok(highest.into_values().collect())
}

/// Returns all completed instants with the contents of their files.
pub(super) fn actions(storage: &dyn Storage, folder: &str) -> Result<Vec<ArchivedAction>> {
    let mut completed: BTreeMap<(RequestedTime, Action), ArchivedAction> = BTreeMap::new();
    let mut plans: BTreeMap<(RequestedTime, Action), Vec<u8>> = BTreeMap::new();
    visit_entries(storage, folder, &mut |entries| {
        for (at, instant) in entries.instants()? {
            let key = (instant.requested_time.clone(), instant.action.completes_as());
            match instant.state {
                InstantState::Inflight => {}
                InstantState::Requested => {
                    plans.extend(entries.content(at)?.map(|plan| (key, plan)));
                }
                InstantState::Completed => {
                    let metadata = entries.content(at)?;
                    completed.insert(key, ArchivedAction { instant, metadata, plan: None });
                }
            }
        }
        Ok(())
    })?;
    let with_plan = |(key, action)| ArchivedAction { plan: plans.remove(&key), ..action };
    Ok(completed.into_iter().map(with_plan).collect())
}

/// How many of the newest files an archiver may have written before it was stopped.
const NEWEST_FILES: usize = 2;

/// Returns the completed instants of the newest files.
pub(super) fn newest_instants(storage: &dyn Storage, folder: &str) -> Result<BTreeSet<(RequestedTime, Action)>> {
    let names = files(storage, folder)?;
    let newest = names.get(names.len().saturating_sub(NEWEST_FILES)..).unwrap_or_default();
    let mut found = BTreeSet::new();
    visit_files(storage, folder, newest, &mut |entries| {
        let completed = entries.instants()?.into_iter().filter(|(_, instant)| instant.state == InstantState::Completed);
        found.extend(completed.map(|(_, instant)| (instant.requested_time, instant.action)));
        Ok(())
    })?;
    Ok(found)
}

/// Returns the archived metadata of a completed write, `None` if it is not in the archive.
pub(super) fn commit_metadata(storage: &dyn Storage, folder: &str, wanted: &Instant) -> Result<Option<CommitMetadata>> {
    let mut found = None;
    visit_entries(storage, folder, &mut |entries| {
        for (at, instant) in entries.instants()? {
            if instant.state == InstantState::Completed && instant.is_same(wanted) {
                found = Some(entries.commit_metadata(at, &instant)?);
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the archived metadata of an instant in a state as JSON, `None` if there is none.
pub(super) fn metadata(
    storage: &dyn Storage,
    folder: &str,
    wanted: &Instant,
    state: InstantState,
) -> Result<Option<Json>> {
    let mut found = None;
    visit_entries(storage, folder, &mut |entries| {
        for (at, instant) in entries.instants()? {
            if instant.state == state && instant.is_same(wanted) {
                found = entries.json(at)?.or(found.take());
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Visits the blocks of all files, oldest file first. A file that disappears meanwhile has been merged into a larger
/// one, which was written before: then all files are visited again.
fn visit_entries(storage: &dyn Storage, folder: &str, visit: &mut dyn FnMut(&Entries) -> Result<()>) -> Result<()> {
    let mut again = LISTINGS;
    loop {
        again -= 1;
        match visit_listed(storage, folder, visit) {
            Err(error) if error.kind() == ErrorKind::NotFound && again > 0 => {}
            done => return done,
        }
    }
}

fn visit_listed(storage: &dyn Storage, folder: &str, visit: &mut dyn FnMut(&Entries) -> Result<()>) -> Result<()> {
    visit_files(storage, folder, &files(storage, folder)?, visit)
}

fn visit_files(
    storage: &dyn Storage,
    folder: &str,
    names: &[String],
    visit: &mut dyn FnMut(&Entries) -> Result<()>,
) -> Result<()> {
    for name in names {
        let source = storage.open(&format!("{folder}/{name}"))?;
        for block in ForwardScan::new(Arc::clone(&source)) {
            let block = block?;
            if let BlockKind::Corrupt(damage) = &block.kind {
                if unfinished_merge(storage, folder)?.as_deref() == Some(name.as_str()) {
                    break;
                }
                let message = format!("the archived timeline is corrupt: {}", damage.reason);
                return Err(Error::corrupt(message)
                    .at_offset(block.offset)
                    .in_block(block.index)
                    .in_file(source.path()));
            }
            let entries =
                Entries::read(&source, &block).and_then(|entries| entries.as_ref().map_or(Ok(()), &mut *visit));
            entries.map_err(|error| error.in_block(block.index).in_file(source.path()))?;
        }
    }
    Ok(())
}

/// Returns the names of the archive files in the order in which they were created.
fn files(storage: &dyn Storage, folder: &str) -> Result<Vec<String>> {
    let names = storage.list(folder)?.into_iter().flatten().filter_map(|entry| match entry {
        FolderEntry::File(status) => ArchiveFileName::parse(&status.name),
        FolderEntry::Folder(_) => None,
    });
    let mut names: Vec<ArchiveFileName> = names.collect();
    names.sort_by_key(|name| name.version);
    Ok(names.into_iter().map(|name| name.name).collect())
}

/// Returns the file that an unfinished merge of archive files was writing. The merged files have its entries, too.
fn unfinished_merge(storage: &dyn Storage, folder: &str) -> Result<Option<String>> {
    let plan = match storage.open(&format!("{folder}/{MERGE_PLAN}")).and_then(|source| source.read_all()) {
        Ok(bytes) => AvroRecord::read(&bytes, &["mergedArchiveFileName"])?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(plan.root().field("mergedArchiveFileName")?.map(MetadataValue::text).transpose()?.map(str::to_owned))
}

/// The entries of a block.
struct Entries {
    content: Bytes,
    datums: Vec<Datum>,
    schema: Schema,
    heads: AvroRecord,
}

impl Entries {
    fn read(source: &Arc<dyn FileSource>, block: &Block) -> Result<Option<Self>> {
        if block.kind != BlockKind::Sound(BlockType::AvroData) || block.content.is_empty() {
            return block.refusal().map_or(Ok(None), Err);
        }
        let schema = block.header.get(HeaderKey::Schema);
        let schema = Schema::parse(&schema.ok_or_else(|| Error::corrupt("a data block has no SCHEMA in its header"))?)?;
        let content = source.read(block.content.clone())?;
        let datums = avro_data::records(&content)?.datums;
        let heads = decode(&content, &datums, &schema, &HEAD)?;
        Ok(Some(Self { content, datums, schema, heads }))
    }

    /// Returns the instants of the entries, each in the entry's state. Instants of unknown actions are omitted.
    fn instants(&self) -> Result<Vec<(usize, Instant)>> {
        let heads = (0..self.datums.len()).map(|at| Ok(instant(self.heads.row(at))?.map(|instant| (at, instant))));
        heads.filter_map(Result::transpose).collect()
    }

    fn commit_metadata(&self, at: usize, instant: &Instant) -> Result<CommitMetadata> {
        let member = match instant.action {
            Action::ReplaceCommit => "hoodieReplaceCommitMetadata",
            _ => "hoodieCommitMetadata",
        };
        let entry = self.members(at, &[member])?;
        Ok(entry.root().field(member)?.map(from_record).transpose()?.unwrap_or_default())
    }

    /// Returns the content of the file that the entry is of, in the Avro format.
    fn content(&self, at: usize) -> Result<Option<Vec<u8>>> {
        let datum = self.datums.get(at).ok_or_else(|| Error::corrupt("an entry of the block is missing"))?;
        let start = datum.at as usize;
        let bytes = self.content.get(start..start.saturating_add(datum.len as usize));
        let bytes = bytes.ok_or_else(|| Error::corrupt("an entry of the block is cut"))?;
        let Value::Object(members) = decode_value(self.schema.root(), bytes)? else { return Ok(None) };
        for (name, value) in members {
            if matches!(value, Value::Null) {
                continue;
            }
            if let Some(content) = content_of_member(&name, value)? {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }

    /// Returns the entry's member with metadata as JSON.
    fn json(&self, at: usize) -> Result<Option<Json>> {
        let members: Vec<&str> = self
            .schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .filter(|name| name.starts_with(MEMBER))
            .collect();
        let Json::Object(members) = self.members(at, &members)?.root().json()? else { return Ok(None) };
        Ok(members.into_iter().map(|(_, value)| value).find(|value| !value.is_null()))
    }

    fn members(&self, at: usize, names: &[&str]) -> Result<AvroRecord> {
        let datum = self.datums.get(at).ok_or_else(|| Error::corrupt("an entry of the block is missing"))?;
        decode(&self.content, &[*datum], &self.schema, names)
    }
}

fn decode(content: &Bytes, datums: &[Datum], schema: &Schema, columns: &[&str]) -> Result<AvroRecord> {
    let wants = columns
        .iter()
        .filter(|name| schema.field(name).is_some())
        .map(|name| RequestedColumn::Value((*name).to_owned()));
    let program = DecodeProgram::compile(schema, schema, &wants.collect::<Vec<_>>(), ArrowMapping::File)?;
    let mut decoder = Decoder::new(Arc::new(program));
    decoder.decode(content, datums)?;
    decoder.finish().map(AvroRecord::from_batch)
}

/// Parses the instant of an entry. Entries without a state are of releases that archived completed instants only.
fn instant(entry: MetadataValue<'_>) -> Result<Option<Instant>> {
    let text = |name| -> Result<Option<&str>> { entry.field(name)?.map(MetadataValue::text).transpose() };
    let (Some(time), Some(action)) = (text("commitTime")?, text("actionType")?.and_then(Action::named)) else {
        return Ok(None);
    };
    let state = text("actionState")?.map_or(Some(InstantState::Completed), InstantState::named);
    let Some(state) = state else { return Ok(None) };
    let is_completed = state == InstantState::Completed;
    let completion_time = text("stateTransitionTime")?.filter(|time| is_completed && !time.is_empty());
    Ok(Some(Instant {
        requested_time: RequestedTime::from_metadata("commitTime", time)?,
        completion_time: completion_time
            .map(|time| CompletionTime::from_metadata("stateTransitionTime", time))
            .transpose()?,
        action: if is_completed { action.completes_as() } else { action },
        state,
        file_name: String::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::MemoryStorage;
    use mortice_avro::{write_bytes, write_long};
    use mortice_formats::log::{LOG_FORMAT_VERSION, MAGIC};

    const SCHEMA: &str = r#"{"type":"record","name":"HoodieArchivedMetaEntry","fields":[
        {"name":"hoodieCommitMetadata","type":["null",{"type":"record","name":"HoodieCommitMetadata","fields":[
            {"name":"partitionToWriteStats","type":["null",{"type":"map","values":{"type":"array","items":
                {"type":"record","name":"HoodieWriteStat","fields":[{"name":"path","type":["null","string"]}]}}}]},
            {"name":"operationType","type":["null","string"]}]}]},
        {"name":"commitTime","type":["null","string"]},
        {"name":"actionType","type":["null","string"]},
        {"name":"actionState","type":["null","string"]}]}"#;

    fn text(value: Option<&str>, out: &mut Vec<u8>) {
        write_long(i64::from(value.is_some()), out);
        if let Some(value) = value {
            write_bytes(value.as_bytes(), out);
        }
    }

    /// Encodes an entry given as `time action state`; a completed instant wrote `p/<time>`.
    fn entry(description: &str) -> Vec<u8> {
        let mut parts = description.split(' ');
        let (time, action, state) = (parts.next().unwrap(), parts.next().unwrap(), parts.next());
        let mut out = Vec::new();
        write_long(1, &mut out);
        // A map of one partition, an array of one file, and the ends of both.
        write_long(1, &mut out);
        write_long(1, &mut out);
        write_bytes(b"p", &mut out);
        write_long(1, &mut out);
        text(Some(&format!("p/{time}")), &mut out);
        write_long(0, &mut out);
        write_long(0, &mut out);
        text(Some("UPSERT"), &mut out);
        text(Some(time), &mut out);
        text(Some(action), &mut out);
        text(state, &mut out);
        out
    }

    /// A log file of one block.
    fn file(entries: &[&str]) -> Vec<u8> {
        let mut content = 1_i32.to_be_bytes().to_vec();
        content.extend(i32::try_from(entries.len()).unwrap().to_be_bytes());
        for one in entries.iter().map(|one| entry(one)) {
            content.extend(i32::try_from(one.len()).unwrap().to_be_bytes());
            content.extend(one);
        }
        let mut rest = LOG_FORMAT_VERSION.to_be_bytes().to_vec();
        rest.extend((BlockType::AvroData as i32).to_be_bytes());
        rest.extend(1_i32.to_be_bytes());
        rest.extend((HeaderKey::Schema as i32).to_be_bytes());
        rest.extend(i32::try_from(SCHEMA.len()).unwrap().to_be_bytes());
        rest.extend(SCHEMA.as_bytes());
        rest.extend((content.len() as u64).to_be_bytes());
        rest.extend(content);
        rest.extend(0_i32.to_be_bytes());
        let size = (rest.len() + 8) as u64;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(size.to_be_bytes());
        bytes.extend(rest);
        bytes.extend((size + MAGIC.len() as u64).to_be_bytes());
        bytes
    }

    fn visited(files: &[(&str, &[u8])], begin: &str, end: &str) -> Result<Vec<String>> {
        let range = TimelineRange { begin: Some(begin.into()), end: Some(end.into()), ..TimelineRange::default() };
        let mut visited = Vec::new();
        let mut visit = |write: &Instant, metadata: CommitMetadata| {
            visited.push(format!("{write} {} {}", metadata.operation, metadata.paths().collect::<String>()));
            Ok(())
        };
        visit_writes(&*MemoryStorage::holding(files.iter().copied()), "a", &range, &mut visit)?;
        Ok(visited)
    }

    #[test]
    fn files_are_read_from_the_newest_on_as_far_as_necessary() {
        let visited = |known: &[&str]| {
            let one = file(&["2 commit COMPLETED"]);
            let two = file(&["1 commit COMPLETED", "3 commit COMPLETED"]);
            let three = file(&["4 commit COMPLETED", "5 clean COMPLETED"]);
            let files = [
                ("a/.commits_.archive.1_1-0-1", one.as_slice()),
                ("a/.commits_.archive.2_1-0-1", &two),
                ("a/.commits_.archive.3_1-0-1", &three),
            ];
            let known = known.iter().map(|time| RequestedTime::from(*time)).collect();
            let wanted = WantedWrites {
                from: Some(&"2".into()),
                known: &known,
                is_wanted: &|write| write.requested_time >= "2".into(),
            };
            let mut visited = Vec::new();
            let mut visit = |write: &Instant, _: CommitMetadata| {
                visited.push(write.requested_time.to_string());
                Ok(())
            };
            visit_wanted_writes(&*MemoryStorage::holding(files), "a", &wanted, &mut visit)?;
            Ok::<_, Error>(visited)
        };
        assert_eq!(visited(&["3"]).unwrap(), ["4", "3"]);
        // A merge of files has put old instants into a new one.
        assert_eq!(visited(&["2", "3"]).unwrap(), ["4", "3", "2"]);
    }

    #[test]
    fn completed_writes_of_the_range_are_visited_once() {
        let one =
            file(&["1 commit COMPLETED", "2 deltacommit INFLIGHT", "2 deltacommit COMPLETED", "3 clean COMPLETED"]);
        let ten = file(&["4 deltacommit", "2 deltacommit COMPLETED", "5 commit COMPLETED"]);
        let files = [
            ("a/.commits_.archive.10_1-0-1", ten.as_slice()),
            ("a/.commits_.archive.9_1-0-1", one.as_slice()),
            ("a/other", b"x".as_slice()),
        ];
        let all = visited(&files, "1", "4").unwrap();
        assert_eq!(all, ["2.deltacommit UPSERT p/2", "4.deltacommit UPSERT p/4"]);
        assert!(visited(&[], "0", "9").unwrap().is_empty());
    }

    #[test]
    fn a_torn_file_is_an_error_unless_a_merge_was_writing_it() {
        let mut torn = file(&["1 commit COMPLETED"]);
        torn.truncate(torn.len() - 9);
        let files = [("a/.commits_.archive.1_1-0-1", torn.as_slice())];
        let error = visited(&files, "0", "9").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptLog);
        assert!(error.location().path.as_deref().is_some_and(|path| path.ends_with("archive.1_1-0-1")));

        let mut plan = b"Obj\x01".to_vec();
        let schema = r#"{"type":"record","name":"HoodieMergeArchiveFilePlan","fields":[
            {"name":"mergedArchiveFileName","type":["null","string"]}]}"#;
        write_long(1, &mut plan);
        write_bytes(b"avro.schema", &mut plan);
        write_bytes(schema.as_bytes(), &mut plan);
        write_long(0, &mut plan);
        plan.extend([7; 16]);
        let mut row = Vec::new();
        text(Some(".commits_.archive.1_1-0-1"), &mut row);
        write_long(1, &mut plan);
        write_bytes(&row, &mut plan);
        plan.extend([7; 16]);
        let whole = file(&["1 commit COMPLETED"]);
        let files =
            [files[0], ("a/.commits_.archive.2_1-0-1", whole.as_slice()), ("a/mergeArchivePlan", plan.as_slice())];
        assert_eq!(visited(&files, "0", "9").unwrap(), ["1.commit UPSERT p/1"]);
    }
}
