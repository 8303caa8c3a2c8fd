//! The rows of a base file that is rewritten, and those of a slice that is compacted. Records of logs that become one
//! log.

use std::sync::Arc;

use super::columns::marking;
use super::open_table::OpenTable;
use super::path_columns::RowKind;
use crate::file_group::FileSlice;
use crate::read::{ChangedRows, LogCheck, LogContents, SharedReport, SplitReader, check_logs, log_contents};
use crate::split::{DeleteOutput, Query, Split, TableState};
use crate::timeline::WrittenRanges;
use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::filter::Filter;
use mortice_merge::config::{OnDamage, TimelineLayout};

impl OpenTable {
    /// Reads all rows of the base file of a slice, unmerged, with the columns of `schema`, meta columns included.
    /// Columns that the file does not have are null. Values of partition columns are those of the file, if it has them.
    ///
    /// # Errors
    /// `Internal` for a slice without a base file; those of reading the table's schema.
    pub fn base_rows(&self, slice: &FileSlice, schema: &avro::Schema) -> Result<SplitReader> {
        if slice.base_file.is_none() {
            return Err(Error::internal(format!("file group {} has no base file to read", slice.file_id)));
        }
        let slice = FileSlice { log_files: Vec::new(), ..slice.clone() };
        self.rows_of(slice, schema, &SharedReport::default())
    }

    /// Reads the merged rows of a slice, all columns of `schema`, with the values of the files. Rows of deleted keys
    /// are left out.
    ///
    /// # Errors
    /// Those of the table's schema.
    pub fn merged_rows(&self, slice: &FileSlice, schema: &avro::Schema, report: &SharedReport) -> Result<SplitReader> {
        self.rows_of(slice.clone(), schema, report)
    }

    /// Reads what the log files of a slice change in its base file: all columns of `schema`, with the values of the
    /// files. None if the logs have no records. A merge holds at most `memory` bytes.
    ///
    /// # Errors
    /// Those of the table's schema, and of reading the log files.
    pub fn changed_rows(&self, slice: &FileSlice, schema: &avro::Schema, memory: u64) -> Result<Option<ChangedRows>> {
        let (query, slice) = (Arc::new(self.query_of(schema)?), Arc::new(self.with_source(slice.clone())?));
        ChangedRows::of_slice(&Split { query, slice, change: None, part: None, merger: None }, memory)
    }

    /// Reads the records of a slice's logs, merged among themselves, with the values of the files. Rows of deleted keys
    /// have `D` in `_hoodie_operation`, a column that is added if `schema` does not have it, and the ordering values of
    /// the deletes. Blocks of instants after `latest` are left out.
    ///
    /// # Errors
    /// Those of the table's schema.
    pub fn log_records(
        &self,
        slice: &FileSlice,
        schema: &avro::Schema,
        latest: &RequestedTime,
        report: &SharedReport,
    ) -> Result<SplitReader> {
        self.reader(self.log_split(slice, schema, latest)?, report)
    }

    /// Reads which log blocks [`Self::log_records`] reads.
    ///
    /// # Errors
    /// Those of reading the log files.
    pub fn log_contents(&self, slice: &FileSlice, latest: &RequestedTime) -> Result<LogContents> {
        let schema = avro::Schema::record("unread", Vec::new());
        log_contents(&self.log_split(slice, &schema, latest)?, &self.storage)
    }

    /// Returns true if [`Self::check_logs`] has anything to do.
    #[must_use]
    pub fn checks_logs(&self) -> bool {
        self.options.on_damage == OnDamage::Raise
    }

    /// Makes sure that the logs of slices have what completed writes wrote to them, unless the options go on without.
    /// Services check that before they plan, so that a plan that cannot be executed does not stay on the timeline.
    ///
    /// Args:
    ///     slices: The slices.
    ///     check: What is checked. On remote storage, blocks are left to the merge, which fetches them anyway.
    ///
    /// # Errors
    /// `CorruptLog`, with file, offset and instant; those of reading the logs.
    pub fn check_logs(&self, slices: &[FileSlice], check: LogCheck) -> Result<()> {
        if !self.checks_logs() || slices.iter().all(|slice| slice.log_files.is_empty()) {
            return Ok(());
        }
        let check = if self.storage.is_remote() { LogCheck::Lengths } else { check };
        let schema = avro::Schema::record("unread", Vec::new());
        let query = Query {
            // Plans of services name files that were listed from storage.
            checks_lengths: true,
            ..self.query_of(&schema)?
        };
        let query = Arc::new(query);
        let split = |slice: &FileSlice| {
            let slice = Arc::new(FileSlice { base_file: None, ..slice.clone() });
            Split { query: Arc::clone(&query), slice, change: None, part: None, merger: None }
        };
        let splits: Vec<Split> = slices.iter().map(split).collect();
        check_logs(&splits, check, (&self.storage, WrittenRanges::new(self.timeline.clone())))
    }

    fn log_split(&self, slice: &FileSlice, schema: &avro::Schema, latest: &RequestedTime) -> Result<Split> {
        let slice = Arc::new(FileSlice { base_file: None, ..slice.clone() });
        let (schema, _, deletes) = marking(schema.clone())?;
        let query = Query {
            deletes,
            rewrites_deletes: true,
            instants: self.timeline.instant_filter(Some(latest)),
            ..self.query_of(&schema)?
        };
        Ok(Split { query: Arc::new(query), slice, change: None, part: None, merger: None })
    }

    fn rows_of(&self, slice: FileSlice, schema: &avro::Schema, report: &SharedReport) -> Result<SplitReader> {
        let (query, slice) = (Arc::new(self.query_of(schema)?), Arc::new(self.with_source(slice)?));
        self.reader(Split { query, slice, change: None, part: None, merger: None }, report)
    }

    /// Adds the source file to a slice with a skeleton file of a bootstrap: plans of services name the skeleton alone.
    fn with_source(&self, mut slice: FileSlice) -> Result<FileSlice> {
        self.attach_sources([&mut slice])?;
        Ok(slice)
    }

    fn reader(&self, split: Split, report: &SharedReport) -> Result<SplitReader> {
        Ok(SplitReader::new(split, report.clone())?.with_storage(Arc::clone(&self.storage)))
    }

    /// A query of all columns of a schema, merged, with the values of the files.
    fn query_of(&self, schema: &avro::Schema) -> Result<Query> {
        let (found, _) = self.schema_at(None)?;
        Ok(Query {
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
            rewrites_deletes: false,
            // Services compare them for all slices at once, before they read one: `check_logs`.
            checks_lengths: false,
            images_are_data: false,
            commits_by_block: self.config.layout() == TimelineLayout::V1,
            instants: self.timeline.instant_filter(self.timeline.latest_visible()),
            range: None,
            path_columns: self.path_columns(RowKind::Changes),
            columns: schema.fields().iter().map(|field| field.name.clone()).collect(),
            filter: Filter::default(),
            options: self.options.clone(),
            table_state: TableState::default(),
        })
    }
}
