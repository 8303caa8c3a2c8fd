//! `merge_rows`: merges rows without a table.

use std::collections::BTreeMap;

use mortice::config::Properties;
use mortice::{MergeSemantics, RowsMerge, RowsMergeOptions};
use pyo3::prelude::*;

use crate::arrow::{ArrowBatch, ArrowSchema};
use crate::arrow_in::ArrowInput;
use crate::errors::{raised, released};
use crate::log_writer::parsed;
use crate::merger::handle;

/// Merges older and newer rows, both Arrow data. Returns the schema and the batches of the result.
#[pyfunction]
#[pyo3(signature = (older, newer, *, record_key, properties, semantics, schema, commit_order, partial, emit_deletes, merger=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn merge_rows(
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
