//! Fetches ranges of remote files: the part that differs between object stores and HDFS.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::failure::StoreFailure;
use super::runtime::PendingResult;
use crate::RequestCounters;
use crate::fetch_budget::{ReservedBytes, counted};
use mortice_base::error::Result;

/// The result of an operation. Several threads may wait for it.
pub(crate) type SharedResult<T> = std::result::Result<T, StoreFailure>;

/// A response: its bytes, and the properties of the file in it.
#[derive(Debug, Clone)]
pub(crate) struct FetchedBytes {
    pub(crate) bytes: Bytes,
    /// The size of the whole file in bytes.
    pub(crate) size: u64,
    pub(crate) etag: Option<String>,
}

impl FetchedBytes {
    /// Returns the response with its bytes counted in the budget until the last slice of them is dropped.
    pub(crate) fn reserving(self, reserved: Arc<ReservedBytes>) -> Self {
        Self { bytes: counted(self.bytes, reserved), ..self }
    }
}

/// Fetches ranges of one file.
pub(crate) trait RangeFetcher: Send + Sync {
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
