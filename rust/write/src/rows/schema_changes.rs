//! What a write changes of a table's columns, for the commit that it returns.

use arrow_schema::{DataType, Field, Fields};

/// A column, or a field within one, that a write has added or given another type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// The column, or the path of a field: `rider.age`, `stops.element.city`.
    pub column: String,
    /// The type that it had; none if it is new.
    pub before: Option<DataType>,
    /// The type that it has.
    pub after: DataType,
}

/// What differs between the columns before and after a write, in the order of the columns after it.
pub(super) fn schema_changes(before: &Fields, after: &Fields) -> Vec<SchemaChange> {
    let mut changes = Vec::new();
    of_fields(before, after, "", &mut changes);
    changes
}

fn of_fields(before: &Fields, after: &Fields, path: &str, changes: &mut Vec<SchemaChange>) {
    for field in after {
        let path = if path.is_empty() { field.name().clone() } else { format!("{path}.{}", field.name()) };
        match before.find(field.name()) {
            Some((_, old)) => of_types(old, field, path, changes),
            None => changes.push(SchemaChange { column: path, before: None, after: field.data_type().clone() }),
        }
    }
}

fn of_types(old: &Field, new: &Field, path: String, changes: &mut Vec<SchemaChange>) {
    match (old.data_type(), new.data_type()) {
        (old, new) if old == new => {}
        (DataType::Struct(old), DataType::Struct(new)) => of_fields(old, new, &path, changes),
        (DataType::List(old), DataType::List(new)) => {
            let item = format!("{path}.{}", new.name());
            of_types(old, new, item, changes);
        }
        (DataType::Map(old, _), DataType::Map(new, _)) => of_types(old, new, path, changes),
        (old, new) => {
            changes.push(SchemaChange { column: path, before: Some(old.clone()), after: new.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn changes_name_fields_at_any_depth() {
        let fields = |numbers: DataType, more: bool| {
            let mut own = vec![Field::new("x", numbers.clone(), true)];
            own.extend(more.then(|| Field::new("y", DataType::Utf8, true)));
            let own = DataType::Struct(own.into());
            let items = DataType::List(Arc::new(Field::new("element", own.clone(), true)));
            Fields::from(vec![Field::new("a", numbers, true), Field::new("s", own, true), Field::new("l", items, true)])
        };
        let (old, new) = (fields(DataType::Int32, false), fields(DataType::Int64, true));
        assert_eq!(schema_changes(&old, &old), []);
        let found = schema_changes(&old, &new);
        let names: Vec<&str> = found.iter().map(|change| change.column.as_str()).collect();
        assert_eq!(names, ["a", "s.x", "s.y", "l.element.x", "l.element.y"]);
        assert_eq!(
            found.first().map(|change| (&change.before, &change.after)),
            Some((&Some(DataType::Int32), &DataType::Int64))
        );
        assert_eq!(found.get(2).map(|change| &change.before), Some(&None));
    }
}
