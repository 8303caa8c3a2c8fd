//! Framing from the end of a file by trailing lengths (`HoodieLogFileReader.prev`), for callers that need the last
//! blocks first.
//!
//! A trailing length is used only if it leads to a magic and the block size there agrees. If that holds back to the
//! first byte, forward framing finds the same blocks (each starts where the previous one ends, and passes the same
//! checks), so they are read one by one, last first. At the first length that is inconsistent, the whole file is framed
//! from the front and the blocks are reversed: the result is always that of forward framing.

use std::sync::Arc;

use super::block::Block;
use super::forward::ForwardScan;
use super::layout::{BEFORE_SIZE, LEAST_SIZE, MAGIC};
use super::native::native_name;
use mortice_base::cursor::Cursor;
use mortice_base::error::Result;
use mortice_storage::FileSource;

/// Returns the blocks of a file, last first.
pub fn backward(source: Arc<dyn FileSource>) -> Box<dyn Iterator<Item = Result<Block>> + Send> {
    if native_name(source.path()).is_some() {
        return Box::new(ForwardScan::new(source));
    }
    match block_starts(source.as_ref()) {
        Ok(Some(starts)) => {
            let last = starts.len() as u64;
            Box::new(
                starts.into_iter().zip((0..last).rev()).filter_map(move |(start, index)| {
                    ForwardScan::starting_at(Arc::clone(&source), start, index).next()
                }),
            )
        }
        Ok(None) => reversed(ForwardScan::new(source)),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

fn reversed(forward: ForwardScan) -> Box<dyn Iterator<Item = Result<Block>> + Send> {
    let mut blocks: Vec<_> = forward.collect();
    blocks.reverse();
    Box::new(blocks.into_iter())
}

/// Returns the offsets of blocks, last first; `None` if the trailing lengths are not consistent back to the first byte.
fn block_starts(source: &dyn FileSource) -> Result<Option<Vec<u64>>> {
    let mut starts = Vec::new();
    let mut end = source.len();
    while end > 0 {
        let Some(start) = start_of_block_ending_at(source, end)? else { return Ok(None) };
        starts.push(start);
        end = start;
    }
    Ok(Some(starts))
}

fn start_of_block_ending_at(source: &dyn FileSource, end: u64) -> Result<Option<u64>> {
    let Some(trailing_at) = end.checked_sub(8) else { return Ok(None) };
    let trailing = Cursor::new(&source.read(trailing_at..end)?).i64_be()?;
    let Some(trailing) = u64::try_from(trailing).ok().filter(|len| (LEAST_SIZE + 6..=trailing_at).contains(len)) else {
        return Ok(None);
    };
    let start = trailing_at - trailing;
    let head = source.read(start..start + BEFORE_SIZE)?;
    let mut cursor = Cursor::new(&head);
    let sound = cursor.take(MAGIC.len())? == MAGIC && u64::try_from(cursor.i64_be()?).ok() == Some(trailing - 6);
    Ok(sound.then_some(start))
}
