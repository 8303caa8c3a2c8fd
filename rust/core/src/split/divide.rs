//! A query's plan: one split for each file slice that it needs, or several for a large one.

use std::sync::Arc;

use super::part::Part;
use super::split::{MergerHandle, Query, Split};
use crate::file_group::FileSlice;

/// The most parts of a slice: each reads the keys of the whole slice.
const MOST_PARTS: u32 = 1024;

/// The splits of a query, in the slices' order. A slice without any file is none.
#[must_use]
pub fn splits(query: &Arc<Query>, slices: Vec<FileSlice>, merger: Option<&MergerHandle>) -> Vec<Split> {
    slices
        .into_iter()
        .filter(|slice| slice.base_file.is_some() || !slice.log_files.is_empty())
        .map(|slice| Split { query: Arc::clone(query), slice, part: None, change: None, merger: merger.cloned() })
        .collect()
}

/// The splits, those divided whose files have more bytes than `most`. How many row groups a base file has is not known here: a slice
/// may turn out to be of fewer parts, and those beyond give no rows.
#[must_use]
pub fn divided(splits: &[Split], most: u64) -> Vec<Split> {
    let most_bytes = most.max(1);
    let parts = |split: &Split| {
        let most = if split.can_be_divided() { MOST_PARTS } else { 1 };
        u32::try_from(split.bytes().div_ceil(most_bytes)).unwrap_or(u32::MAX).clamp(1, most)
    };
    let of = |split: &Split, index, of| Split { part: (of > 1).then_some(Part { index, of }), ..split.clone() };
    splits.iter().flat_map(|split| (0..parts(split)).map(move |index| of(split, index, parts(split)))).collect()
}
