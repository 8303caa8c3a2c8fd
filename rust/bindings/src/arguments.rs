//! Converts Python arguments: storage options, for which functions of the core run.

use std::collections::BTreeMap;

use mortice::storage;
use mortice::writable_table::TableLocation;
use pyo3::prelude::*;

use crate::errors::released;

/// Returns the storage options by name.
pub(crate) type StorageArgument = BTreeMap<String, String>;

/// Runs a function of the core without the GIL, with the storage options that a table needs.
pub(crate) fn with_storage<T: Send>(
    py: Python<'_>,
    uri: &str,
    storage_options: &StorageArgument,
    work: impl FnOnce(&StorageArgument) -> mortice::Result<T> + Send,
) -> PyResult<T> {
    released(py, || work(&storage::needed_options(uri, storage_options)?))
}

/// As [`with_storage`], with the place of a table that is changed.
pub(crate) fn at_location<T: Send>(
    py: Python<'_>,
    uri: &str,
    storage_options: &StorageArgument,
    work: impl FnOnce(&TableLocation) -> mortice::Result<T> + Send,
) -> PyResult<T> {
    with_storage(py, uri, storage_options, |storage| work(&TableLocation::new(uri, storage)))
}
