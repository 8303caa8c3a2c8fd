//! From the root index down to the data blocks that can hold what is wanted. Index blocks that cannot lead there are
//! not read.
//!
//! With one level the root's entries are data blocks. Each further level puts index blocks in between: leaf blocks next
//! to the data, intermediate blocks above them.

use super::block::{Block, BlockKind};
use super::codec::Codec;
use super::fetch::TailSource;
use super::index::{BlockIndexEntry, before_and_after, below_root};
use super::search_keys::SearchKeys;
use mortice_base::error::{Error, Result};

/// What is needed to read an index block, and what is looked for.
pub(super) struct IndexDescent<'a> {
    pub(super) fetch: &'a TailSource,
    pub(super) codec: Codec,
    /// Where the load-on-open section begins.
    pub(super) limit: u64,
    pub(super) wanted: &'a SearchKeys,
}

impl IndexDescent<'_> {
    /// The data blocks in question, in the order of their keys, under a root of that many levels (1 to 16).
    pub(super) fn data_blocks(&self, root: &[BlockIndexEntry], levels: u64) -> Result<Vec<BlockIndexEntry>> {
        let mut found = Vec::new();
        // For each level below the root, where its last block ends.
        let mut ends = vec![0; usize::try_from(levels.saturating_sub(1)).unwrap_or(0)];
        self.level(root, None, &mut ends, &mut found)?;
        Ok(found)
    }

    /// Goes through the entries of one index block, whose keys are below `to`. Blocks of a level follow each other in
    /// the file: so each is read once at most, even if the index is wrong.
    fn level(
        &self,
        places: &[BlockIndexEntry],
        to: Option<&[u8]>,
        ends: &mut [u64],
        found: &mut Vec<BlockIndexEntry>,
    ) -> Result<()> {
        for (index, place) in places.iter().enumerate() {
            let next = places.get(index.saturating_add(1)).map(|next| next.first_key.as_ref()).or(to);
            if !self.wanted.may_be_in(&place.first_key, next) {
                continue;
            }
            let Some((end, below)) = ends.split_first_mut() else {
                found.push(place.clone());
                continue;
            };
            let kind = if below.is_empty() { BlockKind::LeafIndex } else { BlockKind::IntermediateIndex };
            let children = self.children(place, kind)?;
            check_keys(&children, place, next)?;
            let (first, last) = (children.first(), children.last());
            if first.is_some_and(|first| first.offset < *end) {
                let message = format!("invalid HFile index: an entry leads back to before {end}");
                return Err(Error::corrupt(message).at_offset(place.offset));
            }
            *end = last.map_or(*end, BlockIndexEntry::end);
            self.level(&children, next, below, found)?;
        }
        Ok(())
    }

    fn children(&self, place: &BlockIndexEntry, kind: BlockKind) -> Result<Vec<BlockIndexEntry>> {
        let bytes = self.fetch.read(place.offset..place.end())?;
        let block = Block::parse(&bytes, place.offset, kind, self.codec, true)?;
        below_root(&block.payload, self.limit).map_err(|error| block.place(error))
    }
}

/// A child's keys lie between its entry's and the next entry's; else a search would pass some of them by.
fn check_keys(children: &[BlockIndexEntry], parent: &BlockIndexEntry, next: Option<&[u8]>) -> Result<()> {
    let first = children.first().map_or(&[][..], |child| &child.first_key);
    let last = children.last().map_or(&[][..], |child| &child.first_key);
    let wrong = if first < parent.first_key.as_ref() {
        before_and_after(&parent.first_key, first)
    } else {
        match next {
            Some(next) if last >= next => before_and_after(last, next),
            _ => return Ok(()),
        }
    };
    Err(Error::corrupt(format!("invalid HFile index: keys are out of order between two levels: {wrong}"))
        .at_offset(parent.offset))
}
