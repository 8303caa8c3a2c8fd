//! One record of a batch of log records, its key looked up.

use arrow_array::Array;

use super::input::{LogBatch, LogKind, RowRef};
use super::key_index::{AHEAD, KeyHash, KeyIndex, KeyRange};
use super::rules::{DeleteState, MergeSide};
use mortice_base::error::{Error, Result};
use mortice_formats::filter::KeyFilter;

/// One record of a batch, its key found in the index.
pub(super) struct IncomingRecord<'a> {
    pub(super) row: RowRef,
    pub(super) place: KeyRange,
    pub(super) side: MergeSide<'a>,
    pub(super) hash: KeyHash,
    /// The key's entry, if it has one already.
    pub(super) found: Option<u32>,
}

impl LogBatch<'_> {
    /// The hashes of the keys of [`AHEAD`] rows, from `row` on, for [`LogBatch::incoming`]. Prefetches what the
    /// look-ups read.
    pub(super) fn look_ahead(&self, source: u32, row: usize, index: &KeyIndex) -> [KeyHash; AHEAD] {
        let rows = row..self.places.len().min(row + AHEAD);
        let place = |row| self.keys.is_valid(row).then(|| KeyRange::from_packed(self.keys.value(row)));
        index.look_ahead(rows.map(|row| place(row).and_then(|place| index.key(source, place).ok())))
    }

    /// The record of row `row`, which is stored at `at` and whose key has that hash. Returns `None` if its key is not
    /// wanted or is not in the indexed hash range. [`LogBatch::check`] has been called before.
    #[inline]
    pub(super) fn incoming(
        &self,
        at: RowRef,
        row: usize,
        hash: KeyHash,
        index: &KeyIndex,
        wanted: &KeyFilter,
    ) -> Result<Option<IncomingRecord<'_>>> {
        if self.keys.is_null(row) {
            let message = "invalid log record: it has no record key to merge by";
            return Err(Error::invalid_table(message).at_offset(u64::from(at.at)));
        }
        let place = KeyRange::from_packed(self.keys.value(row));
        let deleted = match (self.deleted.is_some_and(|deleted| deleted.value(row)), self.kind) {
            (false, _) => DeleteState::No,
            (true, LogKind::Data) => DeleteState::ByRow,
            (true, LogKind::Delete) => DeleteState::ByBlock,
        };
        let key = index.key(at.source, place)?;
        if self.kind == LogKind::Data && !wanted.passes(key) {
            return Ok(None);
        }
        if !index.holds(hash) {
            return Ok(None);
        }
        let side = MergeSide { ordering: self.ordering.value(row), is_foreign: self.ordering.is_foreign(row), deleted };
        Ok(Some(IncomingRecord { row: at, place, side, hash, found: index.find(hash, key) }))
    }
}
