//! Changes of columns, as they are asked for, made to the columns of a table.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use serde_json::Value;

use super::altered::AlteredSchema;
use super::ids::branch;
use super::{AlteredColumns, stored_columns};
use mortice_avro::{Schema, hudi_fields};
use mortice_base::error::{Error, Result};
use mortice_table::plan::OpenTable;
use mortice_write::rows::SchemaChange;

/// Changes of columns, by paths. They are made in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnChanges {
    /// Columns that are dropped.
    pub drop: Vec<String>,
    /// Columns and their new names.
    pub rename: Vec<(String, String)>,
    /// Columns and their wider types.
    pub widen: Vec<(String, DataType)>,
    /// New columns and their types.
    pub add: Vec<(String, DataType)>,
    /// Columns and their descriptions.
    pub comment: Vec<(String, String)>,
    /// Columns that may be null.
    pub relax: Vec<String>,
    /// Columns, and those that they are put behind; none puts them first.
    pub place: Vec<(String, Option<String>)>,
}

impl ColumnChanges {
    /// The columns of a table after the changes, and what is said of these.
    pub(super) fn made(&self, table: &OpenTable) -> Result<(AlteredColumns, Vec<SchemaChange>)> {
        if *self == Self::default() {
            return Err(Error::invalid_argument(
                "alter needs a change: add, drop, rename, type, comment, nullable or move",
            ));
        }
        let mut schema = stored_schema(table)?;
        // Hudi reads a file by the types that columns had when it was written, which the history of ids says: without
        // it, a number that has become wider is an error of its reader (measured with Hudi 1.2).
        if !(self.drop.is_empty() && self.rename.is_empty() && self.widen.is_empty()) {
            schema.give_ids()?;
        }
        let (_, types) = table.schema_at(None)?;
        for path in &self.drop {
            schema.drop(path)?;
        }
        for (path, name) in &self.rename {
            schema.rename(path, name)?;
        }
        let mut changes = Vec::new();
        for (path, kind) in &self.widen {
            schema.widen(path, &avro_of(kind, path, &schema)?)?;
            let before = types.fields().find(path).map(|(_, field)| field.data_type().clone());
            changes.push(SchemaChange { column: path.clone(), before, after: kind.clone() });
        }
        for (path, kind) in &self.add {
            schema.add(path, &avro_of(kind, path, &schema)?, &table.config.partition_fields)?;
            changes.push(SchemaChange { column: path.clone(), before: None, after: kind.clone() });
        }
        for (path, text) in &self.comment {
            schema.comment(path, text)?;
        }
        for path in &self.relax {
            schema.relax(path)?;
        }
        for (path, behind) in &self.place {
            schema.place(path, behind.as_deref())?;
        }
        Ok((schema.into_columns(), changes))
    }
}

fn stored_schema(table: &OpenTable) -> Result<AlteredSchema> {
    let (text, ids) = stored_columns(table)?;
    let config = &table.config;
    let keys = [&config.record_key_fields, &config.partition_fields, &config.ordering_fields];
    let fixed = keys.into_iter().flatten().filter_map(|name| name.split(['.', ':']).next().map(str::to_owned));
    AlteredSchema::new(parsed(&text)?, ids.as_deref().map(parsed).transpose()?, fixed.collect())
}

fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| Error::invalid_table("the stored schema is no JSON").caused_by(error))
}

/// The Avro type of a column, without null, as a write of it would store it.
fn avro_of(kind: &DataType, path: &str, schema: &AlteredSchema) -> Result<Value> {
    let name = path.rsplit('.').next().unwrap_or(path);
    let namespace = schema.namespace(path);
    let columns = Fields::from(vec![Arc::new(Field::new(name, kind.clone(), true))]);
    let record = parsed(Schema::record(&namespace, hudi_fields(&columns, &namespace, "")?).json())?;
    let kind = record.pointer("/fields/0/type").ok_or_else(|| Error::internal("a record without its field"))?;
    Ok(branch(kind)?.0.clone())
}
