//! Expressions over columns, as `update_where` and `merge` evaluate them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use mortice::Error;
use mortice::expr::{Batches, Expression as Parsed, Sides};
use pyo3::prelude::*;

use crate::arrow::ArrowBatch;
use crate::arrow_in::ArrowInput;
use crate::errors::{raised, released};
use crate::filter::Filter;

const VALUE: &str = "value";

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Expression>()
}

/// An expression over the columns of sides. Values go to Python as batches of one column.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Expression(Parsed);

type Sided<'py> = Vec<(String, Bound<'py, PyAny>)>;

#[pymethods]
impl Expression {
    /// Parses an expression over the columns of sides, which are Arrow data; `aliases` are other names of the sides.
    #[new]
    fn new(py: Python<'_>, text: String, sides: Sided<'_>, aliases: Vec<(String, String)>) -> PyResult<Self> {
        let schema = |(side, data): (String, Bound<'_, PyAny>)| Ok((side, ArrowInput::from_python(&data)?.schema()));
        let schemas = sides.into_iter().map(schema).collect::<PyResult<_>>()?;
        released(py, || Parsed::parse(&text, &Arc::new(Sides { schemas, aliases }))).map(Self)
    }

    fn names(&self, side: &str) -> Vec<String> {
        self.0.names(side).into_iter().map(str::to_owned).collect()
    }

    fn evaluate(&self, py: Python<'_>, batches: Sided<'_>) -> PyResult<ArrowBatch> {
        let batches = imported(batches)?;
        released(py, || column_of(self.0.evaluate(&batches)?))
    }

    fn pushed_filter(&self, side: &str) -> Option<Filter> {
        Filter::from_core(mortice::filter::Filter::all_of(self.0.pushed_terms(side)))
    }
}

fn imported(batches: Sided<'_>) -> PyResult<Batches> {
    batches.into_iter().map(|(side, data)| Ok((side, one_batch(&data)?))).collect()
}

/// Returns Arrow data that is one batch.
pub(crate) fn one_batch(data: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let mut input = ArrowInput::from_python(data)?;
    // A stream of a batch without rows is empty.
    let batch = input.next().unwrap_or_else(|| Ok(RecordBatch::new_empty(input.schema())));
    batch.map_err(|error| raised(data.py(), &error))
}

fn column_of(values: ArrayRef) -> mortice::Result<ArrowBatch> {
    let schema = Schema::new(vec![Field::new(VALUE, values.data_type().clone(), true)]);
    let options = RecordBatchOptions::new().with_row_count(Some(values.len()));
    let batch = RecordBatch::try_new_with_options(Arc::new(schema), vec![values], &options);
    batch.map(ArrowBatch).map_err(|error| Error::internal("values are a column").caused_by(error))
}
