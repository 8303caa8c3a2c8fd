//! Task descriptors: a query and its splits, as plain values that can be sent to other processes.
//!
//! | file | contents |
//! |---|---|
//! | `change` | the source of a commit's changes to a file group, and the columns of the result |
//! | `divide` | creates the splits of a query, several for a large slice |
//! | `part` | parts of a file slice that is too large for one task |
//! | `split` | one part of a query, self-contained |
//! | `split_form` | serialization of queries and splits |

mod change;
mod divide;
mod part;
#[expect(clippy::module_inception, reason = "the module's main type has its name")]
mod split;
mod split_form;

pub use change::{AFTER, BEFORE, COMMIT, ChangeSource, FileGroupChange, OPERATION, change_schema};
pub use divide::{divided, splits};
pub use part::SlicePart;
pub use split::{CommitRange, DeleteOutput, MergerHandle, PathColumns, Query, Split, TableState};
