//! Creates the splits of a query: one for each file slice, or several for a large one.

use std::sync::Arc;

use super::part::SlicePart;
use super::split::{MergerHandle, Query, Split};
use crate::file_group::FileSlice;

/// The maximum number of parts of a slice: each part reads the keys of the whole slice.
const MOST_PARTS: u32 = 1024;

/// Returns the splits of a query, in the order of the slices. A slice without files has no split.
#[must_use]
pub fn splits(query: &Arc<Query>, slices: Vec<Arc<FileSlice>>, merger: Option<&MergerHandle>) -> Vec<Split> {
    let mut splits = Vec::with_capacity(slices.len());
    let with_files = slices.into_iter().filter(|slice| slice.base_file.is_some() || !slice.log_files.is_empty());
    let of_slice = |slice| Split { query: Arc::clone(query), slice, part: None, change: None, merger: merger.cloned() };
    splits.extend(with_files.map(of_slice));
    splits
}

/// Divides splits whose files have more than `most` bytes. The number of row groups of a base file is not known here: a
/// slice may have fewer parts than planned, and the excess parts return no rows.
#[must_use]
pub fn divided(splits: &[Split], most: u64) -> Vec<Split> {
    let most_bytes = most.max(1);
    let parts = |split: &Split| {
        let most = if split.can_be_divided() { MOST_PARTS } else { 1 };
        u32::try_from(split.bytes().div_ceil(most_bytes)).unwrap_or(u32::MAX).clamp(1, most)
    };
    let of = |split: &Split, index, of| Split { part: (of > 1).then_some(SlicePart { index, of }), ..split.clone() };
    splits.iter().flat_map(|split| (0..parts(split)).map(move |index| of(split, index, parts(split)))).collect()
}
