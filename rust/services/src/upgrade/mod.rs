//! Upgrade and downgrade: brings a table to another version (`UpgradeDowngrade`).
//!
//! | file | job |
//! |---|---|
//! | `request` | what is asked for, and what was done |
//! | `version_path` | the steps between two versions |
//! | `property_changes` | what steps do to the table's properties |
//! | `property_set` | the properties that they set and remove |
//! | `merge_properties` | payload classes, and the merge modes of version 9 |
//! | `layout_properties` | properties that versions up to 7 store differently |
//! | `first_properties` | properties that versions up to 5 do not store |
//! | `stored_keys` | whether the rows' keys are those of these properties |
//! | `key_generators` | types and classes of key generators |
//! | `settle` | before: failed writes are rolled back, logs compacted |
//! | `timeline_files` | names and contents of files of instants in the other layout |
//! | `completion_times` | completion times of instants of versions up to 7 |
//! | `layout_change` | writes the timeline and the archive in the other layout |
//! | `switch` | under the lock: all of that, then the properties |
//! | `run` | the entry point |
//!
//! The properties of the table decide which timeline is used. Everything in the new form is written beside the old one
//! first, then the properties are replaced at once, then the old files are deleted. A service that is stopped before
//! the properties leaves the table as it was, and deletes what it had written when it is run again. One that is stopped
//! afterwards leaves files that no reader uses.

mod completion_times;
mod first_properties;
mod key_generators;
mod layout_change;
mod layout_properties;
mod merge_properties;
mod property_changes;
mod property_set;
mod request;
mod run;
mod settle;
mod stored_keys;
mod switch;
mod timeline_files;
mod version_path;

pub use property_changes::ChangedProperty;
pub use request::{UpgradeRequest, UpgradeResult, VersionChange};
pub use run::{plan_upgrade, run_upgrade};
