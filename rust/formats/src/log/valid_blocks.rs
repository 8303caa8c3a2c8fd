//! Selects the valid blocks of a file slice, and their order (`BaseHoodieLogRecordReader`).
//!
//! First pass, over all blocks of all log files in slice order: corrupt blocks are skipped, as are data and delete
//! blocks later than the query's instant or outside its range, and, if file names do not identify commits (table
//! version 7 and below), those of instants that are not completed; the others are collected. A rollback command removes
//! the blocks of its target that were collected before; its own instant is not checked, unless later blocks end the
//! scan.
//!
//! Second pass, if blocks are collected by instant, over the instants from the last: blocks of a log-compacted instant
//! replace the originals that it lists, in the position of the latest original. A log-compacted instant without any of
//! its originals is not read.

use std::collections::{HashMap, HashSet};

use super::block::{Block, BlockKind};
use super::layout::{BlockType, HeaderKey};
use super::scan_rules::{LaterBlocks, ScanOrder, ScanRules};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// A block of a slice, with the ordinal of its file.
#[derive(Debug, Clone)]
pub struct BlockRef {
    /// The ordinal of the log file.
    pub file: usize,
    /// The block.
    pub block: Block,
}

/// Whether a scan continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanControl {
    /// It continues with the next block.
    GoesOn,
    /// The block is later than the query's instant, and the rules end the scan there.
    Ended,
}

/// Collects blocks and returns the valid ones.
pub struct ValidBlocks<'a> {
    rules: ScanRules<'a>,
    gathered: GatheredBlocks,
    /// The number of blocks that rollback commands removed.
    pub rolled_back: u64,
    /// The number of blocks of instants that are not completed.
    pub uncommitted: u64,
}

enum GatheredBlocks {
    ByBlock(Vec<BlockRef>),
    ByInstant(ByInstant),
}

impl<'a> ValidBlocks<'a> {
    /// Creates an empty collection.
    #[must_use]
    pub fn new(rules: ScanRules<'a>) -> Self {
        let gathered = match rules.order {
            ScanOrder::ByBlock => GatheredBlocks::ByBlock(Vec::new()),
            ScanOrder::ByInstant => GatheredBlocks::ByInstant(ByInstant::default()),
        };
        Self { rules, gathered, rolled_back: 0, uncommitted: 0 }
    }

    /// Adds the next block, in slice order. Returns an error for a block that may contain rows and cannot be read
    /// ([`Block::refusal`]).
    pub fn add(&mut self, file: usize, block: Block) -> Result<ScanControl> {
        if let Some(refusal) = block.refusal() {
            return Err(refusal);
        }
        let index = block.index;
        match &block.kind {
            BlockKind::Corrupt(_) | BlockKind::Unknown(_) => Ok(ScanControl::GoesOn),
            BlockKind::Sound(BlockType::Command) => self.command(&block),
            BlockKind::Sound(_) => self.data_or_delete(file, block),
        }
        .map_err(|error| error.in_block(index))
    }

    fn ends_the_scan(&self, instant: &RequestedTime) -> bool {
        self.rules.later == LaterBlocks::EndsTheScan && self.rules.is_later(instant)
    }

    fn command(&mut self, block: &Block) -> Result<ScanControl> {
        if block.header.requested_time().is_some_and(|instant| self.ends_the_scan(&instant)) {
            return Ok(ScanControl::Ended);
        }
        let command = block.header.get(HeaderKey::CommandBlockType);
        if command.as_deref().map(str::trim) != Some("0") {
            let message = format!("unsupported command block type {command:?} (supported: 0, rollback)");
            return Err(Error::unsupported(message).at_offset(block.offset));
        }
        let Some(target) = block.header.get(HeaderKey::TargetInstantTime) else {
            return Err(Error::corrupt("invalid command block: the target instant of the rollback is missing")
                .at_offset(block.offset));
        };
        let Some(target) = RequestedTime::parse(&target) else {
            let message = format!("invalid command block: the target {target:?} of the rollback is not an instant");
            return Err(Error::corrupt(message).at_offset(block.offset));
        };
        self.rolled_back += match &mut self.gathered {
            GatheredBlocks::ByInstant(gathered) => gathered.roll_back(&target),
            GatheredBlocks::ByBlock(blocks) => {
                let before = blocks.len();
                blocks.retain(|one| one.block.header.requested_time().as_ref() != Some(&target));
                (before - blocks.len()) as u64
            }
        };
        Ok(ScanControl::GoesOn)
    }

    fn data_or_delete(&mut self, file: usize, block: Block) -> Result<ScanControl> {
        let Some(instant) = block.header.requested_time() else {
            let problem = match block.header.instant_time() {
                Some(text) => format!("INSTANT_TIME in its header must be an instant, got {text:?}"),
                None => "INSTANT_TIME is missing in its header".to_owned(),
            };
            let message = format!("invalid {}: {problem}", block.type_name());
            return Err(Error::corrupt(message).at_offset(block.offset));
        };
        if self.ends_the_scan(&instant) {
            return Ok(ScanControl::Ended);
        }
        if self.rules.is_later(&instant) {
            return Ok(ScanControl::GoesOn);
        }
        if self.rules.is_committed.is_some_and(|is_committed| !is_committed(&instant)) {
            self.uncommitted += 1;
            return Ok(ScanControl::GoesOn);
        }
        if self.rules.range.is_some_and(|range| !range.contains(&instant)) {
            return Ok(ScanControl::GoesOn);
        }
        let found = BlockRef { file, block };
        match &mut self.gathered {
            GatheredBlocks::ByBlock(blocks) => blocks.push(found),
            GatheredBlocks::ByInstant(gathered) => gathered.push(instant, found),
        }
        Ok(ScanControl::GoesOn)
    }

    /// Returns the valid blocks, oldest first.
    ///
    /// # Errors
    /// `Internal` if a valid block is missing.
    pub fn finish(self) -> Result<Vec<BlockRef>> {
        match self.gathered {
            GatheredBlocks::ByBlock(blocks) => Ok(blocks),
            GatheredBlocks::ByInstant(gathered) => gathered.in_order(),
        }
    }
}

/// Blocks by instant, instants in order of their first block.
#[derive(Default)]
struct ByInstant {
    order: Vec<RequestedTime>,
    blocks: HashMap<RequestedTime, Vec<BlockRef>>,
}

impl ByInstant {
    fn push(&mut self, instant: RequestedTime, found: BlockRef) {
        let blocks = self.blocks.entry(instant.clone()).or_default();
        if blocks.is_empty() {
            self.order.push(instant);
        }
        blocks.push(found);
    }

    /// Returns the number of removed blocks.
    fn roll_back(&mut self, target: &RequestedTime) -> u64 {
        let Some(undone) = self.blocks.remove(target) else { return 0 };
        self.order.retain(|instant| instant != target);
        undone.len() as u64
    }

    fn in_order(mut self) -> Result<Vec<BlockRef>> {
        let mut stands_for: HashMap<RequestedTime, RequestedTime> = HashMap::new();
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
        let mut blocks = Vec::new();
        for instant in newest_first.iter().rev() {
            let lost = || Error::internal("the valid blocks of an instant were lost").at_instant(instant);
            blocks.extend(self.blocks.remove(instant).ok_or_else(lost)?);
        }
        Ok(blocks)
    }

    /// Returns the instants that a log-compacted instant replaces; only its first block lists them. A string that is
    /// not an instant matches no block.
    fn originals_of(&self, instant: &RequestedTime) -> Option<Vec<RequestedTime>> {
        let first = self.blocks.get(instant)?.first()?;
        let originals = first.block.header.get(HeaderKey::CompactedBlockTimes)?;
        Some(originals.split(',').filter_map(|original| RequestedTime::parse(original.trim())).collect())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::log::{BlockDamage, DamageEffect, Header};
    use mortice_base::names::instant_range::InstantRange;

    const COMMITTED: &dyn Fn(&RequestedTime) -> bool = &|instant| !instant.as_str().starts_with('0');

    fn time(text: &str) -> Option<&'static RequestedTime> {
        Some(Box::leak(Box::new(text.into())))
    }

    fn hudi_1_x(latest: &'static str) -> ScanRules<'static> {
        ScanRules { is_committed: Some(COMMITTED), ..ScanRules::hudi_1_x(time(latest)) }
    }

    fn hudi_0_x(latest: &'static str) -> ScanRules<'static> {
        ScanRules { is_committed: Some(COMMITTED), ..ScanRules::hudi_0_x(time(latest)) }
    }

    fn open_closed(start: &str, end: &str) -> InstantRange {
        InstantRange::OpenClosed { start: Some(start.into()), end: Some(end.into()) }
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

    /// `1` a data block of instant 1, `R1@8` a rollback of it at 8 (9 unless said), `C5:1,2` a block of 5 that compacts
    /// 1 and 2, `X` corrupt.
    fn block(index: usize, text: &str) -> Block {
        let damage = || BlockDamage { reason: String::new(), offset: 0, verdict: DamageEffect::Skipped };
        let (kind, header) = match (text.strip_prefix('R'), text.strip_prefix('C'), text) {
            (Some(command), ..) => {
                let (target, instant) = command.split_once('@').unwrap_or((command, "9"));
                (BlockKind::Sound(BlockType::Command), header(&[(0, instant), (1, target), (3, "0")]))
            }
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
            is_native: false,
        }
    }

    fn scan(text: &str, rules: ScanRules<'_>) -> (String, u64, u64) {
        let mut valid = ValidBlocks::new(rules);
        for (index, one) in text.split(' ').enumerate() {
            if valid.add(0, block(index, one)).unwrap() == ScanControl::Ended {
                break;
            }
        }
        let (rolled_back, uncommitted) = (valid.rolled_back, valid.uncommitted);
        let order: Vec<_> =
            valid.finish().unwrap().iter().map(|one| one.block.header.instant_time().unwrap().into_owned()).collect();
        (order.join(" "), rolled_back, uncommitted)
    }

    /// The left column was read by Hudi 1.2.0, the right one is its result.
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
            assert_eq!(scan(blocks, hudi_1_x("9")).0, order, "{blocks}");
        }
    }

    #[test]
    fn later_and_uncommitted_blocks_are_left_out() {
        assert_eq!(scan("1 5 2", hudi_1_x("3")).0, "1 2");
        assert_eq!(scan("1 R1@8", hudi_1_x("3")), (String::new(), 1, 0));
        assert_eq!(scan("1 01 2", hudi_1_x("3")), ("1 2".into(), 0, 1));
    }

    /// Ranges restrict data and delete blocks, not commands. A compacted block is lost if its originals are outside the
    /// range, as in Hudi 1.2.0.
    #[test]
    fn ranges() {
        for (blocks, range, order) in [
            ("1 2 3", open_closed("1", "2"), "2"),
            ("1 2 R2@9", open_closed("0", "3"), "1"),
            ("1 2 C5:1,2 6", open_closed("2", "9"), "6"),
        ] {
            assert_eq!(scan(blocks, ScanRules { range: Some(&range), ..hudi_1_x("9") }).0, order, "{blocks}");
        }
    }

    /// By block, as in V1 of 1.0 and 1.1: log-compacted blocks are applied in addition to their originals.
    #[test]
    fn by_block_with_the_rules_of_1_x() {
        let rules = |latest| ScanRules { order: ScanOrder::ByBlock, ..hudi_1_x(latest) };
        for (blocks, latest, order) in [
            ("1 2 1", "9", "1 2 1"),
            ("1 2 1 R1 3", "9", "2 3"),
            ("1 R1 1", "9", "1"),
            ("1 2 C5:1,2 6", "9", "1 2 5 6"),
            ("1 5 2", "3", "1 2"),
            ("1 R1@8", "3", ""),
            ("1 01 X 2", "9", "1 2"),
        ] {
            assert_eq!(scan(blocks, rules(latest)).0, order, "{blocks}");
        }
    }

    /// Hudi 0.15: the first later block ends the scan, even if it is a command.
    #[test]
    fn by_block_with_the_rules_of_0_x() {
        for (blocks, latest, order) in [
            ("1 2 1", "9", "1 2 1"),
            ("1 5 2", "3", "1"),
            ("1 X 2", "3", "1 2"),
            ("11 R11@18", "14", "11"),
            ("11 R11@18", "18", ""),
            ("1 01 2", "3", "1 2"),
            ("1 2 C5:1,2 6", "9", "1 2 5 6"),
        ] {
            assert_eq!(scan(blocks, hudi_0_x(latest)).0, order, "{blocks}");
        }
        let by_instant = ScanRules { order: ScanOrder::ByInstant, ..hudi_0_x("3") };
        assert_eq!(scan("1 2 1 5 2", by_instant).0, "1 1 2");
    }

    #[test]
    fn what_might_hold_rows_is_never_passed_over() {
        let mut unknown = block(4, "1");
        unknown.kind = BlockKind::Unknown(9);
        let mut lost = block(0, "X");
        lost.kind = BlockKind::Corrupt(BlockDamage { reason: "?".into(), offset: 7, verdict: DamageEffect::Lost });
        let mut newer = block(0, "1");
        newer.header = header(&[(0, "1"), (9, "?")]);
        for block in [unknown, lost, newer] {
            let error = ValidBlocks::new(hudi_1_x("9")).add(0, block).unwrap_err();
            assert!(error.location().offset.is_some() && error.location().block.is_some());
        }
    }

    #[test]
    fn instants_of_blocks_are_times() {
        for (entries, word) in
            [(&[(2, "{}")][..], "INSTANT_TIME is missing"), (&[(0, "x")], "got \"x\""), (&[(0, "")], "got \"\"")]
        {
            let mut unnamed = block(0, "1");
            unnamed.header = header(entries);
            let error = ValidBlocks::new(hudi_1_x("9")).add(0, unnamed).unwrap_err();
            assert!(error.kind() == mortice_base::ErrorKind::CorruptLog && error.to_string().contains(word), "{error}");
        }
        let error = ValidBlocks::new(hudi_1_x("9")).add(0, block(0, "Rx")).unwrap_err();
        assert!(error.to_string().contains("target \"x\""), "{error}");
        assert_eq!(scan("1 2", ScanRules::hudi_1_x(None)).0, "", "nothing is visible");
    }
}
