//! Names: what file names, instants and column names say. Pure text, no storage.

pub mod base_file_name;
pub mod field_names;
pub mod instant_range;
pub mod instant_time;
pub mod log_file_name;
pub mod meta_columns;

pub use base_file_name::BaseFileName;
pub use field_names::FieldNames;
pub use log_file_name::LogFileName;
