//! All cells of a file, block by block. Rows are never silently missing: keys ascend from block to block, and the count
//! is the trailer's.

use std::sync::Arc;
use std::vec::IntoIter;

use super::cell::{Cell, CellMatch, Cells};
use super::data_blocks::DataBlocks;
use super::index::{BlockIndexEntry, before_and_after};
use mortice_base::error::{Error, Result};

/// The data blocks of a file, each read when it is asked for. After an error there is nothing more.
pub struct HFileScan {
    blocks: Arc<DataBlocks>,
    places: Option<IntoIter<BlockIndexEntry>>,
    /// The last key so far.
    last: Vec<u8>,
    seen: u64,
    done: bool,
}

impl HFileScan {
    pub(super) const fn new(blocks: Arc<DataBlocks>) -> Self {
        Self { blocks, places: None, last: Vec::new(), seen: 0, done: false }
    }

    fn advance(&mut self) -> Result<Option<Cells>> {
        let places = match &mut self.places {
            Some(places) => places,
            unread => {
                let all = self.blocks.all()?;
                self.blocks.plan(&all)?;
                unread.insert(all.into_iter())
            }
        };
        let Some(place) = places.next() else {
            return self.check_count().map(|()| None);
        };
        if self.seen > 0 && place.first_key.as_ref() <= self.last.as_slice() {
            let wrong = before_and_after(&self.last, &place.first_key);
            let message = format!("invalid HFile: keys are out of order between two blocks: {wrong}");
            return Err(Error::corrupt(message).at_offset(place.offset));
        }
        let cells = self.blocks.cells(&place, |_| CellMatch::Take)?;
        self.last.clear();
        self.last.extend_from_slice(cells.cells.last().map_or(&[][..], |cell: &Cell| cells.key(cell)));
        self.seen = self.seen.saturating_add(cells.cells.len() as u64);
        Ok(Some(cells))
    }

    fn check_count(&self) -> Result<()> {
        let expected = self.blocks.entry_count();
        if self.seen == expected {
            return Ok(());
        }
        let message = format!("invalid HFile: its trailer has {expected} entries, its blocks {}", self.seen);
        Err(Error::corrupt(message).at_offset(0))
    }
}

impl Iterator for HFileScan {
    type Item = Result<Cells>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.advance().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}
