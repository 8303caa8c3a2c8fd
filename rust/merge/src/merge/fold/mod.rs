//! Folding: where a row is made of several records, all records of a key are merged one after the other, field by
//! field.
//!
//! | file | job |
//! |---|---|
//! | `rules` | what two records become: one of them, a delete, or one overlaid on the other |
//! | `absence` | which values are filled from the other record |
//! | `missing` | columns that blocks of partial records do not have |
//! | `folder` | record groups folded by the rules |
//! | `folded_rows` | the rows that a fold has made |
//! | `custom` | record groups folded by a merger of whole rows: a user-defined one, or the metadata table's |
//! | `metadata_rules` | what two records of the metadata table become: for readers and for its compaction |
//! | `metadata`, `metadata_bounds` | the same for Arrow columns |

mod absence;
mod custom;
mod folded_rows;
mod folder;
mod metadata;
mod metadata_bounds;
pub mod metadata_rules;
mod missing;
mod rules;

pub use absence::Absence;
pub use custom::{CustomFold, RowMerger};
pub use folded_rows::{FoldedRows, PickedRows};
pub use folder::{Fold, FoldBase, FoldResult, RuleFold};
pub use metadata::MetadataMerger;
pub use metadata_rules::TYPE as METADATA_TYPE;
pub use missing::MissingColumns;
pub use rules::{FoldMode, FoldRules, PayloadFold};
