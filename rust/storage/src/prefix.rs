//! The first bytes of a file, as long as it was when planned.
//!
//! A log file of an old table may grow after a query was planned; appended blocks are not part of that query.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::source::check_range;
use super::{FileSource, ReadFrom};
use mortice_base::error::{Error, Result};

/// A source cut to a length.
pub struct PrefixSource {
    whole: Arc<dyn FileSource>,
    len: u64,
}

impl PrefixSource {
    /// Returns the first `len` bytes; [`mortice_base::ErrorKind::InvalidTable`] if the file is shorter than it was when
    /// planned.
    pub fn new(whole: Arc<dyn FileSource>, len: u64) -> Result<Self> {
        if whole.len() < len {
            let message = format!(
                "the file had {len} bytes when the query was planned, now {}; plan the query again",
                whole.len()
            );
            return Err(Error::invalid_table(message).in_file(whole.path()));
        }
        Ok(Self { whole, len })
    }
}

impl FileSource for PrefixSource {
    fn path(&self) -> &str {
        self.whole.path()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn window(&self) -> Option<u64> {
        self.whole.window()
    }

    fn is_remote(&self) -> bool {
        self.whole.is_remote()
    }

    fn begin(&self, from: ReadFrom) -> Result<()> {
        self.whole.begin(from)
    }

    fn plan_reads(&self, groups: &[Vec<Range<u64>>]) -> Result<()> {
        self.whole.plan_reads(groups)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        check_range(self, &range)?;
        self.whole.read(range)
    }
}
