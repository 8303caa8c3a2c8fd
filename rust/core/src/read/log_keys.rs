//! What the merge needs to know of each log record, and nothing else: where its key lies, what it is ordered by, whether
//! it is a delete. Unwanted columns are stepped over, not decoded.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, SchemaRef, TimeUnit};

use crate::avro::{self, Want};
use crate::config::MergeConfig;
use crate::error::{Error, Result};
use crate::log::content::deleted::{Deleted, Ordering};
use crate::merge::{DeleteMarkers, OrderingColumn};
use crate::names::meta_columns;

/// What Hudi takes for milliseconds on a column of milliseconds (`OrderingValueEngineTypeConverter`); more is microseconds.
const MOST_MILLIS: i64 = 9_999_999_999_999;

/// The columns that tell of a record, by the table's schema and merge rules.
#[derive(Debug, Clone)]
pub(super) struct KeyColumns {
    /// The record key.
    pub(super) key: String,
    /// The ordering fields; none in commit-time ordering.
    ordering: Vec<OrderingField>,
    is_deleted: Option<String>,
    operation: Option<String>,
    delete_field: Option<(String, String)>,
}

/// A field that records are ordered by.
#[derive(Debug, Clone)]
struct OrderingField {
    name: String,
    kind: DataType,
    /// Whether it counts milliseconds in Avro.
    millis: bool,
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
        meta: bool,
    ) -> Result<Self> {
        if !meta {
            return Err(Error::unsupported(
                "merging a table without meta columns (hoodie.populate.meta.fields=false); its read-optimized view can be read",
            ));
        }
        let ordering = merge.ordering_fields.iter().map(|name| OrderingField::of(table, types, name));
        let there = |name: &str| table.field(name).map(|_| name.to_owned());
        Ok(Self {
            key: meta_columns::RECORD_KEY.to_owned(),
            ordering: ordering.collect::<Result<_>>()?,
            is_deleted: there(meta_columns::IS_DELETED),
            operation: there(meta_columns::OPERATION),
            delete_field: merge
                .delete_marker
                .as_ref()
                .filter(|delete| table.field(&delete.field).is_some())
                .map(|delete| (delete.field.clone(), delete.marker.clone())),
        })
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
        std::iter::once(self.key.clone()).chain(self.ordering.iter().map(|field| field.name.clone())).collect()
    }

    /// What to decode of a data block, in the order that [`KeyColumns::batch`] takes it.
    pub(super) fn wants(&self) -> Vec<Want> {
        let mut wants = vec![Want::Place(self.key.clone())];
        wants.extend(self.ordering.iter().map(|field| Want::Value(field.name.clone())));
        wants.extend(self.is_deleted.iter().cloned().map(Want::Value));
        wants.extend(self.operation.iter().cloned().map(Want::Value));
        wants.extend(self.delete_field.iter().map(|(name, _)| Want::Value(name.clone())));
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
        let ordering = ordering_of(&ordering)?;
        let mut when = |there: bool| -> Result<Option<ArrayRef>> { if there { next().map(Some) } else { Ok(None) } };
        let markers = DeleteMarkers {
            is_deleted: when(self.is_deleted.is_some())?,
            operation: when(self.operation.is_some())?,
            field: when(self.delete_field.is_some())?.zip(self.delete_field.as_ref().map(|(_, marker)| marker.clone())),
        };
        Ok(KeyBatch { ordering, markers })
    }

    /// The ordering values of base rows.
    pub(super) fn base_ordering(&self, base: &RecordBatch) -> Result<OrderingColumn> {
        let columns = self.ordering.iter().map(|field| {
            let column = base.column_by_name(&field.name).cloned();
            column.ok_or_else(|| Error::invalid_table(format!("no column {:?} in the base file", field.name)))
        });
        ordering_of(&columns.collect::<Result<Vec<_>>>()?)
    }

    /// The keys of a delete block.
    pub(super) fn deleted_keys(&self, all: &[Deleted]) -> UInt64Array {
        all.iter()
            .map(|one| one.key.as_ref().map(|at| u64::from(at.start) << 32 | u64::from(at.end - at.start)))
            .collect()
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
        Ok(Self { name: name.to_owned(), kind: type_of(types, name)?, millis })
    }

    fn of_deletes<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a Ordering>>,
        content: &[u8],
    ) -> Result<OrderingColumn> {
        Ok(match &self.kind {
            DataType::Utf8 => text_column(values, content)?,
            DataType::Decimal128(_, scale) => {
                wide_column(values.map(|one| one.and_then(|one| decimal(one, *scale))).collect())
            }
            other => fixed_column(values.map(|one| one.and_then(|one| self.fixed(one, other))).collect()),
        })
    }

    fn fixed(&self, value: &Ordering, kind: &DataType) -> Option<i64> {
        match (value, kind) {
            (Ordering::Int(0), DataType::Int32) => Some(0),
            // Hudi writes the `Integer` 0 for deletes without an ordering value, whatever the column's type.
            (Ordering::Int(0), _) => None,
            (Ordering::Int(value) | Ordering::Date(value), DataType::Int32 | DataType::Date32) => {
                Some(i64::from(*value))
            }
            (Ordering::Int(value), DataType::Int64) => Some(i64::from(*value)),
            (Ordering::Int(value), DataType::Float32 | DataType::Float64) => {
                Some(crate::merge::double_order(f64::from(*value)))
            }
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

/// The values of no, one or several ordering columns.
fn ordering_of(columns: &[ArrayRef]) -> Result<OrderingColumn> {
    match columns {
        [] => Ok(OrderingColumn::Unordered),
        [only] => OrderingColumn::of(only),
        several => {
            let fields = several.iter().map(OrderingColumn::of).collect::<Result<Vec<_>>>()?;
            Ok(OrderingColumn::tuple(&fields, several.first().map_or(0, |column| column.len())))
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
    let shift = i32::from(scale) - own;
    let factor = 10_i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 { unscaled.checked_mul(factor) } else { Some(unscaled.div_euclid(factor)) }
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

fn text_column<'a>(values: impl Iterator<Item = Option<&'a Ordering>>, content: &[u8]) -> Result<OrderingColumn> {
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
    Ok(OrderingColumn::Bytes(texts.collect::<Result<StringArray>>()?.into()))
}
