//! How ranges of a remote file are fetched: what differs between object stores and HDFS.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::Requests;
use super::fetch_budget::{Reserved, counted};
use super::object_error::Failure;
use super::object_runtime::Pending;
use crate::error::Result;

/// What an operation came to. Several may wait for it.
pub(super) type Outcome<T> = std::result::Result<T, Failure>;

/// An answer: its bytes, and what it says of the file.
#[derive(Debug, Clone)]
pub(super) struct Fetched {
    pub(super) bytes: Bytes,
    /// Bytes of the whole file.
    pub(super) size: u64,
    pub(super) etag: Option<String>,
}

impl Fetched {
    /// The answer with its bytes counted in the budget until the last slice of them is dropped.
    pub(super) fn reserving(self, reserved: Arc<Reserved>) -> Self {
        Self { bytes: counted(self.bytes, reserved), ..self }
    }
}

/// Fetches ranges of one file.
pub(super) trait RangeFetcher: Send + Sync {
    /// Starts to fetch a range, or the whole file, of the version that `etag` names; counted in `requests`. A file that is
    /// shorter than the range is answered without bytes. The bytes hold what was reserved for them ([`Fetched::reserving`]).
    ///
    /// # Errors
    /// `Io` if nothing can be fetched at all.
    fn start(
        &self,
        requests: &Arc<Requests>,
        range: Option<Range<u64>>,
        etag: Option<String>,
        reserved: Arc<Reserved>,
    ) -> Result<Pending<Outcome<Fetched>>>;
}
