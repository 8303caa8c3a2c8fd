//! What a block's payload is compressed with. Hudi writes gzip, or nothing at all
//! (`hoodie.hfile.compression.algorithm`).
//!
//! Ids are those of HBase's `Compression.Algorithm`, in the trailer once for all blocks.

use bytes::Bytes;
use libdeflater::Decompressor;

use mortice_base::error::{Error, Result};
use mortice_base::gzip::{MAX_RATIO, inflate_member, inflate_stream};

/// Bytes that one block may decompress to. Hudi asks for blocks of 1 MiB; a block is longer only where one record is.
const MAX_DECOMPRESSED: usize = 1 << 30;
/// Room to begin with, as a multiple of the compressed bytes; the rest is taken as it turns out to be needed.
const USUAL_RATIO: usize = 16;

/// The codecs of the file's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Plain,
    Gz,
}

impl Codec {
    /// Returns the codec of an id; `Unsupported`, with its name, for codecs that are not read.
    pub(super) fn from_id(id: u64) -> Result<Self> {
        let name = match id {
            1 => return Ok(Self::Gz),
            2 => return Ok(Self::Plain),
            0 => "LZO",
            3 => "SNAPPY",
            4 => "LZ4",
            5 => "BZIP2",
            6 => "ZSTD",
            _ => {
                return Err(Error::corrupt(format!("invalid HFile compression codec {id} (expected 0 to 6)")));
            }
        };
        Err(Error::unsupported(format!(
            "unsupported HFile compression {name} (supported: GZ, NONE, as in Hudi's own reader)"
        )))
    }

    /// The most bytes that one byte of the file can decompress to.
    pub(super) const fn most_ratio(self) -> u64 {
        match self {
            Self::Plain => 1,
            Self::Gz => MAX_RATIO as u64,
        }
    }

    /// The payload, which the block's header says has `len` bytes when it is decompressed.
    pub(super) fn decompress(self, compressed: &Bytes, len: usize) -> Result<Bytes> {
        match self {
            Self::Plain if compressed.len() == len => Ok(compressed.clone()),
            Self::Plain => {
                let message =
                    format!("invalid HFile block: expected {len} uncompressed bytes, found {}", compressed.len());
                Err(Error::corrupt(message))
            }
            Self::Gz => gunzip(compressed, len),
        }
    }
}

fn gunzip(compressed: &[u8], len: usize) -> Result<Bytes> {
    if len > MAX_DECOMPRESSED {
        return Err(Error::unsupported(format!(
            "unsupported HFile block: {len} decompressed bytes (at most {MAX_DECOMPRESSED})"
        )));
    }
    if len > compressed.len().saturating_mul(MAX_RATIO) {
        let message = format!("invalid HFile block: {} compressed bytes cannot decompress to {len}", compressed.len());
        return Err(Error::corrupt(message));
    }
    let room = compressed.len().saturating_mul(USUAL_RATIO).min(len);
    if room == len {
        let mut decompressed = vec![0; len];
        if inflate_member(&mut Decompressor::new(), compressed, &mut decompressed) {
            return Ok(decompressed.into());
        }
    }
    let mut decompressed = Vec::with_capacity(room);
    // One byte more than announced shows a stream that goes on; without it the decoder would not look at its checksum.
    let wanted = (len as u64).saturating_add(1);
    inflate_stream(compressed, wanted, &mut decompressed).map_err(|error| {
        let so_far = decompressed.len();
        Error::corrupt(format!("invalid HFile block: decompression failed after {so_far} of {len} bytes"))
            .caused_by(error)
    })?;
    if decompressed.len() != len {
        let more = if decompressed.len() > len { "more" } else { "fewer" };
        return Err(Error::corrupt(format!(
            "invalid HFile block: it decompresses to {more} than the expected {len} bytes"
        )));
    }
    Ok(decompressed.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use mortice_base::error::ErrorKind;

    fn compressed(bytes: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn what_was_compressed_comes_back_and_an_empty_stream_too() {
        let bytes = vec![7; 1_000_000];
        assert_eq!(Codec::Gz.decompress(&compressed(&bytes), bytes.len()).unwrap(), bytes);
        assert!(Codec::Gz.decompress(&compressed(b""), 0).unwrap().is_empty());
    }

    #[test]
    fn a_false_length_is_an_error_either_way() {
        let gz = compressed(b"abc");
        for len in [0, 2, 4, gz.len() * 1032 + 1, 1 << 40] {
            assert!(Codec::Gz.decompress(&gz, len).is_err(), "{len}");
        }
        assert!(Codec::Plain.decompress(&Bytes::from_static(b"abc"), 2).is_err());
    }

    #[test]
    fn a_stream_that_is_cut_or_changed_is_an_error() {
        let gz = compressed(b"some bytes that are compressed");
        for cut in 0..gz.len() {
            assert!(Codec::Gz.decompress(&gz.slice(..cut), 26).is_err(), "{cut}");
        }
        let mut wrong_checksum = gz.to_vec();
        wrong_checksum[gz.len() - 8] ^= 1;
        assert!(Codec::Gz.decompress(&wrong_checksum.into(), 26).is_err());
    }

    #[test]
    fn other_codecs_are_refused_by_name() {
        let error = Codec::from_id(6).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("ZSTD"), "{error}");
        assert_eq!(Codec::from_id(9).unwrap_err().kind(), ErrorKind::CorruptLog);
    }
}
