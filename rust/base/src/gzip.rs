//! gzip of contents that are in memory as a whole: pages of parquet files, blocks of HFiles.
//!
//! libdeflate takes them in half to two thirds of the time of decoders and encoders of streams.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use memchr::memmem;

use crate::error::{Error, Result};

/// Deflate's best: 258 bytes in two bits. What claims to be better is a false length, and is not allocated for.
pub const MAX_RATIO: usize = 1032;
/// How a gzip member begins: its magic and the method deflate.
const MEMBER: [u8; 3] = [0x1f, 0x8b, 8];
/// Of libdeflate's levels the fastest whose results are not longer than those of zlib's default level 6, which Hudi
/// uses.
const LEVEL: i32 = 5;

/// Compresses contents, each into one gzip member.
pub struct GzipCompressor(Compressor);

impl Default for GzipCompressor {
    fn default() -> Self {
        Self::new()
    }
}

impl GzipCompressor {
    /// Allocates the tables of the search for repetitions, some hundred kilobytes: one compressor serves many contents.
    pub fn new() -> Self {
        Self(Compressor::new(CompressionLvl::new(LEVEL).unwrap_or_default()))
    }

    /// Appends the compressed content.
    ///
    /// # Errors
    /// `Internal` if libdeflate exceeds the bound that it names.
    pub fn compress(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.resize(start.saturating_add(self.0.gzip_compress_bound(content.len())), 0);
        let written = self.0.gzip_compress(content, out.get_mut(start..).unwrap_or_default());
        let written = written
            .map_err(|error| Error::internal(format!("{} bytes cannot be compressed: {error}", content.len())))?;
        out.truncate(start.saturating_add(written));
        Ok(())
    }
}

/// Fills `content` with what one gzip member has. Returns false, with any bytes in `content`, for all else: a content
/// of another length, damage, what may be a second member; [`inflate_stream`] takes it then, or finds the error.
pub fn inflate_member(decompressor: &mut Decompressor, gzip: &[u8], content: &mut [u8]) -> bool {
    // libdeflate stops after the first member. What looks like the beginning of another is seldom one.
    let is_one = gzip.get(1..).is_some_and(|after| memmem::find(after, &MEMBER).is_none());
    is_one && decompressor.gzip_decompress(gzip, content) == Ok(content.len())
}

/// Appends the contents of all members, or bytes after them, as Java's decoder takes them, but at most `limit` bytes.
///
/// # Errors
/// Those of the decoder, with what it has inflated so far appended.
pub fn inflate_stream(gzip: &[u8], limit: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    MultiGzDecoder::new(gzip).take(limit).read_to_end(out).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(content: &[u8]) {
        let mut gzip = b"before".to_vec();
        GzipCompressor::new().compress(content, &mut gzip).unwrap();
        assert_eq!(&gzip[..6], b"before");
        let mut inflated = vec![0; content.len()];
        assert!(inflate_member(&mut Decompressor::new(), &gzip[6..], &mut inflated));
        assert_eq!(inflated, content);
        let mut streamed = Vec::new();
        inflate_stream(&gzip[6..], u64::MAX, &mut streamed).unwrap();
        assert_eq!(streamed, content);
    }

    #[test]
    fn contents_come_back() {
        round_trip(b"");
        round_trip(b"a");
        round_trip(&b"words and words and words".repeat(10_000));
        round_trip(
            &(0..100_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect::<Vec<_>>(),
        );
    }

    #[test]
    fn a_compressor_compresses_several_contents() {
        let mut compressor = GzipCompressor::new();
        let (mut once, mut again) = (Vec::new(), Vec::new());
        compressor.compress(b"the same", &mut once).unwrap();
        compressor.compress(&[7; 100_000], &mut Vec::new()).unwrap();
        compressor.compress(b"the same", &mut again).unwrap();
        assert_eq!(once, again);
    }

    #[test]
    fn a_content_of_another_length_is_left_to_the_stream() {
        let mut gzip = Vec::new();
        GzipCompressor::new().compress(b"content", &mut gzip).unwrap();
        for len in [0, 6, 8] {
            assert!(!inflate_member(&mut Decompressor::new(), &gzip, &mut vec![0; len]), "{len}");
        }
        let two = [gzip.clone(), gzip].concat();
        assert!(!inflate_member(&mut Decompressor::new(), &two, &mut [0; 7]));
    }
}
