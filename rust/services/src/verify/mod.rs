//! Whether a table agrees with itself, and what can be repaired without a doubt.
//!
//! | file | job |
//! |---|---|
//! | `findings` | what was found, by kind |
//! | `remedies` | what to do about them |
//! | `stored_files` | the files of the table, and what the timeline says of them |
//! | `metadata_files` | the metadata table's list of files, compared with the storage |
//! | `checksums` | checksums of pages and blocks |
//! | `contents` | whether files can be decoded |
//! | `damaged_logs` | logs that have lost bytes of completed writes |
//! | `duplicate_buckets` | buckets of several file groups |
//! | `uncommitted_files` | files that count as committed, and were not |
//! | `undone_writes` | completed writes that had been rolled back before |
//! | `unsupported_files` | files that this release does not read |
//! | `metadata_storage` | the metadata table's own files and instants |
//! | `replaced_groups` | replaced file groups that are live again |
//! | `leftovers` | markers and heartbeats that nobody needs |
//! | `temporary_files` | files that were not finished |
//! | `sorted_keys`, `file_group_numbers` | keys of all rows, sorted in files |
//! | `key_reader` | reads them, and those of the record index |
//! | `key_check` | keys of several rows; the record index, compared with rows |
//! | `key_findings` | all of that, in one process |
//! | `verify` | all of these |
//! | `repair` | deletes what stopped writers left |

mod checksums;
mod contents;
mod damaged_logs;
mod duplicate_buckets;
mod file_group_numbers;
mod findings;
mod key_check;
mod key_findings;
mod key_reader;
mod leftovers;
mod metadata_files;
mod metadata_storage;
mod remedies;
mod repair;
mod replaced_groups;
mod sorted_keys;
mod stored_files;
mod temporary_files;
mod uncommitted_files;
mod undone_writes;
mod unsupported_files;
#[expect(clippy::module_inception, reason = "the module's main function has its name")]
mod verify;

pub(crate) use duplicate_buckets::duplicate_bucket;
pub use file_group_numbers::FileGroupNumbers;
pub use findings::{Finding, FindingKind};
pub use key_check::KeyCheck;
pub use key_check::KeyComparison;
pub use key_check::KeyFindings;
pub use key_findings::index_scope;
pub use key_findings::leaves_stale_keys;
pub use key_findings::unreadable_index;
pub use key_reader::keys_of_slice;
pub use remedies::remedy;
pub use repair::{RepairResult, plan_repair, run_repair};
pub use sorted_keys::KeySorter;
pub use sorted_keys::Origin;
pub use stored_files::joined;
pub use verify::verify_with;
pub use verify::{VerifyOptions, VerifyReport, verify};
