//! The trailer, the last 4096 bytes: `TRABLK"$`, a delimited protobuf message, zeros, and the version: minor (1 byte), major (3).

use super::protobuf::{self, Value};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::storage::Source;

/// Its size.
pub(super) const LEN: u64 = 4096;
const MAGIC: &[u8; 8] = b"TRABLK\"$";
const MAJOR_VERSION: u32 = 3;

/// How blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Gzip,
}

/// Where everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) file_info_at: u64,
    pub(super) load_on_open_at: u64,
    /// Entries of the root index.
    pub(super) data_index_count: u64,
    pub(super) entry_count: u64,
    pub(super) index_levels: u64,
    pub(super) codec: Codec,
}

impl Trailer {
    pub(super) fn read(source: &dyn Source) -> Result<Self> {
        let Some(start) = source.len().checked_sub(LEN) else {
            let message = format!("an HFile of {} bytes, which has no room for its trailer", source.len());
            return Err(Error::corrupt(message).at_offset(0));
        };
        Self::parse(&source.read(start..source.len())?).map_err(|error| error.offset_from(start))
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let magic = cursor.take(MAGIC.len())?;
        if magic != MAGIC {
            let message = format!("the trailer of an HFile was expected, found {magic:02x?}");
            return Err(Error::corrupt(message).at_offset(0));
        }
        let version = bytes.last_chunk::<4>().map_or(0, |last| u32::from_be_bytes(*last)) & 0x00ff_ffff;
        if version != MAJOR_VERSION {
            return Err(Error::unsupported(format!("HFile version {version}; version 3 is read")).at_offset(LEN - 4));
        }
        let (message, _) = protobuf::delimited(cursor.rest()).map_err(|error| error.offset_from(8))?;
        Self::of_message(message).map_err(|error| error.at_offset(8))
    }

    fn of_message(message: &[u8]) -> Result<Self> {
        let mut numbers = [0_u64; 13];
        for (field, value) in protobuf::fields(message)? {
            match value {
                Value::Number(value) => {
                    if let Some(slot) = usize::try_from(field).ok().and_then(|field| numbers.get_mut(field)) {
                        *slot = value;
                    }
                }
                Value::Bytes(key) if field == 13 && !key.is_empty() => {
                    return Err(Error::unsupported("an encrypted HFile"));
                }
                Value::Bytes(_) => {}
            }
        }
        let [_, file_info_at, load_on_open_at, _, _, data_index_count, _, entry_count, index_levels, _, _, _, codec] =
            numbers;
        let codec = match codec {
            1 => Codec::Gzip,
            2 => Codec::None,
            other => {
                let name = ["lzo", "gz", "none", "snappy", "lz4", "bz2", "zstd"];
                let name = usize::try_from(other).ok().and_then(|other| name.get(other)).unwrap_or(&"unknown");
                return Err(Error::unsupported(format!(
                    "an HFile compressed with {name} (codec {other}); gz and none are read"
                )));
            }
        };
        Ok(Self { file_info_at, load_on_open_at, data_index_count, entry_count, index_levels, codec })
    }
}
