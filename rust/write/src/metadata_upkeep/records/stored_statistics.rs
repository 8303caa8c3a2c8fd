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
///
/// # Errors
/// `InvalidTable` for records that are not statistics; what reading the metadata table may fail with.
pub(in crate::metadata_upkeep) fn stored_statistics(
    metadata: &MetadataTable,
    kind: PartitionKind,
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
