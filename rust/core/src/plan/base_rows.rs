//! The rows of a base file that is rewritten.

use std::sync::Arc;

use super::open_table::OpenTable;
use super::path_columns::RowKind;
use crate::avro;
use crate::error::{Error, Result};
use crate::file_group::FileSlice;
use crate::filter::Filter;
use crate::read::{SharedReport, SplitReader};
use crate::split::{DeleteOutput, Query, Split};

impl OpenTable {
    /// Reads all rows of the base file of a slice, unmerged, with the columns of `schema`, meta columns included. Columns that the file
    /// does not have are null. Values of partition columns are those of the file, if it has them.
    ///
    /// # Errors
    /// `Internal` for a slice without a base file; those of reading the table's schema.
    pub fn base_rows(&self, slice: &FileSlice, schema: &avro::Schema) -> Result<SplitReader> {
        if slice.base_file.is_none() {
            return Err(Error::internal(format!("file group {} has no base file to read", slice.file_id)));
        }
        let (found, _) = self.schema_at(None)?;
        let query = Query {
            uri: self.uri.clone(),
            storage: self.storage_options.clone(),
            schema: schema.json().to_owned(),
            evolution: self.evolution(&found)?,
            virtual_key: (!self.config.populate_meta_fields).then(|| self.config.record_key_fields.clone()),
            key_fields: self.config.record_key_fields.clone(),
            key_field: None,
            merge: self.merge.clone(),
            over_base: true,
            changelog: false,
            deletes: DeleteOutput::LeftOut,
            commits_by_block: false,
            instants: self.timeline.instant_filter(None),
            range: None,
            path_columns: self.path_columns(RowKind::Changes),
            columns: schema.fields().iter().map(|field| field.name.clone()).collect(),
            filter: Filter::default(),
            options: self.options.clone(),
        };
        let slice = FileSlice { log_files: Vec::new(), ..slice.clone() };
        let split = Split { query: Arc::new(query), slice, change: None, part: None, merger: None };
        Ok(SplitReader::new(split, SharedReport::default())?.with_storage(Arc::clone(&self.storage)))
    }
}
