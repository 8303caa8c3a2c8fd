//! Record batches through Arrow's C interfaces, without Python, so that Miri can run it. A producer may yield a batch
//! of other columns than its schema says, as a Python generator does: such a batch is refused before its buffers are
//! read.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::sound_values::with_sound_values;

/// A stream of batches, which have the columns of its schema. The error for a value that Arrow cannot have is an
/// `InvalidArgumentError`.
pub(crate) struct ArrowStream {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
    /// Batches so far.
    batches: u64,
}

impl ArrowStream {
    /// Takes a stream out of where it is, and reads its schema. What is left there is released.
    ///
    /// # Safety
    /// The pointer is to an initialised stream, which nothing else uses meanwhile.
    pub(crate) unsafe fn take(stream: *mut FFI_ArrowArrayStream) -> Result<Self, ArrowError> {
        // SAFETY: the caller's duty.
        Self::new(unsafe { FFI_ArrowArrayStream::from_raw(stream) })
    }

    /// Reads the schema of a stream.
    fn new(mut stream: FFI_ArrowArrayStream) -> Result<Self, ArrowError> {
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
        if has_null_rows(&rows) {
            return Err(invalid(&format!("batch {number} has rows that are null")));
        }
        let batch = with_sound_values(batch_of(Arc::clone(&self.schema), rows)?);
        batch.map(Some).map_err(|what| ArrowError::InvalidArgumentError(format!("batch {number}: {what}")))
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

/// Takes a record batch out of where it is. What is left there is released.
///
/// # Safety
/// The pointers are to an initialised schema and an initialised array of it, which nothing else uses meanwhile.
pub(crate) unsafe fn take_batch(
    schema: *mut FFI_ArrowSchema,
    array: *mut FFI_ArrowArray,
) -> Result<RecordBatch, ArrowError> {
    // SAFETY: the caller's duty. Both are taken, also if one is refused.
    let (schema, data) = unsafe {
        let schema = FFI_ArrowSchema::from_raw(schema);
        let data = from_ffi(FFI_ArrowArray::from_raw(array), &schema);
        (schema, data)
    };
    let (schema, data) = (Schema::try_from(&schema)?, data?);
    if !matches!(data.data_type(), DataType::Struct(_)) {
        return Err(ArrowError::SchemaError(format!("an array of type {}", data.data_type())));
    }
    let rows = StructArray::from(data);
    if has_null_rows(&rows) {
        return Err(ArrowError::SchemaError("rows that are null".into()));
    }
    with_sound_values(batch_of(schema.into(), rows)?).map_err(ArrowError::InvalidArgumentError)
}

fn has_null_rows(rows: &StructArray) -> bool {
    rows.nulls().is_some_and(|nulls| nulls.null_count() > 0)
}

fn batch_of(schema: SchemaRef, rows: StructArray) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema, rows.into_parts().1, &options)
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

#[cfg(test)]
mod tests {
    use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
    use arrow_array::ffi::to_ffi;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Int32Array, NullArray, RecordBatchIterator, StringArray,
        StringViewArray,
    };

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
            .unwrap()
    }

    /// A column of each layout.
    fn rows() -> RecordBatch {
        let mut list = ListBuilder::new(StringBuilder::new());
        list.append_option(Some([Some("a"), None]));
        list.append_null();
        list.append_option(Some([Some("ß")]));
        let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
        for key in ["k", "", "l"] {
            map.keys().append_value(key);
            map.values().append_option(Some(key).filter(|key| !key.is_empty()));
            map.append(true).unwrap();
        }
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("")]));
        let member = Arc::new(Field::new("text", DataType::Utf8, true));
        let nulls = Some(vec![true, false, true].into());
        batch(vec![
            ("int", Arc::new(Int32Array::from(vec![Some(1), None, Some(-1)]))),
            ("text", Arc::clone(&text)),
            ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\xff"), None, Some(b"")]))),
            ("bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
            ("view", Arc::new(StringViewArray::from(vec!["short", "longer than twelve bytes", ""]))),
            ("code", Arc::new(vec![Some("a"), None, Some("a")].into_iter().collect::<DictionaryArray<Int32Type>>())),
            ("null", Arc::new(NullArray::new(3))),
            ("list", Arc::new(list.finish())),
            ("map", Arc::new(map.finish())),
            ("nested", Arc::new(StructArray::new(vec![member].into(), vec![text], nulls))),
        ])
    }

    fn streamed(schema: SchemaRef, batches: Vec<Result<RecordBatch, ArrowError>>) -> Result<ArrowStream, ArrowError> {
        // `RecordBatchIterator` does not compare batches with the schema, like a careless producer.
        let reader = RecordBatchIterator::new(batches, schema);
        let mut stream = FFI_ArrowArrayStream::new(Box::new(reader));
        // SAFETY: the stream is initialised, and nothing else uses it.
        unsafe { ArrowStream::take(&raw mut stream) }
    }

    #[test]
    fn batches_of_a_stream_are_those_of_its_producer() {
        let all = rows();
        let batches = vec![Ok(all.clone()), Ok(all.slice(1, 2)), Ok(all.slice(3, 0))];
        let stream = streamed(all.schema(), batches).unwrap();
        assert_eq!(stream.schema(), all.schema());
        let read: Vec<RecordBatch> = stream.map(Result::unwrap).collect();
        assert_eq!(read, [all.clone(), all.slice(1, 2), all.slice(3, 0)]);
    }

    #[test]
    fn rows_outlive_their_stream() {
        let first = streamed(rows().schema(), vec![Ok(rows()), Ok(rows())]).unwrap().next().unwrap().unwrap();
        assert_eq!(first, rows());
    }

    #[test]
    fn a_batch_of_other_columns_is_refused_before_it_is_read() {
        let text = || batch(vec![("c", Arc::new(StringArray::from(vec!["a"])))]);
        let code: DictionaryArray<Int32Type> = [Some("a")].into_iter().collect();
        let nested = rows().project(&[9]).unwrap();
        for (other, says) in [
            (batch(vec![("c", Arc::new(Int32Array::from(vec![1])))]), "is not Utf8"),
            (batch(vec![("c", Arc::new(code))]), "is not Utf8"),
            (rows(), "has 10 fields"),
            (nested, "has 1 fields, and not the 0"),
        ] {
            let mut stream = streamed(text().schema(), vec![Ok(text()), Ok(other)]).unwrap();
            assert_eq!(stream.next().unwrap().unwrap(), text());
            let error = stream.next().unwrap().unwrap_err().to_string();
            assert!(error.contains("batch 1 is not of the stream's schema") && error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_message_of_a_producer_that_fails_is_kept() {
        let failure = ArrowError::ComputeError("out of luck".to_owned());
        let mut stream = streamed(rows().schema(), vec![Err(failure)]).unwrap();
        assert!(stream.next().unwrap().unwrap_err().to_string().contains("out of luck"));
    }

    #[test]
    fn a_stream_that_was_taken_already_is_an_error() {
        let mut stream = FFI_ArrowArrayStream::empty();
        // SAFETY: an empty stream is initialised.
        assert!(unsafe { ArrowStream::take(&raw mut stream) }.is_err());
    }

    fn taken(rows: StructArray) -> Result<RecordBatch, ArrowError> {
        let (mut array, mut schema) = to_ffi(&rows.into()).unwrap();
        // SAFETY: both are initialised, and nothing else uses them.
        let batch = unsafe { take_batch(&raw mut schema, &raw mut array) };
        assert!(array.is_released());
        batch
    }

    #[test]
    fn an_array_of_structs_is_a_batch_unless_rows_are_null() {
        assert_eq!(taken(rows().into()).unwrap(), rows());
        let nested = rows().column(9).as_any().downcast_ref::<StructArray>().unwrap().clone();
        assert!(taken(nested).unwrap_err().to_string().contains("rows that are null"));
        let (mut array, mut schema) = to_ffi(&Int32Array::from(vec![1]).into()).unwrap();
        // SAFETY: both are initialised, and nothing else uses them.
        assert!(unsafe { take_batch(&raw mut schema, &raw mut array) }.is_err());
    }
}
