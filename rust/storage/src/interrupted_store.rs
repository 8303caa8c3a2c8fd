//! For tests: a store that lets something else happen before files are created, as other processes may.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{FileStore, PutOutcome, StoreWrapper};
use mortice_base::error::Result;

/// What happens meanwhile.
pub type Meanwhile = Box<dyn FnOnce() + Send>;

/// A store that lets something happen each time before it creates a file that a predicate selects, as long as there is
/// something.
pub struct InterruptedStore {
    store: Arc<dyn FileStore>,
    is_wanted: Box<dyn Fn(&str) -> bool + Send + Sync>,
    left: Mutex<Vec<Meanwhile>>,
}

impl InterruptedStore {
    /// `meanwhile` happens before the first file, the second, and so on.
    pub fn new(
        store: Arc<dyn FileStore>,
        is_wanted: impl Fn(&str) -> bool + Send + Sync + 'static,
        mut meanwhile: Vec<Meanwhile>,
    ) -> Arc<Self> {
        meanwhile.reverse();
        Arc::new(Self { store, is_wanted: Box::new(is_wanted), left: Mutex::new(meanwhile) })
    }

    /// Whether all has happened.
    pub fn was_interrupted(&self) -> bool {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl StoreWrapper for InterruptedStore {
    fn inner(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    fn create(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        if (self.is_wanted)(path) {
            let meanwhile = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if let Some(meanwhile) = meanwhile {
                meanwhile();
            }
        }
        self.store.put_if_absent(path, bytes)
    }
}
