//! How to read: what a caller may choose.

use serde::{Deserialize, Serialize};

use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};

/// What to do about a corrupt block that Hudi would pass over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnCorrupt {
    /// Pass over it and report it, as Hudi does.
    #[default]
    Skip,
    /// Fail.
    Raise,
}

impl OnCorrupt {
    /// `skip` or `raise`.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "skip" => Ok(Self::Skip),
            "raise" => Ok(Self::Raise),
            other => Err(Error::invalid_argument(format!("on_corrupt must be \"skip\" or \"raise\", got {other:?}"))),
        }
    }
}

/// What to do about a damaged log file: one that is shorter than a completed write recorded, or has a corrupt block
/// among the bytes that a completed write wrote. Hudi skips both, as it cannot tell them from an interrupted write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnDamage {
    /// Read the rest of the file, and report it.
    #[default]
    Warn,
    /// Fail. Also compares lengths with the metadata of commits if no metadata table lists the files.
    Raise,
    /// Read the rest of the file.
    Ignore,
}

impl OnDamage {
    /// `warn`, `raise` or `ignore`.
    ///
    /// # Errors
    /// `InvalidArgument` for other text.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "warn" => Ok(Self::Warn),
            "raise" => Ok(Self::Raise),
            "ignore" => Ok(Self::Ignore),
            other => Err(Error::invalid_argument(format!(
                "on_damage must be \"warn\", \"raise\" or \"ignore\", got {other:?}"
            ))),
        }
    }
}

/// Whose rules a read follows. The two differ on late records and deletes, and on rollbacks seen from the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MergeSemantics {
    /// Those of Hudi 1.2.
    #[default]
    V1x,
    /// Those of Hudi 0.15, for tables that it can read.
    V0x,
}

impl MergeSemantics {
    /// `1.x` or `0.x`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1x => "1.x",
            Self::V0x => "0.x",
        }
    }

    /// `1.x` or `0.x`.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "1.x" => Ok(Self::V1x),
            "0.x" => Ok(Self::V0x),
            other => Err(Error::invalid_argument(format!("semantics must be \"1.x\" or \"0.x\", got {other:?}"))),
        }
    }
}

/// In which order the log blocks of a slice are merged, and what log-compacted blocks mean
/// (`hoodie.optimized.log.blocks.scan.enable`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum LogScan {
    /// Blocks of an instant together, and log-compacted blocks in place of their originals: the one way of Hudi 1.2.
    #[default]
    ByInstant,
    /// Block by block, as Hudi 1.0 and 1.1 do by default.
    ByBlock,
}

/// Rows in a batch unless the caller says otherwise.
const BATCH_ROWS: usize = 65_536;

/// Bytes of memory unless the caller says otherwise, as in Hudi (`hoodie.memory.merge.max.size`).
const MEMORY_LIMIT: u64 = 1 << 30;

/// Options of a read; they travel with each split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// Whose rules to follow.
    pub semantics: MergeSemantics,
    /// Corrupt blocks.
    pub on_corrupt: OnCorrupt,
    /// Damaged log files.
    pub on_damage: OnDamage,
    /// The most rows in a batch; at least 1. A batch of large rows has fewer ([`Self::batch_limit`]).
    pub batch_rows: usize,
    /// How log blocks are put in order.
    pub log_scan: LogScan,
    /// Splits read at once; `None` is one per core.
    pub threads: Option<usize>,
    /// Whether log records are merged with base rows by position where the logs record positions
    /// (`hoodie.merge.use.record.positions`). The rows are the same by key, except where a base file has a key several
    /// times.
    pub record_positions: bool,
    /// Bytes that a read may keep in memory, mapped files aside: keys and contents of logs, and batches that wait. What
    /// is more is set aside in files.
    pub memory_limit: u64,
    /// The folder of such files; `None` is the system's own.
    pub spill_dir: Option<String>,
    /// Whether what is written there is compressed, where it need not be read at random.
    pub spill_compressed: bool,
    /// Whether what a filter excludes is left unread where that is known beforehand; the rows are the same either way.
    pub prune: bool,
    /// Whether files are listed from the metadata table, where the table has one that lists them; the files are the
    /// same either way.
    pub metadata: bool,
    /// Whether file slices are left unopened where the metadata table's column statistics say that no wanted row is in
    /// them; the rows are the same either way.
    pub column_stats: bool,
    /// Whether keys and values that a filter names are looked up in the record index, secondary indexes and Bloom
    /// filters, where the table has them. The rows are the same as long as each key is in one file group: queries do,
    /// writers and services that have to find all rows of a key do not.
    pub record_index: bool,
    /// Whether large files on local disks are mapped into memory; else they are read by windows.
    pub mmap: bool,
}

impl ReadOptions {
    /// The same for a change of rows, which has to find all rows of a key: the record index has one location of it.
    #[must_use]
    pub fn for_changes(&self) -> Self {
        Self { record_index: false, ..self.clone() }
    }

    /// The options, if they are valid.
    pub fn checked(self) -> Result<Self> {
        if self.batch_rows == 0 || self.threads == Some(0) {
            return Err(Error::invalid_argument("batch_rows and threads must be at least 1, got 0"));
        }
        Ok(self)
    }

    /// How large a batch of a reader may be that has a share of the memory limit: several decode at once, and each has
    /// about three batches in memory.
    #[must_use]
    pub fn batch_limit(&self, share: u64) -> BatchLimit {
        BatchLimit::within(self.batch_rows, self.memory_limit.min(share))
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            semantics: MergeSemantics::default(),
            on_corrupt: OnCorrupt::default(),
            on_damage: OnDamage::default(),
            batch_rows: BATCH_ROWS,
            log_scan: LogScan::default(),
            threads: None,
            record_positions: true,
            memory_limit: MEMORY_LIMIT,
            spill_dir: None,
            spill_compressed: true,
            prune: true,
            metadata: true,
            column_stats: true,
            record_index: false,
            mmap: false,
        }
    }
}
