//! The metadata table: built, changed, deleted. The progress of services.

use std::collections::BTreeMap;

use mortice::maintenance::{self, BuiltMetadata, MetadataRequest};
use mortice::storage;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::errors::released;

/// Partitions afterwards, those that were built and deleted, the table's data files and their bytes, deleted files with
/// their bytes, warnings.
type Built = (Vec<String>, Vec<String>, Vec<String>, u64, u64, Vec<(String, u64)>, Vec<String>);

/// Changes the metadata table of a table, or says what would be done: `indexes` are those to add and to drop; `whole`
/// is whether it is built again, and whether it is deleted.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn build_metadata(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    indexes: (Vec<String>, Vec<String>),
    whole: (bool, bool),
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<Built> {
    let ((added, dropped), (rebuilds, deletes)) = (indexes, whole);
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let request = MetadataRequest { added, dropped, rebuilds, deletes };
        let built = match dry_run {
            true => maintenance::planned_metadata(uri, &storage, &request, &options)?,
            false => maintenance::build_metadata(uri, &storage, &request, &options)?,
        };
        let BuiltMetadata { partitions, added, dropped, files, bytes, deleted, warnings } = built;
        Ok((partitions, added, dropped, files, bytes, deleted, warnings))
    })
}

/// How much of the service that this process runs is done, and of how much.
#[pyfunction]
pub(crate) fn service_progress() -> (u64, u64) {
    mortice::progress::current()
}
