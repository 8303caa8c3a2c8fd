//! Archived writes, layout 1 (`HoodieArchivedTimeline`, `HoodieArchivedMetaEntry`).
//!
//! ```text
//! archived/.commits_.archive.<n>_1-0-1   log files of Avro data blocks: one record for each state of an instant
//! archived/mergeArchivePlan              a merge of such files that was under way: its result may be torn
//! ```
//! Commit metadata stands there as an Avro record, whatever form the active timeline had it in.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::avro_value::{Record, Value};
use super::commit_metadata::{CommitMetadata, of_value};
use super::instant::{Action, Instant, State};
use super::span::{Span, Visit};
use crate::avro::{Datum, Decoder, Program, Schema, Types, Want};
use crate::error::{Error, Kind, Result};
use crate::log::content::avro_data;
use crate::log::{Block, BlockKind, BlockType, Forward, HeaderKey};
use crate::names::LogFileName;
use crate::storage::{Entry, Place, Source};

const MERGE_PLAN: &str = "mergeArchivePlan";

/// Visits the completed writes that were requested in a span, file by file, the oldest first.
pub(super) fn visit_writes(place: &dyn Place, folder: &str, span: &Span, visit: &mut Visit<'_>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in files(place, folder)? {
        let path = format!("{folder}/{name}");
        let source = place.open(&path)?;
        for block in Forward::new(Arc::clone(&source)) {
            let block = block?;
            if let BlockKind::Corrupt(damage) = &block.kind {
                if unfinished_merge(place, folder)?.as_deref() == Some(name.as_str()) {
                    break;
                }
                let message = format!("the archived timeline is damaged: {}", damage.reason);
                return Err(Error::corrupt(message)
                    .at_offset(block.offset)
                    .in_block(block.index)
                    .in_file(source.path()));
            }
            visit_block(&source, &block, span, &mut seen, visit)
                .map_err(|error| error.in_block(block.index).in_file(source.path()))?;
        }
    }
    Ok(())
}

/// The names of the archive's files in the order in which they were begun.
fn files(place: &dyn Place, folder: &str) -> Result<Vec<String>> {
    let names = place.list(folder)?.into_iter().flatten().filter_map(|entry| match entry {
        Entry::File(status) => LogFileName::parse(&status.name).filter(|name| name.extension == "archive"),
        Entry::Folder(_) => None,
    });
    let mut names: Vec<LogFileName> = names.collect();
    names.sort_by_key(|name| name.version);
    Ok(names.into_iter().map(|name| name.name).collect())
}

/// The file that an unfinished merge of archive files was writing; what is in it is in the files merged, too.
fn unfinished_merge(place: &dyn Place, folder: &str) -> Result<Option<String>> {
    let plan = match place.open(&format!("{folder}/{MERGE_PLAN}")).and_then(|source| source.read_all()) {
        Ok(bytes) => Record::read(&bytes, &["mergedArchiveFileName"])?,
        Err(error) if error.kind() == Kind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(plan.root().field("mergedArchiveFileName")?.map(Value::text).transpose()?.map(str::to_owned))
}

fn visit_block(
    source: &Arc<dyn Source>,
    block: &Block,
    span: &Span,
    seen: &mut BTreeSet<String>,
    visit: &mut Visit<'_>,
) -> Result<()> {
    if block.kind != BlockKind::Sound(BlockType::AvroData) || block.content.is_empty() {
        return block.refusal().map_or(Ok(()), Err);
    }
    let schema = block.header.get(HeaderKey::Schema);
    let schema = Schema::parse(&schema.ok_or_else(|| Error::corrupt("a data block without SCHEMA in its header"))?)?;
    let content = source.read(block.content.clone())?;
    let datums: Vec<Datum> =
        avro_data::records(&content)?.datums.into_iter().map(|(at, len)| Datum { at, len }).collect();
    let heads = decode(&content, &datums, &schema, &["commitTime", "actionType", "actionState"])?;
    for (at, datum) in datums.into_iter().enumerate() {
        let Some(instant) = completed_write(heads.row(at))? else { continue };
        if !span.contains(&instant.requested_time) || !seen.insert(instant.requested_time.clone()) {
            continue;
        }
        let member = match instant.action {
            Action::ReplaceCommit => "hoodieReplaceCommitMetadata",
            _ => "hoodieCommitMetadata",
        };
        let told = decode(&content, &[datum], &schema, &[member])?;
        let metadata = told.root().field(member)?.map(of_value).transpose()?;
        visit(&instant, metadata.unwrap_or_else(CommitMetadata::default))?;
    }
    Ok(())
}

fn decode(content: &Bytes, datums: &[Datum], schema: &Schema, columns: &[&str]) -> Result<Record> {
    let wants = columns.iter().filter(|name| schema.field(name).is_some()).map(|name| Want::Value((*name).to_owned()));
    let program = Program::compile(schema, schema, &wants.collect::<Vec<_>>(), Types::File)?;
    let mut decoder = Decoder::new(Arc::new(program));
    decoder.decode(content, datums)?;
    decoder.finish().map(Record::of_batch)
}

/// The completed write that an entry tells of; entries without a state are older than states, and of completed instants.
fn completed_write(entry: Value<'_>) -> Result<Option<Instant>> {
    let text = |name| -> Result<Option<&str>> { entry.field(name)?.map(Value::text).transpose() };
    if text("actionState")?.is_some_and(|state| state != State::Completed.name()) {
        return Ok(None);
    }
    let action = text("actionType")?.and_then(Action::named).filter(|action| action.is_write());
    let (Some(time), Some(action)) = (text("commitTime")?, action) else { return Ok(None) };
    Ok(Some(Instant {
        requested_time: time.to_owned(),
        completion_time: None,
        action: action.completes_as(),
        state: State::Completed,
        file_name: String::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avro::{write_bytes, write_long};
    use crate::log::{LOG_FORMAT_VERSION, MAGIC};
    use crate::timeline::memory_place::MemoryPlace;

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

    /// `time action state`; a completed one wrote `p/<time>`.
    fn entry(told: &str) -> Vec<u8> {
        let mut parts = told.split(' ');
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
        let span = Span { begin: Some(begin.to_owned()), end: Some(end.to_owned()) };
        let mut told = Vec::new();
        let mut visit = |write: &Instant, metadata: CommitMetadata| {
            told.push(format!("{write} {} {}", metadata.operation, metadata.paths().collect::<String>()));
            Ok(())
        };
        visit_writes(&*MemoryPlace::holding(files.iter().copied()), "a", &span, &mut visit)?;
        Ok(told)
    }

    #[test]
    fn completed_writes_of_the_span_come_once() {
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
        assert_eq!(error.kind(), Kind::CorruptLog);
        assert!(error.place().path.as_deref().is_some_and(|path| path.ends_with("archive.1_1-0-1")));

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
