//! The columns that the merge needs of each log record: the record key, the ordering value, and the delete marker.
//! Other columns are skipped, not decoded.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;

use super::ordering_field::{MissingOrdering, OrderingField, is_unordered};
use super::record_key::{LogKeys, RecordKey};
use crate::config::{DeleteMarker, MergeConfig, MergeSemantics, PayloadClass};
use crate::merge::{DeleteMarkers, OrderingColumn};
use mortice_avro::{self as avro, RequestedColumn};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_formats::filter::KeyFilter;
use mortice_formats::log::content::deleted::{DeletedKey, DeletedKeys, StoredOrdering};

/// The binlog position in Debezium records of MySQL (`DebeziumConstants.ADDED_SEQ_COL_NAME`).
const BINLOG_POSITION: &str = "_event_seq";

/// The columns that the merge reads, by the table's schema and merge configuration.
#[derive(Debug, Clone)]
pub struct KeyColumns {
    /// The record key.
    pub key: RecordKey,
    /// The ordering fields; empty for commit-time ordering.
    ordering: Vec<OrderingField>,
    is_deleted: Option<String>,
    operation: Option<String>,
    delete_field: Option<String>,
    /// The values of the delete field that mark a delete.
    marks: Vec<String>,
    payload: Payload,
    semantics: MergeSemantics,
    /// Whether deletes are looked for at all.
    reads_marks: bool,
    /// The record key of records that are merged by row number.
    key_of_numbered: Option<RecordKey>,
    /// For those records: the required keys, if not all are required. The records are then decoded with their keys.
    wanted: Option<KeyFilter>,
}

/// Additional requirements of the payload class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payload {
    /// None.
    Plain,
    /// Records are ordered by `_event_seq`, even if another ordering field is stored (`MySqlDebeziumAvroPayload`).
    ByBinlogPosition,
    /// `_hoodie_is_deleted` is filled like any column, and evaluated again after that
    /// (`OverwriteNonDefaultsWithLatestAvroPayload`, `PartialUpdateAvroPayload`).
    FillsFlag,
    /// Every record is a delete (`EmptyHoodieRecordPayload`).
    DeletesAll,
}

/// Ordering values and deletes of the records of a data block.
pub struct KeyBatch {
    /// The ordering value of each record.
    pub ordering: OrderingColumn,
    /// Rows that are deletes; `None` if there are none.
    pub deleted: Option<BooleanArray>,
}

impl KeyColumns {
    /// Returns the columns of a table. Returns [`mortice_base::ErrorKind::Unsupported`], with the name, for merging
    /// that this release does not support.
    pub fn new(
        table: &avro::Schema,
        types: &arrow_schema::Schema,
        merge: &MergeConfig,
        virtual_key: Option<&[String]>,
        semantics: MergeSemantics,
    ) -> Result<Self> {
        let payload = match merge.hudis_payload() {
            Some(PayloadClass::MySqlDebezium) if is_text(types, BINLOG_POSITION) => Payload::ByBinlogPosition,
            Some(PayloadClass::OverwriteNonDefaults | PayloadClass::PartialUpdate) => Payload::FillsFlag,
            Some(PayloadClass::Empty) => Payload::DeletesAll,
            _ => Payload::Plain,
        };
        let field = |name: &str| OrderingField::new(table, types, name, semantics);
        let ordering: Result<Vec<OrderingField>> = match payload {
            Payload::ByBinlogPosition => field(BINLOG_POSITION).map(|field| vec![field]),
            _ => merge.ordering_fields.iter().map(|name| field(name)).collect(),
        };
        let marker = merge.delete_marker.as_ref().filter(|delete| table.field(&delete.field).is_some());
        let there = |name: &str| table.field(name).map(|_| name.to_owned());
        Ok(Self {
            key: RecordKey::new(virtual_key)?,
            ordering: ordering?,
            is_deleted: there(meta_columns::IS_DELETED),
            operation: there(meta_columns::OPERATION),
            delete_field: marker.map(|delete| delete.field.clone()),
            marks: marker.map(marks).unwrap_or_default(),
            payload,
            semantics,
            reads_marks: true,
            key_of_numbered: None,
            wanted: None,
        })
    }

    /// Returns the same columns for a table without the column `_hoodie_operation`.
    #[must_use]
    pub fn without_operation(self) -> Self {
        Self { operation: None, ..self }
    }

    /// Returns the same columns for a block that has `_hoodie_operation` although the table's schema does not: commits
    /// of Hudi never name it. Returns `None` if nothing changes.
    #[must_use]
    pub fn with_operation_of(&self, writer: &avro::Schema) -> Option<Self> {
        let is_new = self.reads_marks && self.operation.is_none();
        let is_text = |field: &avro::Field| *field.ty.non_null() == avro::Type::String;
        let has_operation = is_new && writer.field(meta_columns::OPERATION).is_some_and(is_text);
        has_operation.then(|| Self { operation: Some(meta_columns::OPERATION.to_owned()), ..self.clone() })
    }

    /// Returns the same columns for records that are identified by row numbers of the base file. Records of data blocks
    /// whose keys are not required are skipped.
    #[must_use]
    pub fn by_number(self, wanted: &KeyFilter) -> Self {
        let wanted = (!matches!(wanted, KeyFilter::All)).then(|| wanted.clone());
        Self { key: RecordKey::Number, key_of_numbered: Some(self.key), wanted, ..self }
    }

    /// Returns the record key, also for records that are merged by row number.
    fn record_key(&self) -> &RecordKey {
        self.key_of_numbered.as_ref().unwrap_or(&self.key)
    }

    /// Returns the key that is decoded of log records to identify them.
    fn log_key(&self) -> &RecordKey {
        if self.wanted.is_some() { self.record_key() } else { &self.key }
    }

    /// Returns the column with the whole record key, if there is one.
    pub fn key_column(&self) -> Option<&str> {
        self.record_key().column()
    }

    /// Returns which records have a required key, for records that are merged by row number. Returns `None` if all keys
    /// are required.
    pub fn are_wanted(&self, decoded: &RecordBatch, content: &Bytes) -> Result<Option<BooleanArray>> {
        let Some(wanted) = &self.wanted else { return Ok(None) };
        let (keys, _) = self.record_key().split_keys(decoded, content, &[])?;
        Ok(Some(keys.iter().map(|key| Some(key.is_some_and(|key| wanted.passes(key)))).collect()))
    }

    /// Returns the keys of the records of a data block, or the given row numbers, and the columns after those of the
    /// keys.
    pub fn split_keys<'a>(
        &self,
        decoded: &'a RecordBatch,
        content: &Bytes,
        numbers: &[u64],
    ) -> Result<(LogKeys, &'a [ArrayRef])> {
        let (keys, rest) = self.log_key().split_keys(decoded, content, numbers)?;
        let keys = if self.key == RecordKey::Number { LogKeys::from_numbers(numbers) } else { keys };
        Ok((keys, rest))
    }

    /// Returns the columns for reading without a merge: neither ordering values nor delete markers.
    pub fn unordered(virtual_key: Option<&[String]>) -> Result<Self> {
        let key = RecordKey::new(virtual_key)?;
        Ok(Self {
            key,
            ordering: Vec::new(),
            is_deleted: None,
            operation: None,
            delete_field: None,
            marks: Vec::new(),
            payload: Payload::Plain,
            semantics: MergeSemantics::V1x,
            reads_marks: false,
            key_of_numbered: None,
            wanted: None,
        })
    }

    /// Returns true if the only ordering field is an int or a date, for which 0 is Hudi's default. A tuple is never
    /// that.
    pub fn is_ordered_by_an_integer(&self) -> bool {
        matches!(self.ordering.as_slice(), [only] if only.is_integer())
    }

    /// Returns true if the payload class of a newer record compares its ordering value with one that it reads from an
    /// older Avro record. It does so only if both are of one class (`PartialUpdateAvroPayload.isRecordNewer`).
    pub fn compares_with_avro(&self) -> bool {
        match self.ordering.as_slice() {
            [only] => match &only.kind {
                DataType::Date32 | DataType::Decimal128(..) => false,
                DataType::Utf8 => self.semantics == MergeSemantics::V0x,
                _ => true,
            },
            _ => false,
        }
    }

    /// Returns true if the ordering field is a MySQL binlog position, compared as two numbers.
    pub fn is_ordered_by_binlog_position(&self) -> bool {
        self.payload == Payload::ByBinlogPosition
    }

    /// Returns the first ordering column.
    pub fn first_ordering_column(&self) -> Option<&str> {
        self.ordering.first().map(|field| field.path.column())
    }

    /// Returns the only ordering column, if its values are ordered as integers.
    pub fn whole_numbers(&self) -> Option<&str> {
        match self.ordering.as_slice() {
            [only] => only.whole_numbers(),
            _ => None,
        }
    }

    /// Returns the columns that base rows must have to be merged.
    pub fn base_columns(&self) -> Vec<String> {
        let ordering = self.ordering.iter().map(|field| field.path.column().to_owned());
        self.key.columns().into_iter().chain(ordering).collect()
    }

    /// Returns the delete flag, if a fold has to evaluate it.
    pub fn filled_flag(&self) -> Option<&str> {
        self.is_deleted.as_deref().filter(|_| self.payload == Payload::FillsFlag)
    }

    /// Returns the columns that every row must have to be folded.
    pub fn fold_columns(&self) -> Vec<String> {
        self.first_ordering_column().into_iter().chain(self.filled_flag()).map(str::to_owned).collect()
    }

    /// Returns the fields of a data block to decode, in the order of [`KeyColumns::batch`].
    pub fn wants(&self) -> Vec<RequestedColumn> {
        let mut wants = self.log_key().wants();
        wants.extend(self.ordering.iter().map(|field| RequestedColumn::Value(field.path.column().to_owned())));
        wants.extend(self.is_deleted.iter().cloned().map(RequestedColumn::Value));
        wants.extend(self.operation.iter().cloned().map(RequestedColumn::Value));
        wants.extend(self.delete_field.iter().cloned().map(RequestedColumn::Value));
        wants
    }

    /// Returns the same columns, for a columnar format.
    pub fn columns(&self, types: &arrow_schema::Schema) -> Result<SchemaRef> {
        let fields = self.wants().into_iter().map(|want| match types.fields().find(want.name()) {
            Some((_, field)) => Ok(Arc::clone(field)),
            None => Err(Error::invalid_table(format!("no column {:?} in the table", want.name()))),
        });
        Ok(Arc::new(arrow_schema::Schema::new(fields.collect::<Result<Vec<_>>>()?)))
    }

    /// Interprets the columns after the key, for the given number of rows.
    pub fn batch(&self, decoded: &[ArrayRef], rows: usize) -> Result<KeyBatch> {
        let mut columns = decoded.iter().cloned();
        let mut next = || columns.next().ok_or_else(|| Error::internal("a key column was not decoded"));
        let ordering = self.ordering.iter().map(|_| next()).collect::<Result<Vec<_>>>()?;
        let ordering = self.ordering_of(&ordering, self.nulls(MissingOrdering::AreDefault))?;
        let mut when = |there: bool| -> Result<Option<ArrayRef>> { if there { next().map(Some) } else { Ok(None) } };
        let markers = DeleteMarkers {
            is_deleted: when(self.is_deleted.is_some())?,
            operation: when(self.operation.is_some())?,
            field: when(self.delete_field.is_some())?,
            marks: self.marks.clone(),
        };
        let deleted = match self.payload {
            Payload::DeletesAll => Some(BooleanArray::from(vec![true; rows])),
            _ => markers.deleted()?,
        };
        Ok(KeyBatch { ordering, deleted })
    }

    /// Returns the ordering values of base rows.
    pub fn base_ordering(&self, base: &RecordBatch) -> Result<OrderingColumn> {
        let columns = self.ordering.iter().map(|field| {
            let name = field.path.column();
            let column = base.column_by_name(name).cloned();
            column.ok_or_else(|| Error::invalid_table(format!("no column {name:?} in the base file")))
        });
        // Payload classes accept stored rows without an ordering value.
        let nulls = if self.semantics == MergeSemantics::V0x {
            MissingOrdering::AreNothing
        } else {
            MissingOrdering::AreDefault
        };
        self.ordering_of(&columns.collect::<Result<Vec<_>>>()?, self.nulls(nulls))
    }

    /// Rows folded by a payload class keep their nulls, as the class distinguishes null from 0.
    fn nulls(&self, otherwise: MissingOrdering) -> MissingOrdering {
        if self.payload == Payload::FillsFlag { MissingOrdering::AreNothing } else { otherwise }
    }

    /// Returns the values of zero or more ordering columns.
    fn ordering_of(&self, columns: &[ArrayRef], nulls: MissingOrdering) -> Result<OrderingColumn> {
        let fields = self.ordering.iter().zip(columns).map(|(field, column)| field.row_values(column, nulls));
        let mut fields = fields.collect::<Result<Vec<_>>>()?;
        match fields.len() {
            0 => Ok(OrderingColumn::Unordered),
            1 => Ok(fields.remove(0)),
            _ => Ok(OrderingColumn::tuple(&fields, columns.first().map_or(0, |column| column.len()))),
        }
    }

    /// Returns the keys of a delete block: from its bytes, or the given numbers.
    pub fn deleted_keys(&self, all: &[DeletedKey], text: &Bytes, numbers: &[u64]) -> LogKeys {
        if self.key == RecordKey::Number {
            return LogKeys::from_numbers(numbers);
        }
        let place =
            |one: &DeletedKey| one.key.as_ref().map(|at| u64::from(at.start) << 32 | u64::from(at.end - at.start));
        LogKeys { places: all.iter().map(place).collect(), bytes: text.clone() }
    }

    /// Returns the values of one ordering field in a delete block, converted to the type of the field; `None` for other
    /// fields.
    pub fn ordering_of_deletes(&self, name: &str, deletes: &DeletedKeys) -> Result<Option<ArrayRef>> {
        let Some(at) = self.ordering.iter().position(|field| field.path.name() == name) else { return Ok(None) };
        let several = self.ordering.len();
        let values = deletes.deleted.iter().map(|one| match several {
            1 => Some(&one.ordering),
            _ => tuple_of(one, several)?.get(at),
        });
        let Some(field) = self.ordering.get(at) else { return Ok(None) };
        field.column_of_deletes(values, &deletes.text)
    }

    /// Returns the same values to write them again: null for a delete without an ordering value.
    ///
    /// # Errors
    /// `Unsupported` for a delete whose ordering value is not of the column's class: it would become another one.
    pub fn exact_ordering_of_deletes(&self, name: &str, deletes: &DeletedKeys) -> Result<Option<ArrayRef>> {
        let Some(at) = self.ordering.iter().position(|field| field.path.name() == name) else { return Ok(None) };
        let Some(field) = self.ordering.get(at) else { return Ok(None) };
        let several = self.ordering.len();
        let mut values = Vec::with_capacity(deletes.deleted.len());
        for one in &deletes.deleted {
            values.push(match several {
                1 => Some(&one.ordering),
                _ => match tuple_of(one, several) {
                    Some(tuple) => tuple.get(at),
                    None if is_unordered(&one.ordering) => None,
                    None => return Err(field.inexact()),
                },
            });
        }
        field.exact_column_of_deletes(&values, &deletes.text).map(Some)
    }

    /// Returns the ordering values of a delete block, converted to the types of the table's ordering columns.
    pub fn deleted_ordering(&self, all: &[DeletedKey], content: &[u8]) -> Result<OrderingColumn> {
        match self.ordering.as_slice() {
            [] => Ok(OrderingColumn::Unordered),
            [only] => only.delete_values(&all.iter().map(|one| Some(&one.ordering)).collect::<Vec<_>>(), content),
            several => {
                let tuple = |one| tuple_of(one, several.len());
                let of = |at: usize| all.iter().map(|one| tuple(one)?.get(at)).collect::<Vec<_>>();
                let fields = several.iter().enumerate().map(|(at, field)| field.delete_values(&of(at), content));
                let tuples = OrderingColumn::tuple(&fields.collect::<Result<Vec<_>>>()?, all.len());
                let ordered: Vec<bool> = all.iter().map(|one| tuple(one).is_some()).collect();
                // A single value, or a tuple of another length, cannot be compared.
                let foreign = all.iter().map(|one| tuple(one).is_none() && !is_unordered(&one.ordering)).collect();
                Ok(tuples.only_where(&ordered).with_foreign(foreign))
            }
        }
    }
}

/// Returns the ordering values if their number is `fields`, otherwise `None`.
fn tuple_of(deleted: &DeletedKey, fields: usize) -> Option<&[StoredOrdering]> {
    match &deleted.ordering {
        StoredOrdering::Array(values) if values.len() == fields => Some(values),
        _ => None,
    }
}

fn is_text(types: &arrow_schema::Schema, name: &str) -> bool {
    types.fields().find(name).is_some_and(|(_, field)| *field.data_type() == DataType::Utf8)
}

/// Returns the marker in both cases if case does not matter.
fn marks(marker: &DeleteMarker) -> Vec<String> {
    if !marker.any_case {
        return vec![marker.marker.clone()];
    }
    let mut marks = vec![marker.marker.to_lowercase(), marker.marker.to_uppercase()];
    marks.dedup();
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_of_payload_classes_match_in_any_case() {
        let marker = |any_case| DeleteMarker { field: "Op".into(), marker: "D".into(), any_case };
        assert_eq!(marks(&marker(true)), ["d", "D"]);
        assert_eq!(marks(&marker(false)), ["D"]);
    }
}
