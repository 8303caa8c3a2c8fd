//! Whether an option agrees with the property of the table that it would set in Hudi
//! (`HoodieWriterUtils.validateTableConfig`).

use crate::config::{PayloadClass, TableConfig};

const PAYLOADS: [&str; 2] = ["hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class"];
const KEY_GENERATORS: [&str; 2] = ["hoodie.table.keygenerator.class", "hoodie.table.keygenerator.type"];

/// The table's value if the option contradicts it. A property that the table does not have is not contradicted.
pub(super) fn contradicted(table: &TableConfig, property: &str, value: &str) -> Option<String> {
    let value = value.trim();
    match property {
        "hoodie.table.version" => differs(&table.version.number().to_string(), value),
        "hoodie.table.type" => differs(table.table_type.name(), value),
        "hoodie.table.ordering.fields" | "hoodie.table.precombine.field" => differs_in(&table.ordering_fields, value),
        "hoodie.table.recordkey.fields" => differs_in(&table.record_key_fields, value),
        "hoodie.table.partition.fields" => differs_in(&table.partition_fields, value),
        _ if PAYLOADS.contains(&property) => payload_contradicted(table, value),
        _ if KEY_GENERATORS.contains(&property) => key_generator_contradicted(table, value),
        _ => differs(table.properties.get(property)?, value),
    }
}

fn differs(stored: &str, value: &str) -> Option<String> {
    (!stored.eq_ignore_ascii_case(value)).then(|| stored.to_owned())
}

fn differs_in(stored: &[String], value: &str) -> Option<String> {
    // A custom key generator's fields carry their kind: `city:SIMPLE`.
    let field = |text: &str| text.split(':').next().unwrap_or_default().trim().to_owned();
    let given: Vec<String> = value.split(',').map(field).filter(|name| !name.is_empty()).collect();
    let own: Vec<String> = stored.iter().map(|text| field(text)).collect();
    (!own.is_empty() && own != given).then(|| own.join(","))
}

/// A payload class agrees if the table stores it, or merges as it does.
fn payload_contradicted(table: &TableConfig, value: &str) -> Option<String> {
    let stored: Vec<&str> = PAYLOADS.iter().filter_map(|name| table.properties.get(name)).collect();
    let class = PayloadClass::parse(value).or_else(|| PayloadClass::by_name(value));
    let mode = class.and_then(PayloadClass::mode);
    let agrees = stored.contains(&value) || (mode.is_some() && mode.as_ref() == Some(&table.merge.mode));
    let own = || stored.first().map_or_else(|| table.merge.mode.name().to_owned(), |class| (*class).to_owned());
    (!agrees).then(own)
}

/// Key generators are named by a class or, from table version 8 on, by a type.
fn key_generator_contradicted(table: &TableConfig, value: &str) -> Option<String> {
    let stored = KEY_GENERATORS.iter().find_map(|name| table.properties.get(name))?;
    (generator_kind(stored) != generator_kind(value)).then(|| stored.to_owned())
}

/// `SimpleKeyGenerator`, `SimpleAvroKeyGenerator` and `SIMPLE` are one kind.
fn generator_kind(name: &str) -> String {
    let kind = class_name(name).to_ascii_lowercase().replace(['_', '-'], "");
    let kind = kind.strip_suffix("keygenerator").unwrap_or(&kind);
    let kind = kind.strip_suffix("avro").unwrap_or(kind);
    match kind {
        "nonpartitioned" | "nonpartition" => "nonpartition".to_owned(),
        "timestampbased" | "timestamp" => "timestamp".to_owned(),
        "globaldelete" | "globaldeletes" => "globaldelete".to_owned(),
        other => other.to_owned(),
    }
}

fn class_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
