//! The names of a schema's fields, to find them in another schema (`CaseNames`).

use mortice_base::names::NameTree;

use super::schema::Schema;
use super::types::{Field, Type};

/// Returns the names of the fields, and those in records, in items of arrays and in values of maps.
#[must_use]
pub fn name_trees(schema: &Schema) -> Vec<NameTree<'_>> {
    trees(schema.fields())
}

fn trees(fields: &[Field]) -> Vec<NameTree<'_>> {
    fields.iter().map(|field| NameTree { name: &field.name, fields: inside(&field.ty) }).collect()
}

fn inside(kind: &Type) -> Vec<NameTree<'_>> {
    match kind.non_null() {
        Type::Record(record) => trees(&record.fields),
        Type::Array(items) => inside(items),
        Type::Map(values) => inside(values),
        _ => Vec::new(),
    }
}
