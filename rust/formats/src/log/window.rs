//! Bytes of a source for a sequential parser: slices of a mapping, or fetched windows.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use mortice_base::error::{Error, Result};
use mortice_storage::FileSource;

/// The range of a source that was fetched last.
pub(super) struct SourceWindow {
    source: Arc<dyn FileSource>,
    start: u64,
    bytes: Bytes,
}

impl SourceWindow {
    pub(super) fn new(source: Arc<dyn FileSource>) -> Self {
        Self { source, start: 0, bytes: Bytes::new() }
    }

    /// Returns the bytes of `range`, cut at the end of the file.
    pub(super) fn get(&mut self, range: Range<u64>) -> Result<Bytes> {
        let end = range.end.min(self.source.len());
        let start = range.start.min(end);
        if let Some(held) = self.held(start, end) {
            return Ok(held);
        }
        let Some(window) = self.source.window() else { return self.source.read(start..end) };
        let until = start.saturating_add(window).max(end).min(self.source.len());
        self.bytes = self.source.read(start..until)?;
        self.start = start;
        let short = || Error::internal(format_args!("bytes {start} to {end} are not in the window at {start}"));
        self.held(start, end).ok_or_else(|| short().in_file(self.source.path()))
    }

    fn held(&self, start: u64, end: u64) -> Option<Bytes> {
        let from = usize::try_from(start.checked_sub(self.start)?).ok()?;
        let to = usize::try_from(end.checked_sub(self.start)?).ok()?;
        (to <= self.bytes.len()).then(|| self.bytes.slice(from..to))
    }
}
