//! `merge` and `update_where`: changes of rows by expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use mortice::Error;
use mortice::client::{
    self, ClauseAction, ClauseSide, ClauseValues, MatchedBy, NewValue, RowClause, RowsChanged, UpdatedRows, WriteInput,
};
use pyo3::prelude::*;

use crate::arrow_in::ArrowInput;
use crate::commit::{Commit, commit_of_write, no_commit};
use crate::errors::raised;
use crate::expression::one_batch;
use crate::filter::{FilterArgument, filter};
use crate::stream::warn_of_damage;
use crate::table::Table;
use crate::validator::validator as validator_of;

/// Adds the functions of this file to the module.
pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(merge, module)?)?;
    module.add_function(wrap_pyfunction!(update_where, module)?)
}

/// An expression, or a batch of one row and one column and how messages show its value.
#[derive(FromPyObject)]
enum ValueArgument<'py> {
    Expression(String),
    Constant(Bound<'py, PyAny>, String),
}

type NamedValues<'py> = Vec<(String, ValueArgument<'py>)>;

/// `"all"`, or columns and what they get.
#[derive(FromPyObject)]
enum ClauseValuesArgument<'py> {
    All(String),
    Named(NamedValues<'py>),
}

/// Side, action, condition, values.
type ClauseArgument<'py> = (String, String, Option<String>, ClauseValuesArgument<'py>);

/// A condition, or columns that are equal.
#[derive(FromPyObject)]
enum OnArgument {
    Condition(String),
    Columns(Vec<String>),
}

/// A condition, or filters.
#[derive(FromPyObject)]
enum RowsArgument<'py> {
    Condition(String),
    Filters(FilterArgument<'py>),
}

/// Merges Arrow data into a table, in the state in which it was opened.
#[pyfunction]
#[pyo3(signature = (table, data, on, clauses, options, validator=None))]
fn merge(
    table: &Bound<'_, Table>,
    data: &Bound<'_, PyAny>,
    on: OnArgument,
    clauses: Vec<ClauseArgument<'_>>,
    options: BTreeMap<String, String>,
    validator: Option<Py<PyAny>>,
) -> PyResult<Commit> {
    let py = table.py();
    let on = match on {
        OnArgument::Condition(text) => MatchedBy::Condition(text),
        OnArgument::Columns(names) => MatchedBy::Columns(names),
    };
    let clauses = clauses.into_iter().map(|clause| clause_of(py, clause)).collect::<PyResult<Vec<_>>>()?;
    let mut rows = ArrowInput::from_python(data)?;
    let (core, validator) = (table.get().core(), validator_of(validator));
    let changed = table.get().changed(py, |_| {
        let schema = rows.schema();
        let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &options, validator };
        client::merge(core.opened(), &on, &clauses, input)
    })?;
    commit_of_change(py, changed)
}

/// Updates the rows of a table that a condition selects, in the state in which it was opened.
#[pyfunction]
#[pyo3(signature = (table, values, rows, options, validator=None))]
fn update_where(
    table: &Bound<'_, Table>,
    values: NamedValues<'_>,
    rows: RowsArgument<'_>,
    options: BTreeMap<String, String>,
    validator: Option<Py<PyAny>>,
) -> PyResult<Commit> {
    let py = table.py();
    let values = new_values(py, values)?;
    let rows = match rows {
        RowsArgument::Condition(text) => UpdatedRows::Condition(text),
        RowsArgument::Filters(filters) => UpdatedRows::Filter(filter(filters)),
    };
    let (core, validator) = (table.get().core(), validator_of(validator));
    let changed =
        table.get().changed(py, |_| client::update_where(core.opened(), &values, &rows, &options, validator))?;
    commit_of_change(py, changed)
}

fn clause_of(py: Python<'_>, (side, action, condition, values): ClauseArgument<'_>) -> PyResult<RowClause> {
    let values = match values {
        ClauseValuesArgument::All(name) if name == "all" => ClauseValues::All,
        ClauseValuesArgument::All(name) => {
            let message = format!("values must map columns to expressions, or be \"all\", got {name:?}");
            return Err(raised(py, &Error::invalid_argument(message)));
        }
        ClauseValuesArgument::Named(values) => ClauseValues::Named(new_values(py, values)?),
    };
    let clause = ClauseSide::parse(&side)
        .and_then(|side| RowClause::new(side, ClauseAction::parse(&action)?, condition, values));
    clause.map_err(|error| raised(py, &error))
}

fn new_values(py: Python<'_>, values: NamedValues<'_>) -> PyResult<Vec<(String, NewValue)>> {
    values.into_iter().map(|(name, given)| Ok((name, new_value(py, given)?))).collect()
}

fn new_value(py: Python<'_>, value: ValueArgument<'_>) -> PyResult<NewValue> {
    Ok(match value {
        ValueArgument::Expression(text) => NewValue::Expression(text),
        ValueArgument::Constant(rows, text) => {
            let rows = one_batch(&rows)?;
            let value = rows.columns().first().map(Arc::clone).ok_or_else(|| Error::internal("a constant is a column"));
            NewValue::Constant { value: value.map_err(|error| raised(py, &error))?, text }
        }
    })
}

/// Returns what a change of rows did, and warns of damaged files that were read.
fn commit_of_change(py: Python<'_>, RowsChanged { written, damaged }: RowsChanged) -> PyResult<Commit> {
    damaged.iter().try_for_each(|file| warn_of_damage(py, file))?;
    written.map_or_else(|| Ok(no_commit()), |written| commit_of_write(py, written))
}
