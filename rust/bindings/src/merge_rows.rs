//! `merge_rows`: merges rows without a table, and the rules that it goes by.

use std::collections::BTreeMap;

use mortice::config::Properties;
use mortice::read::{RowsMergeRules, needs_commit_order as is_commit_order_needed};
use mortice::{MergeSemantics, RowsMerge, RowsMergeOptions};
use pyo3::prelude::*;

use crate::arrow::{ArrowBatch, ArrowSchema};
use crate::arrow_in::ArrowInput;
use crate::errors::{raised, released};
use crate::log_writer::parsed;
use crate::merger::handle;

/// Adds the functions of this file to the module.
pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(merge_rows, module)?)?;
    module.add_function(wrap_pyfunction!(merge_rules, module)?)?;
    module.add_function(wrap_pyfunction!(needs_commit_order, module)?)
}

/// Merges older and newer rows, both Arrow data. Returns the schema and the batches of the result.
#[pyfunction]
#[pyo3(signature = (older, newer, *, record_key, properties, semantics, schema, commit_order, partial, emit_deletes, merger=None))]
#[allow(clippy::too_many_arguments)]
fn merge_rows(
    py: Python<'_>,
    older: &Bound<'_, PyAny>,
    newer: &Bound<'_, PyAny>,
    record_key: Vec<String>,
    properties: BTreeMap<String, String>,
    semantics: &str,
    schema: Option<&str>,
    commit_order: Vec<String>,
    partial: bool,
    emit_deletes: bool,
    merger: Option<Py<PyAny>>,
) -> PyResult<(ArrowSchema, Vec<ArrowBatch>)> {
    let options = RowsMergeOptions {
        record_key,
        properties: properties.into_iter().collect::<Properties>(),
        semantics: MergeSemantics::parse(semantics).map_err(|error| raised(py, &error))?,
        schema: schema.map(parsed).transpose().map_err(|error: mortice::Error| raised(py, &error))?,
        commit_order,
        partial,
        emit_deletes,
        merger: handle(merger),
    };
    let (older, newer) = (ArrowInput::from_python(older)?, ArrowInput::from_python(newer)?);
    let merge = || {
        let merge = RowsMerge::new(&older.schema(), &newer.schema(), options)?;
        let (older, newer) = (older.collect::<mortice::Result<Vec<_>>>()?, newer.collect::<mortice::Result<Vec<_>>>()?);
        Ok((merge.schema(), merge.merge(&older, &newer)?))
    };
    let (schema, batches) = released(py, merge)?;
    Ok((ArrowSchema(schema), batches.into_iter().map(ArrowBatch).collect()))
}

/// Returns the properties of a table that merges by rules, and the full name of the payload class.
#[pyfunction]
#[pyo3(signature = (*, semantics, ordering, mode, payload, is_registered, partial_update, unavailable, delete_field, delete_marker))]
#[allow(clippy::too_many_arguments)]
fn merge_rules(
    py: Python<'_>,
    semantics: &str,
    ordering: Vec<String>,
    mode: Option<String>,
    payload: Option<String>,
    is_registered: bool,
    partial_update: Option<String>,
    unavailable: Option<String>,
    delete_field: Option<String>,
    delete_marker: Option<String>,
) -> PyResult<(BTreeMap<String, String>, Option<String>)> {
    let resolved = MergeSemantics::parse(semantics).and_then(|semantics| {
        RowsMergeRules {
            semantics,
            ordering,
            mode,
            payload,
            is_registered,
            partial_update,
            unavailable,
            delete_field,
            delete_marker,
        }
        .resolve()
    });
    let (properties, payload) = resolved.map_err(|error| raised(py, &error))?;
    let properties = properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok((properties, payload))
}

/// Returns true if the result of a merge depends on the order of newer rows even if their ordering values differ.
#[pyfunction]
fn needs_commit_order(
    py: Python<'_>,
    properties: BTreeMap<String, String>,
    semantics: &str,
    partial: bool,
) -> PyResult<bool> {
    let properties = properties.into_iter().collect::<Properties>();
    let semantics = MergeSemantics::parse(semantics);
    let needs = semantics.and_then(|semantics| is_commit_order_needed(&properties, semantics, partial));
    needs.map_err(|error| raised(py, &error))
}
