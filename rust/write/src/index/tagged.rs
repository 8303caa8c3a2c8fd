//! File groups by row.

use std::sync::Arc;

use mortice_base::names::RequestedTime;
use mortice_table::plan::WriteView;

/// Where the keys of rows are.
#[derive(Debug, Clone, Default)]
pub struct Tagged {
    /// For each row, an index into `groups`; none if its key is new.
    pub locations: Vec<Option<u32>>,
    /// The file groups, each once.
    pub groups: Vec<Location>,
    /// For each row, the number of its key's row in the base file, if the index knows it; empty if it knows none.
    pub positions: Vec<Option<u64>>,
    /// Further rows of the same keys, in this or another file group, as `insert` and `bulk_insert` may leave them: updates and deletes
    /// go to all of them, as Hudi's do.
    pub further: Vec<FurtherLocation>,
    /// The file slices that were looked at, for the assignment.
    pub view: Arc<WriteView>,
}

/// A file group that holds keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// The partition.
    pub partition: String,
    /// The file group.
    pub file_id: String,
    /// The instant of its base file, or of its slice if it has none.
    pub base_instant: RequestedTime,
}

/// A further row of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FurtherLocation {
    /// The row.
    pub row: u32,
    /// An index into [`Tagged::groups`].
    pub group: u32,
    /// The number of the key's row in the base file.
    pub position: Option<u64>,
}

impl Tagged {
    /// Rows whose keys are all new.
    #[must_use]
    pub fn untagged(rows: usize, view: Arc<WriteView>) -> Self {
        Self { locations: vec![None; rows], view, ..Self::default() }
    }

    /// The file group of a row's key.
    #[must_use]
    pub fn location(&self, row: usize) -> Option<&Location> {
        let group = (*self.locations.get(row)?)?;
        self.groups.get(usize::try_from(group).ok()?)
    }
}
