//! The entry point: an HFile. Trailer, root index and file info are read when it is opened, data blocks on request.

use std::sync::Arc;

use super::block::{Block, BlockKind};
use super::cell::{CellMatch, Cells};
use super::data_blocks::DataBlocks;
use super::fetch::TailSource;
use super::file_info::FileInfo;
use super::index::BlockIndexEntry;
use super::scan::HFileScan;
use super::search_keys::SearchKeys;
use super::seek::HFileSeek;
use super::trailer::Trailer;
use mortice_base::error::Result;
use mortice_storage::FileSource;

/// An HFile: keys in the order of their unsigned bytes, each with a value.
///
/// Offsets of errors are those within the HFile; who has cut it out of a log adds where it begins.
pub struct HFile {
    blocks: Arc<DataBlocks>,
    info: FileInfo,
}

impl HFile {
    /// Reads the trailer, the root index and the file info of a whole base file, or of a
    /// [`mortice_storage::SectionSource`] of a log.
    ///
    /// # Errors
    /// `CorruptLog` where the bytes contradict themselves; `Unsupported`, by name, for other codecs than GZ and NONE,
    /// encryption, other major versions than 3, and what only HBase itself writes: sequence numbers, tags, its
    /// catalogue's order.
    pub fn open(source: Arc<dyn FileSource>) -> Result<Self> {
        let fetch = TailSource::new(source)?;
        let at = fetch.trailer_at();
        let trailer = Trailer::parse(&fetch.trailer(), at).map_err(|error| error.offset_from(at))?;
        let section = fetch.read(trailer.load_on_open..at)?;
        // The trailer has checked that the file info is in the section.
        let within = usize::try_from(trailer.file_info.saturating_sub(trailer.load_on_open)).unwrap_or(usize::MAX);
        let bytes = section.slice(within.min(section.len())..);
        let block = Block::parse(&bytes, trailer.file_info, BlockKind::FileInfo, trailer.codec, false)?;
        let info = FileInfo::parse(&block.payload).map_err(|error| block.place(error))?;
        // Hudi's own writer did not always store that it writes them, and its reader does not ask.
        let cells_have_sequence = trailer.is_native || info.cells_have_sequence();
        let blocks = Arc::new(DataBlocks::new(fetch, trailer, &section, cells_have_sequence)?);
        Ok(Self { blocks, info })
    }

    /// How many cells the file has, as its trailer says; a whole [`HFile::scan`] holds it to that.
    #[must_use]
    pub fn entry_count(&self) -> u64 {
        self.blocks.entry_count()
    }

    /// The Avro schema of the values, as JSON. Files of Hudi 0.9 have none: the log block's header does.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.info.schema()
    }

    /// What the file info has under a key, such as `hfile.LASTKEY` or `minRecordKey`.
    #[must_use]
    pub fn info(&self, key: &str) -> Option<&[u8]> {
        self.info.get(key)
    }

    /// The data blocks, in the order of their keys and of their places. Reads the whole index, and no data block.
    ///
    /// # Errors
    /// `CorruptLog` where the index is damaged, or does not begin and end with the blocks that the trailer names.
    pub fn blocks(&self) -> Result<Vec<BlockIndexEntry>> {
        self.blocks.all()
    }

    /// A data block, decompressed, and all of its cells.
    ///
    /// # Errors
    /// `CorruptLog` where the block is damaged, or not the one that the place promises; `Unsupported`, by name, for
    /// cells that hold deletes or have columns.
    pub fn read_block(&self, at: &BlockIndexEntry) -> Result<Cells> {
        self.blocks.cells(at, |_| CellMatch::Take)
    }

    /// All data blocks, one at a time. After the last one it is an error if the file should have had more cells, or
    /// fewer.
    #[must_use]
    pub fn scan(&self) -> HFileScan {
        HFileScan::new(Arc::clone(&self.blocks))
    }

    /// The cells that have these keys. Only data blocks that can hold one are read, one at a time, and only those parts
    /// of the index that lead to them; blocks without a hit are left out. Keys may come in any order; cells come in
    /// that of the file.
    ///
    /// # Errors
    /// As [`HFile::blocks`] for the index, as [`HFile::read_block`] for each block.
    pub fn seek(&self, keys: &[impl AsRef<[u8]>]) -> Result<HFileSeek> {
        self.seek_wanted(SearchKeys::keys(keys.iter().map(AsRef::as_ref)))
    }

    /// The cells whose keys begin with one of these prefixes; else as [`HFile::seek`].
    ///
    /// # Errors
    /// As [`HFile::seek`].
    pub fn seek_prefixes(&self, prefixes: &[impl AsRef<[u8]>]) -> Result<HFileSeek> {
        self.seek_wanted(SearchKeys::prefixes(prefixes.iter().map(AsRef::as_ref)))
    }

    fn seek_wanted(&self, wanted: SearchKeys) -> Result<HFileSeek> {
        let places = self.blocks.that_may_hold(&wanted)?;
        self.blocks.plan(&places)?;
        Ok(HFileSeek::new(Arc::clone(&self.blocks), places, wanted))
    }
}
