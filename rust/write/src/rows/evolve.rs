//! How a table's column changes with the column of a write (`AvroSchemaEvolutionUtils`, `AvroSchemaUtils.findMissingFields`): numbers
//! become wider or strings, structs get fields, at any depth.

use std::sync::Arc;

use arrow_schema::{DataType, Fields};
use serde_json::Value;

use super::conform::holds;
use mortice_avro::{self as avro, Field, Record, Type};
use mortice_base::error::{Error, Result};

/// Nullable columns and fields of the table that rows do not have are null.
pub(crate) const FILL_MISSING: &str = "hoodie.write.set.null.for.missing.columns";

/// How the columns of a write are taken into a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnEvolution {
    /// Whether nullable columns of the table that the rows do not have are null. Otherwise they are an error.
    pub(crate) fills: bool,
}

impl ColumnEvolution {
    /// The fields of a record of the table, of the Arrow types `own`, which hold the values of the columns `given`, too. `path` is the
    /// record's column, empty for the table. A field that cannot hold the values stays as it is.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the field, for a missing one, for one that is there twice, and for a new one whose name differs from
    /// another in case alone, or whose type a table cannot have.
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
        fields.extend(added_fields(given, &record.fields, &record.name, path)?);
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
            (number, own, given) => widened(number, own, given),
        };
        Ok(found.map(|found| if ty.is_nullable() { found.nullable() } else { found }))
    }
}

/// New columns or fields of structs, which rows of other writes do not have: nullable.
///
/// # Errors
/// `InvalidArgument`, naming the field, for one that has no type in Avro.
fn added_fields(given: &Fields, own: &[Field], namespace: &str, path: &str) -> Result<Vec<Field>> {
    let is_new = |name: &str| own.iter().all(|field| field.name != *name);
    let added: Fields = given.iter().filter(|column| is_new(column.name())).cloned().collect();
    avro::check_new_columns(&added, path)?;
    let fields = avro::hudi_fields(&added, namespace, path)?;
    Ok(fields.into_iter().map(|field| Field { default: Some(Value::Null), ..field.nullable() }).collect())
}

/// int to long, float, double; long to float, double; float to double; each of them to string.
fn widened(number: &Type, own: &DataType, given: &DataType) -> Option<Type> {
    let is_number = matches!(number, Type::Int | Type::Long | Type::Float | Type::Double);
    if !is_number || holds(own, given) {
        return None;
    }
    match (own, given) {
        (DataType::Int32, DataType::Int64 | DataType::UInt32) => Some(Type::Long),
        (DataType::Int32 | DataType::Int64, DataType::Float32) => Some(Type::Float),
        (DataType::Int32 | DataType::Int64 | DataType::Float32, DataType::Float64) => Some(Type::Double),
        (_, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => Some(Type::String),
        _ => None,
    }
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
    let remedy = if is_nullable { format!(", or set {FILL_MISSING}=true, which writes null") } else { String::new() };
    Error::invalid_argument(format!("the rows have no column {path:?}, which the table has; add it{remedy}"))
}
