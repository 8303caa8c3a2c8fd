//! An open HFile: its index and file info read, its data blocks not yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::block::{self, BlockKind};
use super::cell::{self, Cells};
use super::file_info;
use super::index::{self, BlockPlace};
use super::trailer::Trailer;
use crate::error::{Error, Result};
use crate::storage::Source;

/// An HFile. Offsets of errors are the file's.
pub struct HFile {
    source: Arc<dyn Source>,
    trailer: Trailer,
    info: BTreeMap<Bytes, Bytes>,
    blocks: Vec<BlockPlace>,
}

impl HFile {
    /// Reads trailer, file info and index.
    ///
    /// # Errors
    /// `CorruptLog` where they contradict themselves; `Unsupported` for other versions and codecs, and for encrypted files.
    pub fn open(source: Arc<dyn Source>) -> Result<Self> {
        let trailer = Trailer::read(source.as_ref())?;
        let most = source.len().saturating_mul(block::MOST_INFLATION) / cell::LEAST;
        if trailer.entry_count > most {
            let message = format!("an HFile of {} keys where at most {most} fit", trailer.entry_count);
            return Err(Error::corrupt(message).at_offset(source.len().saturating_sub(super::trailer::LEN)));
        }
        let at = trailer.file_info_at;
        let (payload, _) = block::read(source.as_ref(), at..source.len(), &[BlockKind::FileInfo], trailer.codec)?;
        let info = file_info::parse(&payload).map_err(|error| error.moved_to(at))?;
        let newest = info.get(&b"MAX_MEMSTORE_TS_KEY"[..]).and_then(|value| value.first_chunk().copied());
        if newest.is_some_and(|newest| i64::from_be_bytes(newest) > 0) {
            return Err(Error::unsupported("an HFile with sequence numbers of an HBase store").at_offset(at));
        }
        let blocks = if trailer.entry_count == 0 { Vec::new() } else { index::data_blocks(&source, &trailer)? };
        Ok(Self { source, trailer, info, blocks })
    }

    /// How many keys the file says it has.
    #[must_use]
    pub fn entry_count(&self) -> u64 {
        self.trailer.entry_count
    }

    /// A value of the file info.
    #[must_use]
    pub fn info(&self, key: &str) -> Option<&[u8]> {
        self.info.get(key.as_bytes()).map(AsRef::as_ref)
    }

    /// The Avro schema that Hudi leaves in the file info, as JSON.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.info("schema").and_then(|text| std::str::from_utf8(text).ok())
    }

    /// The data blocks, in key order.
    #[must_use]
    pub fn blocks(&self) -> &[BlockPlace] {
        &self.blocks
    }

    /// The cells of a data block.
    pub fn read_block(&self, place: &BlockPlace) -> Result<Cells> {
        let within = place.offset..place.end;
        let (payload, _) = block::read(self.source.as_ref(), within, &[BlockKind::Data], self.trailer.codec)?;
        Cells::parse(payload).map_err(|error| error.moved_to(place.offset))
    }

    /// All cells, block by block, in key order. Their number is compared with what the trailer says: none is lost in silence.
    pub fn scan(&self) -> impl Iterator<Item = Result<Cells>> + '_ {
        let mut found = 0_u64;
        let blocks = self.blocks.iter().map(Some).chain(std::iter::once(None));
        blocks.filter_map(move |place| match place {
            Some(place) => Some(self.read_block(place).inspect(|cells| found += cells.cells.len() as u64)),
            None if found == self.trailer.entry_count => None,
            None => {
                let message = format!("an HFile of {} keys by its trailer, found {found}", self.trailer.entry_count);
                Some(Err(Error::corrupt(message).at_offset(self.source.len().saturating_sub(super::trailer::LEN))))
            }
        })
    }

    /// The cells with these keys (sorted, each once), by block; only blocks that may hold one are read.
    pub fn seek(&self, keys: &[impl AsRef<[u8]>]) -> Result<Vec<Cells>> {
        let mut wanted: BTreeMap<usize, Vec<&[u8]>> = BTreeMap::new();
        for key in keys {
            if let Some(block) = self.block_of(key.as_ref()) {
                wanted.entry(block).or_default().push(key.as_ref());
            }
        }
        let hits = wanted.into_iter().map(|(block, keys)| self.hits(block, |key| keys.binary_search(&key).is_ok()));
        hits.collect()
    }

    /// The cells whose keys begin with one of these prefixes, by block; only blocks that may hold one are read.
    pub fn seek_prefixes(&self, prefixes: &[impl AsRef<[u8]>]) -> Result<Vec<Cells>> {
        let may_hold = |block: usize| {
            let begins = self.blocks.get(block).map(|place| place.first_key.as_ref()).unwrap_or_default();
            let ends = self.blocks.get(block + 1).map(|place| place.first_key.as_ref());
            prefixes.iter().map(AsRef::as_ref).any(|prefix| {
                // Keys with the prefix follow it in order, so they lie before the block, in it, or after it.
                ends.is_none_or(|ends| prefix < ends) && (begins <= prefix || begins.starts_with(prefix))
            })
        };
        let blocks = (0..self.blocks.len()).filter(|block| may_hold(*block));
        blocks
            .map(|block| self.hits(block, |key| prefixes.iter().any(|prefix| key.starts_with(prefix.as_ref()))))
            .collect()
    }

    /// The one block that may hold a key: the last that does not begin after it.
    fn block_of(&self, key: &[u8]) -> Option<usize> {
        self.blocks.partition_point(|place| place.first_key.as_ref() <= key).checked_sub(1)
    }

    fn hits(&self, block: usize, hit: impl Fn(&[u8]) -> bool) -> Result<Cells> {
        let Some(place) = self.blocks.get(block) else {
            return Err(Error::invalid_argument("a block that the file has not"));
        };
        let cells = self.read_block(place)?;
        let hits = cells.cells.iter().filter(|cell| hit(cells.key(cell))).cloned().collect();
        Ok(Cells { payload: cells.payload, cells: hits })
    }
}
