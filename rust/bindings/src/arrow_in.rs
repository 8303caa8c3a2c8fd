//! Arrow data from Python, through the Arrow PyCapsule interface: objects with `__arrow_c_stream__` (tables, readers,
//! data frames) or `__arrow_c_array__` (record batches, arrays of structs).

#![allow(unsafe_code)]

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use mortice::Error;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow_stream::{ArrowStream, take_batch};
use crate::errors::raised;

/// Record batches from Python, read on demand.
pub(crate) struct ArrowInput {
    schema: SchemaRef,
    batches: Box<dyn RecordBatchReader + Send>,
}

impl ArrowInput {
    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns the batches of Arrow data. `InvalidArgument` for other objects.
    pub(crate) fn from_python(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let batches: Box<dyn RecordBatchReader + Send> = if data.hasattr("__arrow_c_stream__")? {
            Box::new(stream(&data.call_method0("__arrow_c_stream__")?)?)
        } else if data.hasattr("__arrow_c_array__")? {
            let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                data.call_method0("__arrow_c_array__")?.extract()?;
            let batch = batch(&schema, &array)?;
            let schema = batch.schema();
            Box::new(RecordBatchIterator::new([Ok(batch)], schema))
        } else {
            let name = data.get_type().name()?;
            let message = format!(
                "expected Arrow data, got {name}: pass a table, record batches or a data frame (anything with __arrow_c_stream__ or __arrow_c_array__)"
            );
            return Err(raised(data.py(), &Error::invalid_argument(message)));
        };
        Ok(Self { schema: batches.schema(), batches })
    }
}

impl Iterator for ArrowInput {
    type Item = mortice::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let failed = |error| Error::invalid_argument("the Arrow data cannot be read").caused_by(error);
        self.batches.next().map(|batch| batch.map_err(failed))
    }
}

/// Whether batches could not be read since a value in them is one that Arrow cannot have.
pub(crate) fn is_of_a_value(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
    matches!(cause, Some(ArrowError::InvalidArgumentError(_)))
}

fn stream(capsule: &Bound<'_, PyAny>) -> PyResult<ArrowStream> {
    let stream = pointer::<FFI_ArrowArrayStream>(capsule, c"arrow_array_stream")?;
    // SAFETY: a capsule of that name holds an initialised `ArrowArrayStream` for as long as it lives, by the rules of
    // the interface; the stream is moved out of it, which leaves the capsule an empty one to release.
    unsafe { ArrowStream::take(stream) }.map_err(|error| no_batches(capsule.py(), error))
}

fn batch(schema: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let py = array.py();
    let schema = pointer::<FFI_ArrowSchema>(schema, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(array, c"arrow_array")?;
    // SAFETY: capsules of those names hold an initialised `ArrowSchema` and `ArrowArray` for as long as they live, by
    // the rules of the interface; both are moved out. The two came from one call, so that the schema is the array's.
    unsafe { take_batch(schema, array) }.map_err(|error| no_batches(py, error))
}

/// Returns the type in a capsule of a schema.
pub(crate) fn type_in(capsule: &Bound<'_, PyAny>) -> PyResult<Result<DataType, ArrowError>> {
    let schema = pointer::<FFI_ArrowSchema>(capsule, c"arrow_schema")?;
    // SAFETY: a capsule of that name holds an initialised `ArrowSchema` for as long as it lives, by the rules of the
    // interface; it is only read here.
    Ok(DataType::try_from(unsafe { &*schema }))
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.as_ptr().cast())
}

fn no_batches(py: Python<'_>, error: ArrowError) -> PyErr {
    raised(py, &Error::invalid_argument("the Arrow data are no record batches").caused_by(error))
}
