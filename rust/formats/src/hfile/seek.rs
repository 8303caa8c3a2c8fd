//! The cells of some keys, or of some prefixes, from the blocks that can hold them.

use std::sync::Arc;
use std::vec::IntoIter;

use super::cell::Cells;
use super::data_blocks::DataBlocks;
use super::index::BlockIndexEntry;
use super::search_keys::{Matcher, SearchKeys};
use mortice_base::error::Result;

/// Data blocks with hits, each read when it is asked for; of its cells only the hits. After an error there is nothing
/// more.
pub struct HFileSeek {
    blocks: Arc<DataBlocks>,
    places: IntoIter<BlockIndexEntry>,
    matcher: Matcher,
}

impl HFileSeek {
    pub(super) fn new(blocks: Arc<DataBlocks>, places: Vec<BlockIndexEntry>, wanted: SearchKeys) -> Self {
        Self { blocks, places: places.into_iter(), matcher: Matcher::new(wanted) }
    }
}

impl Iterator for HFileSeek {
    type Item = Result<Cells>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(place) = self.places.next() {
            match self.blocks.cells(&place, |key| self.matcher.judge(key)) {
                Ok(cells) if cells.cells.is_empty() => {}
                Ok(cells) => return Some(Ok(cells)),
                Err(error) => {
                    self.places = Vec::new().into_iter();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
