//! Stepping over fields that nobody wants: compiled from the writer's type, neighbours merged.

use std::sync::Arc;

use super::lane::{Lane, peek_any_long};
use super::lanes::Lanes;
use super::plan::SkipStep;
use super::types::{Decimal, Type};
use mortice_base::error::Result;

/// The steps over one value of a type.
pub(super) fn skip(ty: &Type) -> Arc<[SkipStep]> {
    skip_all(std::iter::once(ty))
}

/// The steps over values of several types, one after the other.
pub(super) fn skip_all<'a>(types: impl Iterator<Item = &'a Type>) -> Arc<[SkipStep]> {
    let mut steps = Vec::new();
    for ty in types {
        compile(ty, &mut steps);
    }
    steps.into()
}

fn compile(ty: &Type, steps: &mut Vec<SkipStep>) {
    let step = match ty {
        Type::Null => return,
        Type::Record(record) => return record.fields.iter().for_each(|field| compile(&field.ty, steps)),
        Type::Boolean => SkipStep::Fixed(1),
        Type::Float => SkipStep::Fixed(4),
        Type::Double => SkipStep::Fixed(8),
        Type::Fixed(fixed) | Type::Decimal(Decimal { fixed: Some(fixed), .. }) => SkipStep::Fixed(fixed.size),
        Type::Vector(vector) => SkipStep::Fixed(vector.fixed.size),
        Type::Bytes | Type::String | Type::Uuid | Type::Decimal(_) => SkipStep::Bytes,
        Type::Array(items) => SkipStep::Items { item: skip(items), least: items.least_bytes() },
        Type::Map(values) => SkipStep::Items {
            item: skip_all([&Type::String, values].into_iter()),
            least: values.least_bytes().saturating_add(1),
        },
        Type::Union(branches) => union(branches),
        _ => SkipStep::Varints(1),
    };
    match (steps.last_mut(), step) {
        (Some(SkipStep::Fixed(before)), SkipStep::Fixed(size)) => *before = before.saturating_add(size),
        (Some(SkipStep::Varints(before)), SkipStep::Varints(count)) => *before = before.saturating_add(count),
        (_, step) => steps.push(step),
    }
}

fn union(branches: &[Type]) -> SkipStep {
    let steps: Vec<Arc<[SkipStep]>> = branches.iter().map(skip).collect();
    let nullable = match branches {
        [Type::Null, _] => steps.get(1).map(|value| (0, value)),
        [_, Type::Null] => steps.first().map(|value| (2, value)),
        _ => None,
    };
    let Some((null, value)) = nullable else { return SkipStep::Union(steps) };
    match value.as_ref() {
        [SkipStep::Varints(1)] => SkipStep::NullableVarint { null },
        [SkipStep::Bytes] => SkipStep::NullableBytes { null },
        [SkipStep::Fixed(size)] => SkipStep::NullableFixed { null, size: *size },
        _ => SkipStep::Nullable { null, steps: Arc::clone(value) },
    }
}

/// Steps over values in every active lane, one step in all lanes before the next.
pub(super) fn skip_lanes(steps: &[SkipStep], lanes: &mut Lanes<'_>) -> Result<()> {
    for step in steps {
        if by_peek(step, lanes).is_none() {
            match step {
                SkipStep::Varints(1) => active(lanes, |lane| lane.skip_varint())?,
                SkipStep::Bytes => active(lanes, bytes)?,
                SkipStep::NullableVarint { null } => active(lanes, |lane| lane.skip_nullable_varint(*null))?,
                SkipStep::NullableBytes { null } => active(lanes, |lane| nullable_bytes(lane, *null))?,
                other => active(lanes, |lane| skip_one(other, lane))?,
            }
        }
    }
    Ok(())
}

/// The same for one step that can be decoded from the bytes ahead. None, and no lane moved, if it cannot.
fn by_peek(step: &SkipStep, lanes: &mut Lanes<'_>) -> Option<()> {
    match step {
        SkipStep::Fixed(size) => {
            let size = u32::try_from(*size).ok()?;
            lanes.skip_by_peek(|_| Some(size))
        }
        SkipStep::Varints(1) => lanes.skip_by_peek(|[ahead @ .., _]| {
            let (_, bytes, is_read) = peek_any_long(ahead);
            is_read.then_some(bytes)
        }),
        SkipStep::Bytes => lanes.skip_by_peek(|[length, next, ..]| peek_bytes(*length, *next)),
        SkipStep::NullableVarint { null } => lanes.skip_by_peek(|[tag, ahead @ ..]| {
            // Null or not is no branch to be guessed: the number's bytes count, or count nothing.
            let (_, bytes, is_read) = peek_any_long(ahead);
            (is_read & (tag & 0xfd == 0)).then_some(1 + if tag == null { 0 } else { bytes })
        }),
        SkipStep::NullableBytes { null } => lanes.skip_by_peek(|[tag, length, next, ..]| match *tag {
            tag if tag == null ^ 2 => Some(1 + peek_bytes(*length, *next)?),
            tag => (tag == *null).then_some(1),
        }),
        SkipStep::NullableFixed { null, size } => {
            let size = u32::try_from(*size).ok()?;
            lanes.skip_by_peek(|[tag, ..]| {
                (tag & 0xfd == 0).then_some(1_u32.saturating_add(if tag == null { 0 } else { size }))
            })
        }
        _ => None,
    }
}

/// How many bytes a length of one or two bytes takes, with those that it counts.
#[inline(always)]
fn peek_bytes(length: u8, next: u8) -> Option<u32> {
    if length & 0x81 == 0 {
        return Some(1 + u32::from(length >> 1));
    }
    let both = u32::from(length & 0x7f) | u32::from(next) << 7;
    (length & 1 == 0 && next < 0x80).then_some(2 + (both >> 1))
}

#[inline(always)]
fn active(lanes: &mut Lanes<'_>, step: impl Fn(&mut Lane<'_>) -> Result<()>) -> Result<()> {
    let active = lanes.active();
    lanes.each(|index, lane| if active >> index & 1 == 1 { step(lane) } else { Ok(()) })
}

/// Steps over values in one lane.
#[inline(always)]
pub(super) fn skip_lane(steps: &[SkipStep], lane: &mut Lane<'_>) -> Result<()> {
    for step in steps {
        skip_one(step, lane)?;
    }
    Ok(())
}

#[inline(always)]
fn skip_one(step: &SkipStep, lane: &mut Lane<'_>) -> Result<()> {
    match step {
        SkipStep::Nullable { null, steps } => {
            if lane.tag(Some(*null), null ^ 2)? {
                for step in steps.iter() {
                    skip_flat(step, lane)?;
                }
            }
            Ok(())
        }
        step => skip_flat(step, lane),
    }
}

#[inline(always)]
fn skip_flat(step: &SkipStep, lane: &mut Lane<'_>) -> Result<()> {
    match step {
        SkipStep::Fixed(size) => lane.skip(*size),
        SkipStep::Varints(count) => (0..*count).try_for_each(|_| lane.skip_varint()),
        SkipStep::Bytes => bytes(lane),
        SkipStep::NullableVarint { null } => lane.skip_nullable_varint(*null),
        SkipStep::NullableBytes { null } => nullable_bytes(lane, *null),
        SkipStep::NullableFixed { null, size } => nullable_fixed(lane, *null, *size),
        nested => {
            lane.at = skip_nested(nested, *lane)?;
            Ok(())
        }
    }
}

/// Steps over a value that others are in; gives where it ends.
fn skip_nested(step: &SkipStep, mut lane: Lane<'_>) -> Result<u32> {
    match step {
        SkipStep::Union(branches) => {
            let branch = lane.branch()?;
            let Some(steps) = branches.get(branch) else {
                return Err(lane.corrupt(format!("invalid union: branch {branch} of {}", branches.len())));
            };
            skip_lane(steps, &mut lane)?;
        }
        SkipStep::Items { item, least } => items(item, *least, &mut lane)?,
        flat => skip_one(flat, &mut lane)?,
    }
    Ok(lane.at)
}

fn items(item: &[SkipStep], least: usize, lane: &mut Lane<'_>) -> Result<()> {
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
        assert_eq!(
            *skip(schema.root()),
            [SkipStep::Fixed(9), SkipStep::Varints(2), SkipStep::NullableBytes { null: 2 }]
        );
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
