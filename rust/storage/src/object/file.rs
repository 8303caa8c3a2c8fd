//! Fetches ranges of an object.

use std::ops::Range;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};

use super::handle::ObjectHandle;
use crate::RequestCounters;
use crate::fetch::fetcher::{FetchedBytes, RangeFetcher, SharedResult};
use crate::fetch::runtime::PendingResult;
use crate::fetch_budget::ReservedBytes;
use mortice_base::error::Result;

/// An object whose ranges can be fetched.
pub(crate) struct ObjectFile {
    handle: Arc<ObjectHandle>,
    location: Path,
}

impl ObjectFile {
    /// Returns the object at `location`.
    pub(crate) fn new(handle: &Arc<ObjectHandle>, location: Path) -> Self {
        Self { handle: Arc::clone(handle), location }
    }
}

impl RangeFetcher for ObjectFile {
    fn start(
        &self,
        requests: &Arc<RequestCounters>,
        range: Option<Range<u64>>,
        etag: Option<String>,
        reserved: Arc<ReservedBytes>,
    ) -> Result<PendingResult<SharedResult<FetchedBytes>>> {
        let location = self.location.clone();
        self.handle.start(requests, move |store| async move {
            get(store, location, range, etag).await.map(|fetched| fetched.reserving(reserved))
        })
    }
}

/// Fetches a range of an object, or all of it.
async fn get(
    store: Arc<dyn ObjectStore>,
    location: Path,
    range: Option<Range<u64>>,
    etag: Option<String>,
) -> object_store::Result<FetchedBytes> {
    // A weak etag never matches.
    let if_match = etag.filter(|etag| !etag.starts_with("W/")).map(|etag| match etag.starts_with('"') {
        true => etag,
        false => format!("\"{etag}\""),
    });
    let options = GetOptions { range: range.map(GetRange::Bounded), if_match, ..GetOptions::default() };
    let answer = store.get_opts(&location, options).await?;
    let (size, etag) = (answer.meta.size, answer.meta.e_tag.clone());
    Ok(FetchedBytes { bytes: answer.bytes().await?, size, etag })
}
