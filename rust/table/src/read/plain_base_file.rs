//! Whether the rows of a split are those of a Parquet file, so that another Parquet reader returns them: nothing is
//! merged, no row is left out but by the filter, and the file is plain (`base_file::plain_parquet`).

use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use super::columns::path_values::PathValues;
use super::columns::projection::select;
use super::logs::log_blocks::{known_base, open_planned};
use crate::split::{DeleteOutput, Query, Split};
use mortice_avro::{self as avro, ArrowMapping, Schema};
use mortice_base::error::Result;
pub use mortice_formats::base_file::PlainParquet;
use mortice_formats::base_file::plain_parquet;
use mortice_formats::filter::BoundFilter;
use mortice_storage::Storage;

/// A query whose rows another Parquet reader can return, where files permit it.
pub struct PlainQuery<'q> {
    query: &'q Query,
    table: Schema,
    types: ArrowSchema,
    /// The columns of the query, then those of its filter.
    wanted: SchemaRef,
    condition: Option<String>,
}

impl<'q> PlainQuery<'q> {
    /// Returns the query, or why only this release's readers return its rows.
    ///
    /// # Errors
    /// `InvalidTable` or `Unsupported` if the table's schema has no Arrow schema; `InvalidArgument` for a filter that
    /// does not fit it.
    pub fn new(query: &'q Query) -> Result<std::result::Result<Self, &'static str>> {
        if query.range.is_some() || query.changelog {
            return Ok(Err("query of a range of commits"));
        }
        if query.deletes != DeleteOutput::LeftOut || query.rewrites_deletes {
            return Ok(Err("deleted rows are returned"));
        }
        if query.columns.is_empty() {
            return Ok(Err("query without columns"));
        }
        let table = Schema::parse(&query.schema)?;
        let types = avro::arrow_schema(&table, ArrowMapping::Table)?;
        let of_filter: Vec<String> = query.filter.columns().into_iter().map(Into::into).collect();
        let wanted = select(&types, &query.columns, &of_filter)?;
        let filter = BoundFilter::bind(&query.filter, &wanted)?;
        let Some(condition) = filter.spark_sql(&wanted) else {
            return Ok(Err("filter that Spark's SQL may compute otherwise"));
        };
        let condition = (!filter.is_empty()).then_some(condition);
        Ok(Ok(Self { query, table, types, wanted, condition }))
    }

    /// Returns the columns to read: those of the query, then those of its filter.
    #[must_use]
    pub fn columns(&self) -> &SchemaRef {
        &self.wanted
    }

    /// Returns the filter as a condition of Spark's SQL; `None` if every row passes.
    #[must_use]
    pub fn condition(&self) -> Option<&str> {
        self.condition.as_deref()
    }

    /// Returns why the rows of a split are not those of a file, as far as its plan says.
    #[must_use]
    pub fn refusal(split: &Split) -> Option<&'static str> {
        let slice = &split.slice;
        let Some(base) = &slice.base_file else { return Some("log files") };
        if !slice.log_files.is_empty() {
            return Some("log files");
        }
        if split.change.is_some() || split.part.is_some() {
            return Some("query of changes");
        }
        if base.source.is_some() {
            return Some("skeleton file of a bootstrapped table");
        }
        if !split.query.names_at(&base.instant).is_identity() {
            return Some("renamed columns");
        }
        (!base.path.ends_with(".parquet")).then_some("base files of other formats")
    }

    /// Reads the footer of the base file of a split, and returns what it is for another reader.
    ///
    /// # Errors
    /// Those of reading the footer.
    pub fn check(&self, split: &Split, storage: &dyn Storage) -> Result<PlainParquet> {
        let Some(base) = &split.slice.base_file else { return Ok(PlainParquet::Repaired("log files")) };
        let mut path_values = PathValues::from_path(self.query, &split.slice.partition)?;
        let constants = path_values.take_constants(&self.types)?;
        if path_values.replace_any(&self.wanted) {
            return Ok(PlainParquet::Repaired("partition values other than those of the path"));
        }
        let source = open_planned(storage, &base.path, &known_base(base), self.query)?;
        plain_parquet(&source, &self.table, &self.wanted, &constants)
    }
}
