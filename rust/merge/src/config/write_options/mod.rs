//! Write options: every option of Hudi 1.2 that a writer may be given is decided by name.
//!
//! | file | job |
//! |---|---|
//! | `decisions.tsv` | the decision for each option |
//! | `decisions` | the table of decisions |
//! | `agreement` | whether an option agrees with the property of the table that it sets in Hudi |
//! | `values.tsv` | the values of each option that is followed |
//! | `values` | whether an option can have a value |
//! | `parse` | the options of one write, checked |

mod agreement;
mod decisions;
mod parse;
mod values;

pub(super) use values::{check_value, default_of};

pub use decisions::{OptionDecision, OptionHandling, decisions};
pub use parse::{SCHEMA_CHANGES, WriteOptions, is_commit_metadata, table_properties};
