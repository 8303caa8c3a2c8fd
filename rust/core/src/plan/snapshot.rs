//! A query's plan: one split for each file slice that it needs.

use std::sync::Arc;

use super::split::{MergerHandle, Query, Split};
use crate::file_group::FileSlice;

/// The splits of a query, in the slices' order. A slice without any file is none.
#[must_use]
pub fn splits(query: &Arc<Query>, slices: Vec<FileSlice>, merger: Option<&MergerHandle>) -> Vec<Split> {
    slices
        .into_iter()
        .filter(|slice| slice.base_file.is_some() || !slice.log_files.is_empty())
        .map(|slice| Split { query: Arc::clone(query), slice, change: None, merger: merger.cloned() })
        .collect()
}
