//! Tree to schema JSON: a named type in full where it first occurs, by its full name afterwards.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::types::{Decimal, Field, Fixed, Type};

/// The JSON text of a tree.
pub(super) fn text(root: &Type) -> String {
    value(root, &mut HashSet::new()).to_string()
}

fn value(ty: &Type, defined: &mut HashSet<String>) -> Value {
    match ty {
        Type::Null => "null".into(),
        Type::Boolean => "boolean".into(),
        Type::Int => "int".into(),
        Type::Long => "long".into(),
        Type::Float => "float".into(),
        Type::Double => "double".into(),
        Type::Bytes => "bytes".into(),
        Type::String => "string".into(),
        Type::Date => logical("int", "date"),
        Type::TimeMillis => logical("int", "time-millis"),
        Type::TimeMicros => logical("long", "time-micros"),
        Type::TimestampMillis => logical("long", "timestamp-millis"),
        Type::TimestampMicros => logical("long", "timestamp-micros"),
        Type::LocalTimestampMillis => logical("long", "local-timestamp-millis"),
        Type::LocalTimestampMicros => logical("long", "local-timestamp-micros"),
        Type::Uuid => logical("string", "uuid"),
        Type::Fixed(fixed) => named(&fixed.name, "fixed", defined, |_| size_of(fixed)),
        Type::Vector(vector) => named(&vector.fixed.name, "fixed", defined, |_| {
            let shape = vector.shape;
            let mut members = size_of(&vector.fixed);
            members.push(("logicalType", json!("vector")));
            members.push(("dimension", json!(shape.dimension())));
            members.push(("elementType", json!(shape.element())));
            members.push(("storageBacking", json!("FIXED_BYTES")));
            members
        }),
        Type::Decimal(decimal) => decimal_value(decimal, defined),
        Type::Enum(symbols) => named(&symbols.name, "enum", defined, |_| {
            let mut members = vec![("symbols", json!(symbols.symbols))];
            members.extend(symbols.default.as_ref().map(|default| ("default", json!(default))));
            members
        }),
        Type::Array(items) => json!({"type": "array", "items": value(items, defined)}),
        Type::Map(values) => json!({"type": "map", "values": value(values, defined)}),
        Type::Record(record) => named(&record.name, "record", defined, |defined| {
            let fields = record.fields.iter().map(|one| field(one, defined)).collect();
            let mut members = vec![("fields", Value::Array(fields))];
            members.extend(record.logical.map(|logical| ("logicalType", json!(logical.word()))));
            members
        }),
        Type::Union(branches) => branches.iter().map(|branch| value(branch, defined)).collect(),
    }
}

fn logical(ty: &str, logical: &str) -> Value {
    json!({"type": ty, "logicalType": logical})
}

fn size_of(fixed: &Fixed) -> Vec<(&'static str, Value)> {
    vec![("size", json!(fixed.size))]
}

fn decimal_value(decimal: &Decimal, defined: &mut HashSet<String>) -> Value {
    let measures =
        [("logicalType", json!("decimal")), ("precision", json!(decimal.precision)), ("scale", json!(decimal.scale))];
    match &decimal.fixed {
        Some(fixed) => named(&fixed.name, "fixed", defined, |_| {
            let mut members = size_of(fixed);
            members.extend(measures);
            members
        }),
        None => {
            let mut object = object([("type", json!("bytes"))]);
            object.extend(measures.map(|(key, member)| (key.to_owned(), member)));
            Value::Object(object)
        }
    }
}

fn field(field: &Field, defined: &mut HashSet<String>) -> Value {
    let mut members = object([("name", json!(field.name)), ("type", value(&field.ty, defined))]);
    if let Some(default) = &field.default {
        members.insert("default".to_owned(), default.clone());
    }
    Value::Object(members)
}

/// A definition, or a reference where the name is taken. The namespace is always written, so that none is inherited.
fn named(
    name: &str,
    kind: &str,
    defined: &mut HashSet<String>,
    members: impl FnOnce(&mut HashSet<String>) -> Vec<(&'static str, Value)>,
) -> Value {
    if !defined.insert(name.to_owned()) {
        return name.into();
    }
    let (space, bare) = name.rsplit_once('.').unwrap_or(("", name));
    let mut object = object([("type", json!(kind)), ("name", json!(bare)), ("namespace", json!(space))]);
    object.extend(members(defined).into_iter().map(|(key, member)| (key.to_owned(), member)));
    Value::Object(object)
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.map(|(key, member)| (key.to_owned(), member)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_tree() {
        let schema = r#"{"type":"record","name":"r","namespace":"n","fields":[
            {"name":"e","type":{"type":"enum","name":"e","symbols":["A","B"],"default":"A"},"default":"B"},
            {"name":"d","type":["null",{"type":"fixed","name":"fixed","namespace":"n.d","size":4,"logicalType":"decimal","precision":9,"scale":3}],"default":null},
            {"name":"again","type":{"type":"array","items":"n.d.fixed"}},
            {"name":"b","type":{"type":"bytes","logicalType":"decimal","precision":50,"scale":3}},
            {"name":"m","type":{"type":"map","values":["e","null",{"type":"record","name":"plain","namespace":"","fields":[
                {"name":"u","type":{"type":"string","logicalType":"uuid"}},{"name":"ts","type":{"type":"long","logicalType":"local-timestamp-millis"}}]}]}},
            {"name":"p","type":"plain"},
            {"name":"v","type":["null",{"type":"fixed","name":"v2","namespace":"","size":16,"logicalType":"vector","dimension":2,"elementType":"DOUBLE","storageBacking":"FIXED_BYTES"}]},
            {"name":"w","type":"v2"},
            {"name":"x","type":{"type":"record","name":"x","logicalType":"variant","fields":[{"name":"value","type":"bytes"},{"name":"metadata","type":"bytes"}]}}]}"#;
        let tree = parse(schema).unwrap();
        assert_eq!(parse(&text(&tree)).unwrap(), tree);
    }
}
