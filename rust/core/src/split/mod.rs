//! Task descriptors: a query and its splits, as plain values that are sent to other processes.
//!
//! | file | job |
//! |---|---|
//! | `change` | where the changes of a file group are found, and their columns |
//! | `divide` | the splits of a query, large ones divided |
//! | `part` | parts of a file slice that is too large for one task |
//! | `split` | one part of a query, complete in itself |
//! | `split_form` | serialised queries and splits |

mod change;
mod divide;
mod part;
#[expect(clippy::module_inception, reason = "the module's main type has its name")]
mod split;
mod split_form;

pub use change::{AFTER, BEFORE, COMMIT, Change, ChangeSource, OPERATION, change_schema};
pub use divide::{divided, splits};
pub use part::Part;
pub use split::{CommitRange, Deletes, MergerHandle, PathColumns, Query, Split};
