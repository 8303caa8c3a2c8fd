//! The data blocks of an open file: where they lie, by its index, and what is in one.

use bytes::Bytes;

use super::block::{Block, BlockKind};
use super::cell::{CellMatch, Cells, scan_cells};
use super::descend::IndexDescent;
use super::fetch::TailSource;
use super::index::{BlockIndexEntry, root};
use super::search_keys::SearchKeys;
use super::trailer::Trailer;
use mortice_base::error::{Error, Result};

/// What it takes to find a data block and to read it.
pub(super) struct DataBlocks {
    fetch: TailSource,
    trailer: Trailer,
    root: Vec<BlockIndexEntry>,
    cells_have_sequence: bool,
}

impl DataBlocks {
    /// `section` are the bytes from the load-on-open section to the trailer: they begin with the root index.
    pub(super) fn new(fetch: TailSource, trailer: Trailer, section: &Bytes, cells_have_sequence: bool) -> Result<Self> {
        let block = Block::parse(section, trailer.load_on_open, BlockKind::RootIndex, trailer.codec, false)?;
        let root = root(&block.payload, trailer.root_entries, trailer.levels, trailer.load_on_open)
            .map_err(|error| block.place(error))?;
        let blocks = Self { fetch, trailer, root, cells_have_sequence };
        if blocks.trailer.levels == 1 {
            blocks.check_ends(&blocks.root)?;
        }
        Ok(blocks)
    }

    /// How many cells there are, as the trailer says.
    pub(super) const fn entry_count(&self) -> u64 {
        self.trailer.entry_count
    }

    /// All data blocks.
    pub(super) fn all(&self) -> Result<Vec<BlockIndexEntry>> {
        let places = self.that_may_hold(&SearchKeys::All)?;
        self.check_ends(&places)?;
        Ok(places)
    }

    /// The data blocks that can hold what is wanted.
    pub(super) fn that_may_hold(&self, wanted: &SearchKeys) -> Result<Vec<BlockIndexEntry>> {
        let (codec, limit) = (self.trailer.codec, self.trailer.load_on_open);
        IndexDescent { fetch: &self.fetch, codec, limit, wanted }.data_blocks(&self.root, self.trailer.levels)
    }

    /// Announces that these blocks will be read, in their order.
    pub(super) fn plan(&self, places: &[BlockIndexEntry]) -> Result<()> {
        self.fetch.plan(places.iter().map(|place| place.offset..place.end()))
    }

    /// A data block, and of its cells those that `judge` takes.
    pub(super) fn cells(&self, at: &BlockIndexEntry, judge: impl FnMut(&[u8]) -> CellMatch) -> Result<Cells> {
        let bytes = self.fetch.read(at.offset..at.end())?;
        let block = Block::parse(&bytes, at.offset, BlockKind::Data, self.trailer.codec, true)?;
        if block.payload.is_empty() {
            return Err(Error::corrupt("invalid HFile data block: it has no cell").at_offset(at.offset));
        }
        let cells = scan_cells(&block.payload, self.cells_have_sequence, &at.first_key, judge)
            .map_err(|error| block.place(error))?;
        Ok(Cells { payload: block.payload, cells })
    }

    /// The first and the last block are those that the trailer names: an index that has lost an end would lose rows.
    fn check_ends(&self, places: &[BlockIndexEntry]) -> Result<()> {
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return Ok(()) };
        for (which, named, place) in
            [("first", self.trailer.first_block, first), ("last", self.trailer.last_block, last)]
        {
            if let Some(named) = named.filter(|named| *named != place.offset) {
                let at = place.offset;
                let message =
                    format!("invalid HFile: the {which} data block is at {at} in the index, at {named} in the trailer");
                return Err(Error::corrupt(message).at_offset(self.trailer.load_on_open));
            }
        }
        Ok(())
    }
}
