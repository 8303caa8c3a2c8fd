//! Write options: every option of Hudi 1.2 that a writer may be given is decided by name.
//!
//! | file | job |
//! |---|---|
//! | `decisions.tsv` | the decision for each option |
//! | `decisions` | the table of decisions |
//! | `agreement` | whether an option agrees with the property of the table that it sets in Hudi |
//! | `values.tsv` | the values of each option that is followed |
//! | `values` | whether an option can have a value |
//! | `options` | the options of one write, each with a value of its kind |
//! | `parse` | options, checked against a table |

mod agreement;
mod decisions;
mod options;
mod parse;
mod values;

pub use decisions::{OptionDecision, OptionHandling, decisions};
pub use options::WriteOptions;
pub use parse::{ParsedOptions, SCHEMA_CHANGES, is_commit_metadata, table_properties};
