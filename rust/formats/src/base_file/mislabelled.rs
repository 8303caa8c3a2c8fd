//! Timestamps that a Parquet file declares under another type than the table has: the numbers are in the unit of the
//! table, and the file's schema is wrong (`SchemaRepair`, `HoodieSchemaRepair`). Releases before 1.1 wrote such files:
//! their streamer took a schema of milliseconds through a schema of microseconds, and local timestamps through longs.
//!
//! | in the file | in the table | read as |
//! |---|---|---|
//! | timestamp of microseconds, UTC | timestamp-millis | timestamp-millis |
//! | int64 without a logical type | local-timestamp-millis, local-timestamp-micros | the table's type |
//!
//! The footer's schema is corrected before anything else is read from the file. So values, statistics and nested fields
//! have the same types. All other pairs of types are left to `conform`, which converts values or refuses them.
//!
//! Hudi compares a file with the Parquet schema that its Avro writer makes of the table's, in which lists have the
//! layout `repeated array`. In lists of other layouts, as Spark writes them, microseconds stay microseconds; longs,
//! which Hudi cannot read there, are the table's timestamps.

use std::collections::HashMap;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type as ParquetType, TypePtr};

use super::footer_schema::{group_like, repetition};
use mortice_avro::{Schema, Type};
use mortice_base::names::FieldNames;

/// The name of the items of a list that an Avro writer writes.
const AVRO_ITEM: &str = "array";

type Result<T> = std::result::Result<T, ParquetError>;

/// Returns the file's schema with the table's types of mislabelled timestamps; `None` if it has none. `names` are the
/// names of the table's columns in the file.
pub(super) fn corrected(file: &TypePtr, table: &Schema, names: &FieldNames) -> Result<Option<TypePtr>> {
    if !has_candidate(table.root()) {
        return Ok(None);
    }
    Correction { micros: true }.of_type(file, table.root(), names)
}

/// Returns true if a file may declare some value of the type otherwise.
fn has_candidate(table: &Type) -> bool {
    match table.non_null() {
        Type::TimestampMillis | Type::LocalTimestampMillis | Type::LocalTimestampMicros => true,
        Type::Array(inner) | Type::Map(inner) => has_candidate(inner),
        Type::Record(record) => record.fields.iter().any(|field| has_candidate(&field.ty)),
        _ => false,
    }
}

/// Which types are corrected.
#[derive(Clone, Copy)]
struct Correction {
    /// Whether microseconds are corrected, and not only longs.
    micros: bool,
}

impl Correction {
    fn of_type(self, file: &TypePtr, table: &Type, names: &FieldNames) -> Result<Option<TypePtr>> {
        match (file.as_ref(), table.non_null()) {
            (ParquetType::PrimitiveType { .. }, table) => self.of_leaf(file, table),
            (ParquetType::GroupType { fields, .. }, Type::Record(record)) => {
                let wanted: HashMap<&str, &Type> =
                    record.fields.iter().map(|field| (field.name.as_str(), &field.ty)).collect();
                with_corrected(file, fields, |field| {
                    let (name, inside) = names.in_table(field.name());
                    let wanted = wanted.get(name.as_ref());
                    wanted.map_or(Ok(None), |wanted| self.of_type(field, wanted, inside))
                })
            }
            (ParquetType::GroupType { fields, .. }, Type::Array(items)) if is_list(file) => {
                with_corrected(file, fields, |repeated| {
                    let of_item = Self { micros: self.micros && repeated.name() == AVRO_ITEM };
                    if is_item(repeated) {
                        return of_item.of_type(repeated, items, names);
                    }
                    with_corrected(repeated, repeated.get_fields(), |item| of_item.of_type(item, items, names))
                })
            }
            (ParquetType::GroupType { fields, .. }, Type::Map(values)) => with_corrected(file, fields, |pair| {
                if pair.is_primitive() {
                    return Ok(None);
                }
                // Keys of Avro maps are strings.
                let of_value = |field: &TypePtr| match field.name() {
                    "key" => Ok(None),
                    _ => self.of_type(field, values, names),
                };
                with_corrected(pair, pair.get_fields(), of_value)
            }),
            _ => Ok(None),
        }
    }

    fn of_leaf(self, file: &TypePtr, table: &Type) -> Result<Option<TypePtr>> {
        let Some(logical) = self.timestamp(file, table) else { return Ok(None) };
        let info = file.get_basic_info();
        let leaf = ParquetType::primitive_type_builder(file.name(), Physical::INT64)
            .with_repetition(repetition(file).unwrap_or(Repetition::REQUIRED))
            .with_logical_type(Some(logical))
            .with_id(info.has_id().then(|| info.id()));
        Ok(Some(Arc::new(leaf.build()?)))
    }

    /// Returns the table's type of a timestamp that the file declares otherwise.
    fn timestamp(self, file: &ParquetType, table: &Type) -> Option<LogicalType> {
        if !file.is_primitive() || file.get_physical_type() != Physical::INT64 {
            return None;
        }
        let info = file.get_basic_info();
        let is_bare = info.logical_type_ref().is_none() && info.converted_type() == ConvertedType::NONE;
        let is_utc_micros = match info.logical_type_ref() {
            Some(LogicalType::Timestamp(time)) => time.is_adjusted_to_u_t_c && time.unit == TimeUnit::MICROS,
            None => info.converted_type() == ConvertedType::TIMESTAMP_MICROS,
            Some(_) => false,
        };
        match table {
            Type::TimestampMillis if is_utc_micros && self.micros => {
                Some(LogicalType::timestamp(true, TimeUnit::MILLIS))
            }
            Type::LocalTimestampMillis if is_bare => Some(LogicalType::timestamp(false, TimeUnit::MILLIS)),
            Type::LocalTimestampMicros if is_bare => Some(LogicalType::timestamp(false, TimeUnit::MICROS)),
            _ => None,
        }
    }
}

/// Returns the group with corrected fields; `None` if none of them is another.
fn with_corrected(
    group: &TypePtr,
    fields: &[TypePtr],
    correct: impl Fn(&TypePtr) -> Result<Option<TypePtr>>,
) -> Result<Option<TypePtr>> {
    let corrected = fields.iter().map(correct).collect::<Result<Vec<_>>>()?;
    if corrected.iter().all(Option::is_none) {
        return Ok(None);
    }
    let fields = corrected.into_iter().zip(fields).map(|(other, field)| other.unwrap_or_else(|| Arc::clone(field)));
    group_like(group, fields.collect()).map(Some)
}

/// Returns true if the repeated field of a list is its item, and false if it contains it (LogicalTypes.md of Parquet,
/// "Lists", backward compatibility).
fn is_item(repeated: &ParquetType) -> bool {
    repeated.is_primitive()
        || repeated.get_fields().len() != 1
        || repeated.name() == AVRO_ITEM
        || repeated.name().ends_with("_tuple")
}

fn is_list(group: &ParquetType) -> bool {
    let info = group.get_basic_info();
    info.converted_type() == ConvertedType::LIST || matches!(info.logical_type_ref(), Some(LogicalType::List))
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::printer::print_schema;

    use super::*;

    const MILLIS: &str = r#"{"type":"long","logicalType":"timestamp-millis"}"#;
    const MICROS: &str = r#"{"type":"long","logicalType":"timestamp-micros"}"#;
    const LOCAL_MILLIS: &str = r#"{"type":"long","logicalType":"local-timestamp-millis"}"#;
    const LOCAL_MICROS: &str = r#"{"type":"long","logicalType":"local-timestamp-micros"}"#;

    fn table(fields: &[(&str, &str)]) -> Schema {
        let fields: Vec<String> =
            fields.iter().map(|(name, ty)| format!(r#"{{"name":"{name}","type":["null",{ty}]}}"#)).collect();
        Schema::parse(&format!(r#"{{"type":"record","name":"t","fields":[{}]}}"#, fields.join(","))).unwrap()
    }

    fn shown(root: &ParquetType) -> String {
        let mut bytes = Vec::new();
        print_schema(&mut bytes, root);
        String::from_utf8(bytes).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The corrected schema of a file; an empty string if it is right.
    fn corrected_of(file: &str, table: &Schema, names: &FieldNames) -> String {
        let root = Arc::new(parse_message_type(&format!("message m {{ {file} }}")).unwrap());
        corrected(&root, table, names).unwrap().map_or(String::new(), |root| shown(&root))
    }

    fn message(fields: &str) -> String {
        shown(&parse_message_type(&format!("message m {{ {fields} }}")).unwrap())
    }

    #[test]
    fn only_hudis_two_pairs_are_corrected() {
        for (file, declared, read) in [
            ("TIMESTAMP(MICROS,true)", MILLIS, "(TIMESTAMP(MILLIS,true))"),
            ("TIMESTAMP_MICROS", MILLIS, "(TIMESTAMP(MILLIS,true))"),
            ("", LOCAL_MILLIS, "(TIMESTAMP(MILLIS,false))"),
            ("", LOCAL_MICROS, "(TIMESTAMP(MICROS,false))"),
            ("TIMESTAMP(MILLIS,true)", MICROS, ""),
            ("TIMESTAMP(MILLIS,true)", MILLIS, ""),
            ("TIMESTAMP(MICROS,true)", MICROS, ""),
            ("TIMESTAMP(MICROS,true)", LOCAL_MILLIS, ""),
            ("TIMESTAMP(MICROS,false)", MILLIS, ""),
            ("TIMESTAMP(MICROS,false)", LOCAL_MILLIS, ""),
            ("TIMESTAMP(NANOS,true)", MILLIS, ""),
            ("TIME(MICROS,true)", LOCAL_MICROS, ""),
            ("INTEGER(64,true)", LOCAL_MILLIS, ""),
            ("", MILLIS, ""),
            ("", MICROS, ""),
            ("", "\"long\"", ""),
        ] {
            let annotated = if file.is_empty() { String::new() } else { format!(" ({file})") };
            let found = corrected_of(&format!("OPTIONAL INT64 c{annotated};"), &table(&[("c", declared)]), &NO_NAMES);
            let wanted = if read.is_empty() { String::new() } else { message(&format!("OPTIONAL INT64 c {read};")) };
            assert_eq!(found, wanted, "{file} under {declared}");
        }
        let other = "REQUIRED BINARY c (STRING); OPTIONAL INT32 d (DATE);";
        assert_eq!(corrected_of(other, &table(&[("c", MILLIS), ("d", LOCAL_MILLIS)]), &NO_NAMES), "");
    }

    static NO_NAMES: std::sync::LazyLock<FieldNames> = std::sync::LazyLock::new(FieldNames::default);

    #[test]
    fn nested_fields_are_corrected_where_they_are() {
        let record = format!(r#"{{"type":"record","name":"s","fields":[{{"name":"t","type":{MILLIS}}}]}}"#);
        let table = table(&[
            ("s", &record),
            ("l", &format!(r#"{{"type":"array","items":{MILLIS}}}"#)),
            ("r", &format!(r#"{{"type":"array","items":["null",{record}]}}"#)),
            ("m", &format!(r#"{{"type":"map","values":{LOCAL_MICROS}}}"#)),
            ("plain", "\"long\""),
        ]);
        let file = |micros: &str, local: &str| {
            format!(
                "OPTIONAL group s {{ REQUIRED INT64 t {micros}; }}
                 OPTIONAL group l (LIST) {{ REPEATED INT64 array {micros}; }}
                 OPTIONAL group r (LIST) {{ REPEATED group array {{ REQUIRED INT64 t {micros}; }} }}
                 OPTIONAL group m (MAP) {{ REPEATED group key_value {{
                   REQUIRED BINARY key (STRING); OPTIONAL INT64 value {local}; }} }}
                 OPTIONAL INT64 plain;"
            )
        };
        let before = file("(TIMESTAMP(MICROS,true))", "");
        let after = file("(TIMESTAMP(MILLIS,true))", "(TIMESTAMP(MICROS,false))");
        assert_eq!(corrected_of(&before, &table, &NO_NAMES), message(&after));
        assert_eq!(corrected_of(&after, &table, &NO_NAMES), "", "a correct file stays");
    }

    #[test]
    fn in_lists_of_another_layout_only_longs_are_corrected() {
        let table = table(&[
            ("l", &format!(r#"{{"type":"array","items":{MILLIS}}}"#)),
            ("o", &format!(r#"{{"type":"array","items":{LOCAL_MILLIS}}}"#)),
        ]);
        let file = |local: &str| {
            format!(
                "OPTIONAL group l (LIST) {{ REPEATED group list {{ OPTIONAL INT64 element (TIMESTAMP(MICROS,true)); }} }}
                 OPTIONAL group o (LIST) {{ REPEATED group list {{ OPTIONAL INT64 element {local}; }} }}"
            )
        };
        let after = file("(TIMESTAMP(MILLIS,false))");
        assert_eq!(corrected_of(&file(""), &table, &NO_NAMES), message(&after));
    }

    #[test]
    fn columns_go_by_their_names_in_the_file() {
        let mut names = FieldNames::default();
        names.add("new", Some("old"), FieldNames::default());
        names.add("gone", None, FieldNames::default());
        let table = table(&[("new", LOCAL_MILLIS), ("gone", LOCAL_MILLIS)]);
        let found = corrected_of("OPTIONAL INT64 old; OPTIONAL INT64 gone; OPTIONAL INT64 new;", &table, &names);
        assert_eq!(
            found,
            message("OPTIONAL INT64 old (TIMESTAMP(MILLIS,false)); OPTIONAL INT64 gone; OPTIONAL INT64 new;")
        );
    }
}
