//! The columns of rows that are merged without a table: which ones the older and the newer rows must have, and their
//! types.
//!
//! | column | in the older rows | in the newer rows |
//! |---|---|---|
//! | of the result | required | required, except for partial records |
//! | with delete markers | optional | optional |
//! | that orders commits | optional | optional |
//!
//! Columns that the merge reads are cast to the types that a table has (`Int16` to int, `LargeUtf8` to string); the
//! others, and the rows of the result, keep theirs. There are no casts between types that differ otherwise.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::MergeConfig;
use mortice_merge::keys::FieldPath;

/// The columns of rows that are to be merged, and how they are merged.
pub(in crate::read) struct RowColumns<'a> {
    pub(in crate::read) older: &'a Schema,
    pub(in crate::read) newer: &'a Schema,
    pub(in crate::read) record_key: &'a [String],
    pub(in crate::read) merge: &'a MergeConfig,
    pub(in crate::read) commit_order: &'a [String],
    pub(in crate::read) partial: bool,
    pub(in crate::read) emit_deletes: bool,
}

impl RowColumns<'_> {
    /// The columns of the result.
    pub(in crate::read) fn output(&self) -> Schema {
        if !self.emit_deletes {
            return Schema::new(self.older.fields().clone());
        }
        // All columns of a deleted row are nullable.
        let mut fields: Vec<Field> =
            self.older.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        if self.older.fields().find(meta_columns::OPERATION).is_none() {
            fields.push(Field::new(meta_columns::OPERATION, DataType::Utf8, true));
        }
        Schema::new(fields)
    }

    /// All columns that are merged: those of the result, then those with delete markers that only the newer rows have.
    pub(in crate::read) fn all(&self) -> Schema {
        let output = self.output();
        let newer = self.newer.fields().iter();
        let marks = newer
            .filter(|field| marks_deletes(self.merge, field.name()) && output.fields().find(field.name()).is_none());
        Schema::new(output.fields().iter().chain(marks).cloned().collect::<Vec<_>>())
    }

    /// Whether older or newer rows have a `_hoodie_operation`.
    pub(in crate::read) fn have_operation(&self) -> bool {
        [self.older, self.newer].iter().any(|rows| rows.fields().find(meta_columns::OPERATION).is_some())
    }

    /// Returns the columns of older rows that newer ones lack. Columns with delete markers only if rows are partial:
    /// they are null otherwise.
    pub(in crate::read) fn lacked(&self) -> impl Iterator<Item = &str> {
        let older = self.older.fields().iter().map(|field| field.name().as_str());
        let counts = |name: &str| self.partial || !marks_deletes(self.merge, name);
        older.filter(move |name| self.newer.fields().find(name).is_none() && counts(name))
    }

    /// Returns an error if the columns of older and newer rows do not fit together.
    pub(in crate::read) fn check(&self) -> Result<()> {
        once("older", self.older)?;
        once("newer", self.newer)?;
        if self.record_key.is_empty() {
            return Err(Error::invalid_argument(
                "no record key: name the column, or the columns, that rows are merged by",
            ));
        }
        for name in self.record_key {
            there("older", self.older, name, "the record key")?;
            there("newer", self.newer, name, "the record key")?;
        }
        for name in &self.merge.ordering_fields {
            there("older", self.older, name, "the ordering field")?;
            if !self.partial {
                there("newer", self.newer, name, "the ordering field")?;
            }
        }
        for name in self.commit_order {
            there("newer", self.newer, name, "which gives their commit order")?;
        }
        match self.lacked().next() {
            Some(name) if !self.partial => {
                return Err(Error::invalid_argument(format!(
                    "the newer rows have no column {name:?}, which the older ones have; select the same columns, or say that missing ones are unchanged (partial)"
                )));
            }
            _ => {}
        }
        self.newer.fields().iter().try_for_each(|field| self.check_newer(field))
    }

    fn check_newer(&self, field: &Field) -> Result<()> {
        let name = field.name();
        match self.older.fields().find(name) {
            Some((_, older)) if fits(field.data_type(), older.data_type()) => Ok(()),
            Some((_, older)) => Err(Error::invalid_argument(format!(
                "the column {name:?} is {} in the newer rows and {} in the older ones; cast one of them",
                field.data_type(),
                older.data_type()
            ))),
            None if marks_deletes(self.merge, name) || self.commit_order.contains(name) => Ok(()),
            None => Err(Error::invalid_argument(format!(
                "the newer rows have a column {name:?} that the older ones lack and that is not a delete marker; omit it, or add it to the older rows"
            ))),
        }
    }
}

/// Returns true if a column may have delete markers, and so is optional in the older rows.
pub(in crate::read) fn marks_deletes(merge: &MergeConfig, name: &str) -> bool {
    let own = merge.delete_marker.as_ref().map(|marker| marker.field.as_str());
    [meta_columns::IS_DELETED, meta_columns::OPERATION].contains(&name) || own == Some(name)
}

fn once(which: &str, rows: &Schema) -> Result<()> {
    let names: Vec<&String> = rows.fields().iter().map(|field| field.name()).collect();
    match names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|other| other == *name)) {
        Some((_, name)) => Err(Error::invalid_argument(format!("the {which} rows have two columns {name:?}"))),
        None => Ok(()),
    }
}

fn there(which: &str, rows: &Schema, name: &str, why: &str) -> Result<()> {
    if FieldPath::new(name).type_in(rows).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = rows.fields().iter().map(|field| field.name().as_str()).collect();
    let known = known.join(", ");
    Err(Error::invalid_argument(format!("the {which} rows have no column {name:?}, {why}; they have {known}")))
}

/// Returns the same columns, all nullable; those that `which` selects have the types of a table.
pub(in crate::read) fn in_table_types(columns: &Schema, which: impl Fn(&str) -> bool) -> Schema {
    let field = |field: &Arc<Field>| {
        let kind = if which(field.name()) { table_type(field.data_type()) } else { field.data_type().clone() };
        field.as_ref().clone().with_data_type(kind).with_nullable(true)
    };
    Schema::new(columns.fields().iter().map(field).collect::<Vec<_>>())
}

/// Returns the type that a table has for values of a type, if there is one.
pub(in crate::read) fn table_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => table_type(values),
        other => other.clone(),
    }
}

/// Returns the Avro schema of rows: the given one for the columns that it has, otherwise the one that Hudi would
/// create.
///
/// A column whose type or name Avro does not have is declared as nullable bytes: a merge does not need more of its
/// values.
pub(in crate::read) fn avro_schema(columns: &Schema, given: Option<&avro::Schema>) -> Result<avro::Schema> {
    let field = |column: &Field| -> Result<avro::Field> {
        if let Some(field) = given.and_then(|given| given.field(column.name())) {
            return Ok(field.clone());
        }
        let made = avro::hudi_schema(&Schema::new(vec![column.clone()]), "rows").ok();
        let made = made.and_then(|made| made.fields().first().cloned());
        Ok(made.unwrap_or_else(|| avro::Field {
            name: column.name().clone(),
            ty: avro::Type::Bytes.nullable(),
            default: Some(serde_json::Value::Null),
        }))
    };
    let fields = columns.fields().iter().map(|column| field(column)).collect::<Result<Vec<_>>>()?;
    avro::hudi_schema(&Schema::empty(), "rows")?.with_fields(fields)
}

/// Returns true if values of two types have the same type in a table.
pub(in crate::read) fn fits(one: &DataType, other: &DataType) -> bool {
    match (table_type(one), table_type(other)) {
        (DataType::Timestamp(unit, zone), DataType::Timestamp(other_unit, other_zone)) => {
            unit == other_unit && zone.is_some() == other_zone.is_some()
        }
        (one, other) => one.equals_datatype(&other),
    }
}

/// Returns the columns of `schema` from a batch, in its types. Those that `may_be_missing` selects are null if the
/// batch lacks them.
pub(in crate::read) fn conformed(
    batch: &RecordBatch,
    schema: &SchemaRef,
    may_be_missing: &dyn Fn(&str) -> bool,
) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => as_type(column, field.data_type(), field.name()),
        None if may_be_missing(field.name()) => Ok(new_null_array(field.data_type(), batch.num_rows())),
        None => Err(Error::invalid_argument(format!("no column {:?} in a batch of the rows", field.name()))),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<Vec<_>>>()?, &options)
        .map_err(|error| Error::invalid_argument("rows that are not as their schema says").caused_by(error))
}

/// Casts a column to a type that fits.
pub(in crate::read) fn as_type(column: &ArrayRef, kind: &DataType, name: &str) -> Result<ArrayRef> {
    if column.data_type() == kind {
        return Ok(Arc::clone(column));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, kind, &options).map_err(|error| {
        Error::invalid_argument(format!("the column {name:?} does not fit in {kind}")).caused_by(error)
    })
}

/// Returns the named columns of a batch.
pub(in crate::read) fn named(batch: &RecordBatch, names: impl IntoIterator<Item = String>) -> Result<RecordBatch> {
    let schema = batch.schema();
    let places = names.into_iter().map(|name| {
        schema.index_of(&name).map_err(|error| Error::invalid_argument(format!("no column {name:?}")).caused_by(error))
    });
    let places = places.collect::<Result<Vec<_>>>()?;
    batch.project(&places).map_err(|error| Error::invalid_argument("columns of rows").caused_by(error))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int16Array, Int32Array, LargeStringArray};
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn types_that_are_one_to_a_table() {
        let zone = |zone: &str| DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into()));
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        for (one, other) in [
            (DataType::Int16, DataType::Int32),
            (DataType::LargeUtf8, DataType::Utf8View),
            (dictionary, DataType::Utf8),
            (zone("UTC"), zone("Europe/Berlin")),
        ] {
            assert!(fits(&one, &other), "{one} {other}");
        }
        for (one, other) in [
            (DataType::Int32, DataType::Int64),
            (DataType::Utf8, DataType::Binary),
            (zone("UTC"), DataType::Timestamp(TimeUnit::Microsecond, None)),
            (zone("UTC"), DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
        ] {
            assert!(!fits(&one, &other), "{one} {other}");
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_an_error_and_no_null() {
        let wide: ArrayRef = Arc::new(Int32Array::from(vec![1, 70_000]));
        let error = as_type(&wide, &DataType::Int16, "n").unwrap_err();
        assert!(
            error.kind() == mortice_base::ErrorKind::InvalidArgument && error.to_string().contains("\"n\""),
            "{error}"
        );
        let narrow: ArrayRef = Arc::new(Int16Array::from(vec![1]));
        assert_eq!(as_type(&narrow, &DataType::Int32, "n").unwrap().data_type(), &DataType::Int32);
    }

    #[test]
    fn columns_that_avro_does_not_know_are_there_all_the_same() {
        let columns = Schema::new(vec![
            Field::new("a b", DataType::Int32, true),
            Field::new("span", DataType::Duration(TimeUnit::Second), true),
            Field::new("n", DataType::Int32, true),
        ]);
        let given = avro::Schema::parse(
            r#"{"type": "record", "name": "r", "fields": [{"name": "n", "type": "int", "default": 7}]}"#,
        );
        let schema = avro_schema(&columns, Some(&given.unwrap())).unwrap();
        let defaults: Vec<_> =
            schema.fields().iter().map(|field| (field.name.as_str(), field.default.clone())).collect();
        let null = Some(serde_json::Value::Null);
        assert_eq!(defaults, [("a b", null.clone()), ("span", null), ("n", Some(7.into()))]);
    }

    #[test]
    fn a_missing_column_is_null_where_it_may_be() {
        let strings: ArrayRef = Arc::new(LargeStringArray::from(vec!["a"]));
        let batch = RecordBatch::try_from_iter([("t", strings)]).unwrap();
        let fields = vec![Field::new("n", DataType::Int32, true), Field::new("t", DataType::Utf8, true)];
        let schema = Arc::new(Schema::new(fields));
        let rows = conformed(&batch, &schema, &|name| name == "n").unwrap();
        assert_eq!((rows.column(0).null_count(), rows.column(1).data_type()), (1, &DataType::Utf8));
        assert!(conformed(&batch, &schema, &|_| false).is_err());
    }
}
