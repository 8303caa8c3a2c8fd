//! The base file of a slice, and the rows of it that a read needs.
//!
//! | file | contents |
//! |---|---|
//! | `split_base` | the base file of a split |
//! | `base_threads` | reads base rows with several threads, each some of the columns |
//! | `base_segments` | base rows that a part of a slice returns, or only probes |
//! | `base_bounds` | decides whether ordering values of base rows must be read |
//! | `merge_base` | the rows that logs are merged with |
//! | `merged_slice` | the merged rows of a slice as those rows |
//! | `row_range` | base rows of an incremental query |
//! | `row_numbers` | decides whether records are merged by row number |

pub(in crate::read) mod base_bounds;
pub(in crate::read) mod base_segments;
pub(in crate::read) mod base_threads;
pub(in crate::read) mod merge_base;
pub(in crate::read) mod merged_slice;
pub(in crate::read) mod row_numbers;
pub(in crate::read) mod row_range;
pub(in crate::read) mod split_base;
