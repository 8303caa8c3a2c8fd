//! The columns of a read: those that it returns, those of the filter, and those that the merge needs.
//!
//! | schema | columns |
//! |---|---|
//! | `output` | the columns of the query, in its order |
//! | `projected` | those of `output`, then those of the filter and of the fold |
//! | `base` | those of `projected`, then the record key and the ordering field, unless present; then row numbers if they are needed |

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use mortice_base::error::{Error, Result};
use mortice_formats::filter::{BoundFilter, Filter};
use mortice_merge::keys::with_row_numbers;

/// The columns of a read.
#[derive(Debug)]
pub(in crate::read) struct Projection {
    pub(in crate::read) output: SchemaRef,
    pub(in crate::read) projected: SchemaRef,
    pub(in crate::read) base: SchemaRef,
    filter: BoundFilter,
    filtering: bool,
}

impl Projection {
    /// `merge_columns` are the columns of base rows that the merge needs, `fold_columns` those of every merged row;
    /// both are empty if nothing is merged.
    pub(in crate::read) fn new(
        table: &Schema,
        columns: &[String],
        filter: &Filter,
        merge_columns: &[String],
        fold_columns: &[String],
    ) -> Result<Self> {
        let mut more: Vec<String> = filter.columns().into_iter().map(Into::into).collect();
        let filtering = !more.is_empty();
        more.extend_from_slice(fold_columns);
        let output = select(table, columns, &[])?;
        let projected = select(table, columns, &more)?;
        let base = with_columns(table, &projected, merge_columns)?;
        let filter = BoundFilter::bind(filter, &projected)?;
        Ok(Self { output, projected, base, filter, filtering })
    }

    /// Returns the same projection with other columns of base rows for the merge.
    pub(in crate::read) fn merging_by(self, table: &Schema, merge_columns: &[String]) -> Result<Self> {
        Ok(Self { base: with_columns(table, &self.projected, merge_columns)?, ..self })
    }

    /// Returns the same projection with row numbers of base rows.
    pub(in crate::read) fn with_row_numbers(self) -> Self {
        Self { base: with_row_numbers(&self.base), ..self }
    }

    /// Returns the projected columns of a base batch.
    pub(in crate::read) fn projected_of(&self, base: &RecordBatch) -> Result<RecordBatch> {
        first_columns(base, &self.projected)
    }

    /// Returns the filter. Its columns are among the projected ones, which are the first columns of base rows.
    pub(in crate::read) fn filter(&self) -> &BoundFilter {
        &self.filter
    }

    /// Returns the rows that pass the filter, with the columns of the query.
    pub(in crate::read) fn deliver(&self, projected: &RecordBatch) -> Result<RecordBatch> {
        let passing = if self.filtering { &self.filter.apply(projected)? } else { projected };
        first_columns(passing, &self.output)
    }
}

/// Returns the columns, followed by those of `more` that are not among them.
fn with_columns(table: &Schema, columns: &Schema, more: &[String]) -> Result<SchemaRef> {
    let names: Vec<String> = columns.fields().iter().map(|field| field.name().clone()).collect();
    select(table, &names, more)
}

/// Returns the named columns, followed by those of `more` that are not among them.
pub(in crate::read) fn select(table: &Schema, names: &[String], more: &[String]) -> Result<SchemaRef> {
    let more = more
        .iter()
        .enumerate()
        .filter(|(index, name)| !names.contains(name) && !more.iter().take(*index).any(|earlier| earlier == *name));
    let fields = names
        .iter()
        .chain(more.map(|(_, name)| name))
        .map(|name| match table.fields().find(name) {
            Some((_, field)) => Ok(Arc::clone(field)),
            None => Err(Error::invalid_argument(format!("no column {name:?} in the table"))),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

/// Returns the first columns of a batch, as many as `schema` has.
fn first_columns(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().take(schema.fields().len()).cloned().collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|error| Error::invalid_table("columns with types other than the table's").caused_by(error))
}
