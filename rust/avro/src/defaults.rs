//! A field's default, from JSON to Avro's own bytes, so that the columns that read data read defaults too.
//!
//! Avro's JSON of defaults: bytes and fixed are strings whose characters are the bytes (U+0000 to U+00FF), and a
//! union's default belongs to its first branch; the first branch that it fits is taken here, as newer releases of Avro
//! do.

use serde_json::Value;

use super::binary::{write_bytes, write_long};
use super::types::{Decimal, Record, Type};
use mortice_base::error::{Error, Result};

/// Appends the Avro bytes of a default.
pub(super) fn write(default: &Value, ty: &Type, out: &mut Vec<u8>, path: &str) -> Result<()> {
    let start = out.len();
    match encode(default, ty, out) {
        Some(()) => Ok(()),
        None => {
            out.truncate(start);
            Err(Error::invalid_table(format!("field {path}: invalid default {default} for {}", ty.describe())))
        }
    }
}

fn encode(default: &Value, ty: &Type, out: &mut Vec<u8>) -> Option<()> {
    match ty {
        Type::Null => default.as_null()?,
        Type::Boolean => out.push(u8::from(default.as_bool()?)),
        Type::Int | Type::Date | Type::TimeMillis => write_long(i64::from(i32::try_from(default.as_i64()?).ok()?), out),
        Type::Long
        | Type::TimeMicros
        | Type::TimestampMillis
        | Type::TimestampMicros
        | Type::LocalTimestampMillis
        | Type::LocalTimestampMicros => write_long(default.as_i64()?, out),
        Type::Float => out.extend_from_slice(&(default.as_f64()? as f32).to_le_bytes()),
        Type::Double => out.extend_from_slice(&default.as_f64()?.to_le_bytes()),
        Type::String | Type::Uuid => write_bytes(default.as_str()?.as_bytes(), out),
        Type::Bytes | Type::Decimal(Decimal { fixed: None, .. }) => write_bytes(&characters(default)?, out),
        Type::Fixed(fixed) | Type::Decimal(Decimal { fixed: Some(fixed), .. }) => {
            out.extend_from_slice(&characters(default).filter(|bytes| bytes.len() == fixed.size)?);
        }
        Type::Vector(vector) => {
            out.extend_from_slice(&characters(default).filter(|bytes| bytes.len() == vector.fixed.size)?);
        }
        Type::Enum(symbols) => {
            let symbol = default.as_str()?;
            let index = symbols.symbols.iter().position(|one| one == symbol)?;
            write_long(i64::try_from(index).ok()?, out);
        }
        Type::Array(items) => block(default.as_array()?, out, |item, out| encode(item, items, out))?,
        Type::Map(values) => block(default.as_object()?, out, |(key, value), out| {
            write_bytes(key.as_bytes(), out);
            encode(value, values, out)
        })?,
        Type::Record(record) => fields(default, record, out)?,
        Type::Union(branches) => union(default, branches, out)?,
    }
    Some(())
}

fn fields(default: &Value, record: &Record, out: &mut Vec<u8>) -> Option<()> {
    let given = default.as_object()?;
    for field in &record.fields {
        encode(given.get(&field.name).or(field.default.as_ref())?, &field.ty, out)?;
    }
    Some(())
}

fn union(default: &Value, branches: &[Type], out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    for (index, branch) in branches.iter().enumerate() {
        write_long(i64::try_from(index).ok()?, out);
        if encode(default, branch, out).is_some() {
            return Some(());
        }
        out.truncate(start);
    }
    None
}

fn block<I: IntoIterator<IntoIter: ExactSizeIterator>>(
    items: I,
    out: &mut Vec<u8>,
    mut write: impl FnMut(I::Item, &mut Vec<u8>) -> Option<()>,
) -> Option<()> {
    let items = items.into_iter();
    if items.len() > 0 {
        write_long(i64::try_from(items.len()).ok()?, out);
        for item in items {
            write(item, out)?;
        }
    }
    write_long(0, out);
    Some(())
}

fn characters(default: &Value) -> Option<Vec<u8>> {
    default.as_str()?.chars().map(|character| u8::try_from(character).ok()).collect()
}
