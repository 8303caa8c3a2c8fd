//! A command block (`HoodieCommandBlock`): it has no content, only a header. The only command is the rollback of an
//! instant, used up to table version 7; from 8 a rollback deletes the log files.

use super::block_bytes::{BlockBuilder, BlockBytes};
use super::block_header::BlockHeader;
use crate::log::layout::{BlockType, HeaderKey};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;

/// The ordinal of `ROLLBACK_BLOCK`, as a string.
const ROLLBACK: &str = "0";

/// Returns a block with which the rollback `instant` removes the preceding blocks of `target_instant` in the slice.
///
/// # Errors
/// `InvalidArgument` if the block is too large.
pub fn rollback_block(instant: &RequestedTime, target_instant: &RequestedTime) -> Result<BlockBytes> {
    let header = BlockHeader::new(instant)
        .with(HeaderKey::TargetInstantTime, target_instant.as_str())
        .with(HeaderKey::CommandBlockType, ROLLBACK);
    BlockBuilder::new(BlockType::Command, &header)?.finish(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As written by Hudi 0.9.0.
    #[test]
    fn a_rollback_is_byte_for_byte_hudis() {
        let mut expected = b"#HUDI#\0\0\0\0\0\0\0\x55\0\0\0\x01\0\0\0\0\0\0\0\x03".to_vec();
        expected.extend(b"\0\0\0\0\0\0\0\x0e20210901000002");
        expected.extend(b"\0\0\0\x01\0\0\0\x0e20210901000001");
        expected.extend(b"\0\0\0\x03\0\0\0\x010");
        expected.extend(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x5b");
        let block = rollback_block(&"20210901000002".into(), &"20210901000001".into()).unwrap();
        assert_eq!(block.bytes().len(), 99);
        assert_eq!(block.bytes(), expected);
        assert_eq!((block.kind(), block.records()), (BlockType::Command, None));
    }
}
