//! What two writes are compared by, by Hudi's options (`HoodieLockConfig`, `ConflictResolutionStrategy`).
//!
//! With a bucket index a bucket has one file group. Two writes that create it choose different file ids, so that file
//! groups differ where the bucket is the same (`BucketIndexConcurrentFileWritesConflictResolutionStrategy`, which Hudi
//! infers from the index).

use mortice_base::error::{Error, Result};
use mortice_base::names::bucket_in;
use mortice_merge::config::option_names::{INDEX_TYPE, WRITE_LOCK_CONFLICT_RESOLUTION_STRATEGY};

const SIMPLE: &str = "SimpleConcurrentFileWritesConflictResolutionStrategy";
const BUCKET: &str = "BucketIndexConcurrentFileWritesConflictResolutionStrategy";
const PACKAGE: &str = "org.apache.hudi.client.transaction.";

/// What conflicting writes have in common.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConflictUnit {
    /// A file group.
    #[default]
    FileGroup,
    /// A file group, or a bucket of a partition.
    Bucket,
}

impl ConflictUnit {
    /// The unit of a write with this strategy and index. With a bucket index buckets are compared under either
    /// strategy.
    pub(super) fn new(class: &str, index: &str) -> Result<Self> {
        let is_bucket = index.eq_ignore_ascii_case("BUCKET");
        match class.rsplit('.').next().unwrap_or(class) {
            "" | SIMPLE | BUCKET if is_bucket => Ok(Self::Bucket),
            "" | SIMPLE => Ok(Self::FileGroup),
            BUCKET => {
                let message = format!("{WRITE_LOCK_CONFLICT_RESOLUTION_STRATEGY}={class} needs {INDEX_TYPE}=BUCKET");
                Err(Error::invalid_argument(message))
            }
            _ => {
                let message = format!(
                    "unsupported {WRITE_LOCK_CONFLICT_RESOLUTION_STRATEGY}={class} (supported: {PACKAGE}{SIMPLE}; with {INDEX_TYPE}=BUCKET {PACKAGE}{BUCKET})"
                );
                Err(Error::unsupported(message))
            }
        }
    }

    /// The bucket of a file group, if buckets are compared.
    pub(super) fn bucket_of(self, file_id: &str) -> Option<u32> {
        if self == Self::Bucket { bucket_in(file_id) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn unit(strategy: &str, index: &str) -> Result<ConflictUnit> {
        ConflictUnit::new(strategy, index)
    }

    #[test]
    fn buckets_are_compared_with_a_bucket_index() {
        let full = format!("{PACKAGE}{BUCKET}");
        for strategy in ["", SIMPLE, BUCKET, &full] {
            assert_eq!(unit(strategy, "bucket").unwrap(), ConflictUnit::Bucket, "{strategy}");
        }
        for strategy in ["", SIMPLE] {
            assert_eq!(unit(strategy, "SIMPLE").unwrap(), ConflictUnit::FileGroup, "{strategy}");
        }
        assert_eq!(ConflictUnit::new("", "SIMPLE").unwrap(), ConflictUnit::FileGroup);
        assert_eq!(ConflictUnit::Bucket.bucket_of("00000007-a-0"), Some(7));
        assert_eq!(ConflictUnit::FileGroup.bucket_of("00000007-a-0"), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(unit(BUCKET, "SIMPLE").unwrap_err().kind(), ErrorKind::InvalidArgument);
        let error = unit("x.PreferWriter", "BUCKET").unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("x.PreferWriter"), "{error}");
    }
}
