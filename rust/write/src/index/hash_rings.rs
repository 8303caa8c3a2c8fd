//! The rings of a table's partitions: which of their files counts, and new ones (`ConsistentBucketIndexUtils`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::hash_ring::{FIRST_INSTANT, HashRing};
use super::hashing_files::{COMMIT_SUFFIX, RING_SUFFIX, ring_folder};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{BaseFileName, RequestedTime};
use mortice_storage::{FileStore, PutOutcome, Storage};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Timeline;

/// The rings of a table, read when a partition is first asked for.
pub struct HashRings {
    storage: Arc<dyn Storage>,
    timeline: Timeline,
    /// Nodes of a new ring.
    buckets: u32,
    known: Mutex<BTreeMap<String, Arc<StoredRing>>>,
}

/// The ring of a partition.
#[derive(Debug)]
struct StoredRing {
    ring: HashRing,
    /// Whether the table has a file of it.
    is_stored: bool,
}

impl std::fmt::Debug for HashRings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HashRings").field("buckets", &self.buckets).finish_non_exhaustive()
    }
}

impl HashRings {
    /// Args:
    ///     table: The table.
    ///     buckets: Nodes of a partition's first ring.
    #[must_use]
    pub fn new(table: &OpenTable, buckets: u32) -> Self {
        let (storage, timeline) = (Arc::clone(&table.storage), table.timeline.clone());
        Self { storage, timeline, buckets, known: Mutex::default() }
    }

    /// Calls `read` with the ring of a partition: the one that counts, or the first.
    ///
    /// # Errors
    /// `InvalidTable`, naming the file, for rings that cannot be read.
    pub fn with<T>(&self, partition: &str, read: impl FnOnce(&HashRing) -> T) -> Result<T> {
        Ok(read(&self.stored(partition)?.ring))
    }

    fn stored(&self, partition: &str) -> Result<Arc<StoredRing>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(partition) {
            return Ok(Arc::clone(found));
        }
        let stored = self.load(partition)?;
        let is_stored = stored.is_some();
        let ring = stored.unwrap_or_else(|| HashRing::first(partition, self.buckets));
        let found = Arc::new(StoredRing { ring, is_stored });
        known.insert(partition.to_owned(), Arc::clone(&found));
        Ok(found)
    }

    /// The ring that counts (`loadMetadata`): the last one whose clustering is completed. Others are those of pending
    /// clustering, and of clustering that was rolled back.
    fn load(&self, partition: &str) -> Result<Option<HashRing>> {
        let folder = ring_folder(partition);
        let (mut rings, mut committed) = (Vec::new(), Vec::new());
        for entry in self.storage.list(&folder)?.into_iter().flatten() {
            if let Some(instant) = entry.name().strip_suffix(RING_SUFFIX) {
                rings.push(instant.to_owned());
            } else if let Some(instant) = entry.name().strip_suffix(COMMIT_SUFFIX) {
                committed.push(instant.to_owned());
            }
        }
        rings.sort_unstable();
        let latest = committed.into_iter().max();
        if let Some(marked) = latest.as_ref().filter(|marked| !rings.contains(marked)) {
            let message = format!("the bucket index has no ring of instant {marked}, which is marked as committed");
            return Err(Error::invalid_table(message).in_file(folder));
        }
        while let Some(instant) = rings.pop() {
            let ring = self.read(&folder, &instant)?;
            let former = rings.last().map(|former| self.read(&folder, former)).transpose()?;
            if Some(&instant) == latest.as_ref() || self.is_committed(&ring, former.as_ref(), partition)? {
                return Ok(Some(ring));
            }
        }
        Ok(None)
    }

    fn read(&self, folder: &str, instant: &str) -> Result<HashRing> {
        let path = format!("{folder}/{instant}{RING_SUFFIX}");
        let ring = HashRing::parse(&self.storage.open(&path)?.read_all()?).map_err(|error| error.in_file(&path))?;
        if ring.instant() == instant {
            return Ok(ring);
        }
        Err(Error::invalid_table(format!("the ring is of instant {}", ring.instant())).in_file(path))
    }

    /// Whether the clustering that has made a ring of the former one is completed, of which no file says so.
    fn is_committed(&self, ring: &HashRing, former: Option<&HashRing>, partition: &str) -> Result<bool> {
        if ring.instant() == FIRST_INSTANT {
            return Ok(true);
        }
        let Some(time) = RequestedTime::parse(ring.instant()) else { return Ok(false) };
        if self.timeline.writes_at(&time).next().is_some() || !self.timeline.is_before_start(&time) {
            return Ok(self.timeline.writes_at(&time).any(|write| write.is_completed()));
        }
        // It is archived, or was rolled back: then none of the file groups that are new has a base file.
        let is_new = |file_id: &str| {
            ring.node_of_group(file_id).is_some() && former.is_none_or(|former| former.node_of_group(file_id).is_none())
        };
        let files = self.storage.list(partition)?.into_iter().flatten();
        let mut groups = files.filter_map(|entry| BaseFileName::parse(entry.name()));
        Ok(groups.any(|file| is_new(&file.file_id)))
    }

    /// Stores the rings of partitions that have none.
    ///
    /// # Errors
    /// `WriteConflict` if another writer has stored another ring meanwhile; those of the store.
    pub fn store_first(&self, store: &dyn FileStore, partitions: &mut dyn Iterator<Item = &str>) -> Result<()> {
        for partition in partitions {
            let found = self.stored(partition)?;
            if found.is_stored {
                continue;
            }
            let path = format!("{}/{FIRST_INSTANT}{RING_SUFFIX}", ring_folder(partition));
            let message = "another writer has begun this partition with another number of buckets; repeat the write";
            put_or_check(store, path, &found.ring, message)?;
        }
        Ok(())
    }
}

/// Stores a ring, unless it is stored already. `message` is that of the error if another one is.
fn put_or_check(store: &dyn FileStore, path: String, ring: &HashRing, message: &str) -> Result<()> {
    if store.put_if_absent(&path, &ring.to_bytes()?)? == PutOutcome::Refused {
        let (bytes, _) = store.get(&path)?;
        if HashRing::parse(&bytes).map_err(|error| error.in_file(&path))? != *ring {
            return Err(Error::new(ErrorKind::WriteConflict, message).in_file(path));
        }
    }
    Ok(())
}

/// Stores the ring that a clustering makes of a partition's.
///
/// # Errors
/// Those of the store; `WriteConflict` if there is another one of the instant.
pub fn store_next(store: &dyn FileStore, ring: HashRing, partition: &str, instant: &RequestedTime) -> Result<()> {
    let ring = ring.next(instant.as_str());
    let path = format!("{}/{instant}{RING_SUFFIX}", ring_folder(partition));
    let message = "the ring of this clustering is stored already, and is another one; roll the clustering back";
    put_or_check(store, path, &ring, message)
}

/// Marks the rings of a completed clustering as committed (`createCommitMarker`), as Hudi's next writer would.
///
/// # Errors
/// Those of the store.
pub fn mark_committed(store: &dyn FileStore, partition: &str, instant: &RequestedTime) -> Result<()> {
    store.put_if_absent(&format!("{}/{instant}{COMMIT_SUFFIX}", ring_folder(partition)), &bytes::Bytes::new()).map(drop)
}
