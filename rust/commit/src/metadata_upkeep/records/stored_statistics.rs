//! Statistics that the metadata table has, with all types of values.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::DataType;

use super::column_kind::twos_complement;
use super::record_bytes::{WrappedValue, Wrapper};
use crate::metadata_upkeep::partition_kind::PartitionKind;
use mortice_avro::{Schema, Type};
use mortice_base::error::{Error, Result};
use mortice_table::metadata_table::{KEY, MetadataTable};

const STATISTICS: &str = "ColumnStatsMetadata";

/// Statistics of a column.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::metadata_upkeep) struct StoredStatistics {
    pub(in crate::metadata_upkeep) bounds: [StoredBound; 2],
    /// Values, nulls, bytes, bytes before compression.
    pub(in crate::metadata_upkeep) counts: [u64; 4],
}

/// A bound that is stored.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::metadata_upkeep) enum StoredBound {
    /// There is none.
    Missing,
    /// It has a wrapper that is not written here.
    Unknown,
    Known(Wrapper, WrappedValue),
}

/// The statistics of some keys of a partition; deleted ones are left out.
pub(in crate::metadata_upkeep) fn stored_statistics(
    metadata: &MetadataTable,
    kind: &PartitionKind,
    keys: &BTreeSet<String>,
) -> Result<BTreeMap<String, StoredStatistics>> {
    let mut found = BTreeMap::new();
    if keys.is_empty() {
        return Ok(found);
    }
    let wrappers = wrappers(metadata.schema()).ok_or_else(misfit)?;
    for batch in metadata.rows_of_keys(kind.folder(), &[KEY, STATISTICS], keys)? {
        read(&batch, &wrappers, &mut found)?;
    }
    Ok(found)
}

fn misfit() -> Error {
    Error::invalid_table("records of the metadata table that are not column statistics")
}

/// The names of the wrappers of a bound, in the order of their branches.
fn wrappers(schema: &Schema) -> Option<Vec<String>> {
    let Type::Record(statistics) = schema.field(STATISTICS)?.ty.non_null() else { return None };
    let Type::Union(branches) = &statistics.field("minValue")?.ty else { return None };
    let name = |branch: &Type| match branch {
        Type::Record(record) => record.name.rsplit('.').next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    Some(branches.iter().filter(|branch| **branch != Type::Null).map(name).collect())
}

fn read(batch: &RecordBatch, wrappers: &[String], found: &mut BTreeMap<String, StoredStatistics>) -> Result<()> {
    let keys = batch.column_by_name(KEY).and_then(|keys| keys.as_string_opt::<i32>()).ok_or_else(misfit)?;
    let statistics = batch.column_by_name(STATISTICS).and_then(|one| one.as_struct_opt()).ok_or_else(misfit)?;
    let column = |name: &str| statistics.column_by_name(name).ok_or_else(misfit);
    let deleted = column("isDeleted")?.as_boolean_opt().ok_or_else(misfit)?;
    let bounds = [column("minValue")?, column("maxValue")?].map(|bounds| bounds.as_struct_opt());
    let counts = ["valueCount", "nullCount", "totalSize", "totalUncompressedSize"]
        .map(|name| statistics.column_by_name(name).and_then(|counts| counts.as_primitive_opt::<Int64Type>()));
    for (row, key) in keys.iter().enumerate() {
        let key = key.ok_or_else(misfit)?;
        if statistics.is_null(row) || deleted.is_null(row) || deleted.value(row) {
            continue;
        }
        let bound = |members: Option<&StructArray>| members.map(|members| bound(members, wrappers, row));
        let [Some(least), Some(greatest)] = bounds.map(bound) else { return Err(misfit()) };
        // Hudi reads a count that is null as 0 as well.
        let count = |counts: Option<&arrow_array::Int64Array>| {
            let count = counts.filter(|counts| counts.is_valid(row)).map_or(0, |counts| counts.value(row));
            u64::try_from(count).unwrap_or_default()
        };
        found.insert(key.to_owned(), StoredStatistics { bounds: [least, greatest], counts: counts.map(count) });
    }
    Ok(())
}

fn bound(members: &StructArray, wrappers: &[String], row: usize) -> StoredBound {
    if members.is_null(row) {
        return StoredBound::Missing;
    }
    let member = members.columns().iter().zip(wrappers).find(|(member, _)| member.is_valid(row));
    let Some((member, name)) = member else { return StoredBound::Missing };
    let value = member.as_struct_opt().and_then(|member| member.column_by_name("value"));
    let known = value.filter(|value| value.is_valid(row)).and_then(|value| wrapped(value, name, row));
    known.map_or(StoredBound::Unknown, |(wrapper, value)| StoredBound::Known(wrapper, value))
}

fn wrapped(value: &ArrayRef, wrapper: &str, row: usize) -> Option<(Wrapper, WrappedValue)> {
    let int = || Some(WrappedValue::Integer(value.as_primitive_opt::<Int32Type>()?.value(row).into()));
    Some(match wrapper {
        "BooleanWrapper" => (Wrapper::Boolean, WrappedValue::Boolean(value.as_boolean_opt()?.value(row))),
        "IntWrapper" => (Wrapper::Int, int()?),
        "DateWrapper" => (Wrapper::Date, int()?),
        "LongWrapper" => (Wrapper::Long, WrappedValue::Integer(value.as_primitive_opt::<Int64Type>()?.value(row))),
        "FloatWrapper" => (Wrapper::Float, WrappedValue::Float(value.as_primitive_opt::<Float32Type>()?.value(row))),
        "DoubleWrapper" => (Wrapper::Double, WrappedValue::Double(value.as_primitive_opt::<Float64Type>()?.value(row))),
        "BytesWrapper" => (Wrapper::Bytes, WrappedValue::Bytes(value.as_binary_opt::<i32>()?.value(row).to_vec())),
        "StringWrapper" => (Wrapper::String, WrappedValue::String(value.as_string_opt::<i32>()?.value(row).to_owned())),
        "DecimalWrapper" => {
            let DataType::Decimal128(..) = value.data_type() else { return None };
            let number = value.as_primitive_opt::<Decimal128Type>()?.value(row);
            (Wrapper::Decimal, WrappedValue::Bytes(twos_complement(number)))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::metadata_upkeep::records::record_schema::RecordSchema;
    use arrow_array::{
        BinaryArray, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
        new_null_array,
    };
    use arrow_buffer::NullBuffer;
    use arrow_schema::{Field, Fields};
    use mortice_base::error::ErrorKind;
    use proptest::prelude::*;

    /// A wrapper, a value in it, and what that is as it is written; none of a wrapper that is not.
    type WrapperCase = (&'static str, ArrayRef, Option<(Wrapper, WrappedValue)>);

    fn values() -> Vec<WrapperCase> {
        let integer = |wrapper, number| Some((wrapper, WrappedValue::Integer(number)));
        let decimal = Decimal128Array::from(vec![-300]).with_precision_and_scale(30, 15).unwrap();
        vec![
            (
                "BooleanWrapper",
                Arc::new(BooleanArray::from(vec![true])),
                Some((Wrapper::Boolean, WrappedValue::Boolean(true))),
            ),
            ("IntWrapper", Arc::new(Int32Array::from(vec![-7])), integer(Wrapper::Int, -7)),
            ("LongWrapper", Arc::new(Int64Array::from(vec![i64::MIN])), integer(Wrapper::Long, i64::MIN)),
            ("FloatWrapper", Arc::new(Float32Array::from(vec![0.5])), Some((Wrapper::Float, WrappedValue::Float(0.5)))),
            (
                "DoubleWrapper",
                Arc::new(Float64Array::from(vec![-0.25])),
                Some((Wrapper::Double, WrappedValue::Double(-0.25))),
            ),
            (
                "BytesWrapper",
                Arc::new(BinaryArray::from(vec![&b"\xff\0"[..]])),
                Some((Wrapper::Bytes, WrappedValue::Bytes(b"\xff\0".to_vec()))),
            ),
            (
                "StringWrapper",
                Arc::new(StringArray::from(vec!["ß"])),
                Some((Wrapper::String, WrappedValue::String("ß".to_owned()))),
            ),
            ("DateWrapper", Arc::new(Int32Array::from(vec![19_000])), integer(Wrapper::Date, 19_000)),
            ("DecimalWrapper", Arc::new(decimal), Some((Wrapper::Decimal, WrappedValue::Bytes(vec![0xfe, 0xd4])))),
            ("TimestampMicrosWrapper", Arc::new(Int64Array::from(vec![1])), None),
        ]
    }

    fn names() -> Vec<String> {
        values().into_iter().map(|(name, ..)| name.to_owned()).collect()
    }

    fn structs(members: Vec<(&str, ArrayRef)>, is_valid: &[bool]) -> StructArray {
        let fields = members.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
        let columns = members.iter().map(|(_, column)| Arc::clone(column)).collect();
        StructArray::new(fields.collect::<Fields>(), columns, Some(NullBuffer::from(is_valid.to_vec())))
    }

    /// Bounds of rows, each with a value in one of the wrappers, or with none.
    fn bounds(rows: &[Option<usize>]) -> ArrayRef {
        let member = |(at, (name, value, _)): (usize, (&'static str, ArrayRef, _))| {
            let is_here: Vec<bool> = rows.iter().map(|row| *row == Some(at)).collect();
            let null = new_null_array(value.data_type(), 1);
            let parts: Vec<&dyn Array> =
                is_here.iter().map(|is_here| if *is_here { value.as_ref() } else { null.as_ref() }).collect();
            let column = arrow_select::concat::concat(&parts).unwrap();
            (name, Arc::new(structs(vec![("value", column)], &is_here)) as ArrayRef)
        };
        let members = values().into_iter().enumerate().map(member).collect();
        Arc::new(structs(members, &rows.iter().map(Option::is_some).collect::<Vec<_>>()))
    }

    /// A row of statistics: its bounds, and whether it is deleted.
    type StatisticsRow = ([Option<usize>; 2], Option<bool>);

    fn batch(rows: &[StatisticsRow]) -> RecordBatch {
        let counts = |first: i64| Arc::new(Int64Array::from_iter_values((first..).take(rows.len()))) as ArrayRef;
        let members = vec![
            ("minValue", bounds(&rows.iter().map(|row| row.0[0]).collect::<Vec<_>>())),
            ("maxValue", bounds(&rows.iter().map(|row| row.0[1]).collect::<Vec<_>>())),
            ("isDeleted", Arc::new(BooleanArray::from(rows.iter().map(|row| row.1).collect::<Vec<_>>())) as ArrayRef),
            ("valueCount", counts(100)),
            ("nullCount", counts(-1)),
            ("totalSize", new_null_array(&DataType::Int64, rows.len())),
        ];
        let statistics = structs(members, &vec![true; rows.len()]);
        let keys: StringArray = (0..rows.len()).map(|row| Some(format!("k{row}"))).collect();
        let columns = [(KEY, Arc::new(keys) as ArrayRef), (STATISTICS, Arc::new(statistics) as ArrayRef)];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    proptest! {
        /// A bound that is taken for another one makes a range too narrow, and rows are skipped.
        #[test]
        fn bounds_are_those_of_their_own_row_and_wrapper(
            rows in proptest::collection::vec(
                (proptest::array::uniform2(proptest::option::of(0_usize..10)), proptest::option::of(any::<bool>())),
                1..8,
            ),
        ) {
            let mut found = BTreeMap::new();
            read(&batch(&rows), &names(), &mut found).unwrap();
            let values = values();
            let bound = |value: Option<usize>| match value.map(|at| values[at].2.clone()) {
                None => StoredBound::Missing,
                Some(None) => StoredBound::Unknown,
                Some(Some((wrapper, value))) => StoredBound::Known(wrapper, value),
            };
            let expected: BTreeMap<String, StoredStatistics> = (0_u64..)
                .zip(&rows)
                .filter(|(_, (_, is_deleted))| *is_deleted == Some(false))
                // Counts below 0, those that are null, and those that are not there are 0.
                .map(|(row, (bounds, _))| {
                    let counts = [100 + row, row.saturating_sub(1), 0, 0];
                    (format!("k{row}"), StoredStatistics { bounds: bounds.map(bound), counts })
                })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    /// The branches of a bound in the schemas that Hudi writes: a wrapper is known by its place.
    #[test]
    fn wrappers_are_in_the_order_of_the_schema() {
        for schema in RecordSchema::ALL {
            let found = wrappers(&Schema::parse(schema.block).unwrap()).unwrap();
            let at = |name: &str| found.iter().position(|found| found == name);
            // The order of the enum is that of the branches, behind null.
            for (name, _, value) in values() {
                let number = value.map(|(wrapper, _)| wrapper as usize);
                let is_first = at(name).is_some_and(|at| number.is_none_or(|number| number == at + 1));
                assert!(is_first, "{name}: {found:?}");
            }
        }
        assert_eq!(wrappers(&Schema::parse(r#"{"type":"record","name":"r","fields":[]}"#).unwrap()), None);
    }

    #[test]
    fn records_of_another_kind_are_refused() {
        let sound = batch(&[([Some(1); 2], Some(false))]);
        for left_out in [KEY, STATISTICS] {
            let columns = [KEY, STATISTICS].map(|name| (name, sound.column_by_name(name).unwrap()));
            let columns = columns.into_iter().filter(|(name, _)| *name != left_out);
            let other = RecordBatch::try_from_iter(columns.map(|(name, column)| (name, Arc::clone(column)))).unwrap();
            let error = read(&other, &names(), &mut BTreeMap::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTable, "without {left_out}");
        }
        let text: ArrayRef = Arc::new(StringArray::from(vec!["none"]));
        let other = RecordBatch::try_from_iter([(KEY, Arc::clone(&text)), (STATISTICS, text)]).unwrap();
        assert_eq!(read(&other, &names(), &mut BTreeMap::new()).unwrap_err().kind(), ErrorKind::InvalidTable);
    }
}
