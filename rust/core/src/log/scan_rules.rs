//! What a scan of a slice's log blocks goes by. Releases differ in two ways:
//!
//! | | 0.13 to 0.15 | 1.0, 1.1 | 1.2 |
//! |---|---|---|---|
//! | order of blocks | by block (V1); by instant (V2) on demand | the same | by instant |
//! | the first block later than the query's instant | ends the scan, a command block too | is passed over | is passed over |

use crate::names::RequestedTime;
use crate::names::instant_range::InstantRange;

/// In which order blocks are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanOrder {
    /// V1 (`scanInternalV1`): as they stand in the files. Log-compacted blocks are like any other.
    ByBlock,
    /// V2 (`scanInternalV2`): blocks of an instant together, instants in order of arrival; a log-compacted instant stands
    /// for its originals.
    ByInstant,
}

/// What becomes of blocks later than the query's instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// Data and delete blocks are passed over; commands still count.
    Skipped,
    /// The first such block, of whatever type but corrupt, ends the scan.
    EndsTheScan,
}

/// The rules of one scan.
#[derive(Clone, Copy)]
pub struct ScanRules<'a> {
    /// The order of blocks.
    pub order: ScanOrder,
    /// The fate of later blocks.
    pub later: Later,
    /// The query's instant: the latest that counts. `None`: no block counts.
    pub latest: Option<&'a RequestedTime>,
    /// The instants asked for; none is all. Commands are not bound by it.
    pub range: Option<&'a InstantRange>,
    /// Whether an instant completed; none where uncommitted log files were left out before (table version 8 and later).
    pub is_committed: Option<&'a dyn Fn(&RequestedTime) -> bool>,
}

impl<'a> ScanRules<'a> {
    /// The rules of Hudi 1.2 for all that completed by `latest`.
    #[must_use]
    pub fn of_1_x(latest: Option<&'a RequestedTime>) -> Self {
        Self { order: ScanOrder::ByInstant, later: Later::Skipped, latest, range: None, is_committed: None }
    }

    /// The rules of Hudi 0.15.
    #[must_use]
    pub fn of_0_x(latest: Option<&'a RequestedTime>) -> Self {
        Self { order: ScanOrder::ByBlock, later: Later::EndsTheScan, latest, range: None, is_committed: None }
    }
    /// Returns true if an instant is later than the query's.
    pub(super) fn is_later(&self, instant: &RequestedTime) -> bool {
        self.latest.is_none_or(|latest| instant > latest)
    }
}
