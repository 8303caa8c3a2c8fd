//! How a table's column changes with the column of a write (`AvroSchemaEvolutionUtils`,
//! `AvroSchemaUtils.findMissingFields`): numbers become wider or strings, structs get fields, at any depth.

use std::sync::Arc;

use arrow_schema::{DataType, Fields};
use serde_json::Value;

use super::exact_cast::holds;
use super::options::RowOptions;
use mortice_avro::{self as avro, Field, Record, Type};
use mortice_base::error::{Error, Result};
use mortice_merge::config::option_names::{WRITE_SCHEMA, WRITE_SET_NULL_FOR_MISSING_COLUMNS};

/// Which columns of a table a write may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaChanges {
    /// None: the rows have the table's columns.
    None,
    /// Columns, and fields of structs, are added.
    Add,
    /// The same, and types become wider.
    Evolve,
}

impl SchemaChanges {
    /// Those that options ask for.
    pub(crate) fn from_options(options: &RowOptions) -> Result<Self> {
        match options.schema_changes.as_deref().map(|word| word.trim().to_ascii_lowercase()).as_deref() {
            Some("exact") => Ok(Self::None),
            Some("add") => Ok(Self::Add),
            Some("evolve") => Ok(Self::Evolve),
            Some(other) => Err(Error::internal(format!("option {WRITE_SCHEMA}={other} was not checked"))),
            None if options.reconciles => Ok(Self::Evolve),
            None => Ok(Self::None),
        }
    }
}

/// How the columns of a write are taken into a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnEvolution {
    /// Which columns of the table change.
    changes: SchemaChanges,
    /// Whether nullable columns of the table that the rows do not have are null. Otherwise they are an error.
    fills: bool,
}

impl ColumnEvolution {
    /// The one that options ask for.
    pub(crate) fn from_options(options: &RowOptions) -> Result<Self> {
        let fills = options.fills_missing || options.reconciles;
        Ok(Self { changes: SchemaChanges::from_options(options)?, fills })
    }

    /// The fields of a record of the table, of the Arrow types `own`, which hold the values of the columns `given`,
    /// too. `path` is the record's column, empty for the table. A field that cannot hold the values stays as it is.
    pub(crate) fn fields(self, record: &Record, own: &Fields, given: &Fields, path: &str) -> Result<Vec<Field>> {
        avro::check_names(given, &record.fields, path)?;
        let mut fields = Vec::with_capacity(record.fields.len());
        for (field, own) in record.fields.iter().zip(own) {
            let path = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            fields.push(match given.find(&field.name) {
                Some((_, column)) => {
                    let ty = self.ty(&field.ty, own.data_type(), column.data_type(), &path)?;
                    ty.map_or_else(|| field.clone(), |ty| Field { ty, ..field.clone() })
                }
                None if field.ty.is_nullable() && self.fills => field.clone(),
                None => return Err(missing(&path, field.ty.is_nullable())),
            });
        }
        fields.extend(self.added_fields(given, record, path)?);
        Ok(fields)
    }

    /// None if the type stays as it is.
    fn ty(self, ty: &Type, own: &DataType, given: &DataType, path: &str) -> Result<Option<Type>> {
        let found = match (ty.non_null(), own, given) {
            (Type::Record(record), DataType::Struct(own), DataType::Struct(given)) if record.logical.is_none() => {
                let fields = self.fields(record, own, given, path)?;
                (fields != record.fields).then(|| Type::Record(Arc::new(Record { fields, ..record.as_ref().clone() })))
            }
            (Type::Array(item), DataType::List(own), given) => match item_of(given) {
                Some(given) => self.ty(item, own.data_type(), given, path)?.map(|item| Type::Array(Arc::new(item))),
                None => None,
            },
            (Type::Map(value), DataType::Map(own, _), DataType::Map(given, _)) => {
                match (value_of(own.data_type()), value_of(given.data_type())) {
                    (Some(own), Some(given)) => {
                        self.ty(value, own, given, path)?.map(|value| Type::Map(Arc::new(value)))
                    }
                    _ => None,
                }
            }
            (number, own, given) if self.changes == SchemaChanges::Evolve => widened(number, own, given),
            _ => None,
        };
        Ok(found.map(|found| if ty.is_nullable() { found.nullable() } else { found }))
    }

    /// New columns or fields of structs, which rows of other writes do not have: nullable.
    fn added_fields(self, given: &Fields, record: &Record, path: &str) -> Result<Vec<Field>> {
        let is_new = |name: &str| record.fields.iter().all(|field| field.name != *name);
        let added: Fields = given.iter().filter(|column| is_new(column.name())).cloned().collect();
        let Some(first) = added.first() else { return Ok(Vec::new()) };
        if self.changes == SchemaChanges::None {
            let name = if path.is_empty() { first.name().clone() } else { format!("{path}.{}", first.name()) };
            return Err(Error::invalid_argument(format!(
                "the table has no column {name:?}, which the rows have; leave it out of the rows, or write with schema=\"add\", which adds it to the table"
            )));
        }
        avro::check_new_columns(&added, path)?;
        let fields = avro::hudi_fields(&added, &record.name, path)?;
        Ok(fields.into_iter().map(|field| Field { default: Some(Value::Null), ..field.nullable() }).collect())
    }
}

/// int to long, float, double; long to float, double; float to double; each of them to string.
fn widened(number: &Type, own: &DataType, given: &DataType) -> Option<Type> {
    let is_number = matches!(number, Type::Int | Type::Long | Type::Float | Type::Double);
    if !is_number || !widens(own, given) {
        return None;
    }
    match given {
        DataType::Int64 | DataType::UInt32 => Some(Type::Long),
        DataType::Float32 => Some(Type::Float),
        DataType::Float64 => Some(Type::Double),
        _ => Some(Type::String),
    }
}

/// Whether a column of numbers would get another type to hold that of the rows.
pub(super) fn widens(own: &DataType, given: &DataType) -> bool {
    use DataType as T;
    let is_wider = matches!(
        (own, given),
        (T::Int32, T::Int64 | T::UInt32)
            | (T::Int32 | T::Int64, T::Float32)
            | (T::Int32 | T::Int64 | T::Float32, T::Float64)
            | (T::Int32 | T::Int64 | T::Float32 | T::Float64, T::Utf8 | T::LargeUtf8 | T::Utf8View)
    );
    is_wider && !holds(own, given)
}

fn item_of(list: &DataType) -> Option<&DataType> {
    match list {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item.data_type()),
        _ => None,
    }
}

fn value_of(entries: &DataType) -> Option<&DataType> {
    match entries {
        DataType::Struct(fields) => fields.get(1).map(|value| value.data_type()),
        _ => None,
    }
}

fn missing(path: &str, is_nullable: bool) -> Error {
    let remedy = if is_nullable {
        format!(", or set {WRITE_SET_NULL_FOR_MISSING_COLUMNS}=true, which writes null")
    } else {
        String::new()
    };
    Error::invalid_argument(format!("the rows have no column {path:?}, which the table has; add it{remedy}"))
}
