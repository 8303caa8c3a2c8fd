//! The reading half of mortice: from a timeline and file names to the rows of a query.
//!
//! [`timeline`] reads instants and their metadata, [`schema`] the columns at an instant, [`file_group`] file slices and
//! [`metadata_table`] listings and statistics. [`plan`] turns a query into splits, which [`split`] serialises, and
//! [`read`] reads a split as Arrow batches. [`Table`] is the entry point. Nothing in this crate changes a table.

pub mod bootstrap;
pub mod file_group;
pub mod metadata_table;
pub mod plan;
pub mod read;
pub mod schema;
pub mod split;
pub mod table;
pub mod timeline;

pub use table::Table;
