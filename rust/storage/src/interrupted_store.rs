//! For tests: a store that lets something else happen before files are created, replaced or renamed, as other processes
//! may.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{FileStore, FileVersion, PutOutcome, RenameOutcome, StoreUpload, StoreWrapper};
use mortice_base::error::Result;

/// What happens meanwhile.
pub type Meanwhile = Box<dyn FnOnce() + Send>;

/// A store that lets something happen each time before a file gets a name that a predicate selects, or the file of that
/// name is replaced, as long as there is something.
pub struct InterruptedStore {
    store: Arc<dyn FileStore>,
    interruptions: Arc<Interruptions>,
    has_all: bool,
}

struct Interruptions {
    is_wanted: Box<dyn Fn(&str) -> bool + Send + Sync>,
    left: Mutex<Vec<Meanwhile>>,
}

impl Interruptions {
    fn interrupt(&self, path: &str) {
        if (self.is_wanted)(path) {
            let meanwhile = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if let Some(meanwhile) = meanwhile {
                meanwhile();
            }
        }
    }
}

impl InterruptedStore {
    /// `meanwhile` happens before the first file, the second, and so on. Files that are written in parts, and
    /// deletions, are left out.
    pub fn new(
        store: Arc<dyn FileStore>,
        is_wanted: impl Fn(&str) -> bool + Send + Sync + 'static,
        meanwhile: Vec<Meanwhile>,
    ) -> Arc<Self> {
        Arc::new(Self::built(store, Box::new(is_wanted), meanwhile, false))
    }

    /// The same, also before files that are written in parts become visible, and before files are deleted.
    pub fn with_all(
        store: Arc<dyn FileStore>,
        is_wanted: impl Fn(&str) -> bool + Send + Sync + 'static,
        meanwhile: Vec<Meanwhile>,
    ) -> Arc<Self> {
        Arc::new(Self::built(store, Box::new(is_wanted), meanwhile, true))
    }

    fn built(
        store: Arc<dyn FileStore>,
        is_wanted: Box<dyn Fn(&str) -> bool + Send + Sync>,
        mut meanwhile: Vec<Meanwhile>,
        has_all: bool,
    ) -> Self {
        meanwhile.reverse();
        let interruptions = Arc::new(Interruptions { is_wanted, left: Mutex::new(meanwhile) });
        Self { store, interruptions, has_all }
    }

    /// Whether all has happened.
    pub fn was_interrupted(&self) -> bool {
        self.interruptions.left.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl StoreWrapper for InterruptedStore {
    fn inner(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    fn create(&self, path: &str, bytes: &Bytes) -> Result<PutOutcome> {
        self.interruptions.interrupt(path);
        self.store.put_if_absent(path, bytes)
    }

    fn replace(&self, path: &str, bytes: &Bytes, expected: Option<&FileVersion>) -> Result<PutOutcome> {
        self.interruptions.interrupt(path);
        self.store.put(path, bytes, expected)
    }

    fn move_file(&self, from: &str, to: &str) -> Result<RenameOutcome> {
        self.interruptions.interrupt(to);
        self.store.rename(from, to)
    }

    fn remove(&self, path: &str) -> Result<()> {
        if self.has_all {
            self.interruptions.interrupt(path);
        }
        self.store.delete(path)
    }

    fn start(&self, path: &str) -> Result<Box<dyn StoreUpload>> {
        let upload = self.store.upload(path)?;
        let (path, interruptions) = (path.to_owned(), Arc::clone(&self.interruptions));
        let is_plain = !self.has_all;
        Ok(if is_plain { upload } else { Box::new(InterruptedUpload { upload, path, interruptions }) })
    }
}

struct InterruptedUpload {
    upload: Box<dyn StoreUpload>,
    path: String,
    interruptions: Arc<Interruptions>,
}

impl StoreUpload for InterruptedUpload {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.upload.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<FileVersion> {
        self.interruptions.interrupt(&self.path);
        self.upload.finish()
    }
}
