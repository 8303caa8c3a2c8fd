//! Folding: where a row is made of several records, all of a key's records are kept and merged one after the other, field by
//! field.
//!
//! | file | job |
//! |---|---|
//! | `chains` | all records of each key, in log order |
//! | `rules` | what two records become: one of them, a delete, or one laid over the other |
//! | `absence` | which values give way to the other record's |
//! | `folder` | the records of some keys made rows |
//! | `custom` | the same, by a merger of whole rows: the user's own, or the metadata table's |
//! | `metadata`, `metadata_bounds` | the records of the metadata table |

mod absence;
mod chains;
mod custom;
mod folder;
mod made;
mod metadata;
mod metadata_bounds;
mod missing;
mod rules;

pub use absence::Absence;
pub use chains::Chains;
pub use custom::{CustomFold, RowMerger};
pub use folder::{BaseOf, Fold, Folded, Folder};
pub use made::{MadeRows, PickedRows};
pub use metadata::{MetadataMerger, TYPE as METADATA_TYPE};
pub use missing::MissingColumns;
pub use rules::{FoldRules, Mode, PayloadFold};
