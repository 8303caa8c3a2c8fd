//! One block of a log file: where it lies, what it is, what its header says. Its content is not touched.

use std::borrow::Cow;
use std::ops::Range;

use super::header::Header;
use super::layout::{BlockType, HeaderKey};

/// A block, sound or corrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Ordinal in the file, from 0.
    pub index: u64,
    /// Where the magic stands.
    pub offset: u64,
    /// Where the next block begins.
    pub end: u64,
    /// What it is.
    pub kind: BlockKind,
    /// As stored; none where not even that could be read.
    pub block_size: Option<i64>,
    /// As stored; of sound blocks only.
    pub trailing_length: Option<i64>,
    /// As stored; of sound blocks only.
    pub log_format_version: Option<i32>,
    /// Empty for corrupt blocks.
    pub header: Header,
    /// Empty today.
    pub footer: Header,
    /// The content's bytes in the file. Of a corrupt block: all that was skipped.
    pub content: Range<u64>,
}

/// What a block is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    /// A sound block of a known type.
    Sound(BlockType),
    /// A sound frame around a type that no release knows.
    Unknown(i32),
    /// A stretch that is no block.
    Corrupt(Damage),
}

/// Why a stretch is no block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What was expected and what was found.
    pub reason: String,
    /// Where, in the file.
    pub offset: u64,
    /// Whether Hudi passes over the stretch as a corrupt block. Where it fails instead (lengths that disagree inside an
    /// intact frame), rows may be lost, and a table read fails too.
    pub skipped_by_hudi: bool,
}

impl Block {
    /// Hudi's name of the type.
    #[must_use]
    pub fn type_name(&self) -> Cow<'static, str> {
        match &self.kind {
            BlockKind::Sound(kind) => Cow::Borrowed(kind.name()),
            BlockKind::Unknown(ordinal) => Cow::Owned(format!("UNKNOWN_{ordinal}")),
            BlockKind::Corrupt(_) => Cow::Borrowed(BlockType::Corrupt.name()),
        }
    }

    /// Why it is corrupt.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        match &self.kind {
            BlockKind::Corrupt(damage) => Some(damage),
            BlockKind::Sound(_) | BlockKind::Unknown(_) => None,
        }
    }

    /// Whether the block's schema holds only the updated columns.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.header.get(HeaderKey::IsPartial).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }
}
