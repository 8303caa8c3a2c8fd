//! What a sync with a catalog registers of a table.

use std::collections::BTreeMap;

use mortice::catalog;
use pyo3::prelude::*;

use crate::errors::{raised, released};
use crate::results::{fields_repr, result_class};
use crate::table::Table;

/// Adds the classes and functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SyncOptions>()?;
    module.add_class::<Synced>()?;
    module.add_class::<CatalogTable>()?;
    module.add_class::<CatalogPartition>()?;
    module.add_function(wrap_pyfunction!(is_sync_option, module)?)?;
    module.add_function(wrap_pyfunction!(catalog_entries, module)?)?;
    module.add_function(wrap_pyfunction!(partition_changes, module)?)
}

result_class! {
    /// What a sync did with one table of the catalog.
    Synced(database, table, created, columns_changed, partitions_added, partitions_dropped) {
        database: String,
        table: String,
        created: bool,
        columns_changed: bool,
        partitions_added: usize,
        partitions_dropped: usize,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

/// What a sync does, resolved.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct SyncOptions(catalog::SyncOptions);

#[pymethods]
impl SyncOptions {
    #[staticmethod]
    fn resolve(py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<Self> {
        catalog::SyncOptions::resolve(&options).map(Self).map_err(|error| raised(py, &error))
    }

    #[staticmethod]
    fn asked_for(py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<Option<Self>> {
        let asked = catalog::SyncOptions::asked_for(&options).map_err(|error| raised(py, &error))?;
        Ok(asked.map(Self))
    }

    #[getter]
    fn is_glue(&self) -> bool {
        self.0.is_glue
    }

    #[getter]
    fn metastore_uris(&self) -> Vec<String> {
        self.0.metastore_uris.clone()
    }

    #[getter]
    fn database(&self) -> &str {
        &self.0.database
    }

    #[getter]
    fn creates_database(&self) -> bool {
        self.0.creates_database
    }

    #[getter]
    fn ignores_errors(&self) -> bool {
        self.0.ignores_errors
    }

    #[getter]
    fn without_effect(&self) -> Vec<String> {
        self.0.without_effect.clone()
    }
}

/// A table as a catalog has it.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
pub(crate) struct CatalogTable {
    name: String,
    location: String,
    columns: Vec<(String, String)>,
    partition_columns: Vec<(String, String)>,
    input_format: &'static str,
    serde_properties: BTreeMap<String, String>,
    properties: BTreeMap<String, String>,
    is_managed: bool,
}

#[pymethods]
impl CatalogTable {
    #[classattr]
    const SERDE: &'static str = catalog::SERDE;
    #[classattr]
    const OUTPUT_FORMAT: &'static str = catalog::OUTPUT_FORMAT;
}

/// A partition of a catalog: the values of its columns, and its location.
#[pyclass(frozen, get_all, from_py_object, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct CatalogPartition {
    values: Vec<String>,
    location: String,
}

#[pymethods]
impl CatalogPartition {
    #[new]
    fn new(values: Vec<String>, location: String) -> Self {
        Self { values, location }
    }
}

impl From<catalog::Partition> for CatalogPartition {
    fn from(one: catalog::Partition) -> Self {
        Self { values: one.values, location: one.location }
    }
}

impl From<CatalogPartition> for catalog::Partition {
    fn from(one: CatalogPartition) -> Self {
        Self { values: one.values, location: one.location }
    }
}

/// Returns whether an option belongs to a sync, misspelt ones included.
#[pyfunction]
fn is_sync_option(name: &str) -> bool {
    catalog::is_sync_option(name)
}

/// Returns the tables that a sync registers of a table, and their partitions.
#[pyfunction]
fn catalog_entries(
    table: &Bound<'_, Table>,
    options: &Bound<'_, SyncOptions>,
    spark: Option<String>,
) -> PyResult<(Vec<CatalogTable>, Vec<CatalogPartition>)> {
    let (core, options) = (table.get().seen(table.py())?, &options.get().0);
    let found = released(table.py(), || catalog::entries(core.opened(), options, spark.as_deref()))?;
    let partitions = found.partitions.into_iter().map(CatalogPartition::from).collect();
    Ok((found.tables.into_iter().map(entry).collect(), partitions))
}

fn entry(table: catalog::CatalogTable) -> CatalogTable {
    CatalogTable {
        name: table.name,
        location: table.location,
        columns: table.columns,
        partition_columns: table.partition_columns,
        input_format: table.input_format,
        serde_properties: table.serde_properties,
        properties: table.properties,
        is_managed: table.is_managed,
    }
}

/// Returns the partitions to drop and to add, of those that a catalog has and those of the table.
#[pyfunction]
fn partition_changes(
    stored: Vec<CatalogPartition>,
    wanted: Vec<CatalogPartition>,
) -> (Vec<CatalogPartition>, Vec<CatalogPartition>) {
    let of_core = |all: Vec<CatalogPartition>| all.into_iter().map(catalog::Partition::from).collect();
    let changes = catalog::partition_changes(of_core(stored), of_core(wanted));
    let of_python = |all: Vec<catalog::Partition>| all.into_iter().map(CatalogPartition::from).collect();
    (of_python(changes.gone), of_python(changes.new))
}
