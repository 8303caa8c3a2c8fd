//! Fetches ranges of remote files: the part that differs between object stores and HDFS.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::RequestCounters;
use super::fetch_budget::{ReservedBytes, counted};
use super::object_error::StoreFailure;
use super::object_runtime::PendingResult;
use mortice_base::error::Result;

/// The result of an operation. Several threads may wait for it.
pub(super) type SharedResult<T> = std::result::Result<T, StoreFailure>;

/// A response: its bytes, and the properties of the file in it.
#[derive(Debug, Clone)]
pub(super) struct FetchedBytes {
    pub(super) bytes: Bytes,
    /// The size of the whole file in bytes.
    pub(super) size: u64,
    pub(super) etag: Option<String>,
}

impl FetchedBytes {
    /// Returns the response with its bytes counted in the budget until the last slice of them is dropped.
    pub(super) fn reserving(self, reserved: Arc<ReservedBytes>) -> Self {
        Self { bytes: counted(self.bytes, reserved), ..self }
    }
}

/// Fetches ranges of one file.
pub(super) trait RangeFetcher: Send + Sync {
    /// Starts to fetch a range, or the whole file, of the version with `etag`; it is counted in `requests`. If the file
    /// is shorter than the range, the response has no bytes. The bytes own the reservation that was made for them
    /// ([`FetchedBytes::reserving`]).
    ///
    /// # Errors
    /// `Io` if nothing can be fetched at all.
    fn start(
        &self,
        requests: &Arc<RequestCounters>,
        range: Option<Range<u64>>,
        etag: Option<String>,
        reserved: Arc<ReservedBytes>,
    ) -> Result<PendingResult<SharedResult<FetchedBytes>>>;
}
