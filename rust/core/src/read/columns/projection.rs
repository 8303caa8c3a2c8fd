//! Which columns a read delivers, which it carries for the filter, and which it needs to merge.
//!
//! | schema | columns |
//! |---|---|
//! | `output` | what the caller asked for, in that order |
//! | `carried` | those, then what the filter needs, and what folding does |
//! | `base` | those, then the record key and the ordering field, unless there already; then row numbers, where they are needed |

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::filter::{BoundFilter, Filter};
use crate::keys::with_row_numbers;

/// The columns of a read.
#[derive(Debug)]
pub(in crate::read) struct Projection {
    pub(in crate::read) output: SchemaRef,
    pub(in crate::read) carried: SchemaRef,
    pub(in crate::read) base: SchemaRef,
    filter: BoundFilter,
    filtering: bool,
}

impl Projection {
    /// `merge_columns` are the columns of base rows that merging needs, `fold_columns` those of every row that is merged;
    /// none where nothing is.
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
        let carried = select(table, columns, &more)?;
        let base = with_columns(table, &carried, merge_columns)?;
        let filter = BoundFilter::bind(filter, &carried)?;
        Ok(Self { output, carried, base, filter, filtering })
    }

    /// The same, of base rows other columns needed to merge.
    pub(in crate::read) fn merging_by(self, table: &Schema, merge_columns: &[String]) -> Result<Self> {
        Ok(Self { base: with_columns(table, &self.carried, merge_columns)?, ..self })
    }

    /// The same, of base rows their numbers as well.
    pub(in crate::read) fn with_row_numbers(self) -> Self {
        Self { base: with_row_numbers(&self.base), ..self }
    }

    /// The carried columns of a base batch.
    pub(in crate::read) fn carried_of(&self, base: &RecordBatch) -> Result<RecordBatch> {
        first_columns(base, &self.carried)
    }

    /// The filter; its columns are among the carried ones, with which those of base rows begin.
    pub(in crate::read) fn filter(&self) -> &BoundFilter {
        &self.filter
    }

    /// The rows that pass the filter, with the columns that the caller asked for.
    pub(in crate::read) fn deliver(&self, carried: &RecordBatch) -> Result<RecordBatch> {
        let passing = if self.filtering { &self.filter.apply(carried)? } else { carried };
        first_columns(passing, &self.output)
    }
}

/// Columns, and then those of `more` that are not among them.
fn with_columns(table: &Schema, columns: &Schema, more: &[String]) -> Result<SchemaRef> {
    let names: Vec<String> = columns.fields().iter().map(|field| field.name().clone()).collect();
    select(table, &names, more)
}

/// The named columns and then those of `more` that are not among them.
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

/// The leading columns of a batch, as many as `schema` has.
fn first_columns(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().take(schema.fields().len()).cloned().collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|error| Error::invalid_table("columns of other types than the table's").caused_by(error))
}
