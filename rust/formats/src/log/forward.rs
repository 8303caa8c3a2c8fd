//! Framing from the front, as in `HoodieLogFileReader`: a magic, then a block whose size and trailing length agree,
//! followed by a magic or the end of the file; anything else is a corrupt range up to the next magic.
//!
//! It differs from Hudi in two ways, so that no damage is ignored. Blocks are checked on every storage (Hudi does not
//! on S3 and GCS). And where Hudi fails, the range is a corrupt block with its own [`BlockDamage`], so that later
//! blocks can still be inspected: inconsistent lengths inside an intact frame, a format or a type that is never
//! written, foreign bytes before the first block.

use std::sync::Arc;

use memchr::memmem;

use super::block::{Block, BlockDamage, BlockKind, DamageEffect};
use super::header::Header;
use super::layout::{BEFORE_SIZE, BlockType, LEAST_SIZE, LOG_FORMAT_VERSION, MAGIC};
use super::native::{native_block, native_name};
use super::window::SourceWindow;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};
use mortice_base::names::LogFileName;
use mortice_storage::FileSource;

/// The number of bytes searched at a time for the next magic.
const SEARCH: u64 = 1 << 20;
/// The number of header bytes read at first; more if the header is longer.
const HEADER_GUESS: u64 = 16 * 1024;

/// The blocks of a file, first to last. Ends after an error. A native log is one block.
pub struct ForwardScan {
    source: Arc<dyn FileSource>,
    /// The name of a native log.
    native: Option<LogFileName>,
    window: SourceWindow,
    at: u64,
    index: u64,
    failed: bool,
}

impl ForwardScan {
    /// Starts at the first byte of `source`.
    #[must_use]
    pub fn new(source: Arc<dyn FileSource>) -> Self {
        Self::starting_at(source, 0, 0)
    }

    /// Starts at a block whose offset and ordinal are known.
    pub(super) fn starting_at(source: Arc<dyn FileSource>, at: u64, index: u64) -> Self {
        let native = native_name(source.path());
        Self { window: SourceWindow::new(Arc::clone(&source)), source, native, at, index, failed: false }
    }

    /// Fewer bytes than a magic at the end are ignored, as in Hudi; so are up to five stray bytes.
    fn next_block(&mut self) -> Result<Option<Block>> {
        if let Some(name) = &self.native {
            let block = (self.index == 0).then(|| native_block(&self.source, name)).transpose()?;
            return Ok(block.map(|block| self.passed(block)));
        }
        let magic = self.window.get(self.at..self.at.saturating_add(MAGIC.len() as u64))?;
        if magic.len() < MAGIC.len() {
            return Ok(None);
        }
        if magic != MAGIC[..] {
            let block = self.foreign_until_magic(&magic)?;
            return Ok(Some(self.passed(block)));
        }
        let block = match self.frame()? {
            Ok(frame) => self.read_block(frame)?,
            Err(reason) => self.corrupt_until_magic(reason)?,
        };
        Ok(Some(self.passed(block)))
    }

    fn passed(&mut self, block: Block) -> Block {
        self.at = block.end;
        self.index += 1;
        block
    }

    /// Skips bytes before the first block. A file without any magic is not a log.
    fn foreign_until_magic(&mut self, found: &[u8]) -> Result<Block> {
        let message = format!("expected the magic #HUDI#, found {found:02x?}");
        let end = self.next_magic(self.at)?;
        if end == self.source.len() {
            return Err(Error::corrupt(format!("{message}; the file is not a Hudi log file")).at_offset(self.at));
        }
        let damage = BlockDamage { reason: message, offset: self.at, verdict: DamageEffect::Lost };
        Ok(Block { content: self.at..end, ..self.corrupt(damage, None, end) })
    }

    /// Reads the frame of the block at the current offset, or returns why there is none (`isBlockCorrupted`).
    fn frame(&mut self) -> Result<Result<FoundFrame, BlockDamage>> {
        let size_at = self.at.saturating_add(MAGIC.len() as u64);
        let Some(size) = self.i64_at(size_at)? else {
            return Ok(Err(skipped("unexpected end of file: the size of the block is missing".into(), size_at)));
        };
        // Hudi reads only the low 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let low = size as i32;
        let Some(len) = u64::try_from(low).ok().filter(|len| *len >= 8) else {
            return Ok(Err(skipped(format!("invalid block size {size}: at least 8 was expected"), size_at)));
        };
        let trailing_at = size_at + len;
        let Some(trailing) = self.i64_at(trailing_at)? else {
            let left = self.source.len().saturating_sub(size_at + 8);
            return Ok(Err(skipped(
                format!("unexpected end of file: block has {low} bytes, only {left} remain"),
                size_at,
            )));
        };
        if trailing.checked_sub(6) != Some(i64::from(low)) {
            let expected = i64::from(low) + 6;
            return Ok(Err(skipped(
                format!("invalid trailing length: expected {expected}, found {trailing}"),
                trailing_at,
            )));
        }
        let end = trailing_at + 8;
        let next = self.window.get(end..end + MAGIC.len() as u64)?;
        if next.len() == MAGIC.len() && next != MAGIC[..] {
            return Ok(Err(skipped(
                format!("expected the magic #HUDI# or the end of the file after the block, found {:02x?}", &next[..]),
                end,
            )));
        }
        Ok(Ok(FoundFrame { size, trailing, end }))
    }

    fn i64_at(&mut self, at: u64) -> Result<Option<i64>> {
        let bytes = self.window.get(at..at.saturating_add(8))?;
        Ok(Cursor::new(&bytes).i64_be().ok())
    }

    fn read_block(&mut self, frame: FoundFrame) -> Result<Block> {
        match self.inside(&frame)? {
            Ok(block) => Ok(block),
            Err(damage) => Ok(self.corrupt(damage, Some(frame.size), frame.end)),
        }
    }

    /// Reads the fields of a frame; returns damage if their lengths do not fill it.
    fn inside(&mut self, frame: &FoundFrame) -> Result<Result<Block, BlockDamage>> {
        let fields_at = self.at + BEFORE_SIZE;
        let lost = |reason: String, offset| Ok(Err(lost(reason, offset)));
        let foreign = |reason: String, offset| Ok(Err(BlockDamage { reason, offset, verdict: DamageEffect::Foreign }));
        if frame.end < self.at + BEFORE_SIZE + LEAST_SIZE {
            let reason = format!("invalid block size {}: too small for the fields of a block", frame.size);
            return lost(reason, self.at + 6);
        }
        let fields = self.window.get(fields_at..fields_at + 8)?;
        let mut cursor = Cursor::new(&fields);
        let (version, ordinal) = (cursor.i32_be()?, cursor.i32_be()?);
        if version != LOG_FORMAT_VERSION {
            let reason = format!("unsupported log format version {version} (supported: {LOG_FORMAT_VERSION})");
            return foreign(reason, fields_at);
        }
        if ordinal == 2 {
            return foreign("unsupported block type CORRUPT_BLOCK: no Hudi release writes it".into(), fields_at + 4);
        }
        let header_at = fields_at + 8;
        let (header, len) = match self.map_at("header", header_at, frame.end - 20)? {
            Ok(read) => read,
            Err(damage) => return Ok(Err(damage)),
        };
        let length_at = header_at + len;
        let Some(content_len) = self.i64_at(length_at)? else {
            return lost("unexpected end of block: the content length is missing".into(), length_at);
        };
        let content_at = length_at + 8;
        let content_end = u64::try_from(content_len & 0xffff_ffff).ok().map_or(u64::MAX, |len| content_at + len);
        if content_end > frame.end.saturating_sub(12) {
            let room = frame.end.saturating_sub(12).saturating_sub(content_at);
            let reason = format!("invalid content length {content_len}: only {room} bytes remain in the block");
            return lost(reason, length_at);
        }
        let (footer, len) = match self.map_at("footer", content_end, frame.end - 8)? {
            Ok(read) => read,
            Err(damage) => return Ok(Err(damage)),
        };
        if content_end + len + 8 != frame.end {
            let room = frame.end - 8 - content_end - len;
            let reason = format!("invalid content length {content_len}: {room} bytes remain after the footer");
            return lost(reason, length_at);
        }
        Ok(Ok(Block {
            index: self.index,
            offset: self.at,
            end: frame.end,
            kind: BlockType::from_ordinal(ordinal).map_or(BlockKind::Unknown(ordinal), BlockKind::Sound),
            block_size: Some(frame.size),
            trailing_length: Some(frame.trailing),
            log_format_version: Some(version),
            header,
            footer,
            content: content_at..content_end,
            is_native: false,
        }))
    }

    /// Reads a header or footer map at `at` that ends before `limit`. A guessed number of bytes is read first: headers
    /// are small, blocks are not.
    fn map_at(&mut self, name: &str, at: u64, limit: u64) -> Result<Result<(Header, u64), BlockDamage>> {
        let mut guess = HEADER_GUESS;
        loop {
            let until = limit.min(at.saturating_add(guess));
            let bytes = self.window.get(at..until.max(at))?;
            match Header::read(&bytes) {
                Ok((header, len)) => return Ok(Ok((header, len as u64))),
                Err(error) if until >= limit => {
                    let offset = at.saturating_add(error.location().offset.unwrap_or(0));
                    return Ok(Err(lost(format!("invalid block {name}: {}", error.text()), offset)));
                }
                Err(_) => guess = guess.saturating_mul(16),
            }
        }
    }

    fn corrupt_until_magic(&mut self, damage: BlockDamage) -> Result<Block> {
        let after = self.at + MAGIC.len() as u64;
        let size = self.i64_at(after)?;
        let end = self.next_magic(after)?;
        Ok(self.corrupt(damage, size, end))
    }

    /// Returns the offset of the next magic from `at`; the end of the file if there is none.
    fn next_magic(&mut self, mut at: u64) -> Result<u64> {
        loop {
            let stretch = self.window.get(at..at.saturating_add(SEARCH))?;
            if let Some(found) = memmem::find(&stretch, &MAGIC) {
                return Ok(at + found as u64);
            }
            let read = stretch.len() as u64;
            if at + read >= self.source.len() {
                return Ok(self.source.len());
            }
            // Ranges overlap, so that a magic across the border is found.
            at += read - (MAGIC.len() as u64 - 1);
        }
    }

    fn corrupt(&self, damage: BlockDamage, block_size: Option<i64>, end: u64) -> Block {
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
            is_native: false,
        }
    }
}

impl Iterator for ForwardScan {
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

/// A block whose size, trailing length and successor are consistent.
struct FoundFrame {
    size: i64,
    trailing: i64,
    end: u64,
}

fn lost(reason: String, offset: u64) -> BlockDamage {
    BlockDamage { reason, offset, verdict: DamageEffect::Lost }
}

fn skipped(reason: String, offset: u64) -> BlockDamage {
    BlockDamage { reason, offset, verdict: DamageEffect::Skipped }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::log::backward;
    use mortice_storage::MemoryFile;

    /// A delete block with one header entry and this content.
    fn block(content: &[u8]) -> Vec<u8> {
        let mut inside = [1_i32, 1, 1, 0, 3].map(i32::to_be_bytes).concat();
        inside.extend(b"001");
        inside.extend((content.len() as u64).to_be_bytes());
        inside.extend(content);
        inside.extend([0; 4]);
        let size = inside.len() as u64 + 8;
        [&MAGIC[..], &size.to_be_bytes(), &inside, &(size + 6).to_be_bytes()].concat()
    }

    /// `good@start..end`, `corrupt@…`, `lost@…` and `foreign@…` (where Hudi would fail), or the error.
    fn describe(block: Result<Block>) -> String {
        match block {
            Ok(block) => {
                let kind = match &block.kind {
                    BlockKind::Corrupt(damage) => match damage.verdict {
                        DamageEffect::Skipped => "corrupt",
                        DamageEffect::Lost => "lost",
                        DamageEffect::Foreign => "foreign",
                    },
                    BlockKind::Unknown(_) => "unknown",
                    BlockKind::Sound(_) => "good",
                };
                format!("{kind}@{}..{}", block.offset, block.end)
            }
            Err(error) => format!("error@{}", error.location().offset.unwrap()),
        }
    }

    /// Returns the blocks of a file; checks that they are the same backwards, for all window sizes.
    fn framed(bytes: &[u8]) -> Vec<String> {
        let file = Bytes::copy_from_slice(bytes);
        let source =
            |window| Arc::new(MemoryFile::new("memory", file.clone()).by_windows(window)) as Arc<dyn FileSource>;
        let forward: Vec<String> = ForwardScan::new(source(0)).map(describe).collect();
        for window in [1, 7, 64, 1 << 20] {
            assert_eq!(ForwardScan::new(source(window)).map(describe).collect::<Vec<_>>(), forward);
        }
        let mut reversed: Vec<String> = backward(source(0)).map(describe).collect();
        reversed.reverse();
        assert_eq!(reversed, forward);
        forward
    }

    #[test]
    fn sound_files() {
        let one = block(b"abc");
        let len = one.len();
        assert_eq!(framed(&[]), [""; 0]);
        assert_eq!(framed(&one), [format!("good@0..{len}")]);
        let two = [one, block(b"")].concat();
        assert_eq!(framed(&two), [format!("good@0..{len}"), format!("good@{len}..{}", two.len())]);
    }

    /// As Hudi 1.2.0 reads damaged ends.
    #[test]
    fn damaged_ends() {
        let a = block(b"abc");
        let len = a.len();
        let good = format!("good@0..{len}");
        let with = |tail: &[u8]| framed(&[&a[..], tail].concat());
        assert_eq!(with(b"12345"), std::slice::from_ref(&good));
        assert_eq!(with(b"123456"), [format!("corrupt@0..{}", len + 6)]);
        assert_eq!(with(b"#HUD"), std::slice::from_ref(&good));
        assert_eq!(with(b"#HUDI#"), [good.clone(), format!("corrupt@{len}..{}", len + 6)]);
        assert_eq!(with(b"#HUDI#\0\0\0"), [good.clone(), format!("corrupt@{len}..{}", len + 9)]);
        assert_eq!(framed(&a[..len - 1]), [format!("corrupt@0..{}", len - 1)]);
        let c = [&a[..len - 1], &a].concat();
        assert_eq!(framed(&c), [format!("corrupt@0..{}", len - 1), format!("good@{}..{}", len - 1, 2 * len - 1)]);
        assert_eq!(framed(b"#HUDI#"), ["corrupt@0..6"]);
        assert_eq!(framed(b"#HU"), [""; 0]);
        assert_eq!(framed(b"foreign bytes"), ["error@0"]);
        let late = [b"foreign", &a[..]].concat();
        assert_eq!(framed(&late), ["lost@0..7".to_owned(), format!("good@7..{}", 7 + len)]);
    }

    #[test]
    fn damaged_sizes_do_not_stop_the_file() {
        for size in [0_i64, -1, 7, i64::from(i32::MAX), i64::MAX, i64::MIN] {
            let mut bytes = [block(b"abc"), block(b"d")].concat();
            bytes[6..14].copy_from_slice(&size.to_be_bytes());
            let len = block(b"abc").len();
            assert_eq!(framed(&bytes), [format!("corrupt@0..{len}"), format!("good@{len}..{}", bytes.len())], "{size}");
        }
    }

    #[test]
    fn lengths_that_disagree_inside_a_frame_are_found() {
        let one = block(b"abc");
        let len = one.len();
        // The content length follows magic, size, version, type and a header of 15 bytes.
        for wrong in [0_u64, 2, 4, 1 << 31, u64::MAX] {
            let mut bytes = [one.clone(), block(b"d")].concat();
            bytes[37..45].copy_from_slice(&wrong.to_be_bytes());
            assert_eq!(framed(&bytes)[0], format!("lost@0..{len}"), "{wrong}");
            assert_eq!(framed(&bytes).len(), 2);
        }
        let mut bytes = one.clone();
        bytes[22..26].copy_from_slice(&[0x7f, 0, 0, 0]);
        assert_eq!(framed(&bytes), [format!("lost@0..{len}")]);
    }

    #[test]
    fn a_magic_across_the_search_border_is_found() {
        let search = usize::try_from(SEARCH).unwrap();
        for gap in [search - 8, search - 6, search - 3, search, search + 1] {
            let mut bytes = MAGIC.to_vec();
            bytes.resize(6 + gap, 0);
            bytes.extend(block(b"x"));
            assert_eq!(framed(&bytes).len(), 2, "{gap}");
            assert_eq!(framed(&bytes)[0], format!("corrupt@0..{}", 6 + gap));
        }
    }

    #[test]
    fn unknown_types_and_versions_are_reported() {
        let mut bytes = block(b"abc");
        let len = bytes.len();
        bytes[21] = 9;
        assert_eq!(framed(&bytes), [format!("unknown@0..{len}")]);
        bytes[17] = 2;
        assert_eq!(framed(&bytes), [format!("foreign@0..{len}")]);
        let more = [&bytes[..], &block(b"x")].concat();
        assert_eq!(framed(&more), [format!("foreign@0..{len}"), format!("good@{len}..{}", more.len())]);
        bytes = block(b"abc");
        bytes[21] = 2;
        assert_eq!(framed(&bytes), [format!("foreign@0..{len}")]);
    }
}
