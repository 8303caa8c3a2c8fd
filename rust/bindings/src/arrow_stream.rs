//! Streams of record batches through the C stream interface. A producer may yield a batch of other columns than its
//! schema says, as a Python generator does: such a batch is refused before its buffers are read.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

/// A stream of batches, which have the columns of its schema.
pub(crate) struct ArrowStream {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
    /// Batches so far.
    batches: u64,
}

impl ArrowStream {
    /// Reads the schema of a stream.
    pub(crate) fn new(mut stream: FFI_ArrowArrayStream) -> Result<Self, ArrowError> {
        let Some(get_schema) = stream.get_schema() else { return Err(invalid("the stream was released already")) };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is initialised and not released; the callee fills the schema in.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if code != 0 {
            return Err(last_error(&mut stream, code));
        }
        let root = Field::try_from(&schema)?;
        let DataType::Struct(fields) = root.data_type() else {
            return Err(invalid(&format!("a stream of {}, and not of record batches", root.data_type())));
        };
        let schema = Schema::new(fields.clone()).with_metadata(root.metadata().clone());
        Ok(Self { stream, schema: Arc::new(schema), batches: 0 })
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(get_next) = self.stream.get_next() else { return Err(invalid("the stream was released already")) };
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the stream is initialised and not released; the callee fills the array in.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if code != 0 {
            return Err(last_error(&mut self.stream, code));
        }
        if array.is_released() {
            return Ok(None);
        }
        let number = self.batches;
        self.batches = number.saturating_add(1);
        let kind = DataType::Struct(self.schema.fields().clone());
        check_layout(&array, &kind, "")
            .map_err(|what| invalid(&format!("batch {number} is not of the stream's schema: {what}")))?;
        // SAFETY: the array is of the interface, and has the buffers and children of the type.
        let imported =
            catch_unwind(AssertUnwindSafe(|| unsafe { from_ffi_and_data_type(array, kind) }.map(StructArray::from)));
        let rows = imported.map_err(|_| invalid(&format!("batch {number} is not of the stream's schema")))??;
        if rows.nulls().is_some_and(|nulls| nulls.null_count() > 0) {
            return Err(invalid(&format!("batch {number} has rows that are null")));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), rows.into_parts().1, &options).map(Some)
    }
}

impl Iterator for ArrowStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

impl RecordBatchReader for ArrowStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Makes sure that an array has the buffers and children of a type, at any depth.
fn check_layout(array: &FFI_ArrowArray, kind: &DataType, path: &str) -> Result<(), String> {
    let at = if path.is_empty() { "the batch".to_owned() } else { format!("column {path:?}") };
    let children = children_of(kind);
    if array.num_children() != children.len() {
        let names: Vec<&str> = children.iter().map(|child| child.name().as_str()).collect();
        return Err(format!(
            "{at} has {} fields, and not the {} of the schema ({})",
            array.num_children(),
            children.len(),
            names.join(", ")
        ));
    }
    let (buffers, is_more_allowed) = buffers_of(kind);
    let found = array.num_buffers();
    if found < buffers || (found > buffers && !is_more_allowed) {
        return Err(format!("{at} is not {kind}"));
    }
    match (array.dictionary(), kind) {
        (Some(values), DataType::Dictionary(_, value)) => check_layout(values, value, path)?,
        (None, DataType::Dictionary(..)) => return Err(format!("{at} is not {kind}")),
        (Some(_), _) => return Err(format!("{at} is a dictionary, and not {kind}")),
        (None, _) => {}
    }
    children.iter().enumerate().try_for_each(|(number, child)| {
        let path = if path.is_empty() { child.name().clone() } else { format!("{path}.{}", child.name()) };
        check_layout(array.child(number), child.data_type(), &path)
    })
}

fn children_of(kind: &DataType) -> Vec<&Field> {
    match kind {
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::Map(item, _) => vec![item.as_ref()],
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.as_ref()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.as_ref(), values.as_ref()],
        _ => Vec::new(),
    }
}

/// The number of buffers of a type, and whether there may be more.
fn buffers_of(kind: &DataType) -> (usize, bool) {
    match kind {
        // Old producers give null arrays a buffer, and unions one of validity.
        DataType::Null => (0, true),
        DataType::Union(..) => (1, true),
        DataType::RunEndEncoded(..) => (0, false),
        DataType::Struct(_) | DataType::FixedSizeList(..) => (1, false),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::ListView(_)
        | DataType::LargeListView(_) => (3, false),
        DataType::Utf8View | DataType::BinaryView => (3, true),
        _ => (2, false),
    }
}

fn last_error(stream: &mut FFI_ArrowArrayStream, code: i32) -> ArrowError {
    let text = stream.get_last_error().and_then(|get_last_error| {
        // SAFETY: the stream is not released, and its last operation has failed; the string lives until the next one.
        let text = unsafe { get_last_error(&raw mut *stream) };
        if text.is_null() {
            return None;
        }
        // SAFETY: as above; the string ends with a zero.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    invalid(&text.unwrap_or_else(|| format!("the producer has failed with code {code}")))
}

fn invalid(message: &str) -> ArrowError {
    ArrowError::CDataInterface(message.to_owned())
}
