//! Stepping over fields that nobody wants: compiled from the writer's type, neighbours merged.

use std::sync::Arc;

use super::lane::{Lane, Lanes};
use super::plan::Skip;
use super::types::{Decimal, Type};
use crate::error::Result;

/// The steps over one value of a type.
pub(super) fn skip(ty: &Type) -> Arc<[Skip]> {
    skip_all(std::iter::once(ty))
}

/// The steps over values of several types, one after the other.
pub(super) fn skip_all<'a>(types: impl Iterator<Item = &'a Type>) -> Arc<[Skip]> {
    let mut steps = Vec::new();
    for ty in types {
        compile(ty, &mut steps);
    }
    steps.into()
}

fn compile(ty: &Type, steps: &mut Vec<Skip>) {
    let step = match ty {
        Type::Null => return,
        Type::Record(record) => return record.fields.iter().for_each(|field| compile(&field.ty, steps)),
        Type::Boolean => Skip::Fixed(1),
        Type::Float => Skip::Fixed(4),
        Type::Double => Skip::Fixed(8),
        Type::Fixed(fixed) | Type::Decimal(Decimal { fixed: Some(fixed), .. }) => Skip::Fixed(fixed.size),
        Type::Bytes | Type::String | Type::Uuid | Type::Decimal(_) => Skip::Bytes,
        Type::Array(items) => Skip::Items { item: skip(items), least: items.least_bytes() },
        Type::Map(values) => Skip::Items {
            item: skip_all([&Type::String, values].into_iter()),
            least: values.least_bytes().saturating_add(1),
        },
        Type::Union(branches) => union(branches),
        _ => Skip::Varints(1),
    };
    match (steps.last_mut(), step) {
        (Some(Skip::Fixed(before)), Skip::Fixed(size)) => *before = before.saturating_add(size),
        (Some(Skip::Varints(before)), Skip::Varints(count)) => *before = before.saturating_add(count),
        (_, step) => steps.push(step),
    }
}

fn union(branches: &[Type]) -> Skip {
    let steps: Vec<Arc<[Skip]>> = branches.iter().map(skip).collect();
    let nullable = match branches {
        [Type::Null, _] => steps.get(1).map(|value| (0, value)),
        [_, Type::Null] => steps.first().map(|value| (2, value)),
        _ => None,
    };
    match nullable.map(|(null, value)| (null, value.as_ref())) {
        Some((null, [Skip::Varints(1)])) => Skip::NullableVarint { null },
        Some((null, [Skip::Bytes])) => Skip::NullableBytes { null },
        Some((null, [Skip::Fixed(size)])) => Skip::NullableFixed { null, size: *size },
        _ => Skip::Union(steps),
    }
}

/// Steps over values in every active lane, one step in all lanes before the next.
pub(super) fn skip_lanes(steps: &[Skip], lanes: &mut Lanes<'_>) -> Result<()> {
    for step in steps {
        match step {
            Skip::Fixed(size) => active(lanes, |lane| lane.skip(*size))?,
            Skip::Varints(1) => active(lanes, |lane| lane.skip_varint())?,
            Skip::Bytes => active(lanes, bytes)?,
            Skip::NullableVarint { null } => active(lanes, |lane| lane.skip_nullable_varint(*null))?,
            Skip::NullableBytes { null } => active(lanes, |lane| nullable_bytes(lane, *null))?,
            Skip::NullableFixed { null, size } => active(lanes, |lane| nullable_fixed(lane, *null, *size))?,
            other => active(lanes, |lane| skip_one(other, lane))?,
        }
    }
    Ok(())
}

#[inline(always)]
fn active(lanes: &mut Lanes<'_>, step: impl Fn(&mut Lane<'_>) -> Result<()>) -> Result<()> {
    let active = lanes.active();
    lanes.each(|index, lane| if active >> index & 1 == 1 { step(lane) } else { Ok(()) })
}

/// Steps over values in one lane.
pub(super) fn skip_lane(steps: &[Skip], lane: &mut Lane<'_>) -> Result<()> {
    steps.iter().try_for_each(|step| skip_one(step, lane))
}

fn skip_one(step: &Skip, lane: &mut Lane<'_>) -> Result<()> {
    match step {
        Skip::Fixed(size) => lane.skip(*size),
        Skip::Varints(count) => (0..*count).try_for_each(|_| lane.skip_varint()),
        Skip::Bytes => bytes(lane),
        Skip::NullableVarint { null } => lane.skip_nullable_varint(*null),
        Skip::NullableBytes { null } => nullable_bytes(lane, *null),
        Skip::NullableFixed { null, size } => nullable_fixed(lane, *null, *size),
        Skip::Union(branches) => {
            let branch = lane.branch()?;
            match branches.get(branch) {
                Some(steps) => skip_lane(steps, lane),
                None => Err(lane.corrupt(format!("branch {branch} of a union of {}", branches.len()))),
            }
        }
        Skip::Items { item, least } => items(item, *least, lane),
    }
}

fn items(item: &[Skip], least: usize, lane: &mut Lane<'_>) -> Result<()> {
    loop {
        match lane.block(least)? {
            (0, _) => return Ok(()),
            (_, Some(bytes)) => lane.skip(bytes)?,
            (count, None) if !item.is_empty() => {
                for _ in 0..count {
                    skip_lane(item, lane)?;
                    lane.check_end()?;
                }
            }
            _ => {}
        }
    }
}

#[inline(always)]
fn bytes(lane: &mut Lane<'_>) -> Result<()> {
    let length = lane.length()?;
    lane.skip(length)
}

#[inline(always)]
fn nullable_bytes(lane: &mut Lane<'_>, null: u8) -> Result<()> {
    if lane.tag(Some(null), null ^ 2)? { bytes(lane) } else { Ok(()) }
}

#[inline(always)]
fn nullable_fixed(lane: &mut Lane<'_>, null: u8, size: usize) -> Result<()> {
    if lane.tag(Some(null), null ^ 2)? { lane.skip(size) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::schema::Schema;
    use super::*;

    #[test]
    fn neighbours_are_merged_and_records_flattened() {
        let schema = Schema::parse(
            r#"{"type":"record","name":"r","fields":[{"name":"a","type":"double"},
              {"name":"b","type":{"type":"record","name":"s","fields":[{"name":"c","type":"boolean"},{"name":"d","type":"int"}]}},
              {"name":"e","type":"long"},{"name":"f","type":["string","null"]}]}"#,
        )
        .unwrap();
        assert_eq!(*skip(schema.root()), [Skip::Fixed(9), Skip::Varints(2), Skip::NullableBytes { null: 2 }]);
    }

    #[test]
    fn an_array_of_counted_bytes_is_left_in_one_step() {
        let items = skip(Schema::parse(r#"{"type":"array","items":"string"}"#).unwrap().root());
        // Two blocks: -2 items in 4 bytes, then one item, then the end.
        let bytes = [3, 8, 2, b'a', 2, b'b', 2, 2, b'c', 0, 99];
        let mut lane = Lane::new(&bytes);
        skip_lane(&items, &mut lane).unwrap();
        assert_eq!(lane.at(), 10);
    }
}
