//! What options say of the rows and files of a write.

use crate::assign::AssignOptions;
use crate::index::IndexOptions;
use crate::rows::RowOptions;
use crate::write::{AppendOptions, BaseFileOptions};
use mortice_base::error::Result;
use mortice_merge::config::{TableConfig, WriteOptions};
use mortice_merge::keys::KeyOptions;

/// The options of a write of rows to a table, in groups. They are resolved once, when the table is opened for writing,
/// in each process that takes part.
#[derive(Debug, Clone)]
pub struct WriteSettings {
    /// How keys and partition paths are made.
    pub keys: KeyOptions,
    /// How rows are read, checked and combined.
    pub rows: RowOptions,
    /// How keys are found.
    pub index: IndexOptions,
    /// How rows are assigned to file groups.
    pub assign: AssignOptions,
    /// How base files are written.
    pub base_files: BaseFileOptions,
    /// How log files are written.
    pub log_files: AppendOptions,
}

impl WriteSettings {
    /// Reads the options, for a table.
    ///
    /// # Errors
    /// Those of [`WriteOptions`]. What an option asks for that is not supported is refused where it would be followed.
    pub fn resolve(options: &WriteOptions, table: &TableConfig) -> Result<Self> {
        let base_files = BaseFileOptions::resolve(options, table.layout())?.of_table_type(table.table_type);
        Ok(Self {
            keys: KeyOptions::resolve(options)?,
            rows: RowOptions::resolve(options)?,
            index: IndexOptions::resolve(options)?,
            assign: AssignOptions::resolve(options)?,
            log_files: AppendOptions::resolve(options, table.layout())?.of_table(table, &base_files),
            base_files,
        })
    }
}
