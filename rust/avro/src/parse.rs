//! Schema JSON to tree.
//!
//! A name with a dot is a full name; any other takes the enclosing namespace. A reference without a dot is looked up in
//! the enclosing namespace, then without one (as Avro's Java parser does). A logical type that does not fit its type is
//! ignored, as the specification asks. Recursive types, and trees too deep or too large to be columns, are refused
//! here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::types::{Decimal, Enum, Field, Fixed, LogicalRecord, Record, Type, Vector};
use super::vector::{VectorElement, VectorShape};
use mortice_base::error::{Error, Result};

/// Levels that a tree may have, references followed.
pub(crate) const MAX_DEPTH: usize = 64;
/// Types that a tree may hold, references followed: twenty records that each hold the former twice are a million
/// columns.
const MAX_TYPES: usize = 65_536;
/// Branches that a union may have: their tags take one byte.
const MAX_BRANCHES: usize = 64;
/// How vectors are stored, by the only word that Hudi has for it.
const FIXED_BYTES: &str = "FIXED_BYTES";
/// Bytes that a `fixed` may have.
const MAX_FIXED: u64 = i32::MAX as u64;

/// Parses the JSON text of a schema.
pub(super) fn parse(text: &str) -> Result<Type> {
    let json: Value =
        serde_json::from_str(text).map_err(|error| invalid("invalid Avro schema: not JSON").caused_by(error))?;
    Ok(Parser::default().parse(&json, "", 0)?.ty)
}

/// A tree and its measures.
#[derive(Clone)]
struct Tree {
    ty: Type,
    depth: usize,
    types: usize,
}

impl Tree {
    fn leaf(ty: Type) -> Self {
        Self { ty, depth: 1, types: 1 }
    }
}

/// Adds up what is under a type.
#[derive(Default)]
struct Measure {
    depth: usize,
    types: usize,
}

impl Measure {
    fn add(&mut self, tree: &Tree) {
        self.depth = self.depth.max(tree.depth);
        self.types = self.types.saturating_add(tree.types);
    }

    fn tree(self, ty: Type) -> Result<Tree> {
        let (depth, types) = (self.depth.saturating_add(1), self.types.saturating_add(1));
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("unsupported Avro schema: more than {MAX_DEPTH} levels")));
        }
        if types > MAX_TYPES {
            return Err(Error::unsupported(format!("unsupported Avro schema: more than {MAX_TYPES} types")));
        }
        Ok(Tree { ty, depth, types })
    }
}

#[derive(Default)]
struct Parser {
    named: HashMap<String, Tree>,
    open: HashSet<String>,
}

impl Parser {
    fn parse(&mut self, json: &Value, namespace: &str, level: usize) -> Result<Tree> {
        if level > 2 * MAX_DEPTH {
            return Err(Error::unsupported(format!("unsupported Avro schema: more than {MAX_DEPTH} levels")));
        }
        match json {
            Value::String(name) => self.reference(name, namespace),
            Value::Array(branches) => self.union(branches, namespace, level),
            Value::Object(object) => match object.get("type") {
                Some(Value::String(word)) => self.declared(word, object, namespace, level),
                Some(inner) => self.parse(inner, namespace, level + 1),
                None => Err(invalid("invalid Avro schema: a type has no \"type\"")),
            },
            other => {
                Err(invalid(format!("invalid Avro schema: a type must be a name, an object or a list, got {other}")))
            }
        }
    }

    fn declared(&mut self, word: &str, object: &Map<String, Value>, namespace: &str, level: usize) -> Result<Tree> {
        match word {
            "record" | "error" => self.record(object, namespace, level),
            "enum" => self.enumeration(object, namespace),
            "fixed" => self.fixed(object, namespace),
            "array" => {
                let items = self.parse(member(object, "items", word)?, namespace, level + 1)?;
                above(items, Type::Array)
            }
            "map" => {
                let values = self.parse(member(object, "values", word)?, namespace, level + 1)?;
                above(values, Type::Map)
            }
            _ => match primitive(word) {
                Some(ty) => Ok(Tree::leaf(logical(ty, object))),
                None => self.reference(word, namespace),
            },
        }
    }

    fn reference(&self, name: &str, namespace: &str) -> Result<Tree> {
        if let Some(ty) = primitive(name) {
            return Ok(Tree::leaf(ty));
        }
        let full = full_name(name, namespace);
        for candidate in [full.as_str(), name] {
            if self.open.contains(candidate) {
                return Err(Error::unsupported(format!("unsupported Avro schema: type {candidate} contains itself")));
            }
            if let Some(tree) = self.named.get(candidate) {
                return Ok(tree.clone());
            }
        }
        Err(invalid(format!("invalid Avro schema: type {full} is not defined")))
    }

    fn union(&mut self, branches: &[Value], namespace: &str, level: usize) -> Result<Tree> {
        if branches.is_empty() || branches.len() > MAX_BRANCHES {
            return Err(Error::unsupported(format!("unsupported Avro union: {} branches", branches.len())));
        }
        let mut measure = Measure::default();
        let mut types = Vec::with_capacity(branches.len());
        for branch in branches {
            let tree = self.parse(branch, namespace, level + 1)?;
            if matches!(tree.ty, Type::Union(_)) {
                return Err(invalid("invalid Avro schema: a union directly contains a union"));
            }
            // Avro tells branches apart by their names.
            if types.iter().any(|before: &Type| before.avro_name() == tree.ty.avro_name()) {
                let name = tree.ty.avro_name();
                return Err(invalid(format!("invalid Avro schema: a union has two branches {name}")));
            }
            measure.add(&tree);
            types.push(tree.ty);
        }
        measure.tree(Type::Union(types.into()))
    }

    fn record(&mut self, object: &Map<String, Value>, namespace: &str, level: usize) -> Result<Tree> {
        let name = declared_name(object, namespace, "record")?;
        let Some(Value::Array(declared)) = object.get("fields") else {
            return Err(invalid(format!("invalid Avro schema: record {name} has no list of fields")));
        };
        self.open.insert(name.clone());
        let mut measure = Measure::default();
        let mut fields: Vec<Field> = Vec::with_capacity(declared.len());
        let mut seen = HashSet::new();
        for field in declared {
            let Value::Object(field) = field else {
                return Err(invalid(format!("invalid Avro schema: a field of record {name} is not an object")));
            };
            let field_name = text(field, "name")
                .ok_or_else(|| invalid(format!("invalid Avro schema: a field of record {name} has no name")))?;
            let tree = self.field_type(field, space_of(&name), level)?;
            if !seen.insert(field_name.to_owned()) {
                return Err(invalid(format!("invalid Avro schema: record {name} has two fields {field_name}")));
            }
            measure.add(&tree);
            let default = field.get("default").cloned();
            fields.push(Field { name: field_name.to_owned(), ty: tree.ty, default });
        }
        self.open.remove(&name);
        let logical = text(object, "logicalType").and_then(LogicalRecord::parse);
        let tree = measure.tree(Type::Record(Arc::new(Record { name: name.clone(), fields, logical })))?;
        self.define(name, tree)
    }

    /// Some writers put a field's logical type beside its type instead of inside it; Avro does not look there, nor do
    /// we.
    fn field_type(&mut self, field: &Map<String, Value>, namespace: &str, level: usize) -> Result<Tree> {
        self.parse(member(field, "type", "field")?, namespace, level + 1)
    }

    fn define(&mut self, name: String, tree: Tree) -> Result<Tree> {
        match self.named.get(&name) {
            Some(before) if before.ty != tree.ty => {
                Err(invalid(format!("invalid Avro schema: {name} is defined twice")))
            }
            _ => {
                self.named.insert(name, tree.clone());
                Ok(tree)
            }
        }
    }

    fn enumeration(&mut self, object: &Map<String, Value>, namespace: &str) -> Result<Tree> {
        let name = declared_name(object, namespace, "enum")?;
        let symbols: Option<Vec<String>> = object
            .get("symbols")
            .and_then(Value::as_array)
            .and_then(|symbols| symbols.iter().map(|symbol| symbol.as_str().map(str::to_owned)).collect());
        let symbols =
            symbols.ok_or_else(|| invalid(format!("invalid Avro schema: enum {name} has no list of symbols")))?;
        let default = text(object, "default").map(str::to_owned);
        let tree = Tree::leaf(Type::Enum(Arc::new(Enum { name: name.clone(), symbols, default })));
        self.define(name, tree)
    }

    fn fixed(&mut self, object: &Map<String, Value>, namespace: &str) -> Result<Tree> {
        let name = declared_name(object, namespace, "fixed")?;
        let size = object.get("size").and_then(Value::as_u64).filter(|size| *size <= MAX_FIXED);
        let size = size.and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(|| invalid(format!("invalid Avro schema: fixed {name} has no valid size")))?;
        let fixed = Arc::new(Fixed { name: name.clone(), size });
        let ty = match text(object, "logicalType") {
            Some("decimal") => decimal(object, Some(&fixed)).unwrap_or(Type::Fixed(fixed)),
            Some("vector") => Type::Vector(vector(object, fixed)?),
            _ => Type::Fixed(fixed),
        };
        let tree = Tree::leaf(ty);
        self.define(name, tree)
    }
}

fn above(inner: Tree, wrap: impl Fn(Arc<Type>) -> Type) -> Result<Tree> {
    let mut measure = Measure::default();
    measure.add(&inner);
    measure.tree(wrap(Arc::new(inner.ty)))
}

fn primitive(word: &str) -> Option<Type> {
    Some(match word {
        "null" => Type::Null,
        "boolean" => Type::Boolean,
        "int" => Type::Int,
        "long" => Type::Long,
        "float" => Type::Float,
        "double" => Type::Double,
        "bytes" => Type::Bytes,
        "string" => Type::String,
        _ => return None,
    })
}

fn logical(ty: Type, object: &Map<String, Value>) -> Type {
    let Some(word) = text(object, "logicalType") else { return ty };
    match (&ty, word) {
        (Type::Int, "date") => Type::Date,
        (Type::Int, "time-millis") => Type::TimeMillis,
        (Type::Long, "time-micros") => Type::TimeMicros,
        (Type::Long, "timestamp-millis") => Type::TimestampMillis,
        (Type::Long, "timestamp-micros") => Type::TimestampMicros,
        (Type::Long, "local-timestamp-millis") => Type::LocalTimestampMillis,
        (Type::Long, "local-timestamp-micros") => Type::LocalTimestampMicros,
        (Type::String, "uuid") => Type::Uuid,
        (Type::Bytes, "decimal") => decimal(object, None).unwrap_or(ty),
        _ => ty,
    }
}

fn decimal(object: &Map<String, Value>, fixed: Option<&Arc<Fixed>>) -> Option<Type> {
    let number = |key: &str| object.get(key).and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok());
    let precision = number("precision")?;
    let scale = if object.contains_key("scale") { number("scale")? } else { 0 };
    let fits = fixed.is_none_or(|fixed| u64::from(precision) <= digits_that_fit(fixed.size));
    let sound = precision > 0 && scale <= precision && fits;
    sound.then(|| Type::Decimal(Decimal { precision, scale, fixed: fixed.cloned() }))
}

/// Hudi refuses vectors that are not sound, rather than read them as bytes (`HoodieSchema.VectorLogicalTypeFactory`).
fn vector(object: &Map<String, Value>, fixed: Arc<Fixed>) -> Result<Vector> {
    let refused = |what: &str| invalid(format!("invalid Avro schema: vector {} has {what}", fixed.name));
    let word = |key: &str, default: &str| match object.get(key) {
        None => Some(default.to_owned()),
        Some(value) => value.as_str().map(str::to_owned),
    };
    // Hudi takes a number that is written as a string as well.
    let dimension = object.get("dimension").and_then(|value| match value {
        Value::String(text) => text.parse().ok(),
        number => number.as_u64(),
    });
    let dimension = dimension.and_then(|dimension| usize::try_from(dimension).ok());
    let element = word("elementType", "FLOAT").and_then(|word| VectorElement::parse(&word));
    let element = element.ok_or_else(|| refused("an unknown elementType (known: FLOAT, DOUBLE, INT8)"))?;
    let backing = word("storageBacking", FIXED_BYTES);
    if !backing.is_some_and(|backing| backing.eq_ignore_ascii_case(FIXED_BYTES)) {
        return Err(refused("an unknown storageBacking (known: FIXED_BYTES)"));
    }
    let shape = dimension.and_then(|dimension| VectorShape::new(dimension, element));
    let shape = shape.ok_or_else(|| refused("no positive dimension"))?;
    if shape.size() != fixed.size {
        return Err(refused(&format!("{} bytes, which is not the size of {}", fixed.size, shape.descriptor())));
    }
    Ok(Vector { fixed, shape })
}

/// ⌊log10(2^(8·size − 1) − 1)⌋, the digits that every value of a fixed of that size can have.
fn digits_that_fit(size: usize) -> u64 {
    let bits = (size as u64).saturating_mul(8).saturating_sub(1);
    // log10(2) as a fraction good to 18 places; 2^n is never a power of ten, so the floor is right.
    u64::try_from(u128::from(bits) * 301_029_995_663_981_195 / 1_000_000_000_000_000_000).unwrap_or(u64::MAX)
}

fn declared_name(object: &Map<String, Value>, enclosing: &str, kind: &str) -> Result<String> {
    let name = text(object, "name").ok_or_else(|| invalid(format!("invalid Avro schema: {kind} has no name")))?;
    Ok(full_name(name, text(object, "namespace").unwrap_or(enclosing)))
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

fn space_of(full_name: &str) -> &str {
    full_name.rsplit_once('.').map_or("", |(space, _)| space)
}

fn member<'a>(object: &'a Map<String, Value>, key: &str, kind: &str) -> Result<&'a Value> {
    object.get(key).ok_or_else(|| invalid(format!("invalid Avro schema: {kind} has no {key:?}")))
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::invalid_table(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    fn field_types(fields: &str, namespace: &str) -> Vec<Type> {
        let text = format!(r#"{{"type":"record","name":"r","namespace":"{namespace}","fields":[{fields}]}}"#);
        match parse(&text).unwrap() {
            Type::Record(record) => record.fields.iter().map(|field| field.ty.clone()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_same_bare_name_in_two_namespaces_is_two_types() {
        let types = field_types(
            r#"{"name":"a","type":{"type":"fixed","name":"fixed","namespace":"n.a","size":3}},
               {"name":"b","type":{"type":"fixed","name":"fixed","namespace":"n.b","size":5}},
               {"name":"c","type":"n.a.fixed"}, {"name":"d","type":["null","n.b.fixed"]}"#,
            "n",
        );
        assert_eq!(types[2], types[0]);
        assert_eq!(types[3].non_null(), &types[1]);
        assert_ne!(types[0], types[1]);
    }

    #[test]
    fn a_bare_reference_takes_the_enclosing_namespace() {
        let types = field_types(
            r#"{"name":"a","type":{"type":"record","name":"x.inner","fields":[
                  {"name":"e","type":{"type":"enum","name":"e","symbols":["A"]}},{"name":"f","type":"e"}]}},
               {"name":"b","type":"x.e"}"#,
            "n",
        );
        assert!(matches!(&types[1], Type::Enum(e) if e.name == "x.e"));
        let unknown = parse(r#"{"type":"record","name":"r","fields":[{"name":"a","type":"nowhere"}]}"#);
        assert_eq!(unknown.unwrap_err().kind(), ErrorKind::InvalidTable);
    }

    #[test]
    fn logical_types_that_do_not_fit_are_ignored() {
        let types = field_types(
            r#"{"name":"a","type":{"type":"string","logicalType":"date"}},
               {"name":"b","type":{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}},
               {"name":"c","type":{"type":"fixed","name":"f","size":2,"logicalType":"decimal","precision":5}},
               {"name":"d","type":{"type":"fixed","name":"g","size":16,"logicalType":"decimal","precision":38,"scale":10}},
               {"name":"e","type":{"type":"long","logicalType":"timestamp-nanos"}}"#,
            "",
        );
        assert_eq!(types[0], Type::String);
        assert_eq!(types[1], Type::Bytes);
        assert!(matches!(types[2], Type::Fixed(_)));
        assert!(matches!(types[3], Type::Decimal(_)));
        assert_eq!(types[4], Type::Long);
        assert_eq!([1, 2, 3, 4, 8, 9, 16].map(digits_that_fit), [2, 4, 6, 9, 18, 21, 38]);
    }

    #[test]
    fn vectors_are_of_the_size_that_they_say_or_refused() {
        let vector = |rest: &str| {
            let text = format!(r#"{{"type":"fixed","name":"v","size":16,"logicalType":"vector"{rest}}}"#);
            parse(&text).map(|ty| ty.describe()).map_err(|error| (error.kind(), error.to_string()))
        };
        for (rest, described) in [
            (r#","dimension":4,"elementType":"FLOAT","storageBacking":"FIXED_BYTES""#, "VECTOR(4) (fixed(16))"),
            (r#","dimension":4"#, "VECTOR(4) (fixed(16))"),
            (r#","dimension":"2","elementType":"double""#, "VECTOR(2, DOUBLE) (fixed(16))"),
            (r#","dimension":16,"elementType":"INT8""#, "VECTOR(16, INT8) (fixed(16))"),
        ] {
            assert_eq!(vector(rest).unwrap(), described);
        }
        for rest in [
            "",
            r#","dimension":0"#,
            r#","dimension":-4"#,
            r#","dimension":3"#,
            r#","dimension":4,"elementType":"FLOAT16""#,
            r#","dimension":4,"elementType":7"#,
            r#","dimension":4,"storageBacking":"LIST""#,
            r#","dimension":18446744073709551615,"elementType":"DOUBLE""#,
        ] {
            let (kind, message) = vector(rest).unwrap_err();
            assert_eq!(kind, ErrorKind::InvalidTable, "{rest}");
            assert!(message.contains("vector v"), "{message}");
        }
    }

    #[test]
    fn unions_with_two_branches_of_a_name_are_refused() {
        let record = |name: &str| format!(r#"{{"type":"record","name":"{name}","fields":[]}}"#);
        for (union, name) in [
            (r#"["null","null"]"#.to_owned(), "null"),
            (r#"["int","null",{"type":"int","logicalType":"date"}]"#.to_owned(), "int"),
            (r#"["string",{"type":"string","logicalType":"uuid"}]"#.to_owned(), "string"),
            (r#"[{"type":"array","items":"int"},{"type":"array","items":"long"}]"#.to_owned(), "array"),
            (format!("[{},\"r\"]", record("r")), "r"),
        ] {
            let error = parse(&union).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTable, "{union}");
            assert!(error.to_string().contains(&format!("two branches {name}")), "{error}");
        }
        parse(&format!("[{},{},\"int\",\"long\"]", record("r"), record("s"))).unwrap();
    }

    #[test]
    fn recursive_deep_and_exploding_schemas_are_refused() {
        let recursive = r#"{"type":"record","name":"n","fields":[{"name":"next","type":["null","n"]}]}"#;
        assert_eq!(parse(recursive).unwrap_err().kind(), ErrorKind::Unsupported);

        let mut fields = vec![r#"{"name":"f0","type":{"type":"record","name":"r0","fields":[]}}"#.to_owned()];
        for n in 1..40 {
            let before = n - 1;
            fields.push(format!(
                r#"{{"name":"f{n}","type":{{"type":"record","name":"r{n}","fields":[{{"name":"a","type":"r{before}"}},{{"name":"b","type":"r{before}"}}]}}}}"#
            ));
        }
        let exploding = format!(r#"{{"type":"record","name":"r","fields":[{}]}}"#, fields.join(","));
        assert_eq!(parse(&exploding).unwrap_err().kind(), ErrorKind::Unsupported);

        let deep = format!("{}\"int\"{}", r#"{"type":"array","items":"#.repeat(10_000), "}".repeat(10_000));
        assert!(parse(&deep).is_err());
        let deep = format!("{}\"int\"{}", r#"{"type":"array","items":"#.repeat(100), "}".repeat(100));
        assert_eq!(parse(&deep).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn a_default_is_the_double_that_its_text_says() {
        let mut bits: u64 = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..2_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let double = f64::from_bits(bits);
            if !double.is_finite() {
                continue;
            }
            let text = format!(
                r#"{{"type":"record","name":"r","fields":[{{"name":"a","type":"double","default":{double:e}}}]}}"#
            );
            let Type::Record(record) = parse(&text).unwrap() else { panic!("a record") };
            let default = record.fields[0].default.as_ref().and_then(serde_json::Value::as_f64).unwrap();
            assert_eq!(default.to_bits(), double.to_bits(), "{double:e}");
        }
    }
}
