//! The values of batches from other libraries. Arrow's C interfaces give buffers; nobody has compared strings with
//! UTF-8, nor the keys of a dictionary with the number of its values. pyarrow makes both of bytes that it does not
//! check, and null structs whose fields have keys of no value.

use std::str::from_utf8;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray, GenericListArray, GenericStringArray, MapArray,
    OffsetSizeTrait, RecordBatch, RecordBatchOptions, StringViewArray, StructArray, make_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, FieldRef};

/// A batch whose strings are UTF-8, and whose keys have values. What no row shows, below a null, is null or empty
/// where it is neither.
pub(crate) fn with_sound_values(batch: RecordBatch) -> Result<RecordBatch, String> {
    if batch.columns().iter().all(is_sound) {
        return Ok(batch);
    }
    mended(&batch).map_err(|error| match error {
        ArrowError::InvalidArgumentError(message) => message,
        other => other.to_string(),
    })
}

fn mended(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let named = schema.fields().iter().zip(batch.columns());
    let columns = named.map(|(field, column)| sound(column, None, field.name())).collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options)
}

/// Whether all values are, those that no row shows among them.
fn is_sound(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Utf8 => is_utf8(array.as_string::<i32>()),
        DataType::LargeUtf8 => is_utf8(array.as_string::<i64>()),
        DataType::Utf8View => bytes_of_views(array).iter().flatten().all(|bytes| from_utf8(bytes).is_ok()),
        DataType::Dictionary(..) => {
            let values = array.as_any_dictionary().values();
            is_sound(values) && first_unknown_key(array, array.nulls()).is_none()
        }
        DataType::Struct(_) => array.as_struct().columns().iter().all(is_sound),
        DataType::List(_) => is_sound(&items_of(array.as_list::<i32>())),
        DataType::LargeList(_) => is_sound(&items_of(array.as_list::<i64>())),
        DataType::ListView(_) => is_sound(array.as_list_view::<i32>().values()),
        DataType::LargeListView(_) => is_sound(array.as_list_view::<i64>().values()),
        DataType::FixedSizeList(..) => is_sound(array.as_fixed_size_list().values()),
        DataType::Map(..) => {
            let (entries, offsets) = (array.as_map().entries(), array.as_map().offsets());
            let (first, len) = range_of(offsets);
            entries.slice(first, len).columns().iter().all(is_sound)
        }
        _ => true,
    }
}

/// The items of the lists: a slice of lists has those around it, too, which other batches have as well.
fn items_of<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> ArrayRef {
    let (first, len) = range_of(list.offsets());
    list.values().slice(first, len)
}

/// Where the first item is, and how many there are.
fn range_of<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let first = offsets.first().map_or(0, |first| first.as_usize());
    let last = offsets.last().map_or(0, |last| last.as_usize());
    (first, last.saturating_sub(first))
}

/// The array itself, or with other values where no row shows them.
fn sound(array: &ArrayRef, around: Option<&NullBuffer>, path: &str) -> Result<ArrayRef, ArrowError> {
    if is_sound(array) {
        return Ok(Arc::clone(array));
    }
    let shown = NullBuffer::union(around, array.nulls());
    Ok(match array.data_type() {
        DataType::Utf8 => sound_strings(array.as_string::<i32>(), shown.as_ref(), path)?,
        DataType::LargeUtf8 => sound_strings(array.as_string::<i64>(), shown.as_ref(), path)?,
        DataType::Utf8View => sound_views(array, shown.as_ref(), path)?,
        DataType::Dictionary(..) => sound_dictionary(array, shown, path)?,
        DataType::Struct(fields) => {
            let whole = array.as_struct();
            let children = fields.iter().zip(whole.columns());
            let children = children
                .map(|(field, child)| sound(child, shown.as_ref(), &format!("{path}.{}", field.name())))
                .collect::<Result<_, _>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), children, whole.nulls().cloned(), whole.len())?)
        }
        DataType::List(item) => sound_list(array.as_list::<i32>(), item, path)?,
        DataType::LargeList(item) => sound_list(array.as_list::<i64>(), item, path)?,
        DataType::Map(field, sorted) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = sound(&entries, None, path)?.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
        }
        other => return Err(refused(path, &format!("a value in its {other} is not UTF-8, or not in its dictionary"))),
    })
}

/// Whether the bytes are UTF-8 from each offset to the next.
fn is_utf8<O: OffsetSizeTrait>(strings: &GenericStringArray<O>) -> bool {
    let (first, len) = range_of(strings.offsets());
    let Some(bytes) = strings.values().get(first..first.saturating_add(len)) else { return false };
    if bytes.is_ascii() {
        return true;
    }
    let begins =
        |text: &str| strings.offsets().iter().all(|at| text.is_char_boundary(at.as_usize().saturating_sub(first)));
    from_utf8(bytes).is_ok_and(begins)
}

fn sound_strings<O: OffsetSizeTrait>(
    strings: &GenericStringArray<O>,
    shown: Option<&NullBuffer>,
    path: &str,
) -> Result<ArrayRef, ArrowError> {
    let ends = strings.offsets().iter().zip(strings.offsets().iter().skip(1));
    let bytes = ends.map(|(from, to)| strings.values().get(from.as_usize()..to.as_usize()));
    let shown_strings = strings_of(bytes, shown, path)?;
    let array = GenericStringArray::<O>::from_iter_values(shown_strings);
    let (offsets, values, _) = array.into_parts();
    Ok(Arc::new(GenericStringArray::try_new(offsets, values, strings.nulls().cloned())?))
}

fn bytes_of_views(views: &ArrayRef) -> BinaryViewArray {
    views.as_string_view().clone().to_binary_view()
}

fn sound_views(views: &ArrayRef, shown: Option<&NullBuffer>, path: &str) -> Result<ArrayRef, ArrowError> {
    let bytes = bytes_of_views(views);
    let shown_strings = strings_of(bytes.iter(), shown, path)?;
    let (own, buffers, _) = StringViewArray::from_iter_values(shown_strings).into_parts();
    Ok(Arc::new(StringViewArray::try_new(own, buffers, views.nulls().cloned())?))
}

/// The strings that rows show; empty ones in place of others.
fn strings_of<'a>(
    bytes: impl Iterator<Item = Option<&'a [u8]>>,
    shown: Option<&NullBuffer>,
    path: &str,
) -> Result<Vec<&'a str>, ArrowError> {
    let string = |(at, bytes): (usize, Option<&'a [u8]>)| match bytes {
        Some(bytes) if shown.is_none_or(|shown| shown.is_valid(at)) => from_utf8(bytes)
            .map_err(|_| refused(path, &format!("value {at} is not UTF-8: make the column binary, or decode it"))),
        _ => Ok(""),
    };
    bytes.enumerate().map(string).collect()
}

/// The first of the values that are shown whose key is not one of the dictionary's.
fn first_unknown_key(array: &ArrayRef, shown: Option<&NullBuffer>) -> Option<usize> {
    let dictionary = array.as_any_dictionary();
    let (keys, len) = (dictionary.keys(), dictionary.values().len());
    match keys.data_type() {
        DataType::Int8 => unknown_key::<Int8Type>(keys, len, shown),
        DataType::Int16 => unknown_key::<Int16Type>(keys, len, shown),
        DataType::Int32 => unknown_key::<Int32Type>(keys, len, shown),
        DataType::Int64 => unknown_key::<Int64Type>(keys, len, shown),
        DataType::UInt8 => unknown_key::<UInt8Type>(keys, len, shown),
        DataType::UInt16 => unknown_key::<UInt16Type>(keys, len, shown),
        DataType::UInt32 => unknown_key::<UInt32Type>(keys, len, shown),
        DataType::UInt64 => unknown_key::<UInt64Type>(keys, len, shown),
        _ => Some(0),
    }
}

fn unknown_key<T: ArrowPrimitiveType>(keys: &dyn Array, len: usize, shown: Option<&NullBuffer>) -> Option<usize>
where
    usize: TryFrom<T::Native>,
{
    let is_unknown = |key: T::Native| !usize::try_from(key).is_ok_and(|key| key < len);
    let keys = keys.as_primitive::<T>().values().iter().enumerate();
    keys.filter(|(_, key)| is_unknown(**key)).map(|(at, _)| at).find(|at| shown.is_none_or(|shown| shown.is_valid(*at)))
}

fn sound_dictionary(array: &ArrayRef, shown: Option<NullBuffer>, path: &str) -> Result<ArrayRef, ArrowError> {
    let dictionary = array.as_any_dictionary();
    if let Some(at) = first_unknown_key(array, shown.as_ref()) {
        let len = dictionary.values().len();
        return Err(refused(path, &format!("the key of value {at} is not in its dictionary of {len} values")));
    }
    let values = sound(dictionary.values(), None, path)?;
    let data = array.to_data().into_builder().nulls(shown).child_data(vec![values.to_data()]);
    Ok(make_array(data.build()?))
}

fn sound_list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    item: &FieldRef,
    path: &str,
) -> Result<ArrayRef, ArrowError> {
    let values = sound(list.values(), None, &format!("{path}.{}", item.name()))?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(item), offsets, values, nulls)?))
}

fn refused(path: &str, what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("column {path:?}: {what}"))
}
