//! Snapshots and read-optimized queries, and the file slices of a snapshot.

use std::sync::Arc;

use super::open_table::OpenTable;
use super::path_columns::RowKind;
use super::query::ScanRequest;
use super::query_kind::{RowForm, SnapshotRows};
use super::query_options::QueryOptions;
use super::scan::Scan;
use super::slices::file_slices::ListingSource;
use crate::file_group::{FileSlice, FileSystemView};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_formats::filter::Filter;
use mortice_merge::config::MergeSemantics;

/// The file slices of a snapshot.
#[derive(Debug, Clone)]
pub struct ListedSlices {
    /// The slices.
    pub slices: Vec<FileSlice>,
    /// Whether the metadata table listed their files.
    pub is_by_metadata: bool,
    /// What listed them, and why, as [`Scan::explain`] has it.
    pub listing: String,
}

impl OpenTable {
    /// Parses the instant of a time-travel query.
    pub(in crate::plan) fn as_of(&self, text: Option<&str>) -> Result<Option<RequestedTime>> {
        text.map(|text| RequestedTime::from_query(text, self.config.timeline_zone)).transpose()
    }

    /// Returns true if columns are identified by ids, not by names, at an instant or now (schema on read).
    pub fn has_column_ids(&self, as_of: Option<&str>) -> Result<bool> {
        let as_of = self.as_of(as_of)?;
        let (found, _) = self.schema_at(as_of.as_ref())?;
        Ok(found.internal.is_some())
    }

    /// Returns the file slices that a snapshot reads, without pruned partitions.
    pub fn file_slices(&self, as_of: Option<&str>, filter: &Filter) -> Result<Vec<FileSlice>> {
        let as_of = self.as_of(as_of)?;
        let wanted = if filter.is_empty() {
            None
        } else {
            let (_, types) = self.schema_at(as_of.as_ref())?;
            self.partition_filter(&types, filter)?
        };
        let found = self.slices(as_of.as_ref(), FileSystemView::slices, wanted.as_ref())?.slices;
        Ok(found.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    /// Returns the file slices that a snapshot of all rows reads, and how they were listed.
    ///
    /// # Errors
    /// Those of listing files.
    pub fn snapshot_slices(&self) -> Result<ListedSlices> {
        let found = self.slices(None, FileSystemView::slices, None)?;
        Ok(ListedSlices {
            slices: found.slices.into_iter().map(Arc::unwrap_or_clone).collect(),
            is_by_metadata: matches!(found.listing, ListingSource::MetadataTable),
            listing: found.listing.to_string(),
        })
    }

    /// Plans a snapshot, as of an instant if one is given: base files and logs merged.
    ///
    /// # Errors
    /// `InvalidArgument` for a string that is not an instant, columns that the table does not have, and filters that do
    /// not fit them; `Unsupported` for merge modes that this release does not support.
    pub fn snapshot(&self, options: &QueryOptions, as_of: Option<&str>, rows: SnapshotRows) -> Result<Scan> {
        let as_of = self.as_of(as_of)?;
        let find = |wanted: Option<&_>| self.slices(as_of.as_ref(), FileSystemView::slices, wanted);
        let form = RowForm::from(rows);
        let request = ScanRequest {
            name: "snapshot",
            options,
            form,
            schema_at: as_of.clone(),
            path_columns: self.path_columns(RowKind::Merged),
            is_latest: form == RowForm::MERGED && as_of.is_none(),
        };
        let scan = self.scan(request, find)?;
        let merging = form.merged || self.options.semantics == MergeSemantics::V0x;
        if merging && options.merger.is_none() && scan.splits.iter().any(|split| !split.slice.log_files.is_empty()) {
            self.merge.check_supported(self.options.semantics).map_err(|error| error.in_file(&self.uri))?;
        }
        Ok(scan)
    }

    /// Plans a read-optimized query: the rows of base files only, without logs.
    ///
    /// # Errors
    /// Errors of [`OpenTable::snapshot`].
    pub fn read_optimized(&self, options: &QueryOptions, as_of: Option<&str>) -> Result<Scan> {
        let as_of = self.as_of(as_of)?;
        let find = |wanted: Option<&_>| self.slices(as_of.as_ref(), FileSystemView::base_files, wanted);
        let request = ScanRequest {
            name: "read_optimized",
            options,
            form: RowForm::MERGED,
            schema_at: as_of.clone(),
            path_columns: self.path_columns(RowKind::Base),
            is_latest: false,
        };
        self.scan(request, find)
    }
}
