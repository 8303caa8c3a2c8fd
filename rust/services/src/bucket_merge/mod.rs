//! Buckets with several file groups, made one again: writers without a common lock, or that compared file groups alone,
//! have created the same bucket twice, and every write with a bucket index is refused since.
//!
//! The rows of all file groups of such a bucket are merged by the table's rules and written to a new file group, which
//! replaces the others in one replace commit. Rows keep their commit times, so that incremental queries do not return
//! them again.
//!
//! | file | job |
//! |---|---|
//! | `shared_buckets` | the buckets that have several file groups |
//! | `one_row_each` | their rows, one for each key |
//! | `merge` | the write |

mod merge;
mod one_row_each;
mod shared_buckets;

pub use merge::{BucketMergeResult, plan_bucket_merge, run_bucket_merge};
