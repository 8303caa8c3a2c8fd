//! Reads the files of a table for new indexes of its metadata table: in this process, or in tasks of an engine.

use super::file_ranges::ranges_of_base_file;
use super::record_index_files::{NewRecordIndex, write_record_index};
use crate::metadata_upkeep::records::bloom_filters;
use mortice_avro as avro;
use mortice_base::error::Result;
use mortice_base::progress::Progress;
use mortice_storage::parallel;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_write::write::{ColumnRange, WriteStatus};

/// A base file that an index is built of.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexedFile {
    /// The path, relative to the table.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
}

/// The type and the text of a Bloom filter.
pub type BloomText = (String, String);

/// Builds indexes.
pub trait IndexBuilder: Send + Sync {
    /// Counts the keys of the rows of file slices.
    fn count_keys(&self, table: &OpenTable, slices: &[FileSlice]) -> Result<u64>;

    /// Writes the base files of the file groups of a record index that have keys, and returns them in the order of the
    /// groups. Files of attempts that failed are deleted.
    fn write_record_index(
        &self,
        table: &OpenTable,
        slices: &[FileSlice],
        index: &NewRecordIndex<'_>,
    ) -> Result<Vec<WriteStatus>>;

    /// Reads the ranges of columns from the footers of files: those of each file, of the columns that it has.
    fn column_ranges(
        &self,
        table: &OpenTable,
        files: &[IndexedFile],
        columns: &[String],
    ) -> Result<Vec<Vec<ColumnRange>>>;

    /// Builds Bloom filters of the keys of files.
    fn bloom_filters(&self, table: &OpenTable, files: &[IndexedFile]) -> Result<Vec<BloomText>>;
}

/// Builds indexes in this process.
#[derive(Debug, Clone, Default)]
pub struct LocalIndexBuilder {
    progress: Progress,
}

impl LocalIndexBuilder {
    /// A builder that tells how much is done.
    #[must_use]
    pub fn new(progress: &Progress) -> Self {
        Self { progress: progress.clone() }
    }
}

impl IndexBuilder for LocalIndexBuilder {
    fn count_keys(&self, table: &OpenTable, slices: &[FileSlice]) -> Result<u64> {
        let counts = parallel::map(slices, table.slices_at_once(), |slice| table.row_count(slice))?;
        Ok(counts.into_iter().fold(0, u64::saturating_add))
    }

    fn write_record_index(
        &self,
        table: &OpenTable,
        slices: &[FileSlice],
        index: &NewRecordIndex<'_>,
    ) -> Result<Vec<WriteStatus>> {
        write_record_index(table, slices, index, &self.progress)
    }

    fn column_ranges(
        &self,
        table: &OpenTable,
        files: &[IndexedFile],
        columns: &[String],
    ) -> Result<Vec<Vec<ColumnRange>>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let schema = table.schema_at(None)?.0.files;
        // Bounds are stored in the unit of the column.
        let types = avro::arrow_schema(&schema, avro::ArrowMapping::File)?;
        let place = table.storage.as_ref();
        self.progress.begin(files.len() as u64);
        parallel::map(files, place.requests_at_once(), |file| {
            let names = columns.iter().map(String::as_str);
            let ranges = ranges_of_base_file(place, &file.path, names, &schema, &types)?;
            self.progress.advance(1);
            Ok(ranges)
        })
    }

    fn bloom_filters(&self, table: &OpenTable, files: &[IndexedFile]) -> Result<Vec<BloomText>> {
        let place = table.storage.as_ref();
        parallel::map(files, table.slices_at_once(), |file| bloom_filters::built(place, &file.path))
    }
}
