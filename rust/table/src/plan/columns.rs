//! The columns of the result.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use crate::split::DeleteOutput;
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::{Error, Result};
use mortice_base::names::{known_columns, meta_columns};

/// Returns the schema of rows with deletes: all columns are nullable, and one marks deletes.
pub(super) fn marking(schema: avro::Schema) -> Result<(avro::Schema, SchemaRef, DeleteOutput)> {
    let has_column = schema.field(meta_columns::OPERATION).is_some();
    let mut fields: Vec<avro::Field> = schema.fields().iter().cloned().map(avro::Field::nullable).collect();
    if !has_column {
        fields.push(avro::Field::nullable_string(meta_columns::OPERATION));
    }
    let schema = schema.with_fields(fields)?;
    let types = Arc::new(avro::arrow_schema(&schema, ArrowMapping::Table)?);
    Ok((schema, types, if has_column { DeleteOutput::InTablesColumn } else { DeleteOutput::InAddedColumn }))
}

/// Returns the projected columns, checked against the schema; all columns if `asked` is `None`.
pub(super) fn columns(types: &Schema, asked: Option<&[String]>) -> Result<Vec<String>> {
    let Some(asked) = asked else {
        return Ok(types.fields().iter().map(|field| field.name().clone()).collect());
    };
    let known = |name: &str| known_columns(name, types.fields().iter().map(|field| field.name().as_str()));
    for (index, name) in asked.iter().enumerate() {
        if types.fields().find(name).is_none() {
            let nested = if name.contains('.') { "; nested fields cannot be selected" } else { "" };
            return Err(Error::invalid_argument(format!("unknown column {name:?}{nested}; {}", known(name))));
        }
        if asked.iter().take(index).any(|earlier| earlier == name) {
            return Err(Error::invalid_argument(format!("column {name:?} is selected twice")));
        }
    }
    Ok(asked.to_vec())
}

/// Returns the schema of some columns, in their order.
pub(super) fn projected(types: &Schema, columns: &[String]) -> SchemaRef {
    let fields = columns.iter().filter_map(|name| types.fields().find(name)).map(|(_, field)| Arc::clone(field));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
