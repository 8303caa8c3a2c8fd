//! Filters, evaluated on rows that are made of the input.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Field, SortOptions};
use arrow_select::take::take;
use mortice::expr::predicate::{Predicate, conjunction};
use mortice::filter::{BoundFilter, ColumnBounds, Filter, KeyFilter, Operator};

use super::schemas::text;

const TEXTS: [Option<&str>; 7] = [None, Some(""), Some("a"), Some("ab"), Some("b"), Some("1"), Some("ß%_")];
const INTS: [Option<i64>; 7] = [None, Some(0), Some(1), Some(-1), Some(3), Some(i64::MIN), Some(i64::MAX)];
const FLOATS: [Option<f64>; 8] =
    [None, Some(0.0), Some(-0.0), Some(1.5), Some(f64::NAN), Some(f64::NEG_INFINITY), Some(3.0), Some(1e300)];
const MOST_ROWS: usize = 16;

/// A filter as a split has it, after its length (2 bytes), and bytes that select the values of rows. It is the same
/// when it was written and read; it keeps the rows that its terms keep; and nothing that skips rows skips one of them.
pub fn filter(data: &[u8]) {
    let Some((text, values)) = text(data) else { return };
    let Ok(filter) = serde_json::from_str::<Filter>(text) else { return };
    let written = serde_json::to_string(&filter).expect("a filter is written");
    let again: Filter = serde_json::from_str(&written).expect("a filter that was written is read");
    assert!(format!("{again:?}") == format!("{filter:?}"), "another filter");
    let _ = filter.to_string();
    for term in filter.lists().iter().flatten() {
        let operator = term.operator();
        assert!(Operator::parse(operator.text()).is_ok_and(|parsed| parsed == operator), "another operator");
    }
    let batch = rows(values);
    let Ok(bound) = BoundFilter::bind(&filter, batch.schema_ref()) else { return };
    let kept = mask(&bound, &batch);
    assert!(kept == by_definition(&filter, &batch), "other rows than by the definition");
    let weakened = mask(&bound.weakened(|column, operator| column % 2 == 0 || operator == Operator::Eq), &batch);
    check_superset(&kept, &weakened, "a weakened filter");
    check_bounds(&bound, &batch, &kept);
    check_keys(&filter, &bound, &batch, &kept);
    check_constants(&filter, &batch, &kept);
    check_normal_form(&filter, &batch, &kept);
}

/// Rows with a column of each type. A byte selects each value.
fn rows(values: &[u8]) -> RecordBatch {
    let count = values.len().div_ceil(4).min(MOST_ROWS);
    let pick = |row: usize, column: usize| {
        let at = (row * 4 + column) % values.len().max(1);
        usize::from(values.get(at).copied().unwrap_or(0)).wrapping_add(column)
    };
    let ints = |column: usize| (0..count).map(move |row| INTS[pick(row, column) % INTS.len()]);
    let floats = |column: usize| (0..count).map(move |row| FLOATS[pick(row, column) % FLOATS.len()]);
    let texts = |column: usize| (0..count).map(move |row| TEXTS[pick(row, column) % TEXTS.len()]);
    let small = |column: usize| ints(column).map(|int| int.map(|int| int.clamp(-99, 99) as i32));
    let times = |column: usize| ints(column).collect::<TimestampMicrosecondArray>();
    let decimals = Decimal128Array::from_iter(small(9).map(|int| int.map(|int| i128::from(int) * 50)));
    let name: ArrayRef = Arc::new(texts(10).collect::<StringArray>());
    let nulls = (0..count).map(|row| pick(row, 11) % 3 > 0).collect::<Vec<_>>();
    let members = vec![Arc::new(Field::new("name", DataType::Utf8, true))];
    let nested = StructArray::try_new_with_length(members.into(), vec![name], Some(nulls.into()), count);
    let columns: [(&str, ArrayRef); 12] = [
        ("int", Arc::new(small(0).collect::<Int32Array>())),
        ("long", Arc::new(ints(1).collect::<Int64Array>())),
        ("text", Arc::new(texts(2).collect::<StringArray>())),
        ("double", Arc::new(floats(3).collect::<Float64Array>())),
        ("float", Arc::new(floats(4).map(|float| float.map(|float| float as f32)).collect::<Float32Array>())),
        ("bytes", Arc::new(texts(5).map(|text| text.map(str::as_bytes)).collect::<BinaryArray>())),
        ("bool", Arc::new(ints(6).map(|int| int.map(|int| int > 0)).collect::<BooleanArray>())),
        ("day", Arc::new(small(7).collect::<Date32Array>())),
        ("time", Arc::new(times(8))),
        ("utc", Arc::new(times(8).with_timezone("UTC"))),
        ("number", Arc::new(decimals.with_precision_and_scale(10, 2).expect("a decimal type"))),
        ("nested", Arc::new(nested.expect("a struct"))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).expect("a batch")
}

fn mask(filter: &BoundFilter, batch: &RecordBatch) -> Vec<bool> {
    let mask = filter.mask(batch).expect("a filter that is bound is evaluated");
    assert!(mask.null_count() == 0 && mask.len() == batch.num_rows());
    mask.values().iter().collect()
}

/// Term by term: all of a list, any of the lists.
fn by_definition(filter: &Filter, batch: &RecordBatch) -> Vec<bool> {
    if filter.lists().is_empty() {
        return vec![true; batch.num_rows()];
    }
    let mut any = vec![false; batch.num_rows()];
    for list in filter.lists() {
        let mut all = vec![true; batch.num_rows()];
        for term in list {
            let alone = Filter::any_of(vec![vec![term.clone()]]);
            let alone = BoundFilter::bind(&alone, batch.schema_ref()).expect("a term of a filter that is bound");
            all.iter_mut().zip(mask(&alone, batch)).for_each(|(all, one)| *all &= one);
        }
        any.iter_mut().zip(all).for_each(|(any, all)| *any |= all);
    }
    any
}

fn check_superset(kept: &[bool], others: &[bool], what: &str) {
    assert!(kept.iter().zip(others).all(|(passes, other)| *other || !passes), "{what} skips a row that passes");
}

/// The normal form of a filter and itself keeps the same rows, and that of its negation none of them.
fn check_normal_form(filter: &Filter, batch: &RecordBatch, kept: &[bool]) {
    let rows_of = |form: &Filter| {
        let bound = BoundFilter::bind(form, batch.schema_ref()).expect("the normal form of a filter that is bound");
        mask(&bound, batch)
    };
    // It may be too long.
    if let Ok(both) = conjunction(filter, filter) {
        assert!(rows_of(&both) == kept, "other rows by the normal form");
    }
    let negation = Predicate::Negation(Box::new(Predicate::from(filter)));
    if let Ok(others) = negation.filter(Some(batch.schema_ref())) {
        let others = rows_of(&others);
        assert!(others.iter().zip(kept).all(|(other, passes)| !(*other && *passes)), "a row passes the negation, too");
    }
}

/// Stretches of one row, and of each row with the next one.
fn check_bounds(filter: &BoundFilter, batch: &RecordBatch, kept: &[bool]) {
    let last = batch.num_rows().saturating_sub(1);
    for step in [0, 1] {
        let rows = vec![1 + step as u64; batch.num_rows()];
        let pairs: Vec<(usize, usize)> = (0..batch.num_rows()).map(|row| (row, (row + step).min(last))).collect();
        let known = |column: usize| bounds_of(batch.column(column), &pairs);
        let stretches = filter.may_pass(&rows, known).expect("bounds of the columns' types");
        let all = (0..batch.num_columns()).filter_map(|column| Some((column, (known(column)?, rows.clone()))));
        let groups: Vec<_> = (0..rows.len()).map(|row| row..row + 1).collect();
        let merged = filter.may_pass_merged(rows.len(), &groups, &all.collect::<BTreeMap<_, _>>());
        let merged = merged.expect("bounds of the columns' types");
        for (at, (one, other)) in pairs.iter().enumerate() {
            assert!(!(kept[*one] || kept[*other]) || stretches[at] && merged[at], "a stretch with a row that passes");
        }
    }
}

/// The bounds of pairs of rows; none for types that have no order.
fn bounds_of(column: &ArrayRef, pairs: &[(usize, usize)]) -> Option<ColumnBounds> {
    if matches!(column.data_type(), DataType::Struct(_)) {
        return None;
    }
    let order = make_comparator(column, column, SortOptions::default()).ok()?;
    let pick = |wanted: Ordering| {
        let one_of = |(one, other): &(usize, usize)| {
            let picked = match (column.is_valid(*one), column.is_valid(*other)) {
                (true, true) if order(*other, *one) == wanted => other,
                (true, _) => one,
                (false, _) => other,
            };
            u32::try_from(*picked).ok()
        };
        take(column, &pairs.iter().map(one_of).collect::<UInt32Array>(), None).ok()
    };
    let nulls = |(one, other): &(usize, usize)| {
        let rows = if one == other { vec![one] } else { vec![one, other] };
        rows.into_iter().filter(|row| column.is_null(**row)).count() as u64
    };
    let nulls = pairs.iter().map(nulls).collect::<UInt64Array>();
    Some(ColumnBounds { least: pick(Ordering::Less)?, greatest: pick(Ordering::Greater)?, nulls })
}

/// Keys by which logs and indexes are searched.
fn check_keys(filter: &Filter, bound: &BoundFilter, batch: &RecordBatch, kept: &[bool]) {
    let (at, column) = batch.schema_ref().column_with_name("text").expect("a column of text");
    let keys = KeyFilter::from_filter(filter, column.name());
    let exact = bound.exact_strings(at);
    for (text, _) in batch.column(at).as_string::<i32>().iter().zip(kept).filter(|(_, passes)| **passes) {
        let is_wanted =
            |text: &str| keys.passes(text.as_bytes()) && exact.iter().all(|some| some.contains(&text.into()));
        let knows_nothing = keys == KeyFilter::All && exact.is_none();
        assert!(text.map_or(knows_nothing, is_wanted), "a key of a row that passes is not wanted");
    }
}

/// What remains of a filter in a partition, whose rows all have the same values of some columns.
fn check_constants(filter: &Filter, batch: &RecordBatch, kept: &[bool]) {
    let constants = batch.project(&[0, 2, 7]).expect("columns that are there");
    for (row, is_kept) in kept.iter().enumerate() {
        let (one, constants) = (batch.slice(row, 1), constants.slice(row, 1));
        let remaining = filter.with_constants(&constants).expect("a filter that is bound");
        let passes = remaining.is_some_and(|remaining| {
            let bound = BoundFilter::bind(&remaining, batch.schema_ref()).expect("a part of a filter that is bound");
            mask(&bound, &one) == [true]
        });
        assert!(passes == *is_kept, "other rows by constants");
    }
}
