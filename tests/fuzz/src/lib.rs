//! The functions of the fuzz targets. Each takes arbitrary bytes; none may panic, hang, or use memory beyond a multiple
//! of its input. A stable test runs the committed seeds through the same functions.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use mortice::avro::{ArrowMapping, Datum, DecodeProgram, Decoder, RequestedColumn, Schema};
use mortice::bloom::{BloomFilter, BloomType};
use mortice::config::{Properties, PropertiesFile};
use mortice::filter::KeyFilter;
use mortice::hfile::{Cells, HFile};
use mortice::log::content::{avro_data, delete};
use mortice::log::{Block, BlockKind, BlockType, ForwardScan, LogFile, MAGIC, backward};
use mortice::orc::OrcFile;
use mortice::storage::FileSource;
use mortice::timeline::metadata::{
    HoodieCleanMetadata, HoodieCleanerPlan, HoodieCommitMetadata, HoodieCompactionPlan, HoodieIndexPlan,
    HoodieReplaceCommitMetadata, HoodieRequestedReplaceMetadata, HoodieRestoreMetadata, HoodieRestorePlan,
    HoodieRollbackMetadata, HoodieRollbackPlan, HoodieSavepointMetadata, MetadataFile, TimelineMetadata,
};

/// The number of rows is not bounded by the input if decoders take no bytes for them (a record without fields, an array
/// of nulls).
const MOST_ROWS: u64 = 10_000;

/// Bytes in memory, read as a whole (window 0) or in windows.
struct Memory {
    bytes: Bytes,
    window: u64,
}

impl FileSource for Memory {
    fn path(&self) -> &str {
        "memory"
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn window(&self) -> Option<u64> {
        (self.window > 0).then_some(self.window)
    }

    fn read(&self, range: Range<u64>) -> mortice::Result<Bytes> {
        assert!(range.start <= range.end && range.end <= self.len(), "a read outside the file");
        Ok(self.bytes.slice(range.start as usize..range.end as usize))
    }
}

fn memory(data: &[u8], window: u64) -> Arc<dyn FileSource> {
    Arc::new(Memory { bytes: Bytes::copy_from_slice(data), window })
}

type Framed = (Vec<Block>, bool);

fn framed(blocks: impl Iterator<Item = mortice::Result<Block>>) -> Framed {
    let (mut found, mut failed) = (Vec::new(), false);
    for block in blocks {
        match block {
            Ok(block) => found.push(block),
            Err(_) => failed = true,
        }
    }
    (found, failed)
}

/// A log file: the first byte selects a window, the others are the file. Blocks cover it without a gap, are the same
/// backwards and in windows, and all their contents can be read.
pub fn framing(data: &[u8]) {
    let Some((window, data)) = data.split_first() else { return };
    let (blocks, failed) = framed(ForwardScan::new(memory(data, 0)));
    let windowed = framed(ForwardScan::new(memory(data, u64::from(*window) + 1)));
    assert!(windowed == (blocks.clone(), failed), "other blocks by windows");
    let (mut reversed, _) = framed(backward(memory(data, 0)));
    reversed.reverse();
    assert!(reversed == blocks, "other blocks backwards");
    let mut end = 0;
    for block in &blocks {
        assert!(block.offset == end && block.end > end, "a gap before {block:?}");
        assert!(block.offset <= block.content.start && block.content.end <= block.end, "a content outside {block:?}");
        end = block.end;
    }
    assert!(failed || data.len() as u64 - end < MAGIC.len() as u64, "bytes left over");
    let log = LogFile::new(memory(data, 0));
    blocks.iter().for_each(|block| ask_everything(&log, block));
}

/// Calls all functions of a block.
#[allow(unexpected_cfgs)] // cargo-fuzz sets `fuzzing`
fn ask_everything(log: &LogFile, block: &Block) {
    let _ = (block.refusal(), log.content_head(block), log.deletes(block));
    // The parquet crate panics on some damaged files. Readers catch that and return an error, but libFuzzer reports a
    // panic.
    if block.kind == BlockKind::Sound(BlockType::ParquetData) && cfg!(fuzzing) {
        return;
    }
    let count = log.record_count(block).ok().flatten().unwrap_or(0);
    if let Ok(Some(positions)) = log.positions(block) {
        assert!(block.kind == BlockKind::Sound(BlockType::Delete) || positions.len() as u64 == count);
    }
    if count <= MOST_ROWS {
        let all = log.records(block, &KeyFilter::All);
        let some = log.records(block, &KeyFilter::keys(["k"]));
        if let (Ok(all), Ok(some)) = (all, some) {
            assert!(some.num_rows() <= all.num_rows());
        }
    }
}

/// Returns a valid frame around a type and the bytes after it.
fn frame(kind: u8, inside: &[&[u8]]) -> Vec<u8> {
    let inside = inside.concat();
    let size = (4 + 4 + inside.len() + 8) as u64;
    let head = [&MAGIC[..], &size.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, kind]].concat();
    [&head, &inside[..], &(size + 6).to_be_bytes()].concat()
}

/// The contents of a valid frame: a byte for the type, then header, content length, content and footer.
pub fn block(data: &[u8]) {
    let Some((kind, inside)) = data.split_first() else { return };
    let log = LogFile::new(memory(&frame(*kind, &[inside]), 0));
    let (blocks, failed) = framed(log.blocks(false));
    assert!(!failed && blocks.len() == 1, "a sound frame gave {blocks:?}");
    blocks.iter().for_each(|block| ask_everything(&log, block));
}

/// A header map, in a command block.
pub fn header(data: &[u8]) {
    let (blocks, failed) = framed(ForwardScan::new(memory(&frame(0, &[data, &[0; 12]]), 0)));
    assert!(!failed && blocks.len() == 1);
    for (name, value) in blocks.iter().flat_map(|block| block.header.named()) {
        assert!(!name.is_empty() && value.len() <= 3 * data.len());
    }
}

/// Writer's schema, reader's schema and an Avro content, each except the last after its length (2 bytes).
pub fn avro(data: &[u8]) {
    let Some((writer, rest)) = text(data) else { return };
    let Some((reader, content)) = text(rest) else { return };
    let (Ok(writer), Ok(reader)) = (Schema::parse(writer), Schema::parse(reader)) else { return };
    let Ok(records) = avro_data::records(content) else { return };
    let datums: Vec<Datum> = records.datums.into_iter().take(64).collect();
    for (reader, types) in [(&writer, ArrowMapping::File), (&reader, ArrowMapping::Table)] {
        let wants: Vec<RequestedColumn> =
            reader.fields().iter().map(|field| RequestedColumn::Value(field.name.clone())).collect();
        let Ok(program) = DecodeProgram::compile(&writer, reader, &wants, types) else { continue };
        let mut decoder = Decoder::new(Arc::new(program));
        if decoder.decode(content, &datums).is_ok() {
            let batch = decoder.finish();
            assert!(batch.is_err() || batch.is_ok_and(|batch| batch.num_rows() == datums.len()));
        }
    }
}

fn text(data: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = data.split_first_chunk::<2>()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

/// The content of a delete block; its first four bytes select the version.
pub fn deletes(data: &[u8]) {
    let log = LogFile::new(memory(&frame(1, &[&[0; 4], &(data.len() as u64).to_be_bytes(), data, &[0; 4]]), 0));
    framed(log.blocks(true)).0.iter().for_each(|block| ask_everything(&log, block));
    let content = Bytes::copy_from_slice(data);
    let Ok(deletes) = delete::deletes(&content) else { return };
    assert!(deletes.deleted.len() <= data.len() && deletes.text.len() <= 3 * data.len());
    for text in deletes.deleted.iter().flat_map(|one| [&one.key, &one.partition]).flatten() {
        assert!(text.start <= text.end && text.end as usize <= deletes.text.len());
    }
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn pairs(cells: mortice::Result<impl Iterator<Item = mortice::Result<Cells>>>) -> mortice::Result<Pairs> {
    let cells = cells?.collect::<mortice::Result<Vec<_>>>()?;
    Ok(cells.iter().flat_map(|cells| cells.iter().map(|(key, value)| (key.to_vec(), value.to_vec()))).collect())
}

/// An HFile: scans are the same in windows, and seeks agree with them.
pub fn hfile(data: &[u8]) {
    let scanned = |window| HFile::open(memory(data, window)).and_then(|file| pairs(Ok(file.scan()))).ok();
    let all = scanned(0);
    assert!(all == scanned(5000), "other cells by windows");
    let Ok(file) = HFile::open(memory(data, 0)) else { return };
    let _ = (file.schema(), file.info("hfile.LASTKEY"), file.entry_count(), file.blocks());
    let _ = (pairs(file.seek(&[&b"k"[..], b"a"])), pairs(file.seek_prefixes(&[b"k"])));
    let Some(all) = all else { return };
    assert!(all.is_sorted_by(|(one, _), (other, _)| one <= other));
    let some: Vec<&[u8]> = all.iter().step_by(7).take(64).map(|(key, _)| key.as_slice()).collect();
    let hits = |hit: &dyn Fn(&[u8]) -> bool| all.iter().filter(|(key, _)| hit(key)).cloned().collect::<Pairs>();
    let sought = pairs(file.seek(&some)).expect("a file that can be scanned");
    assert!(sought == hits(&|key| some.contains(&key)), "other cells by key");
    let begins: Vec<&[u8]> = some.iter().map(|key| &key[..key.len().min(2)]).collect();
    let begun = pairs(file.seek_prefixes(&begins)).expect("a file that can be scanned");
    assert!(begun == hits(&|key| begins.iter().any(|begin| key.starts_with(begin))), "other cells by prefix");
}

/// An ORC file: its row count is that of its rows, and they are the same in windows and stripe by stripe.
pub fn orc(data: &[u8]) {
    let Ok(file) = OrcFile::open(memory(data, 0)) else { return };
    let stripes = file.stripe_rows();
    let schema = file.schema();
    let statistics: Vec<_> = schema.fields().iter().map(|field| file.statistics(field.name())).collect();
    assert!(statistics.iter().flatten().all(|one| one.len() == stripes.len()), "statistics of other stripes");
    if file.row_count() > MOST_ROWS || stripes.iter().any(|rows| *rows > MOST_ROWS) || stripes.len() > 64 {
        return;
    }
    let all: Vec<usize> = (0..stripes.len()).collect();
    let rows = |file: &OrcFile, stripes| file.rows(&|_| true, stripes, 1000).collect::<mortice::Result<Vec<_>>>();
    let Ok(batches) = rows(&file, all.clone()) else { return };
    let count: usize = batches.iter().map(|(batch, _)| batch.num_rows()).sum();
    assert!(count as u64 == stripes.iter().sum::<u64>(), "other rows than the stripes are said to have");
    let by_windows = OrcFile::open(memory(data, 5000)).and_then(|file| rows(&file, all));
    assert!(by_windows.is_ok_and(|others| others == batches), "other rows by windows");
}

/// Two bytes for the record count, then a header value.
pub fn positions(data: &[u8]) {
    let Some((records, value)) = data.split_first_chunk::<2>() else { return };
    let records = usize::from(u16::from_be_bytes(*records));
    if let Ok(positions) = mortice::log::positions(value, records) {
        assert!(positions.len() == records && positions.is_sorted());
    }
}

/// A byte that selects the type, then the text of a Bloom filter. A filter that can be read is written as the same
/// text.
pub fn bloom(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else { return };
    let kind = if kind % 2 == 0 { BloomType::Simple } else { BloomType::DynamicV0 };
    let Some(filter) = std::str::from_utf8(text).ok().and_then(|text| BloomFilter::parse(text, kind).ok()) else {
        return;
    };
    let _ = filter.may_contain("key ü 1");
    assert!(BloomFilter::parse(&filter.to_text(), kind).is_ok_and(|again| again == filter), "another filter");
}

/// File names.
pub fn names(data: &[u8]) {
    let Ok(name) = std::str::from_utf8(data) else { return };
    if let Some(log) = mortice::names::LogFileName::parse(name) {
        assert!(log.name == name && name.contains(&log.file_id) && name.contains(log.instant.as_str()));
        assert!(log.slice_order(&log) == std::cmp::Ordering::Equal);
    }
    let _ = mortice::names::BaseFileName::parse(name);
}

/// Metadata of the timeline: the first byte selects the kind, the others are the file. A file that can be written again
/// is read as the same value.
pub fn metadata(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 13 {
        0 => metadata_of::<HoodieCommitMetadata>(data),
        1 => metadata_of::<HoodieReplaceCommitMetadata>(data),
        2 => metadata_of::<HoodieRequestedReplaceMetadata>(data),
        3 => metadata_of::<HoodieCompactionPlan>(data),
        4 => metadata_of::<HoodieCleanerPlan>(data),
        5 => metadata_of::<HoodieCleanMetadata>(data),
        6 => metadata_of::<HoodieRollbackPlan>(data),
        7 => metadata_of::<HoodieRollbackMetadata>(data),
        8 => metadata_of::<HoodieRestorePlan>(data),
        9 => metadata_of::<HoodieRestoreMetadata>(data),
        10 => metadata_of::<HoodieSavepointMetadata>(data),
        11 => metadata_of::<HoodieIndexPlan>(data),
        _ => properties(data),
    }
}

fn metadata_of<T: TimelineMetadata>(data: &[u8]) {
    let Ok(Some(file)) = MetadataFile::<T>::parse(data) else { return };
    let Ok(bytes) = file.to_bytes() else { return };
    let again = MetadataFile::<T>::parse(&bytes).ok().flatten().and_then(|again| again.to_bytes().ok());
    assert!(again.as_ref() == Some(&bytes), "other bytes the second time");
    let _ = file.value.to_avro();
    let json = file.value.to_json();
    assert!(T::from_json(&json).is_ok_and(|again| again.to_json() == json), "other JSON the second time");
}

fn properties(data: &[u8]) {
    let Ok(mut file) = PropertiesFile::parse(data) else { return };
    assert!(file.to_bytes() == data, "other bytes");
    assert!(Properties::parse(data).is_ok_and(|properties| properties == file.properties()), "other properties");
    file.set("hoodie.table.name", " é\t=");
    let again = PropertiesFile::parse(&file.to_bytes()).ok();
    assert!(again.is_some_and(|again| again.get("hoodie.table.name") == Some(" é\t=")), "a value is lost");
}
