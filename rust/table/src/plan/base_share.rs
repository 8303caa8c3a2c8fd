//! Estimates the share of base files that a query reads, from the types of its columns. Planning opens no base file, so
//! the sizes of their column chunks are unknown.

use std::collections::BTreeSet;

use arrow_schema::{DataType, Field};

use crate::split::Query;
use mortice_avro::{self as avro, ArrowMapping};
use mortice_base::error::Result;
use mortice_base::names::meta_columns;

/// Bytes of a value of variable size, as Spark estimates it (`StringType.defaultSize`).
const UNKNOWN: u64 = 20;
/// Items of a list or entries of a map.
const ITEMS: u64 = 4;

/// Returns the bytes that `query` reads of a base file, divided by the bytes of the file: more than 0, at most 1.
///
/// The columns are those of the projection and of the filter, the record key, and the ordering fields.
pub(super) fn base_share(query: &Query) -> Result<f64> {
    let schema = avro::arrow_schema(&avro::Schema::parse(&query.schema)?, ArrowMapping::Table)?;
    let mut read: BTreeSet<&str> = query.columns.iter().map(String::as_str).collect();
    read.extend(query.filter.columns());
    read.extend(query.merge.ordering_fields.iter().map(String::as_str));
    match &query.virtual_key {
        Some(fields) => read.extend(fields.iter().map(String::as_str)),
        None => read.extend([meta_columns::RECORD_KEY]),
    }
    let width_of = |fields: &mut dyn Iterator<Item = &Field>| {
        fields.fold(0_u64, |sum, field| sum.saturating_add(width(field.data_type())))
    };
    let all = width_of(&mut schema.fields().iter().map(AsRef::as_ref));
    let of_read = width_of(
        &mut schema.fields().iter().map(AsRef::as_ref).filter(|field: &&Field| read.contains(field.name().as_str())),
    );
    Ok(if of_read == 0 || all == 0 { 1.0 } else { of_read as f64 / all as f64 })
}

/// Returns the bytes of a value of a type.
fn width(of: &DataType) -> u64 {
    match of {
        DataType::Struct(fields) => fields.iter().fold(0, |sum, field| sum.saturating_add(width(field.data_type()))),
        DataType::List(item) | DataType::Map(item, _) => width(item.data_type()).saturating_mul(ITEMS),
        DataType::Boolean => 1,
        other => other.primitive_width().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(UNKNOWN),
    }
}
