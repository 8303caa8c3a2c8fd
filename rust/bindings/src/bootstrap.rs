//! `bootstrap`: makes a table of a folder of Parquet files.

use std::collections::BTreeMap;

use mortice::client;
use mortice::storage;
use mortice::writable_table::TableLocation;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::commit::{Commit, commit_of_write};
use crate::errors::released;

/// Makes a table of the folder that the options name, by Hudi's names. Returns its first commit.
#[pyfunction]
pub(crate) fn bootstrap(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
) -> PyResult<Commit> {
    let written = released(py, || {
        let needed = storage::needed_options(uri, &storage_options)?;
        client::bootstrap(&TableLocation::new(uri, &needed), &options)
    })?;
    commit_of_write(py, written)
}
