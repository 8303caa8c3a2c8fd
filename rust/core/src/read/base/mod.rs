//! The base file of a slice: its rows, as far as they are needed.
//!
//! | file | job |
//! |---|---|
//! | `split_base` | the base file of a split |
//! | `base_threads` | base rows read by threads of their own, each some of the columns |
//! | `base_segments` | base rows that a part of a slice gives, or looks at |
//! | `base_bounds` | whether base rows have to say what they are ordered by |
//! | `merge_base` | the rows that logs are merged with |
//! | `row_range` | base rows of an incremental query |
//! | `row_numbers` | whether base rows are known by their numbers instead |

pub(in crate::read) mod base_bounds;
pub(in crate::read) mod base_segments;
pub(in crate::read) mod base_threads;
pub(in crate::read) mod merge_base;
pub(in crate::read) mod row_numbers;
pub(in crate::read) mod row_range;
pub(in crate::read) mod split_base;
