//! No merge: every row of a log, in commit order.
//!
//! | | keys of delete blocks | rows that say that they are deletes |
//! |---|---|---|
//! | `hoodie.datasource.merge.type=skip_merge` under Hudi 1.x | are skipped | are rows like others |
//! | a change log | are deletes | are deletes |

use bytes::Bytes;

use super::input::{LogBatch, LogKind, LogSink, RowRef};
use super::outcome::MergeOutcome;
use mortice_base::error::{Error, Result};
use mortice_formats::filter::KeyFilter;

/// The rows of a log.
#[derive(Default)]
pub struct EveryRow {
    sources: u32,
    rows: Vec<MergeOutcome>,
    with_deletes: bool,
    wanted: KeyFilter,
}

impl EveryRow {
    /// The rows of a log, deletes marked as such.
    #[must_use]
    pub fn with_deletes() -> Self {
        Self { with_deletes: true, ..Self::default() }
    }

    /// At most `limit` rows from the `from`-th on, and the one to continue at (`None` at the end).
    #[must_use]
    pub fn rows(&self, from: usize, limit: usize) -> (Vec<MergeOutcome>, Option<usize>) {
        let rows: Vec<MergeOutcome> = self.rows.iter().skip(from).take(limit).copied().collect();
        let next = from + rows.len();
        (rows, (next < self.rows.len()).then_some(next))
    }
}

impl LogSink for EveryRow {
    /// Keys are not read.
    fn add_source(&mut self, _bytes: Bytes) -> Result<u32> {
        let source = self.sources;
        self.sources =
            source.checked_add(1).ok_or_else(|| Error::unsupported("4 billion log blocks in a file slice"))?;
        Ok(source)
    }

    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()> {
        let rows = batch.places.iter().map(|at| RowRef { source, at: *at });
        match batch.deleted {
            Some(deleted) if self.with_deletes => self.rows.extend(rows.zip(deleted).map(|(row, deleted)| {
                if deleted == Some(true) { MergeOutcome::Delete(row) } else { MergeOutcome::Replace(row) }
            })),
            _ if batch.kind == LogKind::Data => self.rows.extend(rows.map(MergeOutcome::Replace)),
            _ => {}
        }
        Ok(())
    }

    fn wanted(&self) -> &KeyFilter {
        &self.wanted
    }
}
