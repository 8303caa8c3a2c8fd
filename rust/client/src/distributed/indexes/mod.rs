//! Verifications, and indexes of the metadata table, by tasks.
//!
//! | file | job |
//! |---|---|
//! | `verification` | the driver's part of verifications |
//! | `key_places_stage`, `key_check_stage` | the stages of a verification |
//! | `metadata_build` | the driver's part of new indexes of the metadata table |
//! | `index_keys_stage`, `index_files_stage` | the stages that build a record index |
//! | `index_parts_stage` | what other indexes of the metadata table are built from |
//! | `table_stage` | a stage that works on a table as it is |

mod index_files_stage;
mod index_keys_stage;
mod index_parts_stage;
mod key_check_stage;
mod key_places_stage;
mod metadata_build;
mod table_stage;
mod verification;

pub use metadata_build::build_metadata_by_tasks;
pub use verification::verify_by_tasks;
