//! Upgrade and downgrade: what table versions store differently (`UpgradeDowngrade`).
//!
//! | file | job |
//! |---|---|
//! | `version_path` | the steps between two versions |
//! | `property_changes` | what steps do to the table's properties |
//! | `merge_properties` | payload classes, and the merge modes of version 9 |
//! | `layout_properties` | properties that versions up to 7 store differently |
//! | `key_generators` | types and classes of key generators |
//! | `completion_times` | completion times of instants of versions up to 7 |
//! | `timeline_files` | names and contents of files of instants in the other layout |

// The service that uses it follows.
#![allow(dead_code, unreachable_pub)]

mod completion_times;
mod key_generators;
mod layout_properties;
mod merge_properties;
mod property_changes;
mod timeline_files;
mod version_path;
