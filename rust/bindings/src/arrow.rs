//! Arrow schemas and batches in PyCapsules (the Arrow PyCapsule interface): `arrow_schema`, `arrow_array`,
//! `arrow_array_stream`. A capsule owns its struct; a consumer moves it out, otherwise dropping the capsule releases
//! it.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow_in::type_in;

/// A schema, for any Arrow library.
#[pyclass(frozen, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct ArrowSchema(pub(crate) SchemaRef);

#[pymethods]
impl ArrowSchema {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }
}

/// A record batch, for any Arrow library.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct ArrowBatch(pub(crate) RecordBatch);

#[pymethods]
impl ArrowBatch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface allows a producer to return its own schema for any requested one.
        drop(requested_schema);
        let rows = StructArray::from(self.0.clone());
        let array = FFI_ArrowArray::new(&rows.to_data());
        Ok((schema_capsule(py, &self.0.schema())?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| unexported(&error))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn unexported(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("the schema cannot be handed to Python: {error}"))
}

/// A type, as a `pyarrow.DataType` in Python.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ArrowType(pub(crate) DataType);

impl<'py> IntoPyObject<'py> for ArrowType {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = ArrowSchema(Arc::new(Schema::new(vec![Field::new("", self.0, true)])));
        py.import("pyarrow")?.call_method1("schema", (schema,))?.call_method1("field", (0,))?.getattr("type")
    }
}

impl<'py> FromPyObject<'_, 'py> for ArrowType {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let capsule = value.call_method0("__arrow_c_schema__")?;
        let kind = type_in(&capsule)?;
        kind.map(Self).map_err(|error| PyValueError::new_err(format!("the type cannot be read: {error}")))
    }
}
