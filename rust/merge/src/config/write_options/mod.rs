//! Write options: every option of Hudi 1.2 that a writer may be given is decided by name.
//!
//! | file | job |
//! |---|---|
//! | `decisions.tsv` | the decision for each option |
//! | `decisions` | the table of decisions |
//! | `agreement` | whether an option agrees with the property of the table that it sets in Hudi |
//! | `values.tsv` | the values of each option that is followed |
//! | `values` | whether an option can have a value |
//! | `option_names` | the names of options, each with its kind |
//! | `kinds` | whether each option has a value of its kind |
//! | `option_value` | the value of one option |
//! | `options` | the options of one write, each with a value of its kind |
//! | `parse` | options, checked against a table |

pub mod option_names;

mod agreement;
mod decisions;
mod kinds;
mod option_value;
mod options;
mod parse;
mod values;

pub use decisions::{OptionDecision, OptionHandling, decisions};
pub use option_names::WriteOption;
pub use options::WriteOptions;
pub use parse::{ParsedOptions, is_commit_metadata, is_followed_option, is_table_property, table_properties};
pub use values::default_of;
