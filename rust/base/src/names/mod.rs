//! Parsed names: file names, instants and column names. This module does no I/O.

pub mod base_file_name;
pub mod field_names;
pub mod instant_range;
pub mod instant_time;
pub mod instants;
pub mod log_file_name;
pub mod meta_columns;

mod archive_file_name;
mod bucket;
mod instant_text;
mod known_columns;
mod letter_case;
mod percent_codes;
mod query_instant;
mod registered_file_name;
mod timeline_zone;

pub use archive_file_name::ArchiveFileName;
pub use base_file_name::BaseFileName;
pub use bucket::bucket_in;
pub use field_names::FieldNames;
pub use instants::{CompletionTime, RequestedTime, TimelinePosition};
pub use known_columns::{known_columns, nearest_name};
pub use letter_case::{CaseNames, NameTree};
pub use log_file_name::{LogFileName, NativeLog};
pub use percent_codes::decode_percent_codes;
pub use query_instant::{position_before, query_instant};
pub use registered_file_name::is_registered;
pub use timeline_zone::TimelineZone;
