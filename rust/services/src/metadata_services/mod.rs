//! Services of the metadata table, which run before a write requests its instant, under the table's lock
//! (`HoodieBackedTableMetadataWriter.performTableServices`).
//!
//! | file | job |
//! |---|---|
//! | `options` | Hudi's options |
//! | `record_schema` | the schemas of records that are compacted |
//! | `record_merge` | two records of one key become one |
//! | `sources` | the files of a slice as sorted streams |
//! | `merged_records` | the records of a slice, key by key |
//! | `compact_group` | a new base file of one file group |
//! | `compact` | the action: plan, base files, completed instant |
//! | `clean` | deletes old versions of file groups |
//! | `archive` | moves old instants to the archive |
//! | `run` | what runs, and in what order |

mod archive;
mod clean;
mod compact;
mod compact_group;
mod merged_records;
mod options;
mod record_merge;
mod record_schema;
mod run;
mod sources;

pub use options::MetadataServiceOptions;
pub use run::MetadataServices;
