//! Streams: one split or several, read by threads.
//!
//! | file | job |
//! |---|---|
//! | `pool` | several splits, read at once |
//! | `ahead` | how far they may be ahead of the consumer |
//! | `split_reader` | one split, read |

pub(in crate::read) mod ahead;
pub(in crate::read) mod pool;
pub(in crate::read) mod split_reader;
