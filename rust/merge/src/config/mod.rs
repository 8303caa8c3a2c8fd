//! Config: what a table says of itself in `.hoodie/hoodie.properties`.
//!
//! | file | job |
//! |---|---|
//! | `properties` | Java's properties text |
//! | `properties_file` | `hoodie.properties` changed and written |
//! | `no_table` | what a path is that has no table, for its error |
//! | `property_files` | which of a table's property files holds good |
//! | `table_version` | table versions and the timeline layouts that go with them |
//! | `table_config` | the keys that a reader goes by, typed |
//! | `meta_fields` | which meta columns files have |
//! | `merge_config` | how records of one key become one row |
//! | `merge_inference` | the merge mode of tables that do not store it |
//! | `payload` | Hudi's own payload classes |
//! | `read_options` | what a caller may choose |
//! | `write_options/` | Hudi's write options: which are followed, and which values are refused |

pub mod payload;

mod merge_config;
mod merge_inference;
mod meta_fields;
mod no_table;
mod properties;
mod properties_file;
mod property_files;
mod read_options;
mod table_config;
mod table_version;
mod write_options;

pub use merge_config::{CustomMerge, DeleteMarker, MergeConfig, MergeMode, PartialUpdateMode};
pub use mortice_base::names::TimelineZone;
pub use payload::PayloadClass;
pub use properties::Properties;
pub use properties_file::PropertiesFile;
pub use read_options::{LogScan, MergeSemantics, OnCorrupt, OnDamage, ReadOptions};
pub use table_config::{CdcMode, STORES_OPERATIONS, TableConfig, TableType};
pub use table_version::{TableVersion, TimelineLayout};
pub use write_options::{
    OptionDecision, OptionHandling, ParsedOptions, WriteOption, WriteOptions, decisions as write_option_decisions,
    default_of, is_commit_metadata, is_followed_option, is_table_property, option_names, table_properties,
};
