//! The schema of a write: the table's, with what the user's columns add to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use serde_json::Value;

use super::conform::holds;
use crate::avro::{self, ArrowMapping, Field, Schema, Type};
use crate::config::option_values;
use crate::error::{Error, Result};
use crate::names::meta_columns;
use crate::plan::OpenTable;

const FILL_MISSING: &str = "hoodie.write.set.null.for.missing.columns";

/// The columns of a write.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WriteSchema {
    /// The table's columns, without meta columns: what the commit stores.
    pub(super) columns: Schema,
    /// What files store: with meta columns, if the table has them.
    pub(super) stored: Schema,
    /// The Arrow types of `columns`.
    pub(super) types: SchemaRef,
}

impl WriteSchema {
    /// The schema that the table has, for deletes: no rows are written.
    ///
    /// # Errors
    /// As for the table's schema.
    pub(super) fn of_table(table: &OpenTable) -> Result<Self> {
        let (found, _) = table.schema_at(None)?;
        Self::from_columns(table, found.files.without_fields(&meta_columns::ALL)?)
    }

    /// The schema of the table with these columns written to it. Columns that the table does not have are added, nullable; a column
    /// of integers or floats becomes as wide as the user's.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the column, if a column is missing, or of a type that neither holds the other; `Unsupported` for
    /// tables whose columns have ids (schema on read) if columns are added.
    pub(super) fn resolve(table: &OpenTable, given: &ArrowSchema, options: &BTreeMap<String, String>) -> Result<Self> {
        let given = without_meta_columns(given);
        let Some(own) = own_columns(table)? else {
            return Self::from_columns(table, avro::hudi_schema(&given, &table.config.name)?);
        };
        let (found, has_ids) = own;
        let fills = option_values::boolean(options, FILL_MISSING, false)?;
        let mut fields: Vec<Field> = Vec::new();
        let types = avro::arrow_schema(&found, ArrowMapping::Table)?;
        for (field, own) in found.fields().iter().zip(types.fields()) {
            match given.fields().find(&field.name) {
                Some((_, column)) => fields.push(widened(field, own.data_type(), column.data_type())),
                None if field.ty.is_nullable() && fills => fields.push(field.clone()),
                None => return Err(missing(field)),
            }
        }
        let added: Vec<_> =
            given.fields().iter().filter(|column| found.field(column.name()).is_none()).cloned().collect();
        if has_ids && (!added.is_empty() || fields != found.fields()) {
            let names: Vec<_> = added.iter().map(|column| format!("{:?}", column.name())).collect();
            return Err(Error::unsupported(format!(
                "columns {} are added or changed, but the table's columns have ids (schema on read): change its schema with Hudi first",
                names.join(", ")
            )));
        }
        let added = avro::hudi_schema(&ArrowSchema::new(added), &table.config.name)?;
        fields.extend(
            added.fields().iter().map(|field| Field { default: Some(Value::Null), ..field.clone().nullable() }),
        );
        Self::from_columns(table, found.with_fields(fields)?)
    }

    /// The schema that another process resolved for the same table, from the Avro JSON of its columns.
    ///
    /// # Errors
    /// `InvalidArgument` for JSON that is no schema.
    pub(super) fn of_json(table: &OpenTable, json: &str) -> Result<Self> {
        Self::from_columns(table, Schema::parse(json)?)
    }

    fn from_columns(table: &OpenTable, columns: Schema) -> Result<Self> {
        let stored = match table.config.populate_meta_fields {
            true => columns.with_leading_nullable_strings(&meta_columns::ALL)?,
            false => columns.clone(),
        };
        let types = Arc::new(avro::arrow_schema(&columns, ArrowMapping::Table)?);
        Ok(Self { columns, stored, types })
    }
}

/// The table's columns without meta columns, and whether they have ids; none if the table has neither a commit nor a schema.
fn own_columns(table: &OpenTable) -> Result<Option<(Schema, bool)>> {
    let is_empty = table.timeline.completed_writes().next().is_none();
    if is_empty && table.config.create_schema.is_none() {
        return Ok(None);
    }
    let (found, _) = table.schema_at(None)?;
    Ok(Some((found.files.without_fields(&meta_columns::ALL)?, found.internal.is_some())))
}

/// A column of rows that is not written: whether a row deletes its key, with any ordering value. So one commit has updates and
/// deletes, and the table needs no column for it.
pub(super) const DELETES_KEY: &str = "_mortice_deletes_key";

/// The columns without those that Hudi adds, and without the mark of deletes.
pub(super) fn without_meta_columns(given: &ArrowSchema) -> ArrowSchema {
    let is_meta = |name: &str| meta_columns::ALL.contains(&name) || name == DELETES_KEY;
    ArrowSchema::new(given.fields().iter().filter(|field| !is_meta(field.name())).cloned().collect::<Vec<_>>())
}

/// The field, wide enough for the user's column (`AvroSchemaUtils`: int to long, float, double; long and float to double).
fn widened(field: &Field, own: &DataType, given: &DataType) -> Field {
    let wider = match (own, given) {
        (DataType::Int32, DataType::Int64 | DataType::UInt32) if matches!(field.ty.non_null(), Type::Int) => Type::Long,
        (DataType::Int32 | DataType::Int64, DataType::Float32) if is_number(field) => Type::Float,
        (DataType::Int32 | DataType::Int64 | DataType::Float32, DataType::Float64) if is_number(field) => Type::Double,
        _ => return field.clone(),
    };
    if holds(own, given) {
        return field.clone();
    }
    let ty = if field.ty.is_nullable() { wider.nullable() } else { wider };
    Field { ty, ..field.clone() }
}

fn is_number(field: &Field) -> bool {
    matches!(field.ty.non_null(), Type::Int | Type::Long | Type::Float)
}

fn missing(field: &Field) -> Error {
    let remedy =
        if field.ty.is_nullable() { format!(", or set {FILL_MISSING}=true, which writes null") } else { String::new() };
    Error::invalid_argument(format!("the rows have no column {:?}, which the table has; add it{remedy}", field.name))
}
