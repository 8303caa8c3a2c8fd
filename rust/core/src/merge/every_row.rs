//! No merge: every row of a log, in log order. Deletes are passed over, and rows that say that they are deletes are rows
//! (`hoodie.datasource.merge.type=skip_merge` under Hudi 1.x).

use bytes::Bytes;

use super::input::{LogBatch, LogKind, LogSink, RowRef};
use super::merger::Fate;
use crate::error::{Error, Result};
use crate::filter::KeyFilter;

/// The rows of a log.
#[derive(Default)]
pub struct EveryRow {
    sources: u32,
    rows: Vec<RowRef>,
    wanted: KeyFilter,
}

impl EveryRow {
    /// At most `limit` rows from the `from`-th on, and the one to go on from (none at the end).
    #[must_use]
    pub fn rows(&self, from: usize, limit: usize) -> (Vec<Fate>, Option<usize>) {
        let rows: Vec<Fate> = self.rows.iter().skip(from).take(limit).copied().map(Fate::Replace).collect();
        let next = from + rows.len();
        (rows, (next < self.rows.len()).then_some(next))
    }
}

impl LogSink for EveryRow {
    /// Keys are not looked at.
    fn add_source(&mut self, _bytes: Bytes) -> Result<u32> {
        let source = self.sources;
        self.sources =
            source.checked_add(1).ok_or_else(|| Error::unsupported("4 billion log blocks in a file slice"))?;
        Ok(source)
    }

    fn add(&mut self, source: u32, batch: &LogBatch<'_>) -> Result<()> {
        if batch.kind == LogKind::Data {
            self.rows.extend(batch.places.iter().map(|at| RowRef { source, at: *at }));
        }
        Ok(())
    }

    fn wanted(&self) -> &KeyFilter {
        &self.wanted
    }
}
