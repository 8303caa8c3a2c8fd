//! A block: its header, and its payload decompressed. All integers are big-endian.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | magic, the kind of the block |
//! | 4 | bytes on disk after the header, checksums included |
//! | 4 | bytes of the payload, decompressed |
//! | 8 | offset of the block of that kind before; Hudi's own writer gives the block's own |
//! | 1, 4 | kind of checksum, bytes that one covers |
//! | 4 | bytes on disk of header and payload, checksums not included |
//!
//! The checksums follow the payload (`checksums`). Layout: HBase's `HFileBlock`.

use bytes::Bytes;

use super::codec::Codec;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Bytes of a block's header.
pub(super) const HEADER: usize = 33;
/// The magic of data blocks in one of HBase's encodings (prefix, diff, row index): Hudi never switches one on.
const ENCODED_DATA: &[u8; 8] = b"DATABLKE";

/// The kinds of blocks that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Data,
    RootIndex,
    LeafIndex,
    IntermediateIndex,
    FileInfo,
}

impl BlockKind {
    const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Data => b"DATABLK*",
            Self::RootIndex => b"IDXROOT2",
            Self::LeafIndex => b"IDXLEAF2",
            Self::IntermediateIndex => b"IDXINTE2",
            Self::FileInfo => b"FILEINF2",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Data => "an HFile data block",
            Self::RootIndex => "an HFile root index",
            Self::LeafIndex => "an HFile leaf index",
            Self::IntermediateIndex => "an HFile intermediate index",
            Self::FileInfo => "HFile file info",
        }
    }
}

/// A block in memory.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The payload, decompressed.
    pub(super) payload: Bytes,
    at: u64,
    codec: Codec,
}

impl Block {
    /// Reads the block that `bytes` begin with, and that lies at `at` in the file. `whole` says that the bytes are the
    /// block and nothing else, as an index has it.
    pub(super) fn parse(bytes: &Bytes, at: u64, kind: BlockKind, codec: Codec, whole: bool) -> Result<Self> {
        let (compressed, len) = frame(bytes, kind, whole).map_err(|error| error.offset_from(at))?;
        let payload = codec.decompress(&compressed, len).map_err(|error| error.at_offset(at))?;
        Ok(Self { payload, at, codec })
    }

    /// Where in the file an error is that has its offset from the payload.
    pub(super) fn place(&self, error: Error) -> Error {
        match self.codec {
            Codec::Plain => error.offset_from(self.at.saturating_add(HEADER as u64)),
            Codec::Gz => error.with_offset_in("what the block decompresses to").at_offset(self.at),
        }
    }
}

/// The payload as it lies on disk, and how many bytes it decompresses to.
fn frame(bytes: &Bytes, kind: BlockKind, whole: bool) -> Result<(Bytes, usize)> {
    let mut cursor = Cursor::new(bytes);
    check_magic(cursor.array()?, kind)?;
    let on_disk = size(&mut cursor, "on disk")?;
    let decompressed = size(&mut cursor, "decompressed")?;
    // The offset of the block before, the kind of checksum and the bytes that each covers.
    cursor.skip(8 + 1 + 4)?;
    let without_checksums = size(&mut cursor, "on disk without checksums")?;
    let left = cursor.remaining();
    if on_disk > left || (whole && on_disk != left) {
        let message =
            format!("unexpected end of data: {} has {on_disk} bytes after its header, only {left} remain", kind.name());
        return Err(Error::corrupt(message).at_offset(8));
    }
    if without_checksums < HEADER || without_checksums - HEADER > on_disk {
        let message = format!(
            "invalid size {without_checksums} without checksums: {} has {on_disk} bytes after its header",
            kind.name()
        );
        return Err(Error::corrupt(message).at_offset(29));
    }
    Ok((bytes.slice(HEADER..without_checksums), decompressed))
}

fn check_magic(magic: [u8; 8], kind: BlockKind) -> Result<()> {
    if magic == *kind.magic() {
        return Ok(());
    }
    if kind == BlockKind::Data && magic == *ENCODED_DATA {
        return Err(Error::unsupported(
            "unsupported HFile: its data blocks are encoded (supported: no data block encoding, as in Hudi)",
        )
        .at_offset(0));
    }
    let message = format!(
        "invalid magic: {} begins with {}, found {}",
        kind.name(),
        kind.magic().escape_ascii(),
        magic.escape_ascii()
    );
    Err(Error::corrupt(message).at_offset(0))
}

fn size(cursor: &mut Cursor<'_>, what: &str) -> Result<usize> {
    let at = cursor.position() as u64;
    let claimed = cursor.i32_be()?;
    usize::try_from(claimed)
        .map_err(|_| Error::corrupt(format!("invalid size of an HFile block: {claimed} bytes {what}")).at_offset(at))
}
