//! Creates the column of a plan: the only place where kinds are distinguished. Each reading below is compiled into a
//! column of its own.

use std::io::Write as _;
use std::sync::Arc;

use arrow_buffer::ArrowNativeType;

use super::super::java_text;
use super::super::lane::Lane;
use super::super::plan::{ColumnPlan, DecimalPlan, DecimalSource, NumberPlan, TextPlan, ValuePlan};
use super::absent::{DefaultColumn, NullColumn};
use super::booleans::BooleanColumn;
use super::column::{Column, ColumnValues, TaggedColumn};
use super::decimals::{self, FixedDecimal, SizedDecimal, limit};
use super::fixed::FixedBytes;
use super::lists::{ArrayItems, ListColumn, MapEntries};
use super::numbers::{BytePositions, Double, Float, Int, Long, NumberColumn, ReadNumber as _};
use super::strings::StringColumn;
use super::structs::StructColumn;
use super::text_columns::TextColumn;
use super::unions::UnionColumn;
use super::vectors::VectorColumn;
use mortice_base::error::Result;

/// An empty column for a plan.
pub(in super::super) fn build(plan: &ColumnPlan) -> Box<dyn Column> {
    match &plan.kind {
        ValuePlan::Null => tagged(plan, NullColumn::default()),
        ValuePlan::Boolean => tagged(plan, BooleanColumn::default()),
        ValuePlan::Number(kind) => number(plan, kind),
        ValuePlan::Text(kind) => text(plan, kind),
        ValuePlan::Fixed(size) => tagged(plan, FixedBytes::new(*size)),
        ValuePlan::Vector(shape) => tagged(plan, VectorColumn::new(*shape)),
        ValuePlan::Decimal(kind) => decimal(plan, kind),
        ValuePlan::List(items) => {
            tagged(plan, ListColumn::new(ArrayItems(build(&items.plan)), items.least, items.steps.clone()))
        }
        ValuePlan::Map(items) => {
            let entries = MapEntries { keys: StringColumn::default(), values: build(&items.plan) };
            tagged(plan, ListColumn::new(entries, items.least, items.steps.clone()))
        }
        ValuePlan::Struct(fields) => {
            tagged(plan, StructColumn::new(fields.columns.iter().map(build).collect(), fields.steps.clone()))
        }
        ValuePlan::Union { branches, members } => {
            tagged(plan, UnionColumn::new(branches.clone(), members.iter().map(build).collect()))
        }
        ValuePlan::Default { bytes, plan } => Box::new(DefaultColumn::new(Arc::clone(bytes), build(plan))),
    }
}

fn tagged<V: ColumnValues + 'static>(plan: &ColumnPlan, values: V) -> Box<dyn Column> {
    Box::new(TaggedColumn::new(values, plan.tags, plan.data_type.clone()))
}

fn numbers<T: ArrowNativeType>(
    plan: &ColumnPlan,
    read: impl Fn(&mut Lane<'_>) -> Result<T> + Send + 'static,
) -> Box<dyn Column> {
    tagged(plan, NumberColumn::new(read))
}

fn number(plan: &ColumnPlan, kind: &NumberPlan) -> Box<dyn Column> {
    match *kind {
        NumberPlan::Int => tagged(plan, NumberColumn::new(Int)),
        NumberPlan::Long => tagged(plan, NumberColumn::new(Long)),
        NumberPlan::LongTimes(factor) => numbers(plan, move |lane| {
            let value = lane.long()?;
            times(*lane, value, factor)
        }),
        NumberPlan::IntToLongTimes(factor) => numbers(plan, move |lane| {
            let value = i64::from(lane.int()?);
            times(*lane, value, factor)
        }),
        NumberPlan::IntToFloat => numbers(plan, |lane| Ok(lane.int()? as f32)),
        NumberPlan::IntToDouble => numbers(plan, |lane| Ok(f64::from(lane.int()?))),
        NumberPlan::LongToFloat => numbers(plan, |lane| Ok(lane.long()? as f32)),
        NumberPlan::LongToDouble => numbers(plan, |lane| Ok(lane.long()? as f64)),
        NumberPlan::Float => tagged(plan, NumberColumn::new(Float)),
        NumberPlan::Double => tagged(plan, NumberColumn::new(Double)),
        NumberPlan::FloatToDouble => numbers(plan, |lane| Ok(java_text::float_to_double(float(lane)?))),
        NumberPlan::TextToDate => numbers(plan, date_of_text),
        NumberPlan::IntOrLong { branches } => numbers(plan, move |lane| {
            branch_of(lane, branches)?;
            lane.long()
        }),
        NumberPlan::FloatOrDouble { branches, float: narrow } => {
            numbers(
                plan,
                move |lane| {
                    if branch_of(lane, branches)? == narrow { Ok(f64::from(float(lane)?)) } else { double(lane) }
                },
            )
        }
        NumberPlan::Position => tagged(plan, BytePositions::default()),
    }
}

fn float(lane: &mut Lane<'_>) -> Result<f32> {
    Float.read(lane)
}

fn double(lane: &mut Lane<'_>) -> Result<f64> {
    Double.read(lane)
}

#[inline(always)]
fn times(lane: Lane<'_>, value: i64, factor: i64) -> Result<i64> {
    value
        .checked_mul(factor)
        .ok_or_else(|| lane.corrupt(format!("invalid timestamp: {value} does not fit in 64 bits as µs")))
}

fn branch_of(lane: &mut Lane<'_>, branches: usize) -> Result<usize> {
    let branch = lane.branch()?;
    if branch < branches {
        Ok(branch)
    } else {
        Err(lane.corrupt(format!("invalid union: branch {branch} of {branches}")))
    }
}

fn date_of_text(lane: &mut Lane<'_>) -> Result<i32> {
    let length = lane.length()?;
    let date = str::from_utf8(lane.slice(length)?).ok().and_then(java_text::parse_date);
    date.ok_or_else(|| lane.corrupt("invalid string: it is not a date"))
}

fn text_column(
    plan: &ColumnPlan,
    append: impl Fn(&mut Lane<'_>, &mut Vec<u8>) -> Result<()> + Send + 'static,
) -> Box<dyn Column> {
    tagged(plan, TextColumn::new(append))
}

fn text(plan: &ColumnPlan, kind: &TextPlan) -> Box<dyn Column> {
    match kind {
        TextPlan::Bytes => tagged(plan, StringColumn::default()),
        TextPlan::Fixed(size) => {
            let size = *size;
            text_column(plan, move |lane, out| lane.copy_to(size, out))
        }
        TextPlan::Symbol(symbols) => {
            let symbols = Arc::clone(symbols);
            text_column(plan, move |lane, out| symbol(lane, &symbols, out))
        }
        TextPlan::OneOf(symbols) => {
            let symbols = Arc::clone(symbols);
            text_column(plan, move |lane, out| one_of(lane, &symbols, out))
        }
        TextPlan::Int => text_column(plan, |lane, out| {
            let value = lane.int()?;
            shown(*lane, out, &value)
        }),
        TextPlan::Long => text_column(plan, |lane, out| {
            let value = lane.long()?;
            shown(*lane, out, &value)
        }),
        TextPlan::Float => text_column(plan, |lane, out| {
            out.extend_from_slice(java_text::float(float(lane)?).as_str().as_bytes());
            Ok(())
        }),
        TextPlan::Double => text_column(plan, |lane, out| {
            out.extend_from_slice(java_text::double(double(lane)?).as_str().as_bytes());
            Ok(())
        }),
        TextPlan::Date => text_column(plan, |lane, out| {
            out.extend_from_slice(java_text::date(lane.int()?).as_str().as_bytes());
            Ok(())
        }),
        TextPlan::Decimal(decimal) => {
            let decimal = decimal.clone();
            text_column(plan, move |lane, out| {
                let value = decimals::read(lane, &decimal)?;
                out.extend_from_slice(java_text::decimal(value, decimal.scale).as_str().as_bytes());
                Ok(())
            })
        }
    }
}

fn shown(lane: Lane<'_>, out: &mut Vec<u8>, value: &dyn std::fmt::Display) -> Result<()> {
    write!(out, "{value}").map_err(|error| lane.corrupt("a number cannot be converted to string").caused_by(error))
}

#[inline(always)]
fn symbol(lane: &mut Lane<'_>, symbols: &[Option<String>], out: &mut Vec<u8>) -> Result<()> {
    let index = lane.int()?;
    match usize::try_from(index).ok().and_then(|index| symbols.get(index)) {
        Some(Some(symbol)) => {
            out.extend_from_slice(symbol.as_bytes());
            Ok(())
        }
        Some(None) => Err(lane.corrupt(format!("invalid enum: symbol {index} is not in the reader's schema"))),
        None => Err(lane.corrupt(format!("invalid enum: symbol {index} of {}", symbols.len()))),
    }
}

fn one_of(lane: &mut Lane<'_>, symbols: &[String], out: &mut Vec<u8>) -> Result<()> {
    let length = lane.length()?;
    let text = lane.slice(length)?;
    if !symbols.iter().any(|symbol| symbol.as_bytes() == text) {
        return Err(lane.corrupt("invalid string: it is not a symbol of the reader's enum"));
    }
    out.extend_from_slice(text);
    Ok(())
}

fn decimal(plan: &ColumnPlan, kind: &DecimalPlan) -> Box<dyn Column> {
    match kind.source {
        DecimalSource::Fixed { scale, size } if scale == kind.scale => {
            tagged(plan, NumberColumn::new(FixedDecimal { size, limit: limit(kind.precision), decimal: kind.clone() }))
        }
        DecimalSource::Bytes { scale } if scale == kind.scale => {
            tagged(plan, NumberColumn::new(SizedDecimal { limit: limit(kind.precision), decimal: kind.clone() }))
        }
        _ => {
            let decimal = kind.clone();
            numbers(plan, move |lane| decimals::read(lane, &decimal))
        }
    }
}
