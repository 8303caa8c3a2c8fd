//! Table: the entry point of the crate.

#[expect(clippy::module_inception, reason = "the module's main type has its name")]
mod table;

pub use table::Table;
