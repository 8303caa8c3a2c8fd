//! Open files of a store, so that several readers of one share its fetched bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use super::runtime::locked;
use crate::fork_gate;
use crate::{FileSource, KnownFile};

/// The identity of an open file: key, size, etag, and the counter of requests.
pub(crate) type SourceId = (String, KnownFile, usize);

/// The minimum length of the list at which dropped files are removed from it.
const MANY: usize = 256;

/// The open files of a store, by process: a forked child opens its own, as those of its parent may be locked forever.
/// They are dropped with their last reader.
#[derive(Default)]
pub(crate) struct SharedSources(Mutex<HashMap<(u32, SourceId), Weak<dyn FileSource>>>);

impl SharedSources {
    /// Returns the open file with an identity, or the one that `open` creates.
    pub(crate) fn get_or_open(&self, id: SourceId, open: impl FnOnce() -> Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        let _gate = fork_gate::enter();
        let id = (std::process::id(), id);
        let mut opened = locked(&self.0);
        if let Some(known) = opened.get(&id).and_then(Weak::upgrade) {
            return known;
        }
        if opened.len() >= MANY {
            opened.retain(|_, source| source.strong_count() > 0);
        }
        let source = open();
        opened.insert(id, Arc::downgrade(&source));
        source
    }
}
