//! The names of a table's fields in a writer's schema, in either case.

use mortice_avro::{Schema, name_trees};
use mortice_base::names::CaseNames;

/// Finds the fields of the table in the schema of a log block.
#[must_use]
pub fn case_names(table: &Schema, writer: &Schema) -> CaseNames {
    CaseNames::new(&name_trees(table), &name_trees(writer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::in_tables_names;

    fn schema(fields: &str) -> Schema {
        Schema::parse(&format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)).unwrap()
    }

    fn field(name: &str, kind: &str) -> String {
        format!(r#"{{"name":"{name}","type":["null",{kind}],"default":null}}"#)
    }

    fn record(name: &str, fields: &str) -> String {
        format!(r#"{{"type":"record","name":"{name}","fields":[{fields}]}}"#)
    }

    #[test]
    fn a_writers_schema_gets_the_names_of_the_table() {
        let of = |state: &str, inner: &str| {
            let item = record("item", &field(inner, r#""int""#));
            let list = format!(r#"{{"type":"array","items":["null",{item}]}}"#);
            let map = format!(r#"{{"type":"map","values":["null",{}]}}"#, record("value", &field(inner, r#""int""#)));
            schema(
                &[field("id", r#""int""#), field(state, r#""string""#), field("l", &list), field("m", &map)].join(","),
            )
        };
        let (table, writer) = (of("state", "a"), of("State", "A"));
        let names = case_names(&table, &writer);
        assert!(!names.is_identity());
        assert_eq!(in_tables_names(&writer, names.names()).unwrap().fields(), table.fields());
        assert!(case_names(&table, &table).is_identity());
    }
}
