//! Where the rows of a write come from.

use serde::{Deserialize, Serialize};

/// Where the rows of a write come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Provenance {
    /// The user gave them: what the index finds of their keys is changed.
    Given,
    /// They were read from the table, and name stored rows: each of these is changed, also those that the record index
    /// does not know.
    Stored,
}
