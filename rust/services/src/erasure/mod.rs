//! Erases rows so that no file of the table holds them, and proves it.
//!
//! Rows are deleted, log files are compacted away, older file versions cleaned, and the metadata table, whose
//! statistics keep values as minimum and maximum, is built again. Then all files that remain are read.
//!
//! | file | job |
//! |---|---|
//! | `values` | the values that no file may have |
//! | `distinct` | distinct values of columns |
//! | `search` | finds them in files and records |
//! | `work` | what reads and writes rows: this process, or an engine |
//! | `erase` | what is refused, what is removed, and in which order |

mod distinct;
mod erase;
mod search;
mod values;
mod work;

pub use distinct::distinct_values;
pub use erase::{ErasureReport, ErasureRequest, plan_erasure, run_erasure};
pub use search::{is_in_records, search_files};
pub use values::ErasedValues;
pub use work::{ErasureReads, ErasureWrites, LocalReads};
