//! Whether the schemas in the headers of log blocks are those of their writes. Headers have no checksum: a changed bit
//! in the name of a column makes the column null in all records of the block, and one in the scale of a decimal changes
//! its values.
//!
//! A block whose schema has a column that the table does not have, and not one that the table has, is compared with the
//! schema that its write recorded. The metadata of a write is read for such blocks only.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use super::damage::written_ranges;
use crate::read::report::SharedReport;
use crate::split::Query;
use mortice_avro::{Field, Schema, Type};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_formats::log::{Block, BlockKind, BlockType, HeaderKey};
use mortice_storage::Storage;

/// Compares the schemas of data blocks with those of the table and of their writes. Blocks come with the paths of their
/// logs.
pub(super) fn check_schemas<'b>(
    blocks: impl Iterator<Item = (&'b Block, Option<&'b str>)>,
    query: &Query,
    storage: &Arc<dyn Storage>,
    report: &SharedReport,
) -> Result<()> {
    let mut table: Option<BTreeSet<String>> = None;
    let mut checked: HashSet<&Bytes> = HashSet::new();
    for (block, path) in blocks {
        let Some(text) = schema_text(block).filter(|text| checked.insert(*text)) else { continue };
        if table.is_none() {
            table = Some(columns(&Schema::parse(&query.schema)?));
        }
        let Some(unknown) = table.as_ref().and_then(|table| unknown_columns(text, table)) else { continue };
        // Instants may share the text of a schema that has columns of an earlier table.
        checked.remove(text);
        let located = |error: Error| {
            let error = error.in_block(block.index).at_offset(block.offset);
            let error = match block.header.instant_time() {
                Some(instant) => error.at_instant(instant),
                None => error,
            };
            match path {
                Some(path) => error.in_file(path),
                None => error,
            }
        };
        if let Some(wrong) = wrong_column(&unknown, block, storage, report)? {
            let message = format!(
                "invalid SCHEMA in the header of a log block: it has a column {wrong}, which its write did not have"
            );
            return Err(located(Error::corrupt(message)));
        }
    }
    Ok(())
}

/// The columns of a schema that the table does not have.
struct UnknownColumns {
    names: BTreeSet<String>,
    /// Whether a meta column is missing, which every writer writes.
    lacks_meta_column: bool,
}

fn schema_text(block: &Block) -> Option<&Bytes> {
    match block.kind {
        BlockKind::Sound(BlockType::AvroData | BlockType::HfileData | BlockType::ParquetData) => {
            block.header.bytes(HeaderKey::Schema)
        }
        _ => None,
    }
}

/// Returns the columns that the table does not have, if the schema lacks others that it has. What cannot be parsed is
/// an error where the records are read.
fn unknown_columns(text: &Bytes, table: &BTreeSet<String>) -> Option<UnknownColumns> {
    let block = columns(&Schema::parse(std::str::from_utf8(text).ok()?).ok()?);
    let is_marker = |name: &str| [meta_columns::OPERATION, meta_columns::IS_DELETED].contains(&name);
    let is_meta = |name: &str| meta_columns::ALL.contains(&name);
    let names: BTreeSet<String> =
        block.difference(table).filter(|name| !is_meta(name) && !is_marker(name)).cloned().collect();
    let mut missing = table.difference(&block).peekable();
    if names.is_empty() || missing.peek().is_none() {
        return None;
    }
    Some(UnknownColumns { names, lacks_meta_column: missing.any(|name| is_meta(name)) })
}

/// Returns the first of the columns that the write of the block did not have.
fn wrong_column<'a>(
    unknown: &'a UnknownColumns,
    block: &Block,
    storage: &Arc<dyn Storage>,
    report: &SharedReport,
) -> Result<Option<&'a String>> {
    if unknown.lacks_meta_column {
        return Ok(unknown.names.first());
    }
    let Some(instant) = block.header.requested_time() else { return Ok(None) };
    let Some(recorded) = report.written_ranges(|| written_ranges(storage))?.schema_of(&instant)? else {
        return Ok(None);
    };
    let Ok(recorded) = Schema::parse(&recorded) else { return Ok(None) };
    let recorded = columns(&recorded);
    Ok(unknown.names.iter().find(|name| !recorded.contains(*name)))
}

/// Returns the columns, with fields in them, and the scales of decimals. Names are in lower case: writers differ in it.
fn columns(schema: &Schema) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    add_fields(schema.fields(), "", &mut names);
    names
}

fn add_fields(fields: &[Field], path: &str, names: &mut BTreeSet<String>) {
    for field in fields {
        add_type(&field.ty, format!("{path}{}", field.name.to_lowercase()), names);
    }
}

fn add_type(kind: &Type, path: String, names: &mut BTreeSet<String>) {
    match kind.non_null() {
        Type::Record(record) => add_fields(&record.fields, &format!("{path}."), names),
        Type::Array(items) | Type::Map(items) => return add_type(items, path, names),
        Type::Decimal(decimal) => {
            names.insert(format!("{path} of scale {}", decimal.scale));
            return;
        }
        _ => {}
    }
    names.insert(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: &str) -> String {
        format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)
    }

    fn unknown(block: &str, table: &str) -> Option<(Vec<String>, bool)> {
        let table = columns(&Schema::parse(&schema(table)).unwrap());
        let found = unknown_columns(&Bytes::from(schema(block)), &table)?;
        Some((found.names.into_iter().collect(), found.lacks_meta_column))
    }

    const KEY: &str = r#"{"name":"_hoodie_record_key","type":["null","string"],"default":null}"#;

    #[test]
    fn columns_of_another_name_or_scale_are_unknown() {
        let inner = r#"{"type":"record","name":"s","fields":[{"name":"a","type":"int"}]}"#;
        let table = format!(r#"{KEY},{{"name":"v","type":"long"}},{{"name":"s","type":{inner}}}"#);
        assert_eq!(unknown(&table, &table), None);
        assert_eq!(unknown(&table.replace("\"v\"", "\"V\""), &table), None);
        assert_eq!(unknown(&table.replace("\"v\"", "\"w\""), &table), Some((vec!["w".into()], false)));
        assert_eq!(unknown(&table.replace("\"a\"", "\"b\""), &table), Some((vec!["s.b".into()], false)));
        assert_eq!(
            unknown(&table.replace("record_key", "rec/rd_key").replace('/', "p"), &table),
            Some((vec!["_hoodie_recprd_key".into()], true))
        );
        let decimal = |scale: u32| {
            format!(r#"{{"name":"d","type":{{"type":"bytes","logicalType":"decimal","precision":9,"scale":{scale}}}}}"#)
        };
        assert_eq!(unknown(&decimal(3), &decimal(2)), Some((vec!["d of scale 3".into()], false)));
    }

    #[test]
    fn added_and_dropped_columns_alone_are_not() {
        let (one, two) = (r#"{"name":"v","type":"long"}"#, r#"{"name":"v","type":"long"},{"name":"w","type":"long"}"#);
        assert_eq!(unknown(one, two), None);
        assert_eq!(unknown(two, one), None);
        let marked = r#"{"name":"v","type":"long"},{"name":"_hoodie_is_deleted","type":"boolean"}"#;
        assert_eq!(unknown(marked, two), None);
    }
}
