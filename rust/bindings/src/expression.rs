//! Expressions over columns, as `update_where` and `merge` evaluate them, and the text of filters.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use mortice::Error;
use mortice::expr::{Batches, Expression as Parsed, ExpressionText, Grammar, Node, Sides, parse};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::arrow::ArrowBatch;
use crate::arrow_in::ArrowInput;
use crate::errors::{raised, released};

const VALUE: &str = "value";

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Expression>()?;
    module.add_function(wrap_pyfunction!(parse_filter, module)?)?;
    module.add_function(wrap_pyfunction!(filter_error, module)?)
}

/// An expression over the columns of sides. Values go to Python as batches of one column.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Expression(Parsed);

type Sided<'py> = Vec<(String, Bound<'py, PyAny>)>;
type Term = (String, &'static str, Option<ArrowBatch>);

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

    fn pushed_terms(&self, py: Python<'_>, side: &str) -> PyResult<Vec<Term>> {
        let terms = self.0.pushed_terms(side).into_iter();
        let term =
            |term: mortice::expr::PushedTerm| Ok((term.column, term.operator, term.values.map(column_of).transpose()?));
        terms.map(term).collect::<mortice::Result<_>>().map_err(|error| raised(py, &error))
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

/// Parses the text of a filter to nested tuples, each with its kind first.
#[pyfunction]
pub(crate) fn parse_filter<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyTuple>> {
    let node = parse(&ExpressionText::new(text, Grammar::Filter)).map_err(|error| raised(py, &error))?;
    node_tuple(py, &node)
}

fn node_tuple<'py>(py: Python<'py>, node: &Node) -> PyResult<Bound<'py, PyTuple>> {
    let list = |nodes: &[Node]| {
        let nodes = nodes.iter().map(|node| node_tuple(py, node)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, nodes)
    };
    match node {
        Node::Number(text) => ("number", text).into_pyobject(py),
        Node::Literal(value) => {
            let batch = column_of(value.clone()).map_err(|error| raised(py, &error))?;
            ("literal", batch).into_pyobject(py)
        }
        Node::Column(column) => ("column", column.path.clone()).into_pyobject(py),
        Node::InList(value, items, at) => ("in", node_tuple(py, value)?, list(items)?, *at).into_pyobject(py),
        Node::Call(call) => (call.name, list(&call.arguments)?, call.at).into_pyobject(py),
        Node::Cast(..) | Node::Case(_) => Err(raised(py, &Error::internal("filters compare columns with literals"))),
    }
}

/// Returns the error for the text of a filter, which shows the place.
#[pyfunction]
pub(crate) fn filter_error(py: Python<'_>, text: &str, at: usize, what: &str) -> Py<PyBaseException> {
    raised(py, &ExpressionText::new(text, Grammar::Filter).refused(at, what)).into_value(py)
}
