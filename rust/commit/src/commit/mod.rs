//! Changes to a table's `.hoodie` folder. The order of their file operations is described in `docs/write-protocol.md`.
//!
//! | file | job |
//! |---|---|
//! | `new_table` | the properties of a new table |
//! | `new_table_options` | properties that a user may set when a table is created |
//! | `new_table_by_options` | the table that the options of a write describe |
//! | `create_table` | a new table in storage |
//! | `operation` | what a write does, and its action on the timeline |
//! | `clock` | times of new instants |
//! | `request_instant` | a time that no other writer has taken |
//! | `timeline_writer` | files of instants: requested, inflight, completed |
//! | `update_properties` | changes to `hoodie.properties` |
//! | `lock` | the lock of a table, and waiting for it |
//! | `file_system_lock`, `storage_lock`, `dynamodb_lock`, `zookeeper_lock` | the locks of Hudi's lock providers |
//! | `renewed_lock` | a lock that is renewed while it is held |
//! | `lock_place` | where the lock of a table is, by its name or its base path |
//! | `root_lock` | the lock of writers that are configured to be the only one |
//! | `lock_options` | one writer or several, and which lock, by Hudi's options |
//! | `heartbeat` | files that say that a writer is alive |
//! | `open_mark` | files that say that tasks may add files to a write |
//! | `cleaned_files` | what a clean deleted |
//! | `rolled_back_files` | what a rollback did to data files |
//! | `conflict_unit` | what two writes are compared by: file groups, or buckets |
//! | `completed_since` | what others have completed since a write began |
//! | `conflicts` | whether another writer wrote to the same file groups meanwhile |
//! | `gone_writes` | the same, of writes that were archived, or are gone, since |
//! | `undone_writes` | completed writes that had been rolled back before |
//! | `validator` | checks of the table as a write would leave it |
//! | `unique_name` | names of writers |
//! | `writable_tables` | tables that are not written to |

mod cleaned_files;
mod clock;
mod completed_since;
mod conflict_unit;
mod conflicts;
mod create_table;
mod dynamodb_lock;
mod file_system_lock;
mod gone_writes;
mod heartbeat;
mod lock;
mod lock_fence;
mod lock_options;
mod lock_place;
mod new_table;
mod new_table_by_options;
mod new_table_options;
mod open_mark;
mod renewed_lock;
mod replace_unchanged;
mod request_instant;
mod rolled_back_files;
mod root_lock;
mod storage_lock;
mod timeline_writer;
mod undone_writes;
mod unique_name;
mod update_properties;
mod validator;
mod writable_tables;
mod zookeeper_lock;

#[cfg(test)]
mod tests;

pub use cleaned_files::{CleanedFiles, CleanedPartition};
pub use clock::next_after;
pub use clock::{Clock, epoch_millis, epoch_text, millisecond_before};
pub use conflict_unit::ConflictUnit;
pub use conflicts::{ConflictCheck, WrittenGroups};
pub use create_table::{create_bootstrapped_table, create_table};
pub use file_system_lock::FileSystemLock;
pub use heartbeat::{Heartbeat, HeartbeatOptions, HeartbeatWatch, Heartbeats, delete_heartbeat};
pub use lock::pause;
pub use lock::{HeldLock, LockWait, TableLock, acquire};
pub use lock_fence::{FencedStore, LockFence};
pub use lock_options::{Concurrency, FailedWrites};
pub use lock_place::LockedTable;
pub use new_table::NewTable;
pub use open_mark::OpenMark;
pub use replace_unchanged::{read_to_replace, replace_unchanged};
pub use request_instant::{Timelines, request_instant};
pub use rolled_back_files::{RolledBackFiles, RolledBackPartition};
pub use storage_lock::{LockValidity, StorageLock};
pub use timeline_writer::{CompletionOutcome, Content, TimelineWriter};
pub use undone_writes::UndoneWrite;
pub use update_properties::{update_properties, update_properties_below};
pub use validator::CommitValidator;
pub use writable_tables::{check_format, check_version, check_writable};
