//! One block of a log file: its position, type and header. Its content is not read.

use std::borrow::Cow;
use std::ops::Range;

use super::header::Header;
use super::header_form;
use super::layout::{BlockType, HeaderKey};
use mortice_base::error::Error;

/// A block, valid or corrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Ordinal in the file, from 0.
    pub index: u64,
    /// The offset of the magic.
    pub offset: u64,
    /// The offset of the next block.
    pub end: u64,
    /// The kind of block.
    pub kind: BlockKind,
    /// As stored; `None` if it could not be read.
    pub block_size: Option<i64>,
    /// As stored; of valid blocks only.
    pub trailing_length: Option<i64>,
    /// As stored; of valid blocks only.
    pub log_format_version: Option<i32>,
    /// Empty for corrupt blocks.
    pub header: Header,
    /// Always empty in files of current releases.
    pub footer: Header,
    /// The byte range of the content in the file. For a corrupt block: all skipped bytes.
    pub content: Range<u64>,
    /// Whether the block is a native log: a whole file, which has another form of deletes, changes and positions.
    pub is_native: bool,
}

/// The kind of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    /// A valid block of a known type.
    Sound(BlockType),
    /// A valid frame with a type that no release has.
    Unknown(i32),
    /// A byte range that is not a block.
    Corrupt(BlockDamage),
}

/// Why a byte range is not a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDamage {
    /// The expected and the actual bytes.
    pub reason: String,
    /// The offset in the file.
    pub offset: u64,
    /// The consequence for the table's rows.
    pub verdict: DamageEffect,
}

/// The consequence of a byte range that is not a block for the rows of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageEffect {
    /// Hudi skips the range as a corrupt block: an interrupted write, whose rows were never committed.
    Skipped,
    /// Hudi fails on the range (inconsistent lengths inside an intact frame, foreign bytes before the first block):
    /// committed rows may be lost.
    Lost,
    /// An intact frame of a format that no release writes.
    Foreign,
}

impl Block {
    /// Returns Hudi's name of the type.
    #[must_use]
    pub fn type_name(&self) -> Cow<'static, str> {
        match &self.kind {
            BlockKind::Sound(kind) => Cow::Borrowed(kind.name()),
            BlockKind::Unknown(ordinal) => Cow::Owned(format!("UNKNOWN_{ordinal}")),
            BlockKind::Corrupt(_) => Cow::Borrowed(BlockType::Corrupt.name()),
        }
    }

    /// Returns why the block is corrupt.
    #[must_use]
    pub fn damage(&self) -> Option<&BlockDamage> {
        match &self.kind {
            BlockKind::Corrupt(damage) => Some(damage),
            BlockKind::Sound(_) | BlockKind::Unknown(_) => None,
        }
    }

    /// Returns an error if a table read cannot skip the block without the risk of missing rows: damage that Hudi does
    /// not skip, an unknown type or header key, or a header that no writer writes. Returns `None` for valid blocks, and
    /// for corrupt ones that Hudi skips.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        let refused = match &self.kind {
            BlockKind::Corrupt(damage) => match damage.verdict {
                DamageEffect::Skipped => return None,
                DamageEffect::Lost => Error::corrupt(damage.reason.clone()).at_offset(damage.offset),
                DamageEffect::Foreign => Error::unsupported(damage.reason.clone()).at_offset(damage.offset),
            },
            BlockKind::Unknown(ordinal) => {
                let message = format!("unsupported log block type {ordinal}: no Hudi release up to 1.2 writes it");
                Error::unsupported(message).at_offset(self.offset)
            }
            BlockKind::Sound(kind) => match self.unknown_key() {
                Some((map, key)) => {
                    let message = format!(
                        "unsupported {map} key {key}: no Hudi release up to 1.2 writes it, and it may change the meaning of the block"
                    );
                    Error::unsupported(message).at_offset(self.offset)
                }
                None => {
                    let defect = header_form::defect(*kind, &self.header)?;
                    Error::corrupt(format!("invalid {}: {defect}", kind.name())).at_offset(self.offset)
                }
            },
        };
        let refused = refused.in_block(self.index);
        Some(match self.header.instant_time() {
            Some(instant) => refused.at_instant(instant),
            None => refused,
        })
    }

    /// No current release writes footer keys.
    fn unknown_key(&self) -> Option<(&'static str, i32)> {
        let header = self.header.unknown_keys().next().map(|key| ("header", key));
        header.or_else(|| self.footer.keys().next().map(|key| ("footer", key)))
    }

    /// Returns true if the block's schema has the updated columns only.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.header.get(HeaderKey::IsPartial).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }
}
