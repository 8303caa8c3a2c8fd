//! A place that files lie in, rooted at a table's base path.

use std::sync::Arc;

use super::{Entry, Requests, Source};
use crate::error::Result;

/// Requests at once where nothing else is known: enough to wait for many, few enough to be no burden.
const AT_ONCE: usize = 32;

/// A root folder. Paths are relative to it, parts joined by `/`, and may hold any Unicode and spaces; `""` is the root.
pub trait Place: Send + Sync {
    /// The root's path or URI, for messages.
    fn root(&self) -> &str;

    /// What a folder holds, sorted by name; `None` where there is no such folder.
    fn list(&self, folder: &str) -> Result<Option<Vec<Entry>>>;

    /// Opens a file. [`crate::Kind::NotFound`] where there is none.
    fn open(&self, path: &str) -> Result<Arc<dyn Source>>;

    /// How many requests at once are worth it, all threads together; more than there are cores where storage takes its time.
    fn requests_at_once(&self) -> usize {
        AT_ONCE
    }

    /// The counters of this place's requests, if they are counted.
    fn requests(&self) -> Option<&Arc<Requests>> {
        None
    }

    /// The full path or URI of a file, for messages.
    fn full_path(&self, path: &str) -> String {
        let root = self.root().trim_end_matches('/');
        if path.is_empty() { root.to_owned() } else { format!("{root}/{path}") }
    }
}
