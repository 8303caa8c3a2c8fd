//! Record keys: stored in the meta column, or computed from the key fields (virtual keys,
//! `hoodie.populate.meta.fields=false`).
//!
//! A virtual key of one key field is its value as a string; of several it is `field:value,field:value`, for all key
//! generators (`BaseKeyGenerator.getRecordKey`, `KeyGenUtils`). With several fields, a null value is `__null__` and an
//! empty one `__empty__`. Keys are compared as bytes and never parsed: values are not escaped.

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Schema, TimeUnit};
use bytes::Bytes;

use super::field_path::FieldPath;
use super::row_number_column::row_numbers_of;
use crate::merge::{BaseRows, NUMBER_LEN, numbers_as_keys};
use mortice_avro::{self as avro, RequestedColumn};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;

/// The source of record keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordKey {
    /// The column `_hoodie_record_key`.
    Stored,
    /// These fields.
    Virtual(Vec<FieldPath>),
    /// The row number in the base file, as stored in the logs.
    Number,
}

/// Keys of log records: the position of each key (`offset << 32 | length`) in a buffer.
pub struct LogKeys {
    /// Where each key is in `bytes`; null for a record without a key.
    pub places: UInt64Array,
    /// The buffer that contains the keys.
    pub bytes: Bytes,
}

impl LogKeys {
    /// Returns keys that are numbers, in their order.
    pub fn from_numbers(numbers: &[u64]) -> Self {
        let places = (0..numbers.len()).map(|at| ((at * NUMBER_LEN) as u64) << 32 | NUMBER_LEN as u64);
        Self { places: places.collect(), bytes: numbers_as_keys(numbers) }
    }

    /// Returns the bytes of each key; `None` if there is no key, or it is outside the buffer.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let key = |place: u64| {
            let (start, len) = (usize::try_from(place >> 32).ok()?, usize::try_from(place & u64::from(u32::MAX)).ok()?);
            self.bytes.get(start..start.checked_add(len)?)
        };
        self.places.iter().map(move |place| key(place?))
    }
}

impl RecordKey {
    /// Returns the record key of a table; `fields` are its key fields if its files have no meta columns.
    pub fn new(fields: Option<&[String]>) -> Result<Self> {
        match fields {
            None => Ok(Self::Stored),
            Some([]) => Err(Error::unsupported(
                "unsupported table: it has neither meta columns nor key fields, by which rows could be merged",
            )),
            Some(fields) => Ok(Self::Virtual(fields.iter().map(|name| FieldPath::new(name)).collect())),
        }
    }

    /// Returns the columns of the key.
    pub fn columns(&self) -> Vec<String> {
        match self {
            Self::Stored => vec![meta_columns::RECORD_KEY.to_owned()],
            Self::Virtual(fields) => fields.iter().map(|field| field.column().to_owned()).collect(),
            Self::Number => Vec::new(),
        }
    }

    /// Returns the key column if its values as strings are the keys. A date, for example, has another representation in
    /// a filter.
    pub fn text_column(&self, types: &Schema) -> Option<&str> {
        self.column()
            .filter(|name| types.fields().find(name).is_some_and(|(_, field)| *field.data_type() == DataType::Utf8))
    }

    /// Returns the column with the whole key.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Stored => Some(meta_columns::RECORD_KEY),
            Self::Virtual(fields) => match fields.as_slice() {
                [only] if only.name() == only.column() => Some(only.column()),
                _ => None,
            },
            Self::Number => None,
        }
    }

    /// Returns the fields of Avro records to decode, before all others and as many as [`RecordKey::columns`].
    pub fn wants(&self) -> Vec<RequestedColumn> {
        match self {
            // A stored key is not copied: its position in the block is returned.
            Self::Stored => vec![RequestedColumn::Position(meta_columns::RECORD_KEY.to_owned())],
            Self::Virtual(_) => self.columns().into_iter().map(RequestedColumn::Value).collect(),
            Self::Number => Vec::new(),
        }
    }

    /// Returns the keys of decoded records from their first columns (positions in `content`, strings, or values) or
    /// from the given numbers; and the other columns.
    pub fn split_keys<'a>(
        &self,
        decoded: &'a RecordBatch,
        content: &Bytes,
        numbers: &[u64],
    ) -> Result<(LogKeys, &'a [ArrayRef])> {
        if *self == Self::Number {
            return Ok((LogKeys::from_numbers(numbers), decoded.columns()));
        }
        let Some((leading, rest)) = decoded.columns().split_at_checked(self.columns().len()) else {
            return Err(Error::internal("a key column was not decoded"));
        };
        if let [places] = leading
            && let Some(places) = places.as_any().downcast_ref::<UInt64Array>()
        {
            return Ok((LogKeys { places: places.clone(), bytes: content.clone() }, rest));
        }
        Ok((in_buffer(&self.strings(leading)?), rest))
    }

    /// Returns the keys of base rows, or their row numbers: those in the batch, or consecutive ones from `first`.
    pub fn base_rows(&self, base: &RecordBatch, first: u64) -> Result<BaseRows> {
        match self {
            Self::Number => Ok(match row_numbers_of(base) {
                Some(numbers) => BaseRows::NumberList(numbers.clone()),
                None => BaseRows::Numbers(first..first.saturating_add(base.num_rows() as u64)),
            }),
            Self::Stored | Self::Virtual(_) => self.keys_of(base).map(BaseRows::Keys),
        }
    }

    /// The keys of rows.
    pub fn keys_of(&self, base: &RecordBatch) -> Result<StringArray> {
        let missing = |name: &String| Error::invalid_table(format!("no column {name:?} in the base file"));
        let columns = self.columns();
        let columns = columns.iter().map(|name| base.column_by_name(name).cloned().ok_or_else(|| missing(name)));
        self.strings(&columns.collect::<Result<Vec<_>>>()?)
    }

    fn strings(&self, columns: &[ArrayRef]) -> Result<StringArray> {
        let fields = match (self, columns) {
            (Self::Virtual(fields), _) => fields,
            (Self::Stored, [only]) => return text_of(only),
            (Self::Stored | Self::Number, _) => return Err(Error::internal("a key column was not decoded")),
        };
        let strings = fields.iter().zip(columns).map(|(field, column)| text_of(&field.values(column)?));
        let strings = strings.collect::<Result<Vec<_>>>()?;
        match strings.as_slice() {
            [only] if fields.len() == 1 => Ok(only.clone()),
            strings => Ok(joined(fields, strings)),
        }
    }
}

/// Converts values as Java's `toString` does after Spark has passed them to a key generator: dates as days, times as
/// microseconds.
fn text_of(column: &ArrayRef) -> Result<StringArray> {
    let numbers: ArrayRef = match column.data_type() {
        DataType::Utf8 => return Ok(column.as_string().clone()),
        DataType::Boolean => {
            return Ok(column.as_boolean().iter().map(|one| one.map(|one| one.to_string())).collect());
        }
        DataType::Date32 => {
            std::sync::Arc::new(column.as_primitive::<Date32Type>().reinterpret_cast::<arrow_array::types::Int32Type>())
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => std::sync::Arc::new(
            column.as_primitive::<TimestampMicrosecondType>().reinterpret_cast::<arrow_array::types::Int64Type>(),
        ),
        _ => std::sync::Arc::clone(column),
    };
    Ok(avro::java_text_of(&numbers)?.as_string().clone())
}

fn joined(fields: &[FieldPath], strings: &[StringArray]) -> StringArray {
    let rows = strings.first().map_or(0, |column| column.len());
    let mut keys = StringBuilder::new();
    let mut key = String::new();
    for row in 0..rows {
        key.clear();
        for (field, column) in fields.iter().zip(strings) {
            if !key.is_empty() {
                key.push(',');
            }
            key.push_str(field.name());
            key.push(':');
            key.push_str(match column.is_valid(row).then(|| column.value(row)) {
                None => "__null__",
                Some("") => "__empty__",
                Some(value) => value,
            });
        }
        keys.append_value(&key);
    }
    keys.finish()
}

/// Returns strings as positions in their buffer.
fn in_buffer(keys: &StringArray) -> LogKeys {
    let places = keys.offsets().windows(2).map(|ends| match *ends {
        // Offsets of an Arrow array are not negative and never decrease.
        [start, end] => u64::from(start.unsigned_abs()) << 32 | u64::from((end - start).unsigned_abs()),
        _ => 0,
    });
    let places = UInt64Array::new(places.collect(), keys.nulls().cloned());
    LogKeys { places, bytes: Bytes::from_owner(KeyBytes(keys.values().clone())) }
}

/// An Arrow buffer as the bytes of a merger's source.
struct KeyBytes(Buffer);

impl AsRef<[u8]> for KeyBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Date32Array, Int64Array, StructArray};
    use arrow_schema::{Field, Fields};

    use super::*;

    #[test]
    fn virtual_keys_of_one_and_of_several_fields() {
        let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some(""), None, Some("b:,c")]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(-4)]));
        let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 1, 2, 3]));
        let base = RecordBatch::try_from_iter([("t", strings), ("n", numbers), ("d", days)]).unwrap();
        let keys = |fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
            let keys = RecordKey::new(Some(&fields)).unwrap().keys_of(&base).unwrap();
            keys.iter().map(|key| key.map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(keys(&["n"]), [Some("1".to_owned()), Some("2".to_owned()), None, Some("-4".to_owned())]);
        assert_eq!(keys(&["d"])[3].as_deref(), Some("3"));
        let both: Vec<String> = keys(&["t", "n"]).into_iter().flatten().collect();
        assert_eq!(both, ["t:a,n:1", "t:__empty__,n:2", "t:__null__,n:__null__", "t:b:,c,n:-4"]);
        assert!(RecordKey::new(Some(&[])).is_err());
    }

    #[test]
    fn virtual_keys_of_fields_of_structs() {
        let inner = Fields::from(vec![Field::new("n", DataType::Int64, true)]);
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), Some(8)]));
        let outer: ArrayRef = Arc::new(StructArray::new(inner, vec![numbers], Some(vec![true, false].into())));
        let strings: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let base = RecordBatch::try_from_iter([("s", outer), ("t", strings)]).unwrap();
        let key = RecordKey::new(Some(&["s.n".to_owned()])).unwrap();
        assert_eq!((key.columns(), key.column()), (vec!["s".to_owned()], None));
        assert_eq!(key.keys_of(&base).unwrap(), StringArray::from(vec![Some("7"), None]));
        let key = RecordKey::new(Some(&["t".to_owned(), "s.n".to_owned()])).unwrap();
        assert_eq!(key.keys_of(&base).unwrap(), StringArray::from(vec!["t:a,s.n:7", "t:b,s.n:__null__"]));
    }

    #[test]
    fn a_filter_writes_some_keys_otherwise_than_they_are() {
        let key = RecordKey::new(Some(&["k".to_owned()])).unwrap();
        let column = |kind| arrow_schema::Schema::new(vec![arrow_schema::Field::new("k", kind, true)]);
        assert_eq!(key.text_column(&column(DataType::Utf8)), Some("k"));
        assert_eq!(key.text_column(&column(DataType::Date32)), None, "2024-01-02 is the key 19724");
        assert_eq!(key.column(), Some("k"));
    }
}
