//! For tests: a clean of the metadata table by a writer whose clock was ahead.

#![allow(clippy::unwrap_used, reason = "it is a part of tests")]

use mortice_storage::{FileStore, LocalStorage};
use mortice_table::timeline::metadata::{HoodieCleanMetadata, TimelineMetadata};

/// A time of a writer whose clock was ahead.
pub const LATER: &str = "29990101000000000";

/// A clean of the metadata table, by a writer whose clock was ahead.
pub fn put_later_clean(store: &LocalStorage, version: u8) {
    let (folder, completed) = match version {
        6 => (".hoodie/metadata/.hoodie", format!("{LATER}.clean")),
        _ => (".hoodie/metadata/.hoodie/timeline", format!("{LATER}_29990101000000001.clean")),
    };
    let clean = HoodieCleanMetadata { start_clean_time: LATER.into(), ..HoodieCleanMetadata::default() };
    let content = bytes::Bytes::from(clean.to_avro().unwrap());
    for name in [format!("{LATER}.clean.requested"), format!("{LATER}.clean.inflight"), completed] {
        store.put(&format!("{folder}/{name}"), &content, None).unwrap();
    }
}
