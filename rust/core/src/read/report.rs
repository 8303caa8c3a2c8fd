//! What a read has met: files, blocks by kind, damage, and how many records came out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::{RequestCounts, Requests};

/// A stretch of a log file that was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrupt {
    /// The log file.
    pub file: String,
    /// Where the block begins.
    pub offset: u64,
    /// What was expected and what was found.
    pub reason: String,
}

/// Counts of a read, of one split or of many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Base and log files opened.
    pub files: u64,
    /// Log blocks framed, by Hudi's name of their type.
    pub blocks: BTreeMap<String, u64>,
    /// Damaged stretches.
    pub corrupt: Vec<Corrupt>,
    /// Blocks undone by rollbacks.
    pub rolled_back: u64,
    /// Blocks of instants that did not complete.
    pub uncommitted: u64,
    /// Log records (rows and deletes) whose keys were read.
    pub records_read: u64,
    /// Log rows that were decoded, because they won.
    pub records_won: u64,
    /// Passes over the logs that slices took beyond the first, because their keys did not fit in memory.
    pub passes: u64,
    /// File slices left out of the plan: column statistics or the record index say that no wanted row is in them.
    pub slices_pruned: u64,
    /// Row groups of base files left out: their statistics say that no wanted row is in them.
    pub row_groups_pruned: u64,
    /// Base rows read.
    pub base_rows: u64,
    /// Rows delivered.
    pub rows: u64,
    /// Storage requests.
    pub requests: RequestCounts,
    /// The most bytes that were held at once of what was fetched from an object store.
    pub peak_fetched_bytes: u64,
}

/// A report that several readers write to.
#[derive(Debug, Clone, Default)]
pub struct SharedReport {
    report: Arc<Mutex<Report>>,
    requests: Arc<Requests>,
}

impl SharedReport {
    /// The report, to write to.
    pub fn edit(&self) -> MutexGuard<'_, Report> {
        // A panic elsewhere cannot leave counts that would be unsafe to read.
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Limits the bytes that are fetched and held to their share of a memory limit, for so many readers at once.
    pub(super) fn limit_fetched(&self, memory_limit: u64, readers: usize) {
        self.requests.budget().set_limit(memory_limit / 4, readers);
    }

    /// The counters of the reader's storage requests.
    #[must_use]
    pub fn requests(&self) -> &Arc<Requests> {
        &self.requests
    }

    /// The report as it stands.
    #[must_use]
    pub fn snapshot(&self) -> Report {
        let peak_fetched_bytes = self.requests.budget().peak();
        Report { requests: self.requests.counts(), peak_fetched_bytes, ..self.edit().clone() }
    }
}
