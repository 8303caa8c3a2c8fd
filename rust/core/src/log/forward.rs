//! Framing from the front, as `HoodieLogFileReader` does it: magic, then a block whose size and trailing length agree
//! and after which comes a magic or the end; anything else is a corrupt stretch up to the next magic.
//!
//! Two things differ from Hudi, so that no damage goes unseen. The check is made on every storage (Hudi omits it on
//! S3 and GCS). And lengths inside an intact frame are compared with the frame: where Hudi would lose its place and
//! fail later, the frame is a corrupt block here.

use std::sync::Arc;

use memchr::memmem;

use super::block::{Block, BlockKind, Damage};
use super::header::Header;
use super::layout::{BEFORE_SIZE, BlockType, LEAST_SIZE, LOG_FORMAT_VERSION, MAGIC};
use super::window::Window;
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::storage::Source;

/// Bytes looked through at a time for the next magic.
const SEARCH: u64 = 1 << 20;
/// Bytes of a header read at first; more where it is longer.
const HEADER_GUESS: u64 = 16 * 1024;

/// The blocks of a file, from the front. After an error there is nothing more.
pub struct Forward {
    source: Arc<dyn Source>,
    window: Window,
    at: u64,
    index: u64,
    failed: bool,
}

impl Forward {
    /// At the first byte of `source`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self::starting_at(source, 0, 0)
    }

    /// At a block whose place and ordinal are known.
    pub(super) fn starting_at(source: Arc<dyn Source>, at: u64, index: u64) -> Self {
        Self { window: Window::new(Arc::clone(&source)), source, at, index, failed: false }
    }

    /// Fewer bytes than a magic left is a clean end, as Hudi has it; so are up to five stray bytes.
    fn next_block(&mut self) -> Result<Option<Block>> {
        let magic = self.window.get(self.at..self.at.saturating_add(MAGIC.len() as u64))?;
        if magic.len() < MAGIC.len() {
            return Ok(None);
        }
        if magic != MAGIC[..] {
            let message = format!("expected the magic #HUDI#, found {:02x?}; this is no Hudi log file", &magic[..]);
            return Err(Error::corrupt(message).at_offset(self.at));
        }
        let block = match self.frame()? {
            Ok(frame) => self.read_block(frame)?,
            Err(reason) => self.corrupt_until_magic(reason)?,
        };
        self.at = block.end;
        self.index += 1;
        Ok(Some(block))
    }

    /// The frame of the block at the current place, or why there is none (`isBlockCorrupted`).
    fn frame(&mut self) -> Result<Result<Frame, Damage>> {
        let size_at = self.at.saturating_add(MAGIC.len() as u64);
        let Some(size) = self.i64_at(size_at)? else {
            return Ok(Err(skipped("a block size was expected, the file ends".into(), size_at)));
        };
        // Hudi keeps the low 32 bits only.
        #[allow(clippy::cast_possible_truncation)]
        let low = size as i32;
        let Some(len) = u64::try_from(low).ok().filter(|len| *len >= 8) else {
            return Ok(Err(skipped(format!("a block size of {size}"), size_at)));
        };
        let trailing_at = size_at + len;
        let Some(trailing) = self.i64_at(trailing_at)? else {
            let left = self.source.len().saturating_sub(size_at + 8);
            return Ok(Err(skipped(format!("a block size of {low} where {left} bytes are left"), size_at)));
        };
        if trailing.checked_sub(6) != Some(i64::from(low)) {
            let expected = i64::from(low) + 6;
            return Ok(Err(skipped(
                format!("a trailing length of {expected} was expected, found {trailing}"),
                trailing_at,
            )));
        }
        let end = trailing_at + 8;
        let next = self.window.get(end..end + MAGIC.len() as u64)?;
        if next.len() == MAGIC.len() && next != MAGIC[..] {
            return Ok(Err(skipped(format!("the next block or the end was expected, found {:02x?}", &next[..]), end)));
        }
        Ok(Ok(Frame { size, trailing, end }))
    }

    fn i64_at(&mut self, at: u64) -> Result<Option<i64>> {
        let bytes = self.window.get(at..at.saturating_add(8))?;
        Ok(Cursor::new(&bytes).i64_be().ok())
    }

    fn read_block(&mut self, frame: Frame) -> Result<Block> {
        match self.inside(&frame)? {
            Ok(block) => Ok(block),
            Err(damage) => Ok(self.corrupt(damage, Some(frame.size), frame.end)),
        }
    }

    /// The fields inside a frame; damage where their lengths do not fill it.
    fn inside(&mut self, frame: &Frame) -> Result<Result<Block, Damage>> {
        let fields_at = self.at + BEFORE_SIZE;
        let lost = |reason: String, offset| Ok(Err(Damage { reason, offset, skipped_by_hudi: false }));
        if frame.end < self.at + BEFORE_SIZE + LEAST_SIZE {
            return lost(format!("a block size of {} leaves no room for the block's fields", frame.size), self.at + 6);
        }
        let fields = self.window.get(fields_at..fields_at + 8)?;
        let mut cursor = Cursor::new(&fields);
        let (version, ordinal) = (cursor.i32_be()?, cursor.i32_be()?);
        if version != LOG_FORMAT_VERSION {
            let message =
                format!("log format version {version}; every Hudi release so far writes {LOG_FORMAT_VERSION}");
            return Err(Error::unsupported(message).at_offset(fields_at));
        }
        if ordinal == 2 {
            let message = "a block of type CORRUPT_BLOCK, which is never written".to_owned();
            return Err(Error::unsupported(message).at_offset(fields_at + 4));
        }
        let header_at = fields_at + 8;
        let (header, len) = match self.map_at(header_at, frame.end - 20)? {
            Ok(read) => read,
            Err(error) => return lost(format!("the header: {error}"), header_at),
        };
        let length_at = header_at + len;
        let Some(content_len) = self.i64_at(length_at)? else { return lost("no content length".into(), length_at) };
        let content_at = length_at + 8;
        let content_end = u64::try_from(content_len & 0xffff_ffff).ok().map_or(u64::MAX, |len| content_at + len);
        if content_end > frame.end.saturating_sub(12) {
            let room = frame.end.saturating_sub(12).saturating_sub(content_at);
            return lost(format!("a content length of {content_len} where the block has room for {room}"), length_at);
        }
        let (footer, len) = match self.map_at(content_end, frame.end - 8)? {
            Ok(read) => read,
            Err(error) => return lost(format!("the footer: {error}"), content_end),
        };
        if content_end + len + 8 != frame.end {
            let reason =
                format!("a content length of {content_len} leaves {} bytes over", frame.end - 8 - content_end - len);
            return lost(reason, length_at);
        }
        Ok(Ok(Block {
            index: self.index,
            offset: self.at,
            end: frame.end,
            kind: BlockType::of(ordinal).map_or(BlockKind::Unknown(ordinal), BlockKind::Sound),
            block_size: Some(frame.size),
            trailing_length: Some(frame.trailing),
            log_format_version: Some(version),
            header,
            footer,
            content: content_at..content_end,
        }))
    }

    /// A header or footer map at `at`, which ends by `limit`. Read by a guess first: headers are small, blocks are not.
    fn map_at(&mut self, at: u64, limit: u64) -> Result<Result<(Header, u64)>> {
        let mut until = limit.min(at + HEADER_GUESS);
        loop {
            let bytes = self.window.get(at..until.max(at))?;
            match Header::read(&bytes) {
                Ok((header, len)) => return Ok(Ok((header, len as u64))),
                Err(error) if until >= limit => return Ok(Err(error)),
                Err(_) => until = limit,
            }
        }
    }

    fn corrupt_until_magic(&mut self, damage: Damage) -> Result<Block> {
        let mut at = self.at + MAGIC.len() as u64;
        let size = self.i64_at(at)?;
        let end = loop {
            let stretch = self.window.get(at..at.saturating_add(SEARCH))?;
            if let Some(found) = memmem::find(&stretch, &MAGIC) {
                break at + found as u64;
            }
            let read = stretch.len() as u64;
            if at + read >= self.source.len() {
                break self.source.len();
            }
            // The next stretch overlaps, so that a magic across the border is found.
            at += read - (MAGIC.len() as u64 - 1);
        };
        Ok(self.corrupt(damage, size, end))
    }

    fn corrupt(&self, damage: Damage, block_size: Option<i64>, end: u64) -> Block {
        Block {
            index: self.index,
            offset: self.at,
            end,
            kind: BlockKind::Corrupt(damage),
            block_size,
            trailing_length: None,
            log_format_version: None,
            header: Header::default(),
            footer: Header::default(),
            content: self.at + MAGIC.len() as u64..end,
        }
    }
}

impl Iterator for Forward {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.next_block().map_err(|error| error.in_block(self.index).in_file(self.source.path()));
        self.failed = next.is_err();
        next.transpose()
    }
}

/// A block whose size, trailing length and successor agree.
struct Frame {
    size: i64,
    trailing: i64,
    end: u64,
}

fn skipped(reason: String, offset: u64) -> Damage {
    Damage { reason, offset, skipped_by_hudi: true }
}
