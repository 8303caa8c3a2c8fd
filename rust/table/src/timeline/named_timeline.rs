//! A timeline of file names alone, for tests.

use super::memory_storage::MemoryStorage;
use super::timeline::Timeline;
use super::{layout_v1, layout_v2};
use mortice_merge::config::TimelineLayout;

/// A timeline of empty files with these names. Names with `_` or `clustering` are those of layout 2.
///
/// # Panics
/// If a name is not that of an instant.
#[must_use]
#[expect(clippy::panic, reason = "a helper of tests")]
pub fn timeline(names: &[&str]) -> Timeline {
    let parse = |name: &&str| {
        let instant = layout_v2::parse(name).or_else(|| layout_v1::parse(name));
        instant.unwrap_or_else(|| panic!("{name} is not the name of an instant"))
    };
    let is_v2 = names.iter().any(|name| name.contains('_') || name.contains("clustering"));
    let layout = if is_v2 { TimelineLayout::V2 } else { TimelineLayout::V1 };
    let empty: Vec<_> = names.iter().map(|name| format!("t/{name}")).collect();
    let storage = MemoryStorage::holding(empty.iter().map(|path| (path.as_str(), b"".as_slice())));
    Timeline::new(storage, "t".into(), layout, None, names.iter().map(parse).collect())
}
