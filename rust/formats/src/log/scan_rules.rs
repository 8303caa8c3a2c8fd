//! The rules of a scan of a slice's log blocks. Releases differ in two ways:
//!
//! | | 0.13 to 0.15 | 1.0, 1.1 | 1.2 |
//! |---|---|---|---|
//! | order of blocks | by block (V1); by instant (V2) if configured | the same | by instant |
//! | the first block later than the query's instant | ends the scan, also a command block | is skipped | is skipped |

use mortice_base::names::RequestedTime;
use mortice_base::names::instant_range::InstantRange;

/// The order in which blocks are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanOrder {
    /// V1 (`scanInternalV1`): the order in the files. Log-compacted blocks are like any other.
    ByBlock,
    /// V2 (`scanInternalV2`): blocks of an instant together, instants in order of their first block; a log-compacted
    /// instant replaces its originals.
    ByInstant,
}

/// How blocks later than the query's instant are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaterBlocks {
    /// Data and delete blocks are skipped; commands are still executed.
    Skipped,
    /// The first such block that is not corrupt ends the scan, for all block types.
    EndsTheScan,
}

/// The rules of one scan.
#[derive(Clone, Copy)]
pub struct ScanRules<'a> {
    /// The order of blocks.
    pub order: ScanOrder,
    /// How later blocks are handled.
    pub later: LaterBlocks,
    /// The query's instant: the latest visible one. `None`: no block is visible.
    pub latest: Option<&'a RequestedTime>,
    /// The instants of an incremental query; `None` selects all. Commands are executed for all instants.
    pub range: Option<&'a InstantRange>,
    /// Whether an instant is completed; `None` if files of uncommitted instants were removed before (table version 8
    /// and later).
    pub is_committed: Option<&'a dyn Fn(&RequestedTime) -> bool>,
}

impl<'a> ScanRules<'a> {
    /// Returns the rules of Hudi 1.2 for all instants completed by `latest`.
    #[must_use]
    pub fn hudi_1_x(latest: Option<&'a RequestedTime>) -> Self {
        Self { order: ScanOrder::ByInstant, later: LaterBlocks::Skipped, latest, range: None, is_committed: None }
    }

    /// Returns the rules of Hudi 0.15.
    #[must_use]
    pub fn hudi_0_x(latest: Option<&'a RequestedTime>) -> Self {
        Self { order: ScanOrder::ByBlock, later: LaterBlocks::EndsTheScan, latest, range: None, is_committed: None }
    }
    /// Returns true if an instant is later than the query's.
    pub(super) fn is_later(&self, instant: &RequestedTime) -> bool {
        self.latest.is_none_or(|latest| instant > latest)
    }
}
