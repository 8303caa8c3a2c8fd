//! Deleted keys as rows of a native log (`HoodieSchemas.createDeleteLogSchema`): the record key, then the ordering
//! fields of the table, nullable, with their types in the table.
//!
//! Null is no ordering value: such a delete is one by commit time. Of several ordering fields a null is the default,
//! also where all are null, so that Hudi would let stored rows win over a delete without ordering values. Such deletes
//! are refused.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};

use super::delete_block::DeleteColumns;
use mortice_avro::{Field, Schema, Type};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;

/// The name of the record (`HoodieSchemas`).
const RECORD: &str = "hudi_delete_log_record";

/// The rows of the deletes of a table.
#[derive(Debug, Clone)]
pub struct NativeDeletes {
    schema: Schema,
    ordering: Vec<String>,
}

impl NativeDeletes {
    /// Of a table with these columns and ordering fields; none for a table that is merged by commit time.
    ///
    /// # Errors
    /// `Unsupported`, by name, for an ordering field that is not a column: Hudi neither writes nor reads deletes of
    /// such a table.
    pub fn new(table: &Schema, ordering: &[String]) -> Result<Self> {
        let key = Field { name: meta_columns::RECORD_KEY.to_owned(), ty: Type::String, default: None };
        let column = |name: &String| {
            let field = table.field(name).ok_or_else(|| {
                Error::unsupported(format!(
                    "deletes in the native logs of a table whose ordering field {name:?} is not a column; write marked rows (_hoodie_is_deleted), or use a copy-on-write table"
                ))
            })?;
            Ok(Field { name: name.clone(), ty: nullable(&field.ty), default: Some(serde_json::Value::Null) })
        };
        let ordering_fields = ordering.iter().map(column).collect::<Result<Vec<_>>>()?;
        let fields = std::iter::once(key).chain(ordering_fields).collect();
        Ok(Self { schema: Schema::record(RECORD, fields), ordering: ordering.to_vec() })
    }

    /// The schema of the rows.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The rows of deletes. The names of their ordering columns are those of the ordering fields; fields without a
    /// column are null.
    ///
    /// # Errors
    /// `InvalidArgument` for a missing column; `Unsupported` for a delete without ordering values in a table with
    /// several ordering fields.
    pub fn rows(&self, deletes: &RecordBatch, columns: &DeleteColumns) -> Result<RecordBatch> {
        let column = |name: &str| {
            deletes
                .column_by_name(name)
                .cloned()
                .ok_or_else(|| Error::invalid_argument(format!("the deletes have no column {name:?}")))
        };
        let mut arrays: Vec<(&str, ArrayRef)> = vec![(meta_columns::RECORD_KEY, column(&columns.record_key)?)];
        for name in self.ordering.iter().filter(|name| columns.ordering.contains(name)) {
            arrays.push((name, column(name)?));
        }
        let ordering = arrays.get(1..).unwrap_or_default();
        let is_unordered = |row: &usize| ordering.iter().all(|(_, values)| values.is_null(*row));
        if self.ordering.len() > 1 && (0..deletes.num_rows()).any(|row| is_unordered(&row)) {
            return Err(Error::unsupported(format!(
                "a delete without ordering values, in the native logs of a table with several ordering fields ({}): readers give it the defaults of these, so that it loses against stored rows; delete by rows that have the fields, or compact the table as copy-on-write",
                self.ordering.join(", ")
            )));
        }
        let fields = arrays.iter().map(|(name, values)| ArrowField::new(*name, values.data_type().clone(), true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let arrays = arrays.into_iter().map(|(_, values)| values).collect();
        RecordBatch::try_new(schema, arrays).map_err(Error::internal_by("rows of deletes"))
    }
}

/// The same type, or null.
fn nullable(ty: &Type) -> Type {
    let branches: Vec<Type> = match ty {
        Type::Union(branches) => branches.iter().filter(|branch| **branch != Type::Null).cloned().collect(),
        other => vec![other.clone()],
    };
    Type::Union(std::iter::once(Type::Null).chain(branches).collect())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringArray};

    use super::*;
    use crate::log::writer::PartitionPath;
    use mortice_base::ErrorKind;

    fn table() -> Schema {
        let schema = r#"{"type":"record","name":"r","namespace":"h","fields":[{"name":"id","type":"string"},
            {"name":"ts","type":"long"},{"name":"n","type":["null","int"],"default":null}]}"#;
        Schema::parse(schema).unwrap()
    }

    fn deletes(ordering: &[&str]) -> (RecordBatch, DeleteColumns) {
        let keys: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
        let columns = std::iter::once(("key", keys)).chain(ordering.iter().map(|name| (*name, values.clone())));
        let names = DeleteColumns {
            record_key: "key".into(),
            partition_path: PartitionPath::Constant("p".into()),
            ordering: ordering.iter().map(|name| (*name).to_owned()).collect(),
        };
        (RecordBatch::try_from_iter(columns).unwrap(), names)
    }

    fn parsed(json: &str) -> serde_json::Value {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_schema_is_hudis() {
        let schema = |ordering: &[&str]| {
            let ordering: Vec<String> = ordering.iter().map(|name| (*name).to_owned()).collect();
            NativeDeletes::new(&table(), &ordering).map(|deletes| parsed(deletes.schema().json()))
        };
        // An empty namespace is none.
        let key = r#"{"type":"record","name":"hudi_delete_log_record","namespace":"","fields":[{"name":"_hoodie_record_key","type":"string"}"#;
        assert_eq!(schema(&[]).unwrap(), parsed(&format!("{key}]}}")));
        let ts = r#"{"name":"ts","type":["null","long"],"default":null}"#;
        let n = r#"{"name":"n","type":["null","int"],"default":null}"#;
        assert_eq!(schema(&["ts", "n"]).unwrap(), parsed(&format!("{key},{ts},{n}]}}")));
        let error = schema(&["s.ts"]).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("s.ts"), "{error}");
    }

    #[test]
    fn deletes_without_ordering_values_are_null_or_refused() {
        let of = |fields: &[&str]| {
            NativeDeletes::new(&table(), &fields.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
        };
        let (batch, columns) = deletes(&["ts"]);
        let rows = of(&["ts"]).rows(&batch, &columns).unwrap();
        assert_eq!((rows.num_columns(), rows.column(1).null_count()), (2, 1));
        let (alone, no_ordering) = deletes(&[]);
        assert_eq!(of(&["ts"]).rows(&alone, &no_ordering).unwrap().num_columns(), 1);
        for (batch, columns) in [(&batch, &columns), (&alone, &no_ordering)] {
            let error = of(&["ts", "n"]).rows(batch, columns).unwrap_err();
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("ts, n"), "{error}");
        }
    }
}
