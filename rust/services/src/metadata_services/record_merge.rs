//! Merges two records of one key of the metadata table as Avro values of one schema, by the rules that readers merge
//! Arrow columns by (`merge::fold::metadata_rules`).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use mortice_avro::{Schema, Type, Value};
use mortice_base::error::{Error, Result};
use mortice_merge::merge::fold::metadata_rules::{
    BOUNDS, COUNTS, DECIMAL, FILES, FileEntry, KeptEntry, MergeKind, STATISTICS, StatisticsFlags, StoredBound, TYPE,
    add_counts, merge_entries, newer_statistics_decide,
};

type Members<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// The type of a record.
fn record_type(record: &Value<'_>) -> Result<Option<i64>> {
    match member(record, TYPE) {
        Some(Value::Int(kind)) => Ok(Some(*kind)),
        None | Some(Value::Null) => Ok(None),
        Some(_) => Err(misshapen(TYPE)),
    }
}

/// Merges two records of `schema`.
pub(super) fn merge<'a>(older: Value<'a>, newer: Value<'a>, schema: &Schema) -> Result<Value<'a>> {
    let kind = MergeKind::of_types(record_type(&older)?, record_type(&newer)?)?;
    let name = match kind {
        MergeKind::Newer => return Ok(newer),
        MergeKind::Files => FILES,
        MergeKind::Statistics => STATISTICS,
    };
    let (Value::Object(mut old), Value::Object(mut new)) = (older, newer) else { return Err(misshapen(name)) };
    let value = match (take(&mut old, name), take(&mut new, name)) {
        (Some(Value::Object(old)), Some(Value::Object(new))) if kind == MergeKind::Files => {
            Value::Object(merged_files(old, new)?)
        }
        (Some(Value::Object(old)), Some(Value::Object(new))) => Value::Object(merged_statistics(old, new, schema)?),
        (Some(Value::Null) | None, Some(new)) => new,
        (Some(old), Some(Value::Null) | None) => old,
        _ => return Err(misshapen(name)),
    };
    match new.iter_mut().find(|(one, _)| one == name) {
        Some((_, storage)) => *storage = value,
        None => new.push((Cow::Owned(name.to_owned()), value)),
    }
    Ok(Value::Object(new))
}

fn misshapen(name: &str) -> Error {
    Error::invalid_table(format!("a record of the metadata table whose {name} has another form"))
}

fn member<'v, 'a>(object: &'v Value<'a>, name: &str) -> Option<&'v Value<'a>> {
    let Value::Object(members) = object else { return None };
    of_members(members, name)
}

fn of_members<'v, 'a>(members: &'v [(Cow<'a, str>, Value<'a>)], name: &str) -> Option<&'v Value<'a>> {
    members.iter().find(|(one, _)| one == name).map(|(_, value)| value)
}

fn take<'a>(members: &mut Members<'a>, name: &str) -> Option<Value<'a>> {
    members.iter_mut().find(|(one, _)| one == name).map(|(_, value)| std::mem::replace(value, Value::Null))
}

fn is_true(value: Option<&Value<'_>>) -> bool {
    matches!(value, Some(Value::Boolean(true)))
}

/// The entries of two lists of files: those of the older list in its order, then the new ones.
fn merged_files<'a>(older: Members<'a>, newer: Members<'a>) -> Result<Members<'a>> {
    let places: HashMap<String, usize> =
        newer.iter().enumerate().map(|(at, (name, _))| (name.clone().into_owned(), at)).collect();
    let mut newer: Vec<Option<(Cow<'a, str>, Value<'a>)>> = newer.into_iter().map(Some).collect();
    let mut merged = Members::with_capacity(older.len().saturating_add(newer.len()));
    for (name, old) in older {
        let new = places.get(&*name).and_then(|at| newer.get_mut(*at)).and_then(Option::take);
        match new {
            None => merged.push((name, old)),
            Some((_, new)) => merged.extend(merged_file(old, new)?.map(|entry| (name, entry))),
        }
    }
    merged.extend(newer.into_iter().flatten());
    Ok(merged)
}

fn merged_file<'a>(old: Value<'a>, new: Value<'a>) -> Result<Option<Value<'a>>> {
    let state = |entry: &Value<'_>| match (member(entry, "size"), is_true(member(entry, "isDeleted"))) {
        (Some(Value::Int(size)), is_deleted) => Ok(FileEntry { size: *size, is_deleted }),
        _ => Err(misshapen(FILES)),
    };
    Ok(match merge_entries(state(&old)?, state(&new)?) {
        KeptEntry::Older => Some(old),
        KeptEntry::Newer => Some(new),
        KeptEntry::Neither => None,
    })
}

/// The statistics of a column, put together.
fn merged_statistics<'a>(older: Members<'a>, newer: Members<'a>, schema: &Schema) -> Result<Members<'a>> {
    let flags = |members: &Members<'a>| StatisticsFlags {
        is_tight: is_true(of_members(members, "isTightBound")),
        is_deleted: is_true(of_members(members, "isDeleted")),
    };
    if newer_statistics_decide(flags(&older), flags(&newer)) {
        return Ok(newer);
    }
    let (mut older, mut newer) = (older, newer);
    let is_decimal = matches!(
        of_members(&newer, "valueType").and_then(|kind| member(kind, "typeOrdinal")),
        Some(Value::Int(DECIMAL))
    );
    for (name, kept) in BOUNDS {
        let decimals = decimal_branches(schema, name);
        let (old, new) = (take(&mut older, name), take(&mut newer, name));
        let bound = match (old, new) {
            (Some(Value::Null) | None, new) => new,
            (old, Some(Value::Null) | None) => old,
            (Some(old), Some(new)) => {
                let order = compare(&old, &new, |branch| is_decimal || decimals.get(branch) == Some(&true))?;
                Some(if order == kept { old } else { new })
            }
        };
        set(&mut newer, name, bound);
    }
    for name in COUNTS {
        let sum = add_counts(count(take(&mut older, name))?, count(take(&mut newer, name))?);
        let sum = Some(sum.map_or(Value::Null, Value::Int));
        set(&mut newer, name, sum);
    }
    Ok(newer)
}

fn count(value: Option<Value<'_>>) -> Result<Option<i64>> {
    match value {
        Some(Value::Int(count)) => Ok(Some(count)),
        None | Some(Value::Null) => Ok(None),
        Some(_) => Err(misshapen(STATISTICS)),
    }
}

fn set<'a>(members: &mut Members<'a>, name: &str, value: Option<Value<'a>>) {
    if let (Some((_, storage)), Some(value)) = (members.iter_mut().find(|(one, _)| one == name), value) {
        *storage = value;
    }
}

/// Which branches of the union of a bound hold decimals.
fn decimal_branches(schema: &Schema, bound: &str) -> Vec<bool> {
    let statistics = schema.field(STATISTICS).map(|field| field.ty.non_null());
    let Some(Type::Record(statistics)) = statistics else { return Vec::new() };
    let Some(Type::Union(branches)) = statistics.field(bound).map(|field| &field.ty) else { return Vec::new() };
    let is_decimal = |branch: &Type| match branch {
        Type::Record(wrapper) => {
            wrapper.field("value").is_some_and(|value| matches!(value.ty.non_null(), Type::Decimal(_)))
        }
        _ => false,
    };
    branches.iter().map(is_decimal).collect()
}

/// Compares two bounds, as Java compares the values in them.
fn compare(older: &Value<'_>, newer: &Value<'_>, is_decimal: impl Fn(usize) -> bool) -> Result<Ordering> {
    let (Value::Branch(old_branch, old), Value::Branch(new_branch, new)) = (older, newer) else {
        return Err(misshapen(STATISTICS));
    };
    if old_branch != new_branch {
        let message = format!("bounds of one column of the metadata table, of the types {old_branch} and {new_branch}");
        return Err(Error::invalid_table(message));
    }
    match (member(old, "value"), member(new, "value")) {
        (Some(Value::Boolean(old)), Some(Value::Boolean(new))) => Ok(old.cmp(new)),
        (Some(Value::Int(old)), Some(Value::Int(new))) => Ok(old.cmp(new)),
        (Some(Value::Double(old)), Some(Value::Double(new))) => Ok(old.total_cmp(new)),
        (Some(old), Some(new)) => {
            let is_decimal = is_decimal(*new_branch);
            let order = stored(old, is_decimal).zip(stored(new, is_decimal)).and_then(|(old, new)| old.compare(new));
            order.ok_or_else(|| misshapen(STATISTICS))
        }
        _ => Err(misshapen(STATISTICS)),
    }
}

/// A bound that is stored as characters or bytes.
fn stored<'v>(value: &'v Value<'_>, is_decimal: bool) -> Option<StoredBound<'v>> {
    match value {
        Value::String(text) => Some(StoredBound::Text(text)),
        Value::Bytes(bytes) if is_decimal => Some(StoredBound::Decimal(bytes)),
        Value::Bytes(bytes) => Some(StoredBound::Bytes(bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_commit::metadata_upkeep::RecordSchema;

    fn schema() -> Schema {
        Schema::parse(RecordSchema::ALL[1].block).unwrap()
    }

    fn record(kind: i64, name: &str, value: Value<'static>) -> Value<'static> {
        Value::Object(vec![("type".into(), Value::Int(kind)), (name.to_owned().into(), value)])
    }

    fn files(entries: &[(&str, i64, bool)]) -> Value<'static> {
        let entry = |(name, size, is_deleted): &(&str, i64, bool)| {
            let info = vec![("size".into(), Value::Int(*size)), ("isDeleted".into(), Value::Boolean(*is_deleted))];
            ((*name).to_owned().into(), Value::Object(info))
        };
        record(2, FILES, Value::Object(entries.iter().map(entry).collect()))
    }

    #[test]
    fn entries_of_files_are_put_together() {
        let older = files(&[("a", 1, false), ("b", 2, false), ("c", 9, false), ("d", 0, true), ("e", 0, true)]);
        let newer =
            files(&[("e", 0, true), ("f", 6, false), ("c", 3, false), ("d", 4, false), ("b", 0, true), ("g", 0, true)]);
        let expected = files(&[
            ("a", 1, false),
            ("c", 9, false),
            ("d", 4, false),
            ("e", 0, true),
            ("f", 6, false),
            ("g", 0, true),
        ]);
        assert_eq!(merge(older, newer, &schema()).unwrap(), expected);
    }

    /// Statistics with bounds in a branch of their union, and the type of their values.
    fn statistics(branch: usize, bounds: [Value<'static>; 2], kind: Option<i64>, is_tight: bool) -> Value<'static> {
        let wrapped = |value| Value::Branch(branch, Box::new(Value::Object(vec![("value".into(), value)])));
        let [least, greatest] = bounds.map(wrapped);
        let kind = kind.map_or(Value::Null, |kind| Value::Object(vec![("typeOrdinal".into(), Value::Int(kind))]));
        let members = vec![
            ("minValue".into(), least),
            ("maxValue".into(), greatest),
            ("valueCount".into(), Value::Int(2)),
            ("isDeleted".into(), Value::Boolean(false)),
            ("isTightBound".into(), Value::Boolean(is_tight)),
            ("valueType".into(), kind),
        ];
        record(6, STATISTICS, Value::Object(members))
    }

    fn bounds(record: &Value<'_>) -> [Value<'static>; 2] {
        let of = |name: &str| {
            let bound = member(member(record, STATISTICS).unwrap(), name).unwrap();
            let Value::Branch(_, bound) = bound else { panic!() };
            member(bound, "value").unwrap().clone().into_owned()
        };
        ["minValue", "maxValue"].map(of)
    }

    #[test]
    fn bounds_are_compared_as_the_values_that_they_are() {
        let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec().into());
        let text = |text: &str| Value::String(text.to_owned().into());
        for (branch, kind, older, newer, expected) in [
            (2, None, [Value::Int(-5), Value::Int(3)], [Value::Int(1), Value::Int(4)], [Value::Int(-5), Value::Int(4)]),
            // As decimals -1 to 5 and 2 to 300, as bytes the other way round.
            (
                6,
                Some(10),
                [bytes(&[0xff]), bytes(&[5])],
                [bytes(&[2]), bytes(&[1, 44])],
                [bytes(&[0xff]), bytes(&[1, 44])],
            ),
            (9, None, [bytes(&[0xff]), bytes(&[5])], [bytes(&[2]), bytes(&[1, 44])], [bytes(&[0xff]), bytes(&[1, 44])]),
            (6, Some(8), [bytes(&[0x80]), bytes(&[5])], [bytes(&[2]), bytes(&[1, 44])], [bytes(&[0x80]), bytes(&[5])]),
            // In UTF-16 a surrogate pair is less than U+FFFD, in UTF-8 greater.
            (
                7,
                None,
                [text("\u{1f600}"), text("\u{1f600}")],
                [text("\u{fffd}"), text("\u{fffd}")],
                [text("\u{1f600}"), text("\u{fffd}")],
            ),
        ] {
            let merged =
                merge(statistics(branch, older, kind, false), statistics(branch, newer, kind, false), &schema())
                    .unwrap();
            assert_eq!(bounds(&merged), expected, "{branch} {kind:?}");
            assert_eq!(member(member(&merged, STATISTICS).unwrap(), "valueCount"), Some(&Value::Int(4)));
        }
    }

    #[test]
    fn tight_statistics_replace_older_ones() {
        let of = |least, is_tight| statistics(2, [Value::Int(least), Value::Int(9)], None, is_tight);
        assert_eq!(merge(of(1, false), of(5, true), &schema()).unwrap(), of(5, true));
        let other = statistics(3, [Value::Int(1), Value::Int(2)], None, false);
        assert_eq!(merge(of(1, false), other, &schema()).unwrap_err().kind(), mortice_base::ErrorKind::InvalidTable);
    }

    #[test]
    fn records_that_do_not_belong_together_are_refused() {
        let of = |kind| record(kind, "x", Value::Int(kind));
        for kind in [4, 5, 7] {
            assert_eq!(merge(of(kind), of(kind), &schema()).unwrap(), of(kind));
        }
        for (older, newer, kind) in
            [(1, 2, mortice_base::ErrorKind::InvalidTable), (8, 8, mortice_base::ErrorKind::Unsupported)]
        {
            assert_eq!(merge(of(older), of(newer), &schema()).unwrap_err().kind(), kind);
        }
    }
}
