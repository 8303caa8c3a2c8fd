//! Avro types in the form with ids (`AvroInternalSchemaConverter`): the fields of a record get theirs before the fields
//! within them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use mortice_base::error::{Error, Result};

/// More ids than any table has columns: types that contain each other twice, over and over, are refused.
const MOST_IDS: u64 = 1_000_000;

/// Gives ids to the parts of types.
pub(super) struct IdGiver {
    next: u64,
    /// The named types; none for those that are not complete yet.
    known: BTreeMap<String, Option<Value>>,
}

impl IdGiver {
    /// Ids from this one on.
    pub(super) fn starting_at(first: u64) -> Self {
        Self { next: first, known: BTreeMap::new() }
    }

    /// The first id that is free.
    pub(super) fn first_free(&self) -> u64 {
        self.next
    }

    /// An Avro type, without null, in the form with ids.
    pub(super) fn converted(&mut self, kind: &Value) -> Result<Value> {
        if let Some(name) = kind.as_str() {
            return self.named(name);
        }
        let name = kind.get("type").ok_or_else(|| no_type(kind))?;
        let made = match name.as_str() {
            Some("record") => self.record(kind)?,
            Some("array") => {
                let element_id = self.taken(1)?;
                let (items, optional) = branch(kind.get("items").ok_or_else(|| no_type(kind))?)?;
                let element = self.converted(items)?;
                json!({
                    "type": "array", "element_id": element_id, "element": element, "element_optional": optional,
                })
            }
            Some("map") => {
                let id = self.taken(2)?;
                let (values, optional) = branch(kind.get("values").ok_or_else(|| no_type(kind))?)?;
                let value = self.converted(values)?;
                json!({
                    "type": "map", "key_id": id, "key": "string", "value_id": id.saturating_add(1), "value": value,
                    "value_optional": optional,
                })
            }
            _ => self.leaf(kind, name)?,
        };
        if let Some(own) = kind.get("name").and_then(Value::as_str) {
            self.keep(kind, own, Some(kind.clone()));
        }
        Ok(made)
    }

    fn named(&mut self, name: &str) -> Result<Value> {
        match self.known.get(name).cloned() {
            Some(Some(kind)) => self.converted(&kind),
            Some(None) => {
                Err(Error::unsupported(format!("columns of the type {name}, which contains itself, have no ids")))
            }
            None => Ok(json!(if name == "bytes" { "binary" } else { name })),
        }
    }

    fn record(&mut self, kind: &Value) -> Result<Value> {
        if let Some(own) = kind.get("name").and_then(Value::as_str) {
            self.keep(kind, own, None);
        }
        let fields = kind.get("fields").and_then(Value::as_array).ok_or_else(|| no_type(kind))?;
        let first = self.taken(fields.len())?;
        let made = (first..).zip(fields).map(|(id, field)| self.field(id, field)).collect::<Result<Vec<_>>>()?;
        Ok(json!({ "type": "record", "fields": made }))
    }

    fn field(&mut self, id: u64, field: &Value) -> Result<Value> {
        let (kind, optional) = branch(field.get("type").ok_or_else(|| no_type(field))?)?;
        let name = field.get("name").ok_or_else(|| no_type(field))?;
        let mut made = json!({ "id": id, "name": name, "optional": optional, "type": self.converted(kind)? });
        if let (Some(doc), Some(made)) = (field.get("doc").filter(|doc| !doc.is_null()), made.as_object_mut()) {
            made.insert("doc".to_owned(), doc.clone());
        }
        Ok(made)
    }

    /// A type without parts, by its name in schemas with ids.
    fn leaf(&mut self, kind: &Value, name: &Value) -> Result<Value> {
        let number = |key: &str| kind.get(key).and_then(Value::as_u64).unwrap_or_default();
        let Some(logical) = kind.get("logicalType").and_then(Value::as_str) else {
            return if name == "fixed" {
                Ok(json!(format!("fixed[{}]", number("size"))))
            } else {
                self.converted(name)
            };
        };
        let word = match logical {
            "decimal" => {
                let digits = format!("({}, {})", number("precision"), number("scale"));
                let is_of_bytes = name == "bytes";
                return Ok(json!(if is_of_bytes {
                    format!("decimal_bytes{digits}")
                } else {
                    format!("decimal_fixed{digits}[{}]", number("size"))
                }));
            }
            "time-micros" => "time",
            "timestamp-micros" => "timestamp",
            "date"
            | "time-millis"
            | "timestamp-millis"
            | "local-timestamp-millis"
            | "local-timestamp-micros"
            | "uuid" => logical,
            _ => {
                return Err(Error::unsupported(format!(
                    "a column of the logical type '{logical}' has no form with ids; drop no column of it"
                )));
            }
        };
        Ok(json!(word))
    }

    /// Knows a type by its name, with and without its namespace.
    fn keep(&mut self, kind: &Value, name: &str, found: Option<Value>) {
        if let Some(namespace) = kind.get("namespace").and_then(Value::as_str) {
            self.known.insert(format!("{namespace}.{name}"), found.clone());
        }
        self.known.insert(name.to_owned(), found);
    }

    fn taken(&mut self, count: usize) -> Result<u64> {
        let first = self.next;
        self.next = first.saturating_add(u64::try_from(count).unwrap_or(MOST_IDS));
        if self.next > MOST_IDS {
            return Err(Error::unsupported(format!("columns with more than {MOST_IDS} parts have no ids")));
        }
        Ok(first)
    }
}

/// A type without null, and whether it may be null.
pub(super) fn branch(kind: &Value) -> Result<(&Value, bool)> {
    let Some(union) = kind.as_array() else { return Ok((kind, false)) };
    let found = place_in_union(union)?;
    let found = union.get(found).ok_or_else(|| no_type(kind))?;
    Ok((found, union.len() > 1))
}

/// Where the type beside null is in a union.
pub(super) fn place_in_union(union: &[Value]) -> Result<usize> {
    let mut others = union.iter().enumerate().filter(|(_, one)| one.as_str() != Some("null"));
    match (others.next(), others.next()) {
        (Some((at, _)), None) => Ok(at),
        _ => Err(Error::unsupported(format!("columns of the union {} cannot be altered", json!(union)))),
    }
}

fn no_type(kind: &Value) -> Error {
    Error::invalid_table(format!("the schema of the table has no type that Avro has: {kind}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{IdGiver, branch};
    use mortice_base::error::ErrorKind;

    #[test]
    fn types_without_parts_have_words_of_their_own() {
        let words = [
            (json!("bytes"), "binary"),
            (json!({"type": "string"}), "string"),
            (json!({"type": "long", "logicalType": "timestamp-micros"}), "timestamp"),
            (json!({"type": "int", "logicalType": "date"}), "date"),
            (json!({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}), "decimal_bytes(9, 2)"),
            (
                json!({"type": "fixed", "name": "d", "size": 5, "logicalType": "decimal", "precision": 9}),
                "decimal_fixed(9, 0)[5]",
            ),
            (json!({"type": "fixed", "name": "f", "size": 5}), "fixed[5]"),
        ];
        for (kind, word) in words {
            assert_eq!(IdGiver::starting_at(0).converted(&kind).unwrap(), json!(word));
        }
        let unknown = IdGiver::starting_at(0).converted(&json!({"type": "long", "logicalType": "duration"}));
        assert_eq!(unknown.unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn a_type_that_contains_itself_is_refused() {
        let fields = json!([{"name": "next", "type": ["null", "node"]}]);
        let kind = json!({"type": "record", "name": "node", "fields": fields});
        assert_eq!(IdGiver::starting_at(0).converted(&kind).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn a_type_that_is_named_again_has_other_ids() {
        let point = json!({"type": "record", "name": "point", "fields": [{"name": "x", "type": "int"}]});
        let fields = json!([{"name": "a", "type": point}, {"name": "b", "type": "point"}]);
        let made =
            IdGiver::starting_at(0).converted(&json!({"type": "record", "name": "r", "fields": fields})).unwrap();
        let ids: Vec<_> = (0..2).map(|at| made["fields"][at]["type"]["fields"][0]["id"].clone()).collect();
        assert_eq!(ids, [json!(2), json!(3)]);
    }

    #[test]
    fn unions_of_several_types_are_refused() {
        assert_eq!(branch(&json!(["null", "int"])).unwrap(), (&json!("int"), true));
        assert_eq!(branch(&json!(["int", "string"])).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
