//! How the rows of a bulk insert are ordered (`hoodie.bulkinsert.sort.mode`, `BulkInsertSortMode`).

use mortice_base::error::{Error, Result};
use mortice_merge::config::option_names::BULKINSERT_SORT_MODE;
use serde::{Deserialize, Serialize};

/// The order of rows, and their distribution to file groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SortMode {
    /// As they come. A partition can have an open file for each thread.
    None,
    /// By partition and record key: the files of a partition have ranges of keys that do not overlap.
    Global,
    /// As `Global`. Hudi sorts the rows of each task alone, which is less.
    Partition,
    /// As they come, the rows of a partition by one thread.
    PartitionPath,
    /// The same: within a file all rows have the partition that they are sorted by.
    PartitionPathAndSort,
}

impl SortMode {
    /// The order of a name in options.
    pub(super) fn parse(mode: &str) -> Result<Self> {
        match mode.to_ascii_uppercase().as_str() {
            "NONE" => Ok(Self::None),
            "GLOBAL_SORT" => Ok(Self::Global),
            "PARTITION_SORT" => Ok(Self::Partition),
            "PARTITION_PATH_REPARTITION" => Ok(Self::PartitionPath),
            "PARTITION_PATH_REPARTITION_AND_SORT" => Ok(Self::PartitionPathAndSort),
            _ => Err(Error::invalid_argument(format!(
                "option {BULKINSERT_SORT_MODE} must be NONE, GLOBAL_SORT, PARTITION_SORT, PARTITION_PATH_REPARTITION or PARTITION_PATH_REPARTITION_AND_SORT, got {mode:?}"
            ))),
        }
    }

    /// Whether rows are sorted by record key within their partitions.
    pub const fn sorts_by_key(self) -> bool {
        matches!(self, Self::Global | Self::Partition)
    }

    /// Whether the rows of a partition go to one thread.
    pub const fn keeps_partitions_together(self) -> bool {
        !matches!(self, Self::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_by_hudis_names() {
        let mode = SortMode::parse;
        assert_eq!(mode("NONE").unwrap(), SortMode::None);
        assert_eq!(mode("global_sort").unwrap(), SortMode::Global);
        assert!(mode("PARTITION_SORT").unwrap().sorts_by_key());
        assert!(mode("PARTITION_PATH_REPARTITION").unwrap().keeps_partitions_together());
        assert!(!mode("PARTITION_PATH_REPARTITION_AND_SORT").unwrap().sorts_by_key());
        assert!(mode("SORTED").unwrap_err().to_string().contains("GLOBAL_SORT"));
    }
}
