//! The columns of a table while they are altered, in Hudi's two forms of a schema, which change side by side: Avro, and
//! columns with ids (schema on read).
//!
//! A column is a path: `fare`, `rider.age`, `stops.element.city`, `prices.value.net`, as in Hudi's `ALTER TABLE`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ids::{IdGiver, branch, place_in_union};
use super::{AlteredColumns, WithIds};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;

/// The types that a number becomes without losing a value, in both forms.
const WIDER: [(&str, &[&str]); 4] = [
    ("int", &["long", "double", "string"]),
    ("long", &["string"]),
    ("float", &["double", "string"]),
    ("double", &["string"]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaForm {
    Avro,
    Ids,
}

/// The columns of a table.
pub(super) struct AlteredSchema {
    avro: Value,
    ids: Option<Value>,
    /// The columns with ids before the change, if they had none.
    before: Option<Value>,
    fixed: BTreeSet<String>,
}

impl AlteredSchema {
    /// # Arguments
    /// * `avro` - The Avro schema.
    /// * `ids` - The columns with ids; none if they have none.
    /// * `fixed` - Columns that stay as they are: those of keys, of partition paths and of ordering values.
    pub(super) fn new(mut avro: Value, ids: Option<Value>, fixed: BTreeSet<String>) -> Result<Self> {
        let fields = avro.get_mut("fields").and_then(Value::as_array_mut);
        let fields = fields.ok_or_else(|| Error::invalid_table("the schema of the table is no record"))?;
        fields.retain(|field| !meta_columns::ALL.contains(&name_of(field)));
        Ok(Self { avro, ids, before: None, fixed })
    }

    /// The full name of the record of a path, for types that are defined in it.
    pub(super) fn namespace(&self, path: &str) -> String {
        let part = |key: &str| self.avro.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let own = [part("namespace"), part("name")];
        own.into_iter().flatten().chain(parts(path).0).collect::<Vec<_>>().join(".")
    }

    /// Gives the columns ids, if they have none: meta columns come first, as in Hudi.
    pub(super) fn give_ids(&mut self) -> Result<()> {
        if self.ids.is_some() {
            return Ok(());
        }
        let mut given = IdGiver::starting_at(0);
        let mut record = given.converted(&self.with_meta_columns())?;
        if let Some(record) = record.as_object_mut() {
            record.insert("max_column_id".to_owned(), json!(given.first_free().saturating_sub(1)));
            record.insert("version_id".to_owned(), json!(0));
        }
        self.before = Some(record.clone());
        self.ids = Some(record);
        Ok(())
    }

    /// Adds a column or a field, which is null in rows that are there.
    ///
    /// # Arguments
    /// * `path` - Its path.
    /// * `kind` - Its Avro type, without null.
    /// * `last` - Columns that stay at the end.
    pub(super) fn add(&mut self, path: &str, kind: &Value, last: &[String]) -> Result<()> {
        let (parents, name) = parts(path);
        let fields = self.fields(SchemaForm::Avro, path)?;
        if fields.iter().any(|field| name_of(field).to_lowercase() == name.to_lowercase()) {
            return Err(Error::invalid_argument(format!("column '{path}' is there already")));
        }
        let stays = |field: &&Value| parents.is_empty() && last.iter().any(|one| one == name_of(field));
        let behind = fields.iter().rev().take_while(stays).count();
        let field = json!({ "name": name, "type": ["null", kind], "default": null });
        fields.insert(fields.len().saturating_sub(behind), field);
        let Some(ids) = &mut self.ids else { return Ok(()) };
        let number = ids.get("max_column_id").and_then(Value::as_u64).unwrap_or_default().saturating_add(1);
        let mut given = IdGiver::starting_at(number.saturating_add(1));
        let made = given.converted(kind)?;
        if let Some(ids) = ids.as_object_mut() {
            ids.insert("max_column_id".to_owned(), json!(given.first_free().saturating_sub(1)));
        }
        let fields = self.fields(SchemaForm::Ids, path)?;
        let field = json!({ "id": number, "name": name, "optional": true, "type": made });
        fields.insert(fields.len().saturating_sub(behind), field);
        Ok(())
    }

    /// Drops a column or a field.
    pub(super) fn drop(&mut self, path: &str) -> Result<()> {
        self.check_free(path, "dropped")?;
        self.each(path, |fields, at| {
            if fields.len() == 1 {
                return Err(Error::invalid_argument(format!(
                    "'{path}' is the last of its fields, and cannot be dropped"
                )));
            }
            fields.remove(at);
            Ok(())
        })
    }

    /// Gives a column or a field another name.
    pub(super) fn rename(&mut self, path: &str, name: &str) -> Result<()> {
        self.check_free(path, "renamed")?;
        let refused =
            |reason: &str| Err(Error::invalid_argument(format!("'{path}' cannot be renamed to '{name}': {reason}")));
        if name.is_empty() || name.contains('.') {
            return refused("give a name, not a path");
        }
        self.each(path, |fields, at| {
            let mut others = fields.iter().enumerate().filter(|(other, _)| *other != at);
            if others.any(|(_, field)| name_of(field).to_lowercase() == name.to_lowercase()) {
                return refused("a column of this name is there");
            }
            set(fields, at, "name", json!(name));
            Ok(())
        })
    }

    /// Describes a column or a field.
    pub(super) fn comment(&mut self, path: &str, text: &str) -> Result<()> {
        self.each(path, |fields, at| {
            set(fields, at, "doc", json!(text));
            Ok(())
        })
    }

    /// Gives a column or a field a wider type: its Avro type, without null. `Unsupported` for one that loses values.
    pub(super) fn widen(&mut self, path: &str, kind: &Value) -> Result<()> {
        self.check_free(path, "given another type")?;
        let fields = self.fields(SchemaForm::Avro, path)?;
        let at = place_of(fields, path)?;
        let stored = fields.get(at).and_then(|field| field.get("type")).cloned().unwrap_or_default();
        let (old, optional) = branch(&stored)?;
        if old == kind {
            return Ok(());
        }
        let wider = WIDER.iter().find(|(narrow, _)| old.as_str() == Some(*narrow)).map_or(&[][..], |(_, wider)| *wider);
        if !kind.as_str().is_some_and(|kind| wider.contains(&kind)) {
            let allowed = WIDER.map(|(narrow, wider)| format!("{narrow} to {}", wider.join(" or "))).join(", ");
            let (kind, old) = (shown(kind), shown(old));
            return Err(Error::unsupported(format!(
                "column '{path}' cannot become {kind} from {old}; supported: {allowed}"
            )));
        }
        let nullable = if optional { json!(["null", kind]) } else { kind.clone() };
        set(fields, at, "type", nullable);
        if self.ids.is_some() {
            let fields = self.fields(SchemaForm::Ids, path)?;
            let at = place_of(fields, path)?;
            set(fields, at, "type", kind.clone());
        }
        Ok(())
    }

    /// Lets a column or a field be null.
    pub(super) fn relax(&mut self, path: &str) -> Result<()> {
        self.check_free(path, "given null")?;
        self.each(path, |fields, at| {
            let Some(field) = fields.get(at) else { return Ok(()) };
            if field.get("optional").is_some() {
                set(fields, at, "optional", json!(true));
                return Ok(());
            }
            let kind = field.get("type").cloned().unwrap_or_default();
            if !branch(&kind)?.1 {
                let kinds = match kind {
                    Value::Array(kinds) => kinds,
                    kind => vec![kind],
                };
                set(fields, at, "type", std::iter::once(json!("null")).chain(kinds).collect());
                set(fields, at, "default", Value::Null);
            }
            Ok(())
        })
    }

    /// Puts a column or a field behind another one of its record, or first.
    pub(super) fn place(&mut self, path: &str, behind: Option<&str>) -> Result<()> {
        if behind == Some(parts(path).1) {
            return Err(Error::invalid_argument(format!("column '{path}' cannot be put behind itself")));
        }
        self.each(path, |fields, at| {
            let is_own = |field: &&Value| !meta_columns::ALL.contains(&name_of(field));
            let first = fields.iter().take_while(|field| !is_own(field)).count();
            let known: Vec<&str> = fields.iter().filter(is_own).map(name_of).collect();
            if let Some(behind) = behind.filter(|behind| !known.contains(behind)) {
                let known = known.join(", ");
                return Err(Error::invalid_argument(format!(
                    "column '{path}' cannot be put behind '{behind}': there is no such column next to it (columns: {known})"
                )));
            }
            let field = fields.remove(at);
            let place = behind.map_or(Ok(first), |behind| place_of(fields, behind).map(|at| at.saturating_add(1)))?;
            fields.insert(place.min(fields.len()), field);
            Ok(())
        })
    }

    /// The columns as a commit stores them.
    pub(super) fn into_columns(self) -> AlteredColumns {
        let schema = if self.ids.is_some() { self.with_meta_columns() } else { self.avro };
        let with_ids = self.ids.map(|after| WithIds {
            before: self.before.as_ref().unwrap_or(&after).to_string(),
            after: after.to_string(),
        });
        AlteredColumns { schema: schema.to_string(), with_ids }
    }

    fn with_meta_columns(&self) -> Value {
        let meta =
            meta_columns::ALL.map(|name| json!({"name": name, "type": ["null", "string"], "doc": "", "default": null}));
        let own = self.avro.get("fields").and_then(Value::as_array).into_iter().flatten().cloned();
        let mut record = self.avro.clone();
        if let Some(record) = record.as_object_mut() {
            record.insert("fields".to_owned(), meta.into_iter().chain(own).collect());
        }
        record
    }

    /// Refuses changes of columns that say where a row is, or which of them wins.
    fn check_free(&self, path: &str, what: &str) -> Result<()> {
        let column = path.split('.').next().unwrap_or(path);
        if self.fixed.contains(column) {
            return Err(Error::invalid_argument(format!(
                "column '{path}' cannot be {what}: it is part of the record key, the partition path or the ordering value"
            )));
        }
        Ok(())
    }

    /// Changes the fields that a column is one of, in both forms. The closure gets the fields, and its place in them.
    fn each(&mut self, path: &str, change: impl Fn(&mut Vec<Value>, usize) -> Result<()>) -> Result<()> {
        let forms: &[SchemaForm] =
            if self.ids.is_some() { &[SchemaForm::Avro, SchemaForm::Ids][..] } else { &[SchemaForm::Avro] };
        for form in forms {
            let fields = self.fields(*form, path)?;
            let at = place_of(fields, path)?;
            change(fields, at)?;
        }
        Ok(())
    }

    /// The fields of the record that a column is in.
    fn fields(&mut self, form: SchemaForm, path: &str) -> Result<&mut Vec<Value>> {
        let mut kind = match (form, &mut self.ids) {
            (SchemaForm::Ids, Some(ids)) => ids,
            _ => &mut self.avro,
        };
        for name in parts(path).0 {
            kind = child(kind, name, form)?.ok_or_else(|| {
                Error::invalid_argument(format!("there is no column '{path}': '{name}' is not found"))
            })?;
        }
        let is_record = kind.get("type").and_then(Value::as_str) == Some("record");
        let fields = kind.get_mut("fields").and_then(Value::as_array_mut).filter(|_| is_record);
        fields.ok_or_else(|| {
            Error::invalid_argument(format!(
                "'{path}' is no field of a struct; elements of lists are x.element.y, of maps x.value.y"
            ))
        })
    }
}

/// The names of the records that a path leads through, and the last name.
fn parts(path: &str) -> (Vec<&str>, &str) {
    match path.rsplit_once('.') {
        Some((parents, name)) => (parents.split('.').collect(), name),
        None => (Vec::new(), path),
    }
}

fn name_of(field: &Value) -> &str {
    field.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn shown(kind: &Value) -> String {
    kind.as_str().map_or_else(|| kind.to_string(), str::to_owned)
}

fn place_of(fields: &[Value], path: &str) -> Result<usize> {
    let name = parts(path).1;
    fields.iter().position(|field| name_of(field) == name).ok_or_else(|| {
        let known = fields.iter().map(name_of).collect::<Vec<_>>().join(", ");
        Error::invalid_argument(format!("there is no column '{path}' (columns: {known})"))
    })
}

fn set(fields: &mut [Value], at: usize, key: &str, value: Value) {
    if let Some(field) = fields.get_mut(at).and_then(Value::as_object_mut) {
        field.insert(key.to_owned(), value);
    }
}

/// The type of a part of a type: of a field, of the elements of a list, of the values of a map.
fn child<'a>(kind: &'a mut Value, name: &str, form: SchemaForm) -> Result<Option<&'a mut Value>> {
    let own = kind.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let part = match (own.as_str(), name) {
        ("array", "element") => kind.get_mut(if form == SchemaForm::Avro { "items" } else { "element" }),
        ("map", "value") => kind.get_mut(if form == SchemaForm::Avro { "values" } else { "value" }),
        ("record", _) => {
            let fields = kind.get_mut("fields").and_then(Value::as_array_mut);
            let field = fields.into_iter().flatten().find(|field| name_of(field) == name);
            field.and_then(|field| field.get_mut("type"))
        }
        _ => None,
    };
    let Some(part) = part else { return Ok(None) };
    let at = part.as_array().map(|union| place_in_union(union)).transpose()?;
    Ok(match at {
        Some(at) => part.get_mut(at),
        None => Some(part),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::AlteredSchema;

    fn field<'a>(schema: &'a AlteredSchema, name: &str) -> &'a Value {
        let fields = schema.ids.as_ref().unwrap()["fields"].as_array().unwrap();
        fields.iter().find(|field| field["name"] == name).unwrap()
    }

    /// What Hudi 1.2 stored for `ALTER TABLE`: the first change, a column, a field, a renamed and a dropped field.
    #[test]
    fn ids_are_those_that_hudi_gives() {
        let st = json!({"type": "record", "name": "st", "fields": [
            {"name": "x", "type": ["null", "int"]}, {"name": "y", "type": ["null", "string"]}]});
        let arr = json!({"type": "record", "name": "arr", "fields": [{"name": "u", "type": ["null", "int"]}]});
        let avro = json!({"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": [
            {"name": "id", "type": ["null", "string"], "default": null},
            {"name": "st", "type": ["null", st]},
            {"name": "arr", "type": ["null", {"type": "array", "items": ["null", arr]}]},
            {"name": "city", "type": ["null", "string"], "default": null}]});
        let fixed = ["id", "city"].map(str::to_owned).into_iter().collect();
        let last = ["city".to_owned()];
        let mut schema = AlteredSchema::new(avro, None, fixed).unwrap();
        schema.give_ids().unwrap();
        assert_eq!(schema.ids.as_ref().unwrap()["max_column_id"], 12);
        let ids = ["_hoodie_commit_time", "id", "st", "arr", "city"].map(|name| field(&schema, name)["id"].clone());
        assert_eq!(ids, [0, 5, 6, 7, 8].map(Value::from));
        let expected = json!([
            {"id": 9, "name": "x", "optional": true, "type": "int"},
            {"id": 10, "name": "y", "optional": true, "type": "string"},
        ]);
        assert_eq!(field(&schema, "st")["type"]["fields"], expected);
        let element = json!({"type": "record", "fields": [{"id": 12, "name": "u", "optional": true, "type": "int"}]});
        let expected = json!({"type": "array", "element_id": 11, "element": element, "element_optional": true});
        assert_eq!(field(&schema, "arr")["type"], expected);
        schema.add("st.z", &json!("double"), &last).unwrap();
        schema.rename("st.y", "yy").unwrap();
        schema.drop("st.x").unwrap();
        let expected = json!([
            {"id": 10, "name": "yy", "optional": true, "type": "string"},
            {"id": 13, "name": "z", "optional": true, "type": "double"},
        ]);
        assert_eq!(field(&schema, "st")["type"]["fields"], expected);
        schema.add("e2", &json!("string"), &last).unwrap();
        let fields = schema.ids.as_ref().unwrap()["fields"].as_array().unwrap();
        let ends: Vec<_> = fields.iter().rev().take(2).map(|one| (one["name"].clone(), one["id"].clone())).collect();
        assert_eq!(ends, [(json!("city"), json!(8)), (json!("e2"), json!(14))]);
        schema.widen("arr.element.u", &json!("long")).unwrap();
        assert_eq!(field(&schema, "arr")["type"]["element"]["fields"][0]["type"], "long");
    }
}
