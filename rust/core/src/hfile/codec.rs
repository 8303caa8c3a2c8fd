//! What a block's payload is packed with. Hudi writes gzip, or nothing at all (`hoodie.hfile.compression.algorithm`).
//!
//! Ids are those of HBase's `Compression.Algorithm`, in the trailer once for all blocks.

use std::io::Read as _;

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result};

/// Bytes that one block may unpack to. Hudi asks for blocks of 1 MiB; a block is longer only where one record is.
const MAX_UNPACKED: usize = 1 << 30;
/// Deflate's best: 258 bytes in two bits. What claims to be better is a false length, and is not allocated for.
const MAX_RATIO: usize = 1032;
/// Room to begin with, as a multiple of the packed bytes; the rest is taken as it turns out to be needed.
const USUAL_RATIO: usize = 16;

/// The codecs of the file's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Plain,
    Gz,
}

impl Codec {
    /// The codec with that id; `Unsupported`, by name, for the others.
    pub(super) fn of(id: u64) -> Result<Self> {
        let name = match id {
            1 => return Ok(Self::Gz),
            2 => return Ok(Self::Plain),
            0 => "LZO",
            3 => "SNAPPY",
            4 => "LZ4",
            5 => "BZIP2",
            6 => "ZSTD",
            _ => return Err(Error::corrupt(format!("an HFile with compression codec {id}, which is none of 0 to 6"))),
        };
        Err(Error::unsupported(format!(
            "an HFile packed with {name}: GZ and NONE are read, the two that Hudi's own reader knows"
        )))
    }

    /// How many bytes one of the file can become at most.
    pub(super) const fn most_ratio(self) -> u64 {
        match self {
            Self::Plain => 1,
            Self::Gz => MAX_RATIO as u64,
        }
    }

    /// The payload, which the block's header says has `len` bytes when it is unpacked.
    pub(super) fn unpack(self, packed: &Bytes, len: usize) -> Result<Bytes> {
        match self {
            Self::Plain if packed.len() == len => Ok(packed.clone()),
            Self::Plain => {
                let message = format!("an HFile block of {} bytes, not packed, whose header says {len}", packed.len());
                Err(Error::corrupt(message))
            }
            Self::Gz => gunzip(packed, len),
        }
    }
}

fn gunzip(packed: &[u8], len: usize) -> Result<Bytes> {
    if len > MAX_UNPACKED {
        return Err(Error::unsupported(format!(
            "an HFile block that unpacks to {len} bytes; at most {MAX_UNPACKED} are read"
        )));
    }
    if len > packed.len().saturating_mul(MAX_RATIO) {
        let message =
            format!("an HFile block of {} bytes cannot unpack to the {len} that its header says", packed.len());
        return Err(Error::corrupt(message));
    }
    let room = packed.len().saturating_mul(USUAL_RATIO).min(len);
    let mut unpacked = Vec::with_capacity(room);
    // One byte more than announced shows a stream that goes on; without it the decoder would not look at its checksum.
    let wanted = (len as u64).saturating_add(1);
    MultiGzDecoder::new(packed).take(wanted).read_to_end(&mut unpacked).map_err(|error| {
        let so_far = unpacked.len();
        Error::corrupt(format!("an HFile block of {len} unpacked bytes, damaged after {so_far}")).caused_by(error)
    })?;
    if unpacked.len() != len {
        let more = if unpacked.len() > len { "more" } else { "fewer" };
        return Err(Error::corrupt(format!(
            "an HFile block unpacks to {more} bytes than the {len} that its header says"
        )));
    }
    Ok(unpacked.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::error::Kind;

    fn packed(bytes: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn what_was_packed_comes_back_and_an_empty_stream_too() {
        let bytes = vec![7; 1_000_000];
        assert_eq!(Codec::Gz.unpack(&packed(&bytes), bytes.len()).unwrap(), bytes);
        assert!(Codec::Gz.unpack(&packed(b""), 0).unwrap().is_empty());
    }

    #[test]
    fn a_false_length_is_an_error_either_way() {
        let gz = packed(b"abc");
        for len in [0, 2, 4, gz.len() * 1032 + 1, 1 << 40] {
            assert!(Codec::Gz.unpack(&gz, len).is_err(), "{len}");
        }
        assert!(Codec::Plain.unpack(&Bytes::from_static(b"abc"), 2).is_err());
    }

    #[test]
    fn a_stream_that_is_cut_or_changed_is_an_error() {
        let gz = packed(b"some bytes that are packed");
        for cut in 0..gz.len() {
            assert!(Codec::Gz.unpack(&gz.slice(..cut), 26).is_err(), "{cut}");
        }
        let mut wrong_checksum = gz.to_vec();
        wrong_checksum[gz.len() - 8] ^= 1;
        assert!(Codec::Gz.unpack(&wrong_checksum.into(), 26).is_err());
    }

    #[test]
    fn other_codecs_are_refused_by_name() {
        let error = Codec::of(6).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported);
        assert!(error.to_string().contains("ZSTD"), "{error}");
        assert_eq!(Codec::of(9).unwrap_err().kind(), Kind::CorruptLog);
    }
}
