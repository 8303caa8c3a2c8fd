//! Partitions that expire (`PartitionTTLStrategy`): those that nobody has written to for some days, or that are so old,
//! are deleted by one commit.
//!
//! | file | job |
//! |---|---|
//! | `options` | which partitions expire, by Hudi's options |
//! | `expired` | the partitions that have expired |
//! | `run` | the service |

mod expired;
mod options;
mod run;

pub use expired::ExpiredPartition;
pub use options::{PartitionAge, PartitionTtlOptions};
pub(crate) use run::expire_inline;
pub use run::{PartitionTtlResult, plan_partition_ttl, run_partition_ttl};
