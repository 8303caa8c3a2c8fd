//! The rows of file slices as they are once a write is complete, which is pending.

use std::sync::Arc;

use super::known_schema::KnownSchema;
use super::open_table::OpenTable;
use super::query::ScanRequest;
use super::query_kind::RowForm;
use super::query_options::QueryOptions;
use super::scan::Scan;
use super::slices::file_slices::SelectedSlices;
use crate::file_group::FileSlice;
use crate::schema::table_schema::TableSchema;
use crate::split::PathColumns;
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;

impl OpenTable {
    /// The table with the schema that a pending write gives it. Nothing is read.
    ///
    /// # Errors
    /// `InvalidTable` if the schema is not that of rows; as for [`OpenTable::with_read_options`].
    pub fn with_schema(&self, schema: &avro::Schema) -> Result<Self> {
        let internal = match self.timeline.latest_visible() {
            Some(_) => self.schema_at(None)?.0.internal,
            None => None,
        };
        let found = TableSchema::of_files(schema, internal, &self.config)?;
        let types = Arc::new(avro::arrow_schema(&found.schema, ArrowMapping::Table)?);
        let mut table = self.with_read_options(self.options.clone())?;
        table.known_schema = Some(KnownSchema { as_of: None, found, types }).into();
        Ok(table)
    }

    /// Plans to read merged rows of file slices, to which the write with this instant has added files. Partition
    /// columns have the values of the files, not those of the paths.
    ///
    /// # Errors
    /// Those of [`OpenTable::snapshot`].
    pub fn pending_rows(&self, slices: &[FileSlice], instant: &RequestedTime, options: &QueryOptions) -> Result<Scan> {
        let request = ScanRequest {
            name: "pending_rows",
            options,
            form: RowForm::MERGED,
            schema_at: None,
            path_columns: PathColumns::default(),
            is_latest: false,
        };
        let latest = self.timeline.latest_visible().filter(|latest| *latest > instant).unwrap_or(instant);
        let mut instants = self.timeline.instant_filter(Some(latest));
        instants.inflight.remove(instant);
        instants.completed.insert(instant.clone());
        self.scan(request, |_| {
            let mut slices = slices.to_vec();
            self.attach_sources(&mut slices)?;
            let slices = slices.into_iter().map(Arc::new).collect();
            Ok(SelectedSlices { slices, instants, ..SelectedSlices::default() })
        })
    }
}
