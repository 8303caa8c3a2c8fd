//! Snapshots, read-optimized queries, and what a snapshot reads.

use super::ask::Ask;
use super::file_slices::SNAPSHOT;
use super::open_table::OpenTable;
use super::path_columns::Rows;
use super::scan::Scan;
use crate::config::Semantics;
use crate::error::{Error, Result};
use crate::file_group::{FileSlice, View};
use crate::filter::Filter;
use crate::names::instant_time;

impl OpenTable {
    /// Whether columns are told by ids at an instant, or now, and not by their names (schema on read).
    pub fn has_column_ids(&self, as_of: Option<&str>) -> Result<bool> {
        let as_of = as_of.map(instant_time::of_query).transpose()?;
        let (found, _) = self.schema_at(as_of.as_deref())?;
        Ok(found.internal.is_some())
    }

    /// The file slices that a snapshot reads, without those of partitions that hold no row of the filter.
    pub fn file_slices(&self, as_of: Option<&str>, filter: &Filter) -> Result<Vec<FileSlice>> {
        let as_of = as_of.map(instant_time::of_query).transpose()?;
        let wanted = if filter.is_empty() {
            None
        } else {
            let (_, types) = self.schema_at(as_of.as_deref())?;
            self.partition_filter(&types, filter)?
        };
        Ok(self.slices(as_of.as_deref(), View::slices, wanted.as_ref())?.slices)
    }

    /// The rows as of an instant, base files and logs merged.
    pub fn snapshot(&self, ask: &Ask) -> Result<Scan> {
        Self::check_deletes(ask)?;
        let as_of = ask.as_of.as_deref().map(instant_time::of_query).transpose()?;
        let find = |wanted: Option<&_>| self.slices(as_of.as_deref(), View::slices, wanted);
        let scan = self.scan(SNAPSHOT, ask, as_of.clone(), self.path_columns(Rows::Merged), find)?;
        let merging = ask.merge || self.options.semantics == Semantics::V0x;
        if merging && ask.merger.is_none() && scan.splits.iter().any(|split| !split.slice.log_files.is_empty()) {
            self.merge.check_supported(self.options.semantics).map_err(|error| error.in_file(&self.uri))?;
        }
        Ok(scan)
    }

    pub(super) fn check_deletes(ask: &Ask) -> Result<()> {
        if ask.emit_deletes && !ask.merge {
            let message = "emit_deletes with merge=False: merging finds the deleted keys; leave one of the two out";
            return Err(Error::invalid_argument(message));
        }
        Ok(())
    }

    /// The rows of base files alone: what compactions have merged, and no log.
    pub fn read_optimized(&self, ask: &Ask) -> Result<Scan> {
        let as_of = ask.as_of.as_deref().map(instant_time::of_query).transpose()?;
        let find = |wanted: Option<&_>| self.slices(as_of.as_deref(), View::base_files, wanted);
        self.scan("read_optimized", ask, as_of.clone(), self.path_columns(Rows::Base), find)
    }
}
