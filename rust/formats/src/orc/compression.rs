//! The compression of streams, footers and metadata of an ORC file.
//!
//! ```text
//! chunk*: header, three bytes little-endian: length << 1 | 1 where the chunk is stored as it is · as many bytes
//! ```
//! No chunk unpacks to more than the block size of the postscript.

use std::io::Read;

use bytes::Bytes;
use flate2::read::DeflateDecoder;

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Chunks of more than this no writer makes: the header could not tell the length of what is stored as it is.
const LARGEST_BLOCK: u64 = 1 << 23;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codec {
    Zlib,
    Snappy,
    Lz4,
    Zstd,
}

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compression {
    /// None for a file that is not.
    codec: Option<Codec>,
    block: usize,
}

impl Compression {
    /// By the postscript's number of a codec, and its block size.
    pub(super) fn from_postscript(kind: u64, block: u64) -> Result<Self> {
        let codec = match kind {
            0 => return Ok(Self { codec: None, block: 0 }),
            1 => Codec::Zlib,
            2 => Codec::Snappy,
            4 => Codec::Lz4,
            5 => Codec::Zstd,
            other => {
                let name = match other {
                    3 => "LZO".to_owned(),
                    6 => "BROTLI".to_owned(),
                    other => format!("{other}"),
                };
                return Err(Error::unsupported(format!(
                    "unsupported ORC compression {name} (supported: ZLIB, SNAPPY, LZ4, ZSTD)"
                )));
            }
        };
        let block = Some(block).filter(|block| *block <= LARGEST_BLOCK).and_then(|block| usize::try_from(block).ok());
        let block =
            block.ok_or_else(|| Error::invalid_table("invalid ORC file: compression blocks larger than 8 MiB"))?;
        Ok(Self { codec: Some(codec), block })
    }

    /// The bytes of a stream, decompressed.
    pub(super) fn decompressed(self, stream: &Bytes) -> Result<Bytes> {
        let Some(codec) = self.codec else { return Ok(stream.clone()) };
        let mut cursor = Cursor::new(stream);
        let mut decompressed = Vec::new();
        while cursor.remaining() > 0 {
            let at = cursor.position();
            let [low, middle, high] = cursor.array::<3>()?;
            let header = u32::from_le_bytes([low, middle, high, 0]);
            let chunk = cursor.take((header >> 1) as usize)?;
            if header & 1 == 1 {
                if decompressed.is_empty() && cursor.remaining() == 0 {
                    return Ok(stream.slice_ref(chunk));
                }
                decompressed.extend_from_slice(chunk);
            } else {
                self.decompress(codec, chunk, &mut decompressed).map_err(|error| error.at_offset(at as u64))?;
            }
        }
        Ok(decompressed.into())
    }

    fn decompress(self, codec: Codec, chunk: &[u8], into: &mut Vec<u8>) -> Result<()> {
        match codec {
            Codec::Zlib => self.drain(DeflateDecoder::new(chunk), into),
            Codec::Zstd => self.drain(zstd::stream::read::Decoder::new(chunk).map_err(unsound)?, into),
            Codec::Snappy => {
                let len = snap::raw::decompress_len(chunk).map_err(unsound)?;
                let room = self.room(into, len)?;
                let written = snap::raw::Decoder::new().decompress(chunk, room).map_err(unsound)?;
                shortened(into, len, written);
                Ok(())
            }
            Codec::Lz4 => {
                let room = self.room(into, self.block)?;
                let written = lz4_flex::block::decompress_into(chunk, room).map_err(unsound)?;
                shortened(into, self.block, written);
                Ok(())
            }
        }
    }

    /// Room for a chunk at the end of what is decompressed.
    fn room(self, into: &mut Vec<u8>, len: usize) -> Result<&mut [u8]> {
        if len > self.block {
            return Err(too_long());
        }
        let before = into.len();
        into.resize(before.saturating_add(len), 0);
        into.get_mut(before..).ok_or_else(|| Error::internal("no room for a decompressed ORC chunk"))
    }

    fn drain(self, decoder: impl Read, into: &mut Vec<u8>) -> Result<()> {
        let before = into.len();
        decoder.take(self.block as u64 + 1).read_to_end(into).map_err(unsound)?;
        if into.len().saturating_sub(before) > self.block { Err(too_long()) } else { Ok(()) }
    }
}

/// Gives back the room that was not used.
fn shortened(bytes: &mut Vec<u8>, room: usize, used: usize) {
    bytes.truncate(bytes.len().saturating_sub(room.saturating_sub(used)));
}

fn unsound(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::invalid_table("invalid ORC file: a compression chunk cannot be decompressed").caused_by(error)
}

fn too_long() -> Error {
    Error::invalid_table("invalid ORC file: a compression chunk decompresses to more than the block size")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::DeflateEncoder;

    use super::*;

    fn chunk(header: u32, bytes: &[u8]) -> Vec<u8> {
        let mut chunk = header.to_le_bytes()[..3].to_vec();
        chunk.extend_from_slice(bytes);
        chunk
    }

    fn packed(bytes: &[u8], kind: u64) -> Vec<u8> {
        let packed = match kind {
            1 => {
                let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            2 => snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
            4 => lz4_flex::block::compress(bytes),
            _ => zstd::stream::encode_all(bytes, 3).unwrap(),
        };
        chunk(u32::try_from(packed.len()).unwrap() << 1, &packed)
    }

    #[test]
    fn chunks_of_every_codec_and_those_stored_as_they_are() {
        for kind in [1, 2, 4, 5] {
            let stream = [packed(&[7; 900], kind), chunk(3 << 1 | 1, b"abc"), packed(b"end", kind)].concat();
            let decompressed = Compression::from_postscript(kind, 1000).unwrap().decompressed(&stream.into()).unwrap();
            assert_eq!(decompressed, [&[7; 900][..], b"abcend"].concat(), "{kind}");
            let whole = Compression::from_postscript(kind, 10)
                .unwrap()
                .decompressed(&chunk(3 << 1 | 1, b"abc").into())
                .unwrap();
            assert_eq!(whole.as_ref(), b"abc");
        }
        assert_eq!(
            Compression::from_postscript(0, 0).unwrap().decompressed(&Bytes::from_static(b"abc")).unwrap().as_ref(),
            b"abc"
        );
    }

    #[test]
    fn chunks_that_are_torn_or_too_long_are_errors() {
        for kind in [1, 2, 4, 5] {
            let compression = Compression::from_postscript(kind, 899).unwrap();
            assert!(compression.decompressed(&packed(&[7; 900], kind).into()).is_err(), "{kind}");
            assert!(compression.decompressed(&chunk(100 << 1, &[9; 40]).into()).is_err(), "{kind}");
            assert!(compression.decompressed(&chunk(40 << 1, &[0xff; 40]).into()).is_err(), "{kind}");
        }
    }

    #[test]
    fn other_codecs_are_refused_by_name() {
        for (kind, name) in [(3, "LZO"), (6, "BROTLI"), (9, "compression 9")] {
            let error = Compression::from_postscript(kind, 1).unwrap_err();
            assert!(
                error.kind() == mortice_base::ErrorKind::Unsupported && error.to_string().contains(name),
                "{error}"
            );
        }
        assert!(Compression::from_postscript(1, 1 << 40).is_err());
    }
}
