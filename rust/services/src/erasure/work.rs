//! What reads and writes rows for an erasure.

use std::collections::BTreeMap;

use arrow_array::ArrayRef;

use super::distinct::distinct_values;
use super::search::{is_in_records, search_files};
use super::values::{ErasedValues, literals_of};
use mortice_base::error::Result;
use mortice_commit::writable_table::TableLocation;
use mortice_formats::filter::{Filter, Operator, Term};
use mortice_merge::config::ReadOptions;
use mortice_table::metadata_table;
use mortice_table::plan::{OpenTable, QueryKind, QueryOptions, QueryPlan, Scan, SnapshotRows};
use mortice_table::split::MergerHandle;

/// The parts of an erasure that read rows and files: in this process, or in tasks of an engine.
pub trait ErasureReads {
    /// The number of rows that the filter selects.
    ///
    /// # Errors
    /// Those of the query.
    fn count(&self, as_of: Option<&str>) -> Result<u64>;

    /// The number of rows that the filter selects, of the newest state and of base files alone, whichever is greater.
    /// Files are listed in the storage, and none is left out by statistics or indexes.
    ///
    /// # Errors
    /// Those of the queries.
    fn count_unaided(&self) -> Result<u64>;

    /// The distinct values of columns of the rows that the filter selects. A column may be there several times.
    ///
    /// # Errors
    /// Those of the query.
    fn values(&self, columns: &[String]) -> Result<Vec<(String, ArrayRef)>>;

    /// The values of a column, out of some, that rows have, in any number of arrays.
    ///
    /// # Errors
    /// Those of the query.
    fn shared(&self, column: &str, values: &ArrayRef) -> Result<Vec<ArrayRef>>;

    /// The files, out of some with their sizes, that have values of erased rows, and how.
    ///
    /// # Errors
    /// Those of reading the files.
    fn search(&self, files: &[(String, u64)], erased: &ErasedValues) -> Result<Vec<(String, String)>>;

    /// Whether records of the metadata table have values of erased rows.
    ///
    /// # Errors
    /// Those of the query.
    fn is_in_metadata(&self, erased: &ErasedValues) -> Result<bool>;
}

/// The parts of an erasure that change the table. Each starts from its newest state.
pub trait ErasureWrites {
    /// Deletes the rows that the filter selects.
    ///
    /// # Errors
    /// Those of the write.
    fn delete(&self, options: &BTreeMap<String, String>) -> Result<()>;

    /// Executes and plans compactions.
    ///
    /// # Errors
    /// Those of the service.
    fn compact(&self, options: &BTreeMap<String, String>) -> Result<()>;

    /// Deletes old files.
    ///
    /// # Errors
    /// Those of the service.
    fn clean(&self, options: &BTreeMap<String, String>) -> Result<()>;

    /// Deletes the metadata table, and builds it again.
    ///
    /// # Errors
    /// Those of the service.
    fn rebuild_metadata(&self, options: &BTreeMap<String, String>) -> Result<()>;
}

/// Reads in this process.
pub struct LocalReads<'a> {
    /// The table.
    pub location: &'a TableLocation,
    /// How it is read.
    pub options: &'a ReadOptions,
    /// Selects the rows.
    pub filter: &'a Filter,
    /// Merges records, if rules of the table do not.
    pub merger: Option<&'a MergerHandle>,
}

impl LocalReads<'_> {
    fn scan(&self, options: &ReadOptions, kind: QueryKind, columns: Vec<String>, filter: Filter) -> Result<Scan> {
        let table = self.location.open_table(options.for_changes())?;
        let merger = self.merger.cloned();
        QueryPlan::new(table, kind, QueryOptions { columns: Some(columns), filter, merger }).scan()
    }

    fn count_of(&self, options: &ReadOptions, kind: QueryKind) -> Result<u64> {
        let mut rows: u64 = 0;
        for batch in self.scan(options, kind, Vec::new(), self.filter.clone())?.stream() {
            rows = rows.saturating_add(u64::try_from(batch?.num_rows()).unwrap_or(u64::MAX));
        }
        Ok(rows)
    }
}

impl ErasureReads for LocalReads<'_> {
    fn count(&self, as_of: Option<&str>) -> Result<u64> {
        let rows = SnapshotRows::Merged;
        let kind =
            as_of.map_or(QueryKind::Snapshot(rows), |as_of| QueryKind::TimeTravel { as_of: as_of.to_owned(), rows });
        self.count_of(self.options, kind)
    }

    fn count_unaided(&self) -> Result<u64> {
        let unaided = ReadOptions { metadata: false, column_stats: false, prune: false, ..self.options.clone() };
        let merged = self.count_of(&unaided, QueryKind::Snapshot(SnapshotRows::Merged))?;
        Ok(merged.max(self.count_of(&unaided, QueryKind::ReadOptimized { as_of: None })?))
    }

    fn values(&self, columns: &[String]) -> Result<Vec<(String, ArrayRef)>> {
        let kind = QueryKind::Snapshot(SnapshotRows::Merged);
        distinct_values(self.scan(self.options, kind, columns.to_vec(), self.filter.clone())?.stream())
    }

    fn shared(&self, column: &str, values: &ArrayRef) -> Result<Vec<ArrayRef>> {
        let term = Term::new(column, Operator::In, literals_of(values)?)?;
        let kind = QueryKind::Snapshot(SnapshotRows::Merged);
        let scan = self.scan(self.options, kind, vec![column.to_owned()], Filter::any_of(vec![vec![term]]))?;
        Ok(distinct_values(scan.stream())?.into_iter().map(|(_, shared)| shared).collect())
    }

    fn search(&self, files: &[(String, u64)], erased: &ErasedValues) -> Result<Vec<(String, String)>> {
        let store = self.location.open_store()?;
        search_files(store.as_ref(), files.iter().map(|(path, _)| path.as_str()), erased)
    }

    fn is_in_metadata(&self, erased: &ErasedValues) -> Result<bool> {
        let uri = metadata_table::uri_of(self.location.uri());
        let table = OpenTable::open(&uri, self.location.storage_options(), self.options.for_changes())?;
        is_in_records(table.snapshot(&QueryOptions::default(), None, SnapshotRows::Merged)?.stream(), erased)
    }
}

/// Whether the table has a metadata table.
pub(super) fn has_metadata(location: &TableLocation) -> Result<bool> {
    Ok(location.open_store()?.list(metadata_table::FOLDER)?.is_some())
}
