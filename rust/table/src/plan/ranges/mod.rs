//! Queries of a range of commits.
//!
//! | file | contents |
//! |---|---|
//! | `incremental` | what the commits wrote |
//! | `written_files` | the files that they wrote |
//! | `changes` | what they changed, row by row |
//! | `changed_files` | the files that hold these changes |
//! | `follow` | commits one by one, as they complete |

pub(in crate::plan) mod changed_files;
pub(in crate::plan) mod changes;
pub(in crate::plan) mod follow;
pub(in crate::plan) mod incremental;
pub(in crate::plan) mod written_files;
