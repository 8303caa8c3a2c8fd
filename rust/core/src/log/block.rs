//! One block of a log file: where it lies, what it is, what its header says. Its content is not touched.

use std::borrow::Cow;
use std::ops::Range;

use super::header::Header;
use super::layout::{BlockType, HeaderKey};
use crate::error::Error;

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
    /// What it means for the table's rows.
    pub verdict: Verdict,
}

/// What a stretch that is no block means for the rows of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Hudi passes over the stretch as a corrupt block: a write that died, whose rows were never committed.
    Skipped,
    /// Hudi fails there (lengths that disagree inside an intact frame, foreign bytes before the first block): committed
    /// rows may be lost.
    Lost,
    /// An intact frame of a format that no release so far writes.
    Foreign,
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

    /// Why a table read cannot go past the block without the risk of missing rows: damage that Hudi does not pass over, a
    /// type or a header key that no release knows. None for sound blocks, and for corrupt ones that Hudi skips.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        let refused = match &self.kind {
            BlockKind::Corrupt(damage) => match damage.verdict {
                Verdict::Skipped => return None,
                Verdict::Lost => Error::corrupt(damage.reason.clone()).at_offset(damage.offset),
                Verdict::Foreign => Error::unsupported(damage.reason.clone()).at_offset(damage.offset),
            },
            BlockKind::Unknown(ordinal) => {
                let message = format!("a log block of type {ordinal}, which no Hudi release up to 1.2 writes");
                Error::unsupported(message).at_offset(self.offset)
            }
            BlockKind::Sound(_) => {
                let (map, key) = self.unknown_key()?;
                let message = format!(
                    "{map} key {key}, which no Hudi release up to 1.2 writes; it may change what the block means"
                );
                Error::unsupported(message).at_offset(self.offset)
            }
        };
        let refused = refused.in_block(self.index);
        Some(match self.header.instant_time() {
            Some(instant) => refused.at_instant(instant),
            None => refused,
        })
    }

    /// Releases so far write no footer keys at all.
    fn unknown_key(&self) -> Option<(&'static str, i32)> {
        let header = self.header.unknown_keys().next().map(|key| ("header", key));
        header.or_else(|| self.footer.keys().next().map(|key| ("footer", key)))
    }

    /// Whether the block's schema holds only the updated columns.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.header.get(HeaderKey::IsPartial).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }
}
