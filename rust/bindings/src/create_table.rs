//! `create_table`: creates a table in storage.

use std::collections::BTreeMap;

use mortice::config::{TableType, TableVersion};
use mortice::{NewTable, storage};
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::arrow_in::ArrowInput;
use crate::errors::released;

/// Creates a table with the columns of some Arrow data.
#[pyfunction]
#[pyo3(signature = (uri, columns, storage_options, *, name, record_key, partition_by, ordering, merge_on_read, version, properties))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn create_table(
    py: Python<'_>,
    uri: &str,
    columns: &Bound<'_, PyAny>,
    storage_options: StorageArgument,
    name: String,
    record_key: Vec<String>,
    partition_by: Vec<String>,
    ordering: Vec<String>,
    merge_on_read: bool,
    version: u8,
    properties: BTreeMap<String, String>,
) -> PyResult<()> {
    let columns = ArrowInput::from_python(columns)?.schema();
    let table_type = if merge_on_read { TableType::MergeOnRead } else { TableType::CopyOnWrite };
    released(py, || {
        let version = TableVersion::for_new_table(version)?;
        let table = NewTable { name, version, table_type, record_key, partition_by, ordering, properties };
        let options = storage::needed_options(uri, &storage_options)?;
        let store = storage::open_file_store(uri, &options)?;
        mortice::create_table(store.as_ref(), &table, &columns)
    })
}
