//! Streams: reads one or several splits with threads.
//!
//! | file | contents |
//! |---|---|
//! | `pool` | reads several splits concurrently |
//! | `ahead` | limits how far they are ahead of the consumer |
//! | `split_reader` | reads one split |

pub(in crate::read) mod ahead;
pub(in crate::read) mod pool;
pub(in crate::read) mod split_reader;
