//! Ranges of an HFile. The end of the file is read once and kept: most HFiles of Hudi are smaller than a window, so
//! that one read is all.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::trailer::TRAILER;
use mortice_base::error::{Error, Result};
use mortice_storage::FileSource;

/// A source, and its last bytes: a window, but not less than the trailer.
pub(super) struct TailSource {
    source: Arc<dyn FileSource>,
    end: Bytes,
    end_at: u64,
}

impl TailSource {
    /// Reads the end; `CorruptLog` where the file is shorter than a trailer.
    pub(super) fn new(source: Arc<dyn FileSource>) -> Result<Self> {
        let len = source.len();
        if len < TRAILER {
            let message = format!("invalid HFile: {len} bytes, shorter than a trailer ({TRAILER} bytes)");
            return Err(Error::corrupt(message).at_offset(0));
        }
        let end_at = len.saturating_sub(source.window().map_or(TRAILER, |window| window.max(TRAILER)));
        let end = source.read(end_at..len)?;
        Ok(Self { source, end, end_at })
    }

    /// Announces ranges that will be read, in their order.
    pub(super) fn plan(&self, ranges: impl Iterator<Item = Range<u64>>) -> Result<()> {
        let len = self.source.len();
        let inside: Vec<Range<u64>> = ranges.filter(|range| range.start <= range.end && range.end <= len).collect();
        self.source.plan_reads(&[inside])
    }

    /// Where the trailer begins.
    pub(super) fn trailer_at(&self) -> u64 {
        self.source.len().saturating_sub(TRAILER)
    }

    /// The trailer.
    pub(super) fn trailer(&self) -> Bytes {
        self.end.slice(self.end.len().saturating_sub(TRAILER as usize)..)
    }

    /// The bytes `range`; `CorruptLog` where they do not lie within the file.
    pub(super) fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let len = self.source.len();
        if range.start > range.end || range.end > len {
            let message =
                format!("invalid HFile: bytes {} to {} are outside the file, which has {len}", range.start, range.end);
            return Err(Error::corrupt(message).at_offset(range.start.min(len)));
        }
        let within = range.start.checked_sub(self.end_at).and_then(|start| usize::try_from(start).ok());
        match (within, usize::try_from(range.end - range.start)) {
            (Some(start), Ok(count)) => Ok(self.end.slice(start..start.saturating_add(count))),
            _ => self.source.read(range),
        }
    }
}
