//! A folder of a place, as a place of its own: a table keeps another, its metadata table, inside itself.

use std::sync::Arc;

use super::{Entry, Place, Requests, Source};
use crate::error::Result;

/// What lies below a folder.
pub struct Below {
    place: Arc<dyn Place>,
    folder: String,
    root: String,
}

impl Below {
    /// The folder at `folder`, relative to the place's root.
    #[must_use]
    pub fn new(place: Arc<dyn Place>, folder: &str) -> Self {
        Self { root: place.full_path(folder), folder: folder.to_owned(), place }
    }

    fn path(&self, path: &str) -> String {
        if path.is_empty() { self.folder.clone() } else { format!("{}/{path}", self.folder) }
    }
}

impl Place for Below {
    fn root(&self) -> &str {
        &self.root
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<Entry>>> {
        self.place.list(&self.path(folder))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn Source>> {
        self.place.open(&self.path(path))
    }

    fn requests_at_once(&self) -> usize {
        self.place.requests_at_once()
    }

    fn requests(&self) -> Option<&Arc<Requests>> {
        self.place.requests()
    }
}
