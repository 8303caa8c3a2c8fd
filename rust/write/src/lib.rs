//! From a user's rows to files: what a write does before it has an instant, and in its tasks.
//!
//! [`rows`] are a user's columns in the table's types. A [`row_set`] is what is known of the rows of a write, [`index`]
//! and [`assign`] find the file group of each row, and [`write`] makes base files and log files in one task. What
//! options say of them ([`settings`]) is resolved once. Nothing here changes the timeline.

pub mod assign;
pub mod index;
pub mod row_set;
pub mod rows;
pub mod settings;
pub mod write;
