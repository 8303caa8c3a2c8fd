//! Batches converted to the columns of a parquet file.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use serde_json::Value;

use super::avro_rows::through_avro;
use super::direct::direct;
use super::lists::ListStructure;
use super::stored::{stored, stored_schema};
use crate::avro::{Encoder, Field, Schema, Types, arrow_schema};
use crate::error::{Error, Result};

/// Converts batches to the columns that a parquet file of a record schema stores. Columns are matched to fields by name.
///
/// Columns of the file's own types are passed on as they are. A column that a value could be refused of is encoded as Avro and
/// decoded again, so that [`Encoder`] alone says what a schema takes.
#[derive(Debug)]
pub struct ParquetColumns {
    schema: Schema,
    lists: ListStructure,
    /// The fields' Arrow types before decimals become bytes.
    types: ArrowSchema,
    stored: SchemaRef,
    /// The batch schema that was checked last.
    checked: Option<SchemaRef>,
}

impl ParquetColumns {
    /// Creates a converter for a record schema.
    ///
    /// # Errors
    /// `InvalidTable` if the schema is not a record; `Unsupported`, naming the field, for types that have no Arrow type.
    pub fn new(schema: &Schema, lists: ListStructure) -> Result<Self> {
        let types = arrow_schema(schema, Types::File)?;
        let stored = stored_schema(schema, lists)?;
        Ok(Self { schema: schema.clone(), lists, types, stored, checked: None })
    }

    /// The types of the converted columns.
    #[must_use]
    pub const fn stored_schema(&self) -> &SchemaRef {
        &self.stored
    }

    /// Checks that rows of these columns can be written.
    ///
    /// # Errors
    /// `InvalidArgument`, as [`Encoder::new`].
    pub fn check(&mut self, columns: &SchemaRef) -> Result<()> {
        if self.checked.as_ref() != Some(columns) {
            Encoder::new(&self.schema, columns)?;
            self.checked = Some(Arc::clone(columns));
        }
        Ok(())
    }

    /// Converts a batch.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and field, for columns and values that the schema does not take (see [`Encoder`]).
    pub fn convert(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.check(batch.schema_ref())?;
        let fields = &self.schema.as_record()?.fields;
        let mut columns: Vec<Option<ArrayRef>> = fields
            .iter()
            .zip(self.types.fields())
            .map(|(field, target)| column_of(field, batch, target.data_type()))
            .collect();
        let rest: Vec<Field> = fields
            .iter()
            .zip(&columns)
            .filter(|(_, column)| column.is_none())
            .map(|(field, _)| field.clone())
            .collect();
        if !rest.is_empty() {
            let encoded = through_avro(&Schema::record(&self.schema.as_record()?.name, rest), batch)?;
            let missing = columns.iter_mut().filter(|column| column.is_none());
            missing.zip(encoded.columns()).for_each(|(column, encoded)| *column = Some(Arc::clone(encoded)));
        }
        let columns: Vec<ArrayRef> = columns.into_iter().flatten().collect();
        if columns.len() != fields.len() {
            return Err(Error::internal("a column was lost on the way to parquet"));
        }
        stored(&columns, &self.schema, &self.stored, self.lists)
    }
}

/// The column of a field, if it can be converted directly; nulls if there is none and null is its default.
fn column_of(field: &Field, batch: &RecordBatch, target: &DataType) -> Option<ArrayRef> {
    match batch.column_by_name(&field.name) {
        Some(column) => direct(&field.ty, column, target),
        None if field.ty.is_nullable() && matches!(field.default, None | Some(Value::Null)) => {
            Some(new_null_array(target, batch.num_rows()))
        }
        None => None,
    }
}
