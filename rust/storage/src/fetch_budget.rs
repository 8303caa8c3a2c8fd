//! A limit on the bytes that were fetched from object stores and are in memory.
//!
//! Every request reserves the bytes of its response before it is sent; they are counted until the last slice of the
//! response is dropped. A request that a reader waits for is always sent, so that no reader waits for the memory of
//! another one: beyond the limit it drops the least recently used bytes, and fetches no more than is needed. Requests
//! ahead of the readers are sent only within the limit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;

/// The limit unless [`FetchBudget::set_limit`] sets one: a quarter of the default of `memory_limit`.
const LIMIT: u64 = 256 << 20;

/// The fetched bytes of the readers of one query.
#[derive(Debug)]
pub struct FetchBudget {
    limit: AtomicU64,
    /// The share of the limit of each of several readers.
    share: AtomicU64,
    held: AtomicU64,
    peak: AtomicU64,
    clock: AtomicU64,
    caches: Mutex<Vec<Weak<dyn FetchCache>>>,
}

impl Default for FetchBudget {
    fn default() -> Self {
        let [held, peak, clock] = [0, 0, 0].map(AtomicU64::new);
        let (limit, share) = (AtomicU64::new(LIMIT), AtomicU64::new(LIMIT));
        Self { limit, share, held, peak, clock, caches: Mutex::default() }
    }
}

/// An open file that keeps fetched bytes.
pub(super) trait FetchCache: std::fmt::Debug + Send + Sync {
    /// Returns the last use of the bytes that would be dropped first; `None` if nothing can be dropped.
    fn oldest(&self) -> Option<LastUse>;

    /// Drops those bytes.
    fn drop_oldest(&self);
}

/// When bytes were used. The smallest is dropped first: bytes that were never read are kept longer than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LastUse {
    pub(super) is_unread: bool,
    pub(super) at: u64,
}

impl FetchBudget {
    /// Sets the limit in bytes, for the given number of concurrent readers.
    pub fn set_limit(&self, limit: u64, readers: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        self.share.store(limit / (readers.max(1) as u64), Ordering::Relaxed);
    }

    /// Returns the maximum number of bytes that were held at once.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Returns the share of one reader of the limit, in bytes.
    pub(super) fn share(&self) -> u64 {
        self.share.load(Ordering::Relaxed)
    }

    /// Returns true if files are fetched at all.
    #[must_use]
    pub fn has_files(&self) -> bool {
        !self.caches.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns the number of bytes that are left below the limit.
    pub(super) fn left(&self) -> u64 {
        self.limit.load(Ordering::Relaxed).saturating_sub(self.held.load(Ordering::Relaxed))
    }

    /// Returns a time that is later than all before.
    pub(super) fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a file whose bytes may be dropped.
    pub(super) fn add_cache(&self, cache: Weak<dyn FetchCache>) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        // Dropped files are removed when half of the list is dropped, so that this costs next to nothing.
        if caches.len() == caches.capacity() {
            caches.retain(|cache| cache.strong_count() > 0);
        }
        caches.push(cache);
    }

    /// Reserves bytes that are needed, also beyond the limit.
    pub fn reserve(self: &Arc<Self>, bytes: u64) -> ReservedBytes {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.peak.fetch_max(held, Ordering::Relaxed);
        ReservedBytes { budget: Arc::clone(self), bytes }
    }

    /// Reserves bytes if they fit within the limit.
    pub(super) fn try_reserve(self: &Arc<Self>, bytes: u64) -> Option<ReservedBytes> {
        let limit = self.limit.load(Ordering::Relaxed);
        let fitting = |held: u64| held.checked_add(bytes).filter(|sum| *sum <= limit);
        let held = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fitting).ok()?;
        self.peak.fetch_max(held.saturating_add(bytes), Ordering::Relaxed);
        Some(ReservedBytes { budget: Arc::clone(self), bytes })
    }

    /// Drops the least recently used bytes until the given number is left, as far as that is possible. The caller must
    /// not hold the lock of a cache.
    pub(super) fn make_room(&self, bytes: u64) {
        while self.left() < bytes {
            let caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
            let alive: Vec<Arc<dyn FetchCache>> = caches.iter().filter_map(Weak::upgrade).collect();
            drop(caches);
            let oldest = alive.iter().filter_map(|cache| Some((cache.oldest()?, cache))).min_by_key(|(used, _)| *used);
            let Some((_, cache)) = oldest else { return };
            cache.drop_oldest();
        }
    }
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub struct ReservedBytes {
    budget: Arc<FetchBudget>,
    bytes: u64,
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes that are counted until the last slice of them is dropped.
pub(super) fn counted(bytes: Bytes, reserved: Arc<ReservedBytes>) -> Bytes {
    struct CountedBytes(Bytes, #[allow(dead_code)] Arc<ReservedBytes>);

    impl AsRef<[u8]> for CountedBytes {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    Bytes::from_owner(CountedBytes(bytes, reserved))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::fetch::runtime::locked;
    use super::*;

    #[derive(Debug)]
    struct HeldBytes(Mutex<Vec<(LastUse, ReservedBytes)>>);

    impl FetchCache for HeldBytes {
        fn oldest(&self) -> Option<LastUse> {
            locked(&self.0).iter().map(|(used, _)| *used).min()
        }

        fn drop_oldest(&self) {
            let oldest = self.oldest();
            locked(&self.0).retain(|(used, _)| Some(*used) != oldest);
        }
    }

    fn held(budget: &Arc<FetchBudget>, bytes: &[(bool, u64, u64)]) -> Arc<HeldBytes> {
        let held = bytes
            .iter()
            .map(|(is_unread, at, bytes)| (LastUse { is_unread: *is_unread, at: *at }, budget.reserve(*bytes)));
        let held = Arc::new(HeldBytes(Mutex::new(held.collect())));
        let cache: Arc<dyn FetchCache> = Arc::<HeldBytes>::clone(&held);
        budget.add_cache(Arc::downgrade(&cache));
        held
    }

    #[test]
    fn bytes_count_until_their_last_slice_is_dropped() {
        let budget = Arc::new(FetchBudget::default());
        budget.set_limit(10, 2);
        let bytes = counted(Bytes::from("01234567"), Arc::new(budget.try_reserve(8).unwrap()));
        let slice = bytes.slice(2..4);
        drop(bytes);
        assert_eq!((budget.left(), budget.share(), slice.as_ref()), (2, 5, &b"23"[..]));
        assert!(budget.try_reserve(3).is_none());
        let needed = budget.reserve(30);
        assert_eq!((budget.left(), budget.peak()), (0, 38));
        drop((slice, needed));
        assert_eq!((budget.left(), budget.peak()), (10, 38));
    }

    #[test]
    fn what_was_used_least_recently_is_dropped_first_and_what_was_read_before_what_was_not() {
        let budget = Arc::new(FetchBudget::default());
        budget.set_limit(10, 1);
        let one = held(&budget, &[(false, 4, 2), (true, 1, 3)]);
        let other = held(&budget, &[(false, 3, 2), (false, 5, 3)]);
        let left = || (locked(&one.0).len(), locked(&other.0).len());
        budget.make_room(3);
        assert_eq!((left(), budget.left()), ((1, 1), 4));
        budget.make_room(5);
        assert_eq!(left(), (1, 0));
        budget.make_room(8);
        assert_eq!(left(), (0, 0));
        // Nothing can be dropped any more.
        let _needed = budget.reserve(9);
        budget.make_room(8);
        assert_eq!(budget.left(), 1);
    }
}
