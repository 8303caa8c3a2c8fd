//! The frame around a content, the inverse of [`crate::log::ForwardScan`]; `log::layout` has the layout.
//!
//! A block is composed completely, with its lengths, before any of it is written to a file. Hudi writes the magic
//! before it serializes the content, so that a failure leaves a single magic; here it leaves nothing.

use super::block_header::BlockHeader;
use crate::log::layout::{BEFORE_SIZE, BlockType, LOG_FORMAT_VERSION, MAGIC};
use mortice_base::error::{Error, Result};

/// Java counts a block's bytes in an int, whose maximum it treats as an overflow.
const LIMIT: usize = i32::MAX as usize;

/// The size of the footer map (a count of 0) and the trailing length.
const BEHIND_CONTENT: usize = 4 + 8;

/// A complete block that can be appended to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockBytes {
    kind: BlockType,
    records: Option<u64>,
    bytes: Vec<u8>,
}

impl BlockBytes {
    /// Returns the type of the block.
    #[must_use]
    pub fn kind(&self) -> BlockType {
        self.kind
    }

    /// Returns the number of records or deleted keys; `None` for a command.
    #[must_use]
    pub fn records(&self) -> Option<u64> {
        self.records
    }

    /// Returns the bytes from the magic to the trailing length.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The frame of a block whose content is written separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFrame {
    /// The bytes before the content.
    pub head: Vec<u8>,
    /// The bytes after the content.
    pub tail: Vec<u8>,
}

impl BlockFrame {
    /// Returns the frame of `content` bytes, whose first bytes `begun` are included at the end of the head.
    pub(super) fn new(kind: BlockType, header: &BlockHeader, begun: &[u8], content: usize) -> Result<Self> {
        let mut block = BlockBuilder::new(kind, header)?;
        let size = block.checked_size(content)?;
        block.put_lengths(size, content as u64);
        block.bytes.extend_from_slice(begun);
        Ok(Self { head: block.bytes, tail: tail(size) })
    }
}

/// Returns the footer and the trailing length.
fn tail(size: u64) -> Vec<u8> {
    [&0_i32.to_be_bytes()[..], &(size + MAGIC.len() as u64).to_be_bytes()].concat()
}

/// A block whose content is being written.
pub(super) struct BlockBuilder {
    kind: BlockType,
    bytes: Vec<u8>,
    content_at: usize,
}

impl BlockBuilder {
    /// Writes the frame up to the content.
    pub(super) fn new(kind: BlockType, header: &BlockHeader) -> Result<Self> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(0_i64.to_be_bytes());
        bytes.extend(LOG_FORMAT_VERSION.to_be_bytes());
        bytes.extend((kind as i32).to_be_bytes());
        header.write(&mut bytes)?;
        bytes.extend(0_i64.to_be_bytes());
        Ok(Self { kind, content_at: bytes.len(), bytes })
    }

    /// Returns the buffer of the content, for appending only.
    pub(super) fn content(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the size of the content so far.
    pub(super) fn content_len(&self) -> usize {
        self.bytes.len().saturating_sub(self.content_at)
    }

    /// Overwrites four bytes at `at` in the content: a count that is known at the end.
    pub(super) fn put_i32(&mut self, at: usize, value: i32) {
        self.put(self.content_at.saturating_add(at), &value.to_be_bytes());
    }

    /// Completes the frame: footer, trailing length, and the two lengths before the content.
    pub(super) fn finish(mut self, records: Option<u64>) -> Result<BlockBytes> {
        let content = self.content_len();
        let size = self.checked_size(content)?;
        self.put_lengths(size, content as u64);
        self.bytes.extend(tail(size));
        Ok(BlockBytes { kind: self.kind, records, bytes: self.bytes })
    }

    /// Returns the block size for `content` bytes, as stored in the second field.
    fn checked_size(&self, content: usize) -> Result<u64> {
        let whole = self.content_at.saturating_add(content).saturating_add(BEHIND_CONTENT);
        if whole >= LIMIT {
            let message = format!(
                "{} of {whole} bytes is too large (less than {LIMIT}, the limit of Hudi's readers); write fewer records per block",
                self.kind.name()
            );
            return Err(Error::invalid_argument(message));
        }
        Ok(whole as u64 - BEFORE_SIZE)
    }

    fn put_lengths(&mut self, size: u64, content: u64) {
        self.put(MAGIC.len(), &size.to_be_bytes());
        self.put(self.content_at - 8, &content.to_be_bytes());
    }

    fn put(&mut self, at: usize, value: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at.saturating_add(value.len())) {
            place.copy_from_slice(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_block_has_46_bytes_and_its_header() {
        let block = BlockBuilder::new(BlockType::Delete, &BlockHeader::new(&"1".into())).unwrap();
        let block = block.finish(Some(0)).unwrap();
        assert_eq!(block.bytes().len(), 46 + 8 + 1);
        assert_eq!(block.bytes()[6..14], 41_i64.to_be_bytes());
        assert_eq!(block.bytes()[47..], 47_i64.to_be_bytes());
    }

    #[test]
    fn two_gibibytes_are_too_many() {
        let mut block = BlockBuilder::new(BlockType::AvroData, &BlockHeader::new(&"1".into())).unwrap();
        // Zeroed pages are not touched: the memory is reserved, not used.
        block.bytes = vec![0; LIMIT - BEHIND_CONTENT];
        let error = block.finish(Some(1)).unwrap_err();
        assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("AVRO_DATA_BLOCK of 2147483647 bytes"), "{error}");
    }
}
