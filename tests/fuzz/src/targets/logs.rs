//! Log files: frames, blocks, headers, and what is in them.

use bytes::Bytes;
use mortice::filter::KeyFilter;
use mortice::log::content::delete;
use mortice::log::{Block, BlockKind, BlockType, ForwardScan, LogFile, MAGIC, backward};

use super::memory::{MOST_ROWS, memory};

type Framed = (Vec<Block>, bool);

pub(super) fn framed(blocks: impl Iterator<Item = mortice::Result<Block>>) -> Framed {
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
pub(super) fn ask_everything(log: &LogFile, block: &Block) {
    let _ = (block.refusal(), log.content_head(block));
    // The parquet crate panics on some damaged files. Readers catch that and return an error, but libFuzzer reports a
    // panic.
    if (block.is_native || block.kind == BlockKind::Sound(BlockType::ParquetData)) && cfg!(fuzzing) {
        return;
    }
    let _ = log.deletes(block);
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

/// Two bytes for the record count, then a header value.
pub fn positions(data: &[u8]) {
    let Some((records, value)) = data.split_first_chunk::<2>() else { return };
    let records = usize::from(u16::from_be_bytes(*records));
    if let Ok(positions) = mortice::log::positions(value, records) {
        assert!(positions.len() == records && positions.is_sorted());
    }
}
