//! A file of HDFS: its blocks are looked up once, and ranges are read from the `DataNode`s that have them.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hdfs_native::Client;
use hdfs_native::file::FileReader;

use super::error::is_transient;
use super::handle::HdfsHandle;
use crate::RequestCounters;
use crate::fetch::fetcher::{FetchedBytes, RangeFetcher, SharedResult};
use crate::fetch::runtime::{PendingResult, locked};
use crate::fetch_budget::ReservedBytes;
use mortice_base::error::Result;

/// The number of attempts to read a range that fails, or a file that is shorter than planned: a writer may be appending
/// to it.
const TRIES: u32 = 4;
/// The pause after the first failure, doubled after each further one.
const PAUSE: Duration = Duration::from_millis(100);

/// The blocks of a file, as located by one client; another client cannot use them.
type Blocks = Arc<Mutex<Option<(u64, Arc<FileReader>)>>>;

/// A file whose ranges can be fetched.
pub(crate) struct HdfsFile {
    handle: Arc<HdfsHandle>,
    path: String,
    blocks: Blocks,
}

impl HdfsFile {
    /// Returns the file at an absolute path.
    pub(crate) fn new(handle: &Arc<HdfsHandle>, path: String) -> Self {
        Self { handle: Arc::clone(handle), path, blocks: Blocks::default() }
    }
}

impl RangeFetcher for HdfsFile {
    fn start(
        &self,
        requests: &Arc<RequestCounters>,
        range: Option<Range<u64>>,
        _: Option<String>,
        reserved: Arc<ReservedBytes>,
    ) -> Result<PendingResult<SharedResult<FetchedBytes>>> {
        let (path, blocks, generation) = (self.path.clone(), Arc::clone(&self.blocks), self.handle.generation()?);
        requests.count_read();
        self.handle.start(move |client| async move {
            fetch(client, path, range, (generation, blocks)).await.map(|fetched| fetched.reserving(reserved))
        })
    }
}

async fn fetch(
    client: Client,
    path: String,
    range: Option<Range<u64>>,
    (generation, blocks): (u64, Blocks),
) -> hdfs_native::Result<FetchedBytes> {
    let mut tries = 1;
    loop {
        let known =
            locked(&blocks).as_ref().filter(|(made, _)| *made == generation).map(|(_, reader)| Arc::clone(reader));
        let reader = match known {
            Some(reader) => reader,
            None => {
                let reader = Arc::new(client.read(&path).await?);
                *locked(&blocks) = Some((generation, Arc::clone(&reader)));
                reader
            }
        };
        let size = reader.file_length() as u64;
        let wanted = range.clone().unwrap_or(0..size);
        let is_short = wanted.end > size;
        let read = if is_short { Ok(Bytes::new()) } else { read(&reader, &wanted).await };
        match read {
            Ok(bytes) if !is_short || tries == TRIES => return Ok(FetchedBytes { bytes, size, etag: None }),
            Err(error) if tries == TRIES || !is_transient(&error) => return Err(error),
            // Blocks are moved, and the size of a file that is being appended to is reported when it is closed.
            Ok(_) | Err(_) => *locked(&blocks) = None,
        }
        tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
        tries += 1;
    }
}

/// Reads the bytes of a range of the file.
async fn read(reader: &FileReader, range: &Range<u64>) -> hdfs_native::Result<Bytes> {
    let too_long = |_| hdfs_native::HdfsError::InvalidArgument(format!("bytes {range:?} do not fit in memory"));
    let start = usize::try_from(range.start).map_err(too_long)?;
    let len = usize::try_from(range.end.saturating_sub(range.start)).map_err(too_long)?;
    if len == 0 { Ok(Bytes::new()) } else { reader.read_range(start, len).await }
}

/// Opens a file of unknown size: returns its size, and its bytes if it has at most `whole`.
pub(crate) async fn open(client: Client, path: String, whole: u64) -> hdfs_native::Result<(u64, Option<Bytes>)> {
    let mut tries = 1;
    loop {
        let reader = client.read(&path).await?;
        let size = reader.file_length() as u64;
        if size > whole {
            return Ok((size, None));
        }
        match read(&reader, &(0..size)).await {
            Err(error) if tries < TRIES && is_transient(&error) => {}
            read => return read.map(|bytes| (size, Some(bytes))),
        }
        tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
        tries += 1;
    }
}
