//! Statistics of a read: files, blocks by type, damage, and numbers of records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::timeline::WrittenRanges;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_storage::{RequestCounters, RequestCounts};

/// A skipped range of a log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorruptRange {
    /// The log file.
    pub file: String,
    /// The offset of the block.
    pub offset: u64,
    /// The expected and the actual bytes.
    pub reason: String,
}

/// A log file that has lost bytes of a completed write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedFile {
    /// The log file.
    pub file: String,
    /// The offset of the first byte that is missing or cannot be read.
    pub offset: u64,
    /// The write.
    pub instant: RequestedTime,
    /// What the write recorded, and what the file has.
    pub reason: String,
}

/// Statistics of a read of one or several splits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// Base and log files opened.
    pub files: u64,
    /// Log blocks by Hudi's name of their type.
    pub blocks: BTreeMap<String, u64>,
    /// Corrupt ranges.
    pub corrupt: Vec<CorruptRange>,
    /// Damaged files, each once.
    pub damaged: Vec<DamagedFile>,
    /// Blocks removed by rollbacks.
    pub rolled_back: u64,
    /// Blocks of instants that are not completed.
    pub uncommitted: u64,
    /// Log records (rows and deletes) whose keys were read.
    pub records_read: u64,
    /// Log rows that were decoded because they won.
    pub records_won: u64,
    /// Additional passes over the logs, because the keys did not fit in memory.
    pub passes: u64,
    /// File slices pruned by column statistics or the record index.
    pub slices_pruned: u64,
    /// Row groups of base files pruned by their statistics.
    pub row_groups_pruned: u64,
    /// Base rows read.
    pub base_rows: u64,
    /// Base rows that log records have replaced, of slices that were read to their end.
    pub updated_rows: u64,
    /// Base rows that log records have deleted, likewise.
    pub deleted_rows: u64,
    /// Rows of log records that no base row has the key of, likewise.
    pub inserted_rows: u64,
    /// Rows returned.
    pub rows: u64,
    /// Storage requests.
    pub requests: RequestCounts,
    /// The maximum number of bytes fetched from an object store that were held at once.
    pub peak_fetched_bytes: u64,
}

/// A report that several readers update.
#[derive(Clone, Default)]
pub struct SharedReport {
    report: Arc<Mutex<ReadReport>>,
    requests: Arc<RequestCounters>,
    /// What the table's writes recorded, once a read has found a log that looks damaged.
    written: Arc<Mutex<Option<Arc<WrittenRanges>>>>,
}

impl std::fmt::Debug for SharedReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedReport").field("report", &self.report).finish_non_exhaustive()
    }
}

impl SharedReport {
    /// Returns the report for an update.
    pub fn edit(&self) -> MutexGuard<'_, ReadReport> {
        // The counts are valid even after a panic of another thread.
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the table's writes recorded, which `load` reads once for all readers of this report. All of them
    /// read one table.
    pub(super) fn written_ranges(&self, load: impl FnOnce() -> Result<WrittenRanges>) -> Result<Arc<WrittenRanges>> {
        let mut known = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(written) = &*known {
            return Ok(Arc::clone(written));
        }
        let written = Arc::new(load()?);
        *known = Some(Arc::clone(&written));
        Ok(written)
    }

    /// Limits the fetched bytes to their share of a memory limit, for the given number of concurrent readers.
    pub(super) fn limit_fetched(&self, memory_limit: u64, readers: usize) {
        self.requests.budget().set_limit(memory_limit / 4, readers);
    }

    /// Returns the counters of storage requests.
    #[must_use]
    pub fn requests(&self) -> &Arc<RequestCounters> {
        &self.requests
    }

    /// Returns a copy of the report.
    #[must_use]
    pub fn snapshot(&self) -> ReadReport {
        let peak_fetched_bytes = self.requests.budget().peak();
        ReadReport { requests: self.requests.counts(), peak_fetched_bytes, ..self.edit().clone() }
    }
}
