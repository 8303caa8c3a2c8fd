//! The tasks of a write. Each writes to one file group, or makes new ones; no two write to the same.

use serde::{Deserialize, Serialize};

use crate::write::LogNaming;
use mortice_table::file_group::FileSlice;

/// The tasks of a write.
#[derive(Debug, Clone, Default)]
pub struct Assignment {
    /// The tasks, by partition.
    pub tasks: Vec<GroupTask>,
    /// Deletes of keys that are not in the table, by row. They are not written.
    pub unmatched_deletes: Vec<u32>,
}

/// What is written to one file group.
#[derive(Debug, Clone)]
pub struct GroupTask {
    /// The partition.
    pub partition: String,
    /// How.
    pub kind: TaskKind,
    /// Row numbers, ascending. A row is twice in a task that appends, if the base file has its key twice.
    pub rows: Vec<u32>,
    /// For each of `rows`, the number of its key's row in the base file; empty if none is known.
    pub positions: Vec<Option<u64>>,
}

/// How a file group is written to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskKind {
    /// Updates and deletes are appended to the group's logs; under a bucket index also new keys.
    Append {
        /// The latest slice.
        slice: FileSlice,
        /// The names of its new log files.
        naming: LogNaming,
    },
    /// The base file is rewritten with the rows: in copy-on-write tables, and where new keys are added to a small file.
    Merge {
        /// The latest slice, which has a base file and no logs.
        slice: FileSlice,
    },
    /// New base files.
    Create {
        /// The file ids without their last part `-0`.
        file_id_prefix: String,
    },
}
