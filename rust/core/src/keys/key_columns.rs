//! What the merge needs to know of each log record, and nothing else: where its key lies, what it is ordered by, whether
//! it is a delete. Unwanted columns are stepped over, not decoded.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;

use super::ordering_field::{Nulls, OrderingField, is_unordered};
use super::record_key::{LogKeys, RecordKey};
use crate::avro::{self, Want};
use crate::config::{DeleteMarker, MergeConfig, Semantics};
use crate::error::{Error, Result};
use crate::filter::KeyFilter;
use crate::log::content::deleted::{Deleted, Deletes, Ordering};
use crate::merge::{DeleteMarkers, OrderingColumn};
use crate::names::meta_columns;

/// Where Debezium records of MySQL hold their place in the binlog (`DebeziumConstants.ADDED_SEQ_COL_NAME`).
const BINLOG_PLACE: &str = "_event_seq";

/// The columns that tell of a record, by the table's schema and merge rules.
#[derive(Debug, Clone)]
pub(crate) struct KeyColumns {
    /// The record key.
    pub(crate) key: RecordKey,
    /// The ordering fields; none in commit-time ordering.
    ordering: Vec<OrderingField>,
    is_deleted: Option<String>,
    operation: Option<String>,
    delete_field: Option<String>,
    /// What in the delete field marks a delete.
    marks: Vec<String>,
    payload: Payload,
    semantics: Semantics,
    /// The record key of records that are merged by row number.
    key_of_numbered: Option<RecordKey>,
    /// Of those, the keys that are wanted, unless all are: these records are decoded with their keys.
    wanted: Option<KeyFilter>,
}

/// What the payload class asks for beside that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payload {
    /// Nothing.
    Plain,
    /// Records are ordered by `_event_seq`, whatever ordering field is stored (`MySqlDebeziumAvroPayload`).
    ByBinlogPlace,
    /// `_hoodie_is_deleted` is filled as any column, and looked at again (`OverwriteNonDefaultsWithLatestAvroPayload`,
    /// `PartialUpdateAvroPayload`).
    FillsFlag,
    /// Every record is a delete (`EmptyHoodieRecordPayload`).
    DeletesAll,
}

/// Ordering and deletes of records of a data block.
pub(crate) struct KeyBatch {
    pub(crate) ordering: OrderingColumn,
    /// Rows that are deletes; none where no row is one.
    pub(crate) deleted: Option<BooleanArray>,
}

impl KeyColumns {
    /// Of a table. [`crate::Kind::Unsupported`], by name, for what this release cannot merge.
    pub(crate) fn of(
        table: &avro::Schema,
        types: &arrow_schema::Schema,
        merge: &MergeConfig,
        virtual_key: Option<&[String]>,
        semantics: Semantics,
    ) -> Result<Self> {
        let payload = match merge.hudis_payload() {
            Some("MySqlDebeziumAvroPayload") if is_text(types, BINLOG_PLACE) => Payload::ByBinlogPlace,
            Some("OverwriteNonDefaultsWithLatestAvroPayload" | "PartialUpdateAvroPayload") => Payload::FillsFlag,
            Some("EmptyHoodieRecordPayload") => Payload::DeletesAll,
            _ => Payload::Plain,
        };
        let field = |name: &str| OrderingField::of(table, types, name, semantics);
        let ordering: Result<Vec<OrderingField>> = match payload {
            Payload::ByBinlogPlace => field(BINLOG_PLACE).map(|field| vec![field]),
            _ => merge.ordering_fields.iter().map(|name| field(name)).collect(),
        };
        let marker = merge.delete_marker.as_ref().filter(|delete| table.field(&delete.field).is_some());
        let there = |name: &str| table.field(name).map(|_| name.to_owned());
        Ok(Self {
            key: RecordKey::of(virtual_key)?,
            ordering: ordering?,
            is_deleted: there(meta_columns::IS_DELETED),
            operation: there(meta_columns::OPERATION),
            delete_field: marker.map(|delete| delete.field.clone()),
            marks: marker.map(marks).unwrap_or_default(),
            payload,
            semantics,
            key_of_numbered: None,
            wanted: None,
        })
    }

    /// The same, `_hoodie_operation` no column of the table's.
    #[must_use]
    pub(crate) fn without_operation(self) -> Self {
        Self { operation: None, ..self }
    }

    /// The same, records told by the numbers of base rows. Records of data blocks whose keys are not wanted are skipped.
    #[must_use]
    pub(crate) fn by_number(self, wanted: &KeyFilter) -> Self {
        let wanted = (!matches!(wanted, KeyFilter::All)).then(|| wanted.clone());
        Self { key: RecordKey::Number, key_of_numbered: Some(self.key), wanted, ..self }
    }

    /// The record key, of records that are merged by row number as well.
    fn record_key(&self) -> &RecordKey {
        self.key_of_numbered.as_ref().unwrap_or(&self.key)
    }

    /// What is decoded of log records to tell them apart.
    fn log_key(&self) -> &RecordKey {
        if self.wanted.is_some() { self.record_key() } else { &self.key }
    }

    /// The one column that holds the whole record key, if there is one.
    pub(crate) fn key_column(&self) -> Option<&str> {
        self.record_key().column()
    }

    /// Of records that are merged by row number, which have a wanted key; none where all keys are wanted.
    pub(crate) fn are_wanted(&self, decoded: &RecordBatch, content: &Bytes) -> Result<Option<BooleanArray>> {
        let Some(wanted) = &self.wanted else { return Ok(None) };
        let (keys, _) = self.record_key().of_log(decoded, content, &[])?;
        Ok(Some(keys.iter().map(|key| Some(key.is_some_and(|key| wanted.passes(key)))).collect()))
    }

    /// The keys of records of a data block, or the row numbers given; and the columns behind those of the keys.
    pub(crate) fn of_log<'a>(
        &self,
        decoded: &'a RecordBatch,
        content: &Bytes,
        numbers: &[u64],
    ) -> Result<(LogKeys, &'a [ArrayRef])> {
        let (keys, rest) = self.log_key().of_log(decoded, content, numbers)?;
        let keys = if self.key == RecordKey::Number { LogKeys::of_numbers(numbers) } else { keys };
        Ok((keys, rest))
    }

    /// Where nothing is merged: neither ordering nor delete marks.
    pub(crate) fn unordered(virtual_key: Option<&[String]>) -> Result<Self> {
        let key = RecordKey::of(virtual_key)?;
        Ok(Self {
            key,
            ordering: Vec::new(),
            is_deleted: None,
            operation: None,
            delete_field: None,
            marks: Vec::new(),
            payload: Payload::Plain,
            semantics: Semantics::V1x,
            key_of_numbered: None,
            wanted: None,
        })
    }

    /// Whether the one ordering field is an int or a date, whose 0 is Hudi's default. A tuple of values is never that.
    pub(crate) fn is_ordered_by_an_integer(&self) -> bool {
        matches!(self.ordering.as_slice(), [only] if only.is_integer())
    }

    /// Whether the payload class of a newer record compares its ordering value with one that it reads from an older Avro record: it
    /// does only if both are of one class (`PartialUpdateAvroPayload.isRecordNewer`).
    pub(crate) fn compares_with_avro(&self) -> bool {
        match self.ordering.as_slice() {
            [only] => match &only.kind {
                DataType::Date32 | DataType::Decimal128(..) => false,
                DataType::Utf8 => self.semantics == Semantics::V0x,
                _ => true,
            },
            _ => false,
        }
    }

    /// Whether the ordering field is a place in a MySQL binlog, compared as two numbers.
    pub(crate) fn is_ordered_by_binlog_place(&self) -> bool {
        self.payload == Payload::ByBinlogPlace
    }

    /// The column that records are ordered by, first of all.
    pub(crate) fn first_ordering_column(&self) -> Option<&str> {
        self.ordering.first().map(|field| field.path.column())
    }

    /// The one ordering column, where whole numbers order.
    pub(crate) fn whole_numbers(&self) -> Option<&str> {
        match self.ordering.as_slice() {
            [only] => only.whole_numbers(),
            _ => None,
        }
    }

    /// Columns that base rows must bring to be merged.
    pub(crate) fn of_base(&self) -> Vec<String> {
        let ordering = self.ordering.iter().map(|field| field.path.column().to_owned());
        self.key.columns().into_iter().chain(ordering).collect()
    }

    /// The flag of deletes, where a fold has to look at it.
    pub(crate) fn filled_flag(&self) -> Option<&str> {
        self.is_deleted.as_deref().filter(|_| self.payload == Payload::FillsFlag)
    }

    /// Columns that every row must bring to be folded.
    pub(crate) fn fold_columns(&self) -> Vec<String> {
        self.first_ordering_column().into_iter().chain(self.filled_flag()).map(str::to_owned).collect()
    }

    /// What to decode of a data block, in the order that [`KeyColumns::batch`] takes it.
    pub(crate) fn wants(&self) -> Vec<Want> {
        let mut wants = self.log_key().wants();
        wants.extend(self.ordering.iter().map(|field| Want::Value(field.path.column().to_owned())));
        wants.extend(self.is_deleted.iter().cloned().map(Want::Value));
        wants.extend(self.operation.iter().cloned().map(Want::Value));
        wants.extend(self.delete_field.iter().cloned().map(Want::Value));
        wants
    }

    /// The same columns, of a format that is read by columns.
    pub(crate) fn columns(&self, types: &arrow_schema::Schema) -> Result<SchemaRef> {
        let fields = self.wants().into_iter().map(|want| match types.fields().find(want.name()) {
            Some((_, field)) => Ok(Arc::clone(field)),
            None => Err(Error::invalid_table(format!("no column {:?} in the table", want.name()))),
        });
        Ok(Arc::new(arrow_schema::Schema::new(fields.collect::<Result<Vec<_>>>()?)))
    }

    /// The columns after the key, by what they mean; of so many rows.
    pub(crate) fn batch(&self, decoded: &[ArrayRef], rows: usize) -> Result<KeyBatch> {
        let mut columns = decoded.iter().cloned();
        let mut next = || columns.next().ok_or_else(|| Error::internal("a key column was not decoded"));
        let ordering = self.ordering.iter().map(|_| next()).collect::<Result<Vec<_>>>()?;
        let ordering = self.ordering_of(&ordering, self.nulls(Nulls::AreDefault))?;
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

    /// The ordering values of base rows.
    pub(crate) fn base_ordering(&self, base: &RecordBatch) -> Result<OrderingColumn> {
        let columns = self.ordering.iter().map(|field| {
            let name = field.path.column();
            let column = base.column_by_name(name).cloned();
            column.ok_or_else(|| Error::invalid_table(format!("no column {name:?} in the base file")))
        });
        // Payload classes know that a stored row may have no ordering value.
        let nulls = if self.semantics == Semantics::V0x { Nulls::AreNothing } else { Nulls::AreDefault };
        self.ordering_of(&columns.collect::<Result<Vec<_>>>()?, self.nulls(nulls))
    }

    /// Rows that are folded by a payload class, which tells null from 0 itself, keep their nulls.
    fn nulls(&self, otherwise: Nulls) -> Nulls {
        if self.payload == Payload::FillsFlag { Nulls::AreNothing } else { otherwise }
    }

    /// The values of no, one or several ordering columns.
    fn ordering_of(&self, columns: &[ArrayRef], nulls: Nulls) -> Result<OrderingColumn> {
        let fields = self.ordering.iter().zip(columns).map(|(field, column)| field.of_rows(column, nulls));
        let mut fields = fields.collect::<Result<Vec<_>>>()?;
        match fields.len() {
            0 => Ok(OrderingColumn::Unordered),
            1 => Ok(fields.remove(0)),
            _ => Ok(OrderingColumn::tuple(&fields, columns.first().map_or(0, |column| column.len()))),
        }
    }

    /// The keys of a delete block: in its text, or the numbers given.
    pub(crate) fn deleted_keys(&self, all: &[Deleted], text: &Bytes, numbers: &[u64]) -> LogKeys {
        if self.key == RecordKey::Number {
            return LogKeys::of_numbers(numbers);
        }
        let place = |one: &Deleted| one.key.as_ref().map(|at| u64::from(at.start) << 32 | u64::from(at.end - at.start));
        LogKeys { places: all.iter().map(place).collect(), bytes: text.clone() }
    }

    /// The values of one ordering field in a delete block, as the field's own; none of other fields.
    pub(crate) fn ordering_of_deletes(&self, name: &str, deletes: &Deletes) -> Result<Option<ArrayRef>> {
        let Some(at) = self.ordering.iter().position(|field| field.path.name() == name) else { return Ok(None) };
        let several = self.ordering.len();
        let values = deletes.deleted.iter().map(|one| match several {
            1 => Some(&one.ordering),
            _ => tuple_of(one, several)?.get(at),
        });
        let Some(field) = self.ordering.get(at) else { return Ok(None) };
        field.column_of_deletes(values, &deletes.text)
    }

    /// The ordering values of a delete block, as values of the table's ordering columns.
    pub(crate) fn deleted_ordering(&self, all: &[Deleted], content: &[u8]) -> Result<OrderingColumn> {
        match self.ordering.as_slice() {
            [] => Ok(OrderingColumn::Unordered),
            [only] => only.of_deletes(&all.iter().map(|one| Some(&one.ordering)).collect::<Vec<_>>(), content),
            several => {
                let tuple = |one| tuple_of(one, several.len());
                let of = |at: usize| all.iter().map(|one| tuple(one)?.get(at)).collect::<Vec<_>>();
                let fields = several.iter().enumerate().map(|(at, field)| field.of_deletes(&of(at), content));
                let tuples = OrderingColumn::tuple(&fields.collect::<Result<Vec<_>>>()?, all.len());
                let ordered: Vec<bool> = all.iter().map(|one| tuple(one).is_some()).collect();
                // One value, or a tuple of another length, cannot be compared.
                let foreign = all.iter().map(|one| tuple(one).is_none() && !is_unordered(&one.ordering)).collect();
                Ok(tuples.only_where(&ordered).with_foreign(foreign))
            }
        }
    }
}

/// The ordering values of as many fields; none where the delete has another number of them.
fn tuple_of(deleted: &Deleted, fields: usize) -> Option<&[Ordering]> {
    match &deleted.ordering {
        Ordering::Array(values) if values.len() == fields => Some(values),
        _ => None,
    }
}

fn is_text(types: &arrow_schema::Schema, name: &str) -> bool {
    types.fields().find(name).is_some_and(|(_, field)| *field.data_type() == DataType::Utf8)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_payload_classes_are_told_in_any_case() {
        let marker = |any_case| DeleteMarker { field: "Op".into(), marker: "D".into(), any_case };
        assert_eq!(marks(&marker(true)), ["d", "D"]);
        assert_eq!(marks(&marker(false)), ["D"]);
    }
}
