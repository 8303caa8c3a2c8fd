//! Rows that are compared with stored ones before they are written (`MERGE INTO`).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use mortice::config::Properties;
use mortice::rows::{self, GivenKeys};
use pyo3::prelude::*;

use crate::arguments::{FilterArgument, filter};
use crate::arrow::ArrowBatch;
use crate::arrow_in::ArrowInput;
use crate::errors::released;

/// Returns Arrow data in the types of the columns of an empty table, where it has columns of their names.
#[pyfunction]
pub(crate) fn columns_of_table(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    columns: &Bound<'_, PyAny>,
    options: BTreeMap<String, String>,
) -> PyResult<Vec<ArrowBatch>> {
    let (data, columns) = (ArrowInput::from_python(data)?, ArrowInput::from_python(columns)?.schema());
    released(py, || data.map(|batch| rows::columns_of_table(&batch?, &columns, &options).map(ArrowBatch)).collect())
}

/// Returns the record keys and partition paths of Arrow data.
#[pyfunction]
pub(crate) fn row_keys(
    py: Python<'_>,
    properties: BTreeMap<String, String>,
    options: BTreeMap<String, String>,
    data: &Bound<'_, PyAny>,
    key_alone: bool,
) -> PyResult<Vec<ArrowBatch>> {
    let data = ArrowInput::from_python(data)?;
    released(py, || {
        let keys = GivenKeys::new(properties.into_iter().collect::<Properties>(), options)?;
        let mut first_row = 0_u64;
        data.map(|batch| {
            let batch = batch?;
            let found = keys.keys(&batch, first_row, key_alone)?;
            first_row = first_row.saturating_add(batch.num_rows() as u64);
            strings([("record_key", found.record_keys), ("partition_path", found.partitions)])
        })
        .collect()
    })
}

/// Returns the partition paths of Arrow data.
#[pyfunction]
pub(crate) fn row_partitions(
    py: Python<'_>,
    properties: BTreeMap<String, String>,
    options: BTreeMap<String, String>,
    data: &Bound<'_, PyAny>,
) -> PyResult<Vec<ArrowBatch>> {
    let data = ArrowInput::from_python(data)?;
    released(py, || {
        let keys = GivenKeys::new(properties.into_iter().collect::<Properties>(), options)?;
        data.map(|batch| strings([("partition_path", keys.partitions(&batch?)?)])).collect()
    })
}

/// Returns which rows of Arrow data filters select, as a column `selected`.
#[pyfunction]
pub(crate) fn selected_rows(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    filters: FilterArgument<'_>,
) -> PyResult<Vec<ArrowBatch>> {
    let filter = filter(py, filters)?;
    let data = ArrowInput::from_python(data)?;
    released(py, || {
        data.map(|batch| named([("selected", Arc::new(rows::selected_rows(&batch?, &filter)?) as ArrayRef)])).collect()
    })
}

fn strings<const N: usize>(columns: [(&str, StringArray); N]) -> mortice::Result<ArrowBatch> {
    named(columns.map(|(name, column)| (name, Arc::new(column) as ArrayRef)))
}

fn named<const N: usize>(columns: [(&str, ArrayRef); N]) -> mortice::Result<ArrowBatch> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)));
    batch.map(ArrowBatch).map_err(|error| mortice::Error::internal("columns are no batch").caused_by(error))
}
