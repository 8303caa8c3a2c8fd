//! For tests: a store that lets something else happen before files are created, replaced or renamed, as other processes
//! may.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{FileStore, FileVersion, PutOutcome, RenameOutcome, StoreWrapper};
use mortice_base::error::Result;

/// What happens meanwhile.
pub type Meanwhile = Box<dyn FnOnce() + Send>;

/// A store that lets something happen each time before a file gets a name that a predicate selects, or the file of that
/// name is replaced, as long as there is something.
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

    fn interrupt(&self, path: &str) {
        if (self.is_wanted)(path) {
            let meanwhile = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if let Some(meanwhile) = meanwhile {
                meanwhile();
            }
        }
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
        self.interrupt(path);
        self.store.put_if_absent(path, bytes)
    }

    fn replace(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.interrupt(path);
        self.store.put(path, bytes, expected)
    }

    fn move_file(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.interrupt(to);
        self.store.rename(from, to)
    }
}
