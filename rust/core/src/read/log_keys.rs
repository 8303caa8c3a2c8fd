//! What the merge needs to know of each log record, and nothing else: where its key lies, what it is ordered by, whether
//! it is a delete. Unwanted columns are stepped over, not decoded.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Decimal128Array, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use bytes::Bytes;

use super::record_key::{LogKeys, RecordKey};
use crate::avro::{self, Want};
use crate::config::{DeleteMarker, MergeConfig, Semantics};
use crate::error::{Error, Result};
use crate::log::content::deleted::{Deleted, Deletes, Ordering};
use crate::merge::{DeleteMarkers, OrderingColumn};
use crate::names::meta_columns;

/// What Hudi takes for milliseconds on a column of milliseconds (`OrderingValueEngineTypeConverter`); more is microseconds.
const MOST_MILLIS: i64 = 9_999_999_999_999;

/// Where Debezium records of MySQL hold their place in the binlog (`DebeziumConstants.ADDED_SEQ_COL_NAME`).
const BINLOG_PLACE: &str = "_event_seq";

/// The columns that tell of a record, by the table's schema and merge rules.
#[derive(Debug, Clone)]
pub(super) struct KeyColumns {
    /// The record key.
    pub(super) key: RecordKey,
    /// The ordering fields; none in commit-time ordering.
    ordering: Vec<OrderingField>,
    is_deleted: Option<String>,
    operation: Option<String>,
    delete_field: Option<String>,
    /// What in the delete field marks a delete.
    marks: Vec<String>,
}

/// A field that records are ordered by.
#[derive(Debug, Clone)]
struct OrderingField {
    name: String,
    kind: DataType,
    /// Whether it counts milliseconds in Avro.
    millis: bool,
    /// Whether its text is a place in a MySQL binlog: `file.position`, compared as two numbers.
    is_binlog_place: bool,
    /// Whether an int of a delete is compared with a column of longs (it was written before the column was widened). Hudi 0.x lets
    /// a delete of another class win; 1.x fails.
    widens: bool,
}

/// Ordering and deletes of records of a data block.
pub(super) struct KeyBatch {
    pub(super) ordering: OrderingColumn,
    pub(super) markers: DeleteMarkers,
}

impl KeyColumns {
    /// Of a table. [`crate::Kind::Unsupported`], by name, for what this release cannot merge.
    pub(super) fn of(
        table: &avro::Schema,
        types: &arrow_schema::Schema,
        merge: &MergeConfig,
        virtual_key: Option<&[String]>,
        semantics: Semantics,
    ) -> Result<Self> {
        let ordering: Result<Vec<OrderingField>> = if merge.is_by_binlog_place() && table.field(BINLOG_PLACE).is_some()
        {
            OrderingField::of(table, types, BINLOG_PLACE)
                .map(|field| vec![OrderingField { is_binlog_place: field.kind == DataType::Utf8, ..field }])
        } else {
            merge.ordering_fields.iter().map(|name| OrderingField::of(table, types, name)).collect()
        };
        let marker = merge.delete_marker.as_ref().filter(|delete| table.field(&delete.field).is_some());
        let there = |name: &str| table.field(name).map(|_| name.to_owned());
        Ok(Self {
            key: RecordKey::of(virtual_key)?,
            ordering: ordering?
                .into_iter()
                .map(|field| OrderingField { widens: semantics == Semantics::V1x, ..field })
                .collect(),
            is_deleted: there(meta_columns::IS_DELETED),
            operation: there(meta_columns::OPERATION),
            delete_field: marker.map(|delete| delete.field.clone()),
            marks: marker.map(marks).unwrap_or_default(),
        })
    }

    /// The same, `_hoodie_operation` no column of the table's.
    #[must_use]
    pub(super) fn without_operation(self) -> Self {
        Self { operation: None, ..self }
    }

    /// The same, records told by the numbers of base rows.
    #[must_use]
    pub(super) fn by_number(self) -> Self {
        Self { key: RecordKey::Number, ..self }
    }

    /// Where nothing is merged: neither ordering nor delete marks.
    pub(super) fn unordered(virtual_key: Option<&[String]>) -> Result<Self> {
        let key = RecordKey::of(virtual_key)?;
        Ok(Self { key, ordering: Vec::new(), is_deleted: None, operation: None, delete_field: None, marks: Vec::new() })
    }

    /// Whether the one ordering field is an int, whose 0 is Hudi's default. A tuple of values is never that.
    pub(super) fn is_ordered_by_an_int(&self) -> bool {
        matches!(self.ordering.as_slice(), [only] if only.kind == DataType::Int32)
    }

    /// The field that records are ordered by, first of all.
    pub(super) fn first_ordering_field(&self) -> Option<&str> {
        self.ordering.first().map(|field| field.name.as_str())
    }

    /// Columns that base rows must bring to be merged.
    pub(super) fn of_base(&self) -> Vec<String> {
        self.key.columns().into_iter().chain(self.ordering.iter().map(|field| field.name.clone())).collect()
    }

    /// What to decode of a data block, in the order that [`KeyColumns::batch`] takes it.
    pub(super) fn wants(&self) -> Vec<Want> {
        let mut wants = self.key.wants();
        wants.extend(self.ordering.iter().map(|field| Want::Value(field.name.clone())));
        wants.extend(self.is_deleted.iter().cloned().map(Want::Value));
        wants.extend(self.operation.iter().cloned().map(Want::Value));
        wants.extend(self.delete_field.iter().cloned().map(Want::Value));
        wants
    }

    /// The same columns, of a format that is read by columns.
    pub(super) fn columns(&self, types: &arrow_schema::Schema) -> Result<SchemaRef> {
        let fields = self.wants().into_iter().map(|want| match types.fields().find(want.name()) {
            Some((_, field)) => Ok(Arc::clone(field)),
            None => Err(Error::invalid_table(format!("no column {:?} in the table", want.name()))),
        });
        Ok(Arc::new(arrow_schema::Schema::new(fields.collect::<Result<Vec<_>>>()?)))
    }

    /// The columns after the key, by what they mean.
    pub(super) fn batch(&self, decoded: &[ArrayRef]) -> Result<KeyBatch> {
        let mut columns = decoded.iter().cloned();
        let mut next = || columns.next().ok_or_else(|| Error::invalid_table("a key column is missing"));
        let ordering = self.ordering.iter().map(|_| next()).collect::<Result<Vec<_>>>()?;
        let ordering = self.ordering_of(&ordering)?;
        let mut when = |there: bool| -> Result<Option<ArrayRef>> { if there { next().map(Some) } else { Ok(None) } };
        let markers = DeleteMarkers {
            is_deleted: when(self.is_deleted.is_some())?,
            operation: when(self.operation.is_some())?,
            field: when(self.delete_field.is_some())?,
            marks: self.marks.clone(),
        };
        Ok(KeyBatch { ordering, markers })
    }

    /// The ordering values of base rows.
    pub(super) fn base_ordering(&self, base: &RecordBatch) -> Result<OrderingColumn> {
        let columns = self.ordering.iter().map(|field| {
            let column = base.column_by_name(&field.name).cloned();
            column.ok_or_else(|| Error::invalid_table(format!("no column {:?} in the base file", field.name)))
        });
        self.ordering_of(&columns.collect::<Result<Vec<_>>>()?)
    }

    /// The values of no, one or several ordering columns.
    fn ordering_of(&self, columns: &[ArrayRef]) -> Result<OrderingColumn> {
        let fields = self.ordering.iter().zip(columns).map(|(field, column)| field.of_rows(column));
        let mut fields = fields.collect::<Result<Vec<_>>>()?;
        match fields.len() {
            0 => Ok(OrderingColumn::Unordered),
            1 => Ok(fields.remove(0)),
            _ => Ok(OrderingColumn::tuple(&fields, columns.first().map_or(0, |column| column.len()))),
        }
    }

    /// The keys of a delete block: in its text, or the numbers given.
    pub(super) fn deleted_keys(&self, all: &[Deleted], text: &Bytes, numbers: &[u64]) -> LogKeys {
        if self.key == RecordKey::Number {
            return LogKeys::of_numbers(numbers);
        }
        let place = |one: &Deleted| one.key.as_ref().map(|at| u64::from(at.start) << 32 | u64::from(at.end - at.start));
        LogKeys { places: all.iter().map(place).collect(), bytes: text.clone() }
    }

    /// The values of one ordering field in a delete block, as the field's own; none of other fields.
    pub(super) fn ordering_of_deletes(&self, name: &str, deletes: &Deletes) -> Result<Option<ArrayRef>> {
        let Some(at) = self.ordering.iter().position(|field| field.name == name) else { return Ok(None) };
        let several = self.ordering.len();
        let values = deletes.deleted.iter().map(|one| match &one.ordering {
            Ordering::Array(values) if values.len() == several => values.get(at),
            Ordering::Array(_) => None,
            only => Some(only).filter(|_| several == 1),
        });
        let Some(field) = self.ordering.get(at) else { return Ok(None) };
        field.column_of_deletes(values, &deletes.text)
    }

    /// The ordering values of a delete block, as values of the table's ordering columns. A value of another class than
    /// the column's cannot be compared: Hudi lets such a delete win, and so it counts as unordered here.
    pub(super) fn deleted_ordering(&self, all: &[Deleted], content: &[u8]) -> Result<OrderingColumn> {
        match self.ordering.as_slice() {
            [] => Ok(OrderingColumn::Unordered),
            [only] => only.of_deletes(all.iter().map(|one| Some(&one.ordering)), content),
            several => {
                let of = |field: usize| {
                    all.iter().map(move |one| match &one.ordering {
                        Ordering::Array(values) if values.len() == several.len() => values.get(field),
                        _ => None,
                    })
                };
                let fields = several.iter().enumerate().map(|(at, field)| field.of_deletes(of(at), content));
                let tuples = OrderingColumn::tuple(&fields.collect::<Result<Vec<_>>>()?, all.len());
                let ordered = all
                    .iter()
                    .map(|one| matches!(&one.ordering, Ordering::Array(values) if values.len() == several.len()));
                Ok(tuples.only_where(&ordered.collect::<Vec<_>>()))
            }
        }
    }
}

impl OrderingField {
    fn of(table: &avro::Schema, types: &arrow_schema::Schema, name: &str) -> Result<Self> {
        let millis = table.field(name).is_some_and(|field| {
            matches!(field.ty.non_null(), avro::Type::TimestampMillis | avro::Type::LocalTimestampMillis)
        });
        Ok(Self { name: name.to_owned(), kind: type_of(types, name)?, millis, is_binlog_place: false, widens: true })
    }

    fn of_rows(&self, column: &ArrayRef) -> Result<OrderingColumn> {
        if self.is_binlog_place {
            return Ok(wide_column(column.as_string::<i32>().iter().map(|text| text.and_then(binlog_place)).collect()));
        }
        OrderingColumn::of(column)
    }

    fn of_deletes<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a Ordering>>,
        content: &[u8],
    ) -> Result<OrderingColumn> {
        Ok(match &self.kind {
            DataType::Utf8 if self.is_binlog_place => {
                let texts = text_column(values, content)?;
                wide_column(texts.iter().map(|text| text.and_then(binlog_place)).collect())
            }
            DataType::Utf8 => OrderingColumn::Bytes(text_column(values, content)?.into()),
            DataType::Decimal128(_, scale) => {
                wide_column(values.map(|one| one.and_then(|one| decimal(one, *scale))).collect())
            }
            other => fixed_column(values.map(|one| one.and_then(|one| self.fixed(one, other))).collect()),
        })
    }

    /// The values as the field's own. A value of another class is null.
    fn column_of_deletes<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a Ordering>>,
        content: &[u8],
    ) -> Result<Option<ArrayRef>> {
        let real = |value: Option<&Ordering>| match value? {
            Ordering::Float(value) => Some(f64::from(*value)),
            Ordering::Double(value) => Some(*value),
            _ => None,
        };
        Ok(Some(match &self.kind {
            DataType::Utf8 => Arc::new(text_column(values, content)?),
            DataType::Float64 => Arc::new(values.map(real).collect::<Float64Array>()),
            #[allow(clippy::cast_possible_truncation)]
            DataType::Float32 => {
                Arc::new(values.map(|value| real(value).map(|value| value as f32)).collect::<Float32Array>())
            }
            DataType::Decimal128(precision, scale) => {
                let digits = values.map(|one| one.and_then(|one| decimal(one, *scale)));
                let digits = digits.collect::<Decimal128Array>().with_precision_and_scale(*precision, *scale);
                Arc::new(digits.map_err(|error| Error::invalid_table("a decimal column").caused_by(error))?)
            }
            whole => {
                let numbers: ArrayRef =
                    Arc::new(values.map(|one| one.and_then(|one| self.fixed(one, whole))).collect::<Int64Array>());
                let narrow = |kind| arrow_cast::cast(&numbers, kind);
                let column = match whole {
                    DataType::Date32 => narrow(&DataType::Int32).and_then(|days| arrow_cast::cast(&days, whole)),
                    other => narrow(other),
                };
                return Ok(column.ok());
            }
        }))
    }

    fn fixed(&self, value: &Ordering, kind: &DataType) -> Option<i64> {
        match (value, kind) {
            (Ordering::Int(0), DataType::Int32) => Some(0),
            // Hudi writes the `Integer` 0 for deletes without an ordering value, whatever the column's type.
            (Ordering::Int(0), _) => None,
            (Ordering::Int(value) | Ordering::Date(value), DataType::Int32 | DataType::Date32) => {
                Some(i64::from(*value))
            }
            (Ordering::Int(value), DataType::Int64) if self.widens => Some(i64::from(*value)),
            (Ordering::Long(value), DataType::Int64) => Some(*value),
            (Ordering::Long(value), DataType::Timestamp(TimeUnit::Microsecond, _))
                if self.millis && *value <= MOST_MILLIS =>
            {
                value.checked_mul(1000)
            }
            (Ordering::Long(value) | Ordering::TimestampMicros(value), DataType::Timestamp(..)) => Some(*value),
            (Ordering::Float(value), DataType::Float32) => Some(crate::merge::double_order(f64::from(*value))),
            // A float column that became a double one: by its decimal text, as Hudi widens floats.
            (Ordering::Float(value), DataType::Float64) => {
                value.to_string().parse().ok().map(crate::merge::double_order)
            }
            (Ordering::Double(value), DataType::Float64) => Some(crate::merge::double_order(*value)),
            (Ordering::Boolean(value), DataType::Boolean) => Some(i64::from(*value)),
            (Ordering::TimeMicros(value), DataType::Int64) => Some(*value),
            _ => None,
        }
    }
}

fn type_of(types: &arrow_schema::Schema, name: &str) -> Result<DataType> {
    if let Some((_, field)) = types.fields().find(name) {
        return Ok(field.data_type().clone());
    }
    let why =
        if name.contains('.') { "is nested; this release merges by top-level fields" } else { "is not in its schema" };
    Err(Error::unsupported(format!("the table's ordering field {name:?} {why}")))
}

/// At the column's scale; digits that it has no room for are cut, as if rounded towards the smaller value.
fn decimal(value: &Ordering, scale: i8) -> Option<i128> {
    let Ordering::Decimal { unscaled, scale: own } = value else { return None };
    // A scale is whatever the file says.
    let shift = i32::from(scale).checked_sub(*own)?;
    let factor = 10_i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 { unscaled.checked_mul(factor) } else { Some(unscaled.div_euclid(factor)) }
}

/// `file.position` as one number that orders by file, then position.
fn binlog_place(text: &str) -> Option<i128> {
    let (file, position) = text.split_once('.')?;
    Some(i128::from(file.parse::<i64>().ok()?) << 64 | i128::from(position.parse::<u64>().ok()?))
}

/// Both spellings, where capitals make no difference.
fn marks(marker: &DeleteMarker) -> Vec<String> {
    if !marker.any_case {
        return vec![marker.marker.clone()];
    }
    let mut marks = vec![marker.marker.to_lowercase(), marker.marker.to_uppercase()];
    marks.dedup();
    marks
}

fn nulls_of<T>(values: &[Option<T>]) -> Option<NullBuffer> {
    values.iter().any(Option::is_none).then(|| values.iter().map(Option::is_some).collect::<Vec<_>>().into())
}

fn fixed_column(values: Vec<Option<i64>>) -> OrderingColumn {
    let nulls = nulls_of(&values);
    OrderingColumn::Fixed(values.into_iter().map(Option::unwrap_or_default).collect(), nulls)
}

fn wide_column(values: Vec<Option<i128>>) -> OrderingColumn {
    let nulls = nulls_of(&values);
    OrderingColumn::Wide(values.into_iter().map(Option::unwrap_or_default).collect(), nulls)
}

fn text_column<'a>(values: impl Iterator<Item = Option<&'a Ordering>>, content: &[u8]) -> Result<StringArray> {
    let texts = values.map(|value| match value {
        Some(Ordering::Text(at)) => {
            let bytes = content.get(at.start as usize..at.end as usize).unwrap_or_default();
            let text = std::str::from_utf8(bytes).map_err(|error| {
                Error::corrupt("the ordering value of a deleted key is not UTF-8")
                    .at_offset(u64::from(at.start))
                    .caused_by(error)
            })?;
            Ok(Some(text))
        }
        _ => Ok(None),
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binlog_places_compare_as_numbers() {
        let ascending = ["00001.5", "00001.10", "2.0", "10.0"].map(|text| binlog_place(text).unwrap());
        assert!(ascending.is_sorted());
        assert_eq!(["", "1", "a.b", "1.-2"].map(binlog_place), [None; 4]);
    }

    #[test]
    fn decimals_of_deletes_come_to_the_scale_of_the_column() {
        let of = |unscaled, scale| Ordering::Decimal { unscaled, scale };
        for (value, scale, expected) in [
            (of(12_340_000_000_000_000, 15), 2, Some(1234)),
            (of(1234, 2), 4, Some(123_400)),
            (of(-1239, 3), 2, Some(-124)),
            (of(i128::MAX, 0), 2, None),
            (of(1, -40), 2, None),
            (of(1, i32::MIN), 2, None),
            (of(4_999_999, 6), 2, Some(499)),
            (Ordering::Int(3), 2, None),
        ] {
            assert_eq!(decimal(&value, scale), expected, "{value:?}");
        }
    }

    #[test]
    fn marks_of_payload_classes_are_told_in_any_case() {
        let marker = |any_case| DeleteMarker { field: "Op".into(), marker: "D".into(), any_case };
        assert_eq!(marks(&marker(true)), ["d", "D"]);
        assert_eq!(marks(&marker(false)), ["D"]);
    }

    /// Where Hudi 1.2.0 compares, so does this. A class that its reader fails on has an order here where it says the same.
    #[test]
    fn a_deletes_ordering_value_on_a_column_of_another_type() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let of = |kind: &DataType, millis: bool, value: Ordering| {
            let (name, kind) = ("ts".into(), kind.clone());
            let field = OrderingField { name, kind, millis, is_binlog_place: false, widens: true };
            assert!(
                value != Ordering::Int(7)
                    || OrderingField { widens: false, ..field.clone() }.fixed(&value, &field.kind).is_none()
            );
            field.fixed(&value, &field.kind)
        };
        assert_eq!(of(&DataType::Date32, false, Ordering::Date(18_661)), Some(18_661));
        assert_eq!(of(&DataType::Date32, false, Ordering::Int(18_661)), Some(18_661));
        assert_eq!(of(&DataType::Date32, false, Ordering::Long(18_661)), None);
        assert_eq!(of(&DataType::Int64, false, Ordering::Int(7)), Some(7));
        assert_eq!(of(&DataType::Int64, false, Ordering::Int(0)), None, "no ordering value");
        assert_eq!(of(&DataType::Int64, false, Ordering::Long(0)), Some(0));
        assert_eq!(of(&DataType::Int32, false, Ordering::Long(7)), None);
        assert_eq!(of(&micros, false, Ordering::TimestampMicros(5)), Some(5));
        assert_eq!(of(&micros, false, Ordering::Long(5)), Some(5));
        assert_eq!(of(&micros, true, Ordering::Long(5)), Some(5_000));
        assert_eq!(of(&micros, true, Ordering::Long(MOST_MILLIS + 1)), Some(MOST_MILLIS + 1));
    }
}
