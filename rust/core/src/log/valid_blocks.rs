//! Which blocks of a file slice count, and in which order (`BaseHoodieLogRecordReader.scanInternalV2`, the rules of 1.x).
//!
//! First pass, over all blocks of all log files in slice order: corrupt blocks are passed over; data and delete blocks
//! later than the query's instant are skipped, and, where commits are not told by file names (table version 7 and
//! below), those of instants that did not complete; the others are gathered by instant, instants in order of arrival. A
//! rollback command removes the blocks of its target seen so far, and is never filtered itself.
//!
//! Second pass, over the instants from the last: blocks of a log-compacted instant stand in for the originals that it
//! names, at the place of the latest of these.

use std::collections::{HashMap, HashSet};

use super::block::{Block, BlockKind};
use super::layout::{BlockType, HeaderKey};
use crate::error::{Error, Result};

/// A block of a slice: ordinal of its file, and itself.
#[derive(Debug, Clone)]
pub struct BlockRef {
    /// Ordinal of the log file among those handed in.
    pub file: usize,
    /// The block.
    pub block: Block,
}

/// What the scan must know of the table.
pub trait ScanRules {
    /// Whether a data or delete block of `instant` is in the query's view.
    fn is_visible(&self, instant: &str) -> bool;
    /// Whether `instant` completed; always true where uncommitted files were left out before.
    fn is_committed(&self, instant: &str) -> bool;
}

/// Gathers blocks and gives those that count.
#[derive(Debug, Default)]
pub struct ValidBlocks {
    order: Vec<String>,
    blocks: HashMap<String, Vec<BlockRef>>,
    /// Blocks undone by rollback commands.
    pub rolled_back: u64,
    /// Blocks of instants that did not complete.
    pub uncommitted: u64,
}

impl ValidBlocks {
    /// The next block, in slice order. What might hold rows and cannot be read is refused ([`Block::refusal`]).
    pub fn add(&mut self, file: usize, block: Block, rules: &impl ScanRules) -> Result<()> {
        if let Some(refusal) = block.refusal() {
            return Err(refusal);
        }
        let index = block.index;
        match &block.kind {
            BlockKind::Corrupt(_) | BlockKind::Unknown(_) => Ok(()),
            BlockKind::Sound(BlockType::Command) => self.command(&block),
            BlockKind::Sound(_) => self.data_or_delete(file, block, rules),
        }
        .map_err(|error| error.in_block(index))
    }

    fn command(&mut self, block: &Block) -> Result<()> {
        let command = block.header.get(HeaderKey::CommandBlockType);
        if command.as_deref().map(str::trim) != Some("0") {
            let message = format!("a command block of type {command:?}; the one known command is 0, a rollback");
            return Err(Error::unsupported(message).at_offset(block.offset));
        }
        let Some(target) = block.header.get(HeaderKey::TargetInstantTime) else {
            return Err(Error::corrupt("a rollback command without its target instant").at_offset(block.offset));
        };
        if let Some(undone) = self.blocks.remove(target.as_ref()) {
            self.rolled_back += undone.len() as u64;
            self.order.retain(|instant| *instant != target);
        }
        Ok(())
    }

    fn data_or_delete(&mut self, file: usize, block: Block, rules: &impl ScanRules) -> Result<()> {
        let Some(instant) = block.header.instant_time().map(|instant| instant.into_owned()) else {
            let message = format!("a {} without INSTANT_TIME in its header", block.type_name());
            return Err(Error::corrupt(message).at_offset(block.offset));
        };
        if !rules.is_visible(&instant) {
            return Ok(());
        }
        if !rules.is_committed(&instant) {
            self.uncommitted += 1;
            return Ok(());
        }
        let blocks = self.blocks.entry(instant.clone()).or_default();
        if blocks.is_empty() {
            self.order.push(instant);
        }
        blocks.push(BlockRef { file, block });
        Ok(())
    }

    /// The blocks that count, oldest first.
    #[must_use]
    pub fn finish(mut self) -> Vec<BlockRef> {
        let mut stands_for: HashMap<String, String> = HashMap::new();
        let mut done = HashSet::new();
        let mut newest_first = Vec::new();
        for instant in self.order.iter().rev() {
            if let Some(originals) = self.originals_of(instant) {
                let last = stands_for.get(instant).unwrap_or(instant).clone();
                for original in originals {
                    stands_for.insert(original, last.clone());
                }
                continue;
            }
            let chosen = stands_for.get(instant).unwrap_or(instant);
            if done.insert(chosen.clone()) {
                newest_first.push(chosen.clone());
            }
        }
        newest_first.iter().rev().flat_map(|instant| self.blocks.remove(instant).unwrap_or_default()).collect()
    }

    /// The instants that a log-compacted instant replaces; only its first block tells.
    fn originals_of(&self, instant: &str) -> Option<Vec<String>> {
        let first = self.blocks.get(instant)?.first()?;
        let originals = first.block.header.get(HeaderKey::CompactedBlockTimes)?;
        Some(originals.split(',').map(|original| original.trim().to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::log::{Damage, Header, Verdict};

    struct UpTo(&'static str);

    impl ScanRules for UpTo {
        fn is_visible(&self, instant: &str) -> bool {
            instant <= self.0
        }

        fn is_committed(&self, instant: &str) -> bool {
            !instant.starts_with('0')
        }
    }

    fn header(entries: &[(i32, &str)]) -> Header {
        let mut bytes = i32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
        for (key, value) in entries {
            bytes.extend(key.to_be_bytes());
            bytes.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
            bytes.extend(value.as_bytes());
        }
        Header::read(&Bytes::from(bytes)).unwrap().0
    }

    /// `1` a data block of instant 1, `R1` a rollback of it, `C5:1,2` a block of 5 that compacts 1 and 2, `X` corrupt.
    fn block(index: usize, text: &str) -> Block {
        let damage = || Damage { reason: String::new(), offset: 0, verdict: Verdict::Skipped };
        let (kind, header) = match (text.strip_prefix('R'), text.strip_prefix('C'), text) {
            (Some(target), ..) => (BlockKind::Sound(BlockType::Command), header(&[(0, "9"), (1, target), (3, "0")])),
            (_, Some(compacted), _) => {
                let (instant, originals) = compacted.split_once(':').unwrap();
                (BlockKind::Sound(BlockType::AvroData), header(&[(0, instant), (4, originals)]))
            }
            (.., "X") => (BlockKind::Corrupt(damage()), Header::default()),
            _ => (BlockKind::Sound(BlockType::AvroData), header(&[(0, text)])),
        };
        Block {
            index: index as u64,
            offset: 0,
            end: 0,
            kind,
            block_size: None,
            trailing_length: None,
            log_format_version: None,
            header,
            footer: Header::default(),
            content: 0..0,
        }
    }

    fn scan(text: &str, latest: &'static str) -> (String, u64, u64) {
        let mut valid = ValidBlocks::default();
        for (index, one) in text.split(' ').enumerate() {
            valid.add(0, block(index, one), &UpTo(latest)).unwrap();
        }
        let (rolled_back, uncommitted) = (valid.rolled_back, valid.uncommitted);
        let order: Vec<_> =
            valid.finish().iter().map(|one| one.block.header.instant_time().unwrap().into_owned()).collect();
        (order.join(" "), rolled_back, uncommitted)
    }

    /// The left column was put to Hudi 1.2.0, the right one is its answer.
    #[test]
    fn order_and_choice_are_hudis() {
        for (blocks, order) in [
            ("1 2 1", "1 1 2"),
            ("1 2 R1 3", "2 3"),
            ("R1 1 2", "1 2"),
            ("1 2 R1 1", "2 1"),
            ("1 2 C5:1,2 6", "5 6"),
            ("1 2 3 C5:1,2 6", "5 3 6"),
            ("1 C5:1,2 2 6", "5 2 6"),
            ("C5:1,2 6", "6"),
            ("1 2 C5:1,2 3 C7:5,3 8", "7 8"),
            ("1 2 C5:1,2 R5", "1 2"),
            ("1 X 2", "1 2"),
        ] {
            assert_eq!(scan(blocks, "9").0, order, "{blocks}");
        }
    }

    #[test]
    fn later_and_uncommitted_blocks_are_left_out() {
        assert_eq!(scan("1 5 2", "3").0, "1 2");
        assert_eq!(scan("1 R1", "3"), (String::new(), 1, 0));
        assert_eq!(scan("1 01 2", "3"), ("1 2".into(), 0, 1));
    }

    #[test]
    fn what_might_hold_rows_is_never_passed_over() {
        let mut unknown = block(4, "1");
        unknown.kind = BlockKind::Unknown(9);
        let mut lost = block(0, "X");
        lost.kind = BlockKind::Corrupt(Damage { reason: "?".into(), offset: 7, verdict: Verdict::Lost });
        let mut newer = block(0, "1");
        newer.header = header(&[(0, "1"), (9, "?")]);
        for block in [unknown, lost, newer] {
            let error = ValidBlocks::default().add(0, block, &UpTo("9")).unwrap_err();
            assert!(error.place().offset.is_some() && error.place().block.is_some());
        }
    }
}
