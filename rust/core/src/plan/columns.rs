//! The columns of an answer.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use crate::avro::{self, Types};
use crate::error::{Error, Result};
use crate::names::meta_columns;
use crate::split::Deletes;

/// The schema of rows among which are deletes: every column may be null, and one tells which they are.
pub(super) fn marking(schema: avro::Schema) -> Result<(avro::Schema, SchemaRef, Deletes)> {
    let has_column = schema.field(meta_columns::OPERATION).is_some();
    let mut fields: Vec<avro::Field> = schema.fields().iter().cloned().map(avro::Field::nullable).collect();
    if !has_column {
        fields.push(avro::Field::nullable_string(meta_columns::OPERATION));
    }
    let schema = schema.with_fields(fields)?;
    let types = Arc::new(avro::arrow_schema(&schema, Types::Table)?);
    Ok((schema, types, if has_column { Deletes::InTablesColumn } else { Deletes::InAddedColumn }))
}

/// The columns asked for, checked against the schema; all of them where none were named.
pub(super) fn columns(types: &Schema, asked: Option<&[String]>) -> Result<Vec<String>> {
    let Some(asked) = asked else {
        return Ok(types.fields().iter().map(|field| field.name().clone()).collect());
    };
    let known = || types.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
    for (index, name) in asked.iter().enumerate() {
        if types.fields().find(name).is_none() {
            let nested = if name.contains('.') { "; nested fields cannot be asked for alone" } else { "" };
            return Err(Error::invalid_argument(format!(
                "no column {name:?} in the table{nested}; it has: {}",
                known()
            )));
        }
        if asked.iter().take(index).any(|earlier| earlier == name) {
            return Err(Error::invalid_argument(format!("column {name:?} is asked for twice")));
        }
    }
    Ok(asked.to_vec())
}

/// A schema of some of its columns, in their order.
pub(super) fn projected(types: &Schema, columns: &[String]) -> SchemaRef {
    let fields = columns.iter().filter_map(|name| types.fields().find(name)).map(|(_, field)| Arc::clone(field));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
