//! How to read: what a caller may choose.

use serde::{Deserialize, Serialize};

/// What to do about a corrupt block that Hudi would pass over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnCorrupt {
    /// Pass over it and report it, as Hudi does.
    #[default]
    Skip,
    /// Fail.
    Raise,
}

/// Rows in a batch unless the caller says otherwise.
pub const BATCH_ROWS: usize = 65_536;

/// Options of a read; they travel with each split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// Corrupt blocks.
    pub on_corrupt: OnCorrupt,
    /// The most rows in a batch; at least 1.
    pub batch_rows: usize,
    /// Splits read at once; `None` is one per core.
    pub threads: Option<usize>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { on_corrupt: OnCorrupt::Skip, batch_rows: BATCH_ROWS, threads: None }
    }
}
