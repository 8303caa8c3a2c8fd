//! The handles of a process that are in use, so that storages with the same options share one.

use std::sync::{Arc, Mutex, Weak};

use super::runtime::locked;
use crate::fork_gate;

/// The handles of one kind.
pub(crate) struct HandleRegistry<T>(Mutex<Vec<Weak<T>>>);

impl<T> HandleRegistry<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns the handle for which `is_same` is true, or the one that `create` returns, and whether it is known.
    pub(crate) fn get_or_create(&self, is_same: impl Fn(&T) -> bool, create: impl FnOnce() -> T) -> (Arc<T>, bool) {
        let _gate = fork_gate::enter();
        let mut handles = locked(&self.0);
        handles.retain(|handle| handle.strong_count() > 0);
        let known: Vec<Arc<T>> = handles.iter().filter_map(Weak::upgrade).collect();
        let same = known.iter().find(|handle| is_same(handle)).map(Arc::clone);
        let is_known = same.is_some();
        let handle = same.unwrap_or_else(|| {
            let created = Arc::new(create());
            handles.push(Arc::downgrade(&created));
            created
        });
        // The last owner of a handle may be `known`. That ends its thread: not while the lock is held.
        drop(handles);
        (handle, is_known)
    }

    /// Returns the handles in use.
    #[cfg(feature = "hdfs")]
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let _gate = fork_gate::enter();
        locked(&self.0).iter().filter_map(Weak::upgrade).collect()
    }
}
