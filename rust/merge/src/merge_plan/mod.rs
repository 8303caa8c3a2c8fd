//! How the records of a table are merged: from its configuration to the rules, the build side and the fold of
//! [`crate::merge`].
//!
//! | file | job |
//! |---|---|
//! | `plan` | one record of each key is chosen, or several are folded |
//! | `payload_plan` | the same for payload classes |
//! | `fold_plan` | what a fold needs, and the fold |
//! | `field_absence` | which values of a table's fields a fold fills |

mod field_absence;
mod fold_plan;
mod payload_plan;
mod plan;

pub use fold_plan::FoldColumns;
pub use plan::MergePlan;
