//! Column statistics of the metadata table: `show_metadata_table_column_stats`, `show_metadata_column_stats_overlap`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, StructArray};
use arrow_schema::DataType;

use super::call::Call;
use super::metadata_table::metadata_of;
use super::value::{ProcedureRow, row};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_table::file_group::{FileSystemView, list_table};
use mortice_table::metadata_table::{COLUMN_STATS, KEY};

const STATISTICS: &str = "ColumnStatsMetadata";

/// The statistics of a column in a base file.
struct Bounds {
    file: String,
    column: String,
    /// As strings; `None` if there is no bound.
    least: Option<String>,
    greatest: Option<String>,
    nulls: i64,
}

/// `show_metadata_table_column_stats`: of the base files of the latest slices, by column. Without `targetColumns` all
/// columns, of which Hudi shows none.
pub(super) fn bounds(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let partitions = call.arguments.list("partition");
    let files = base_files(call, |partition| partitions.is_empty() || partitions.iter().any(|one| one == partition))?;
    let shown = |bound: Option<String>| bound.unwrap_or_else(|| "null".to_owned());
    let rows = stored_bounds(call, &files)?;
    Ok(rows
        .into_iter()
        .map(|one| row![one.file, one.column, shown(one.least), shown(one.greatest), one.nulls])
        .collect())
}

/// The names of the base files of the latest slices, with their partitions.
fn base_files(call: &Call<'_>, is_wanted: impl Fn(&str) -> bool) -> Result<HashMap<String, String>> {
    let view = FileSystemView::new(call.timeline(), &call.table.config, None)?;
    let mut found = HashMap::new();
    for files in list_table(call.table.storage.as_ref())? {
        if is_wanted(&files.partition) {
            let bases = view.slices(&files)?.into_iter().filter_map(|slice| slice.base_file);
            found.extend(bases.map(|base| (base.name().to_owned(), files.partition.clone())));
        }
    }
    Ok(found)
}

/// The bounds of the wanted columns in files, sorted by column and file.
fn stored_bounds(call: &Call<'_>, files: &HashMap<String, String>) -> Result<Vec<Bounds>> {
    let wanted = call.arguments.list("targetColumns");
    let is_wanted = |column: &str| match wanted.is_empty() {
        true => !meta_columns::ALL.contains(&column),
        false => wanted.iter().any(|one| one == column),
    };
    let mut found = Vec::new();
    for batch in metadata_of(&call.table, COLUMN_STATS)?.rows(COLUMN_STATS, &[KEY, STATISTICS])? {
        read(&batch, &mut |bounds| {
            if files.contains_key(&bounds.file) && is_wanted(&bounds.column) {
                found.push(bounds);
            }
        })?;
    }
    found.sort_by(|one, other| (&one.column, &one.file).cmp(&(&other.column, &other.file)));
    Ok(found)
}

fn misfit() -> Error {
    Error::invalid_table("records of the metadata table have no column statistics")
}

fn read(batch: &RecordBatch, each: &mut dyn FnMut(Bounds)) -> Result<()> {
    let statistics = batch.column_by_name(STATISTICS).and_then(|one| one.as_struct_opt()).ok_or_else(misfit)?;
    let column = |name: &str| statistics.column_by_name(name).ok_or_else(misfit);
    let strings = |name: &str| column(name)?.as_string_opt::<i32>().ok_or_else(misfit);
    let (files, columns): (&StringArray, &StringArray) = (strings("fileName")?, strings("columnName")?);
    let deleted = column("isDeleted")?.as_boolean_opt().ok_or_else(misfit)?;
    let nulls = column("nullCount")?.as_primitive_opt::<Int64Type>().ok_or_else(misfit)?;
    let of_bound = |name: &str| column(name)?.as_struct_opt().ok_or_else(misfit);
    let (least, greatest) = (of_bound("minValue")?, of_bound("maxValue")?);
    for row in 0..statistics.len() {
        let is_live = statistics.is_valid(row) && files.is_valid(row) && columns.is_valid(row);
        if is_live && !(deleted.is_valid(row) && deleted.value(row)) {
            each(Bounds {
                file: files.value(row).to_owned(),
                column: columns.value(row).to_owned(),
                least: bound(least, row)?,
                greatest: bound(greatest, row)?,
                nulls: if nulls.is_valid(row) { nulls.value(row) } else { 0 },
            });
        }
    }
    Ok(())
}

/// A bound as a string: the value in the wrapper that is set.
fn bound(members: &StructArray, row: usize) -> Result<Option<String>> {
    if members.is_null(row) {
        return Ok(None);
    }
    let Some(member) = members.columns().iter().find(|member| member.is_valid(row)) else { return Ok(None) };
    let value = member.as_struct_opt().and_then(|member| member.column_by_name("value"));
    value.filter(|value| value.is_valid(row)).map(|value| text(value, row)).transpose()
}

/// A value as Java writes it.
fn text(value: &ArrayRef, row: usize) -> Result<String> {
    let bytes = |bytes: &[u8]| {
        // Java's bytes have a sign.
        let numbers: Vec<String> = bytes.iter().map(|byte| i8::from_ne_bytes([*byte]).to_string()).collect();
        format!("[{}]", numbers.join(", "))
    };
    Ok(match value.data_type() {
        DataType::Boolean => value.as_boolean().value(row).to_string(),
        DataType::Float32 => format!("{:?}", value.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => format!("{:?}", value.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => value.as_string::<i32>().value(row).to_owned(),
        DataType::Binary => bytes(value.as_binary::<i32>().value(row)),
        DataType::Date32 | DataType::Int32 => {
            let days = arrow_cast::cast(value, &DataType::Int32).map_err(Error::internal_by("a date has days"))?;
            days.as_primitive::<Int32Type>().value(row).to_string()
        }
        DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(..) => {
            let number = arrow_cast::cast(value, &DataType::Int64).map_err(Error::internal_by("a time has units"))?;
            number.as_primitive::<Int64Type>().value(row).to_string()
        }
        kind => {
            let formatter = arrow_cast::display::ArrayFormatter::try_new(value.as_ref(), &Default::default())
                .map_err(|error| Error::unsupported(format!("bounds of the type {kind}")).caused_by(error))?;
            formatter.value(row).to_string()
        }
    })
}

/// A bound of a column in a file.
struct Point {
    value: Value,
    text: String,
    is_greatest: bool,
}

/// The value of a bound, in the order of its column's type.
enum Value {
    Text(String),
    Integer(i64),
    Double(f64),
}

impl Value {
    fn parse(text: &str, kind: &DataType, column: &str) -> Result<Self> {
        let misfit = || Error::invalid_table(format!("the bound {text:?} of the column {column} is not of its type"));
        match kind {
            DataType::Utf8 | DataType::Boolean => Ok(Self::Text(text.to_owned())),
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Timestamp(..) => text.parse().map(Self::Integer).map_err(|_| misfit()),
            DataType::Float32 | DataType::Float64 => text.parse().map(Self::Double).map_err(|_| misfit()),
            other => {
                Err(Error::unsupported(format!("bounds of the column {column} of the type {other} are not compared")))
            }
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Integer(one), Self::Integer(other)) => one.cmp(other),
            (Self::Double(one), Self::Double(other)) => one.total_cmp(other),
            // All bounds of a column have its type.
            _ => Ordering::Equal,
        }
    }
}

/// `show_metadata_column_stats_overlap`: in how many files of a partition a value of a column may be.
pub(super) fn overlap(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let prefixes = call.arguments.list("partition");
    let is_wanted = |partition: &str| prefixes.is_empty() || prefixes.iter().any(|one| partition.starts_with(one));
    let files = base_files(call, is_wanted)?;
    let mut file_counts: HashMap<&str, usize> = HashMap::new();
    for partition in files.values() {
        let count = file_counts.entry(partition).or_default();
        *count = count.saturating_add(1);
    }
    let (_, schema) = call.table.schema_at(None)?;
    let mut groups: BTreeMap<(&str, String), Vec<Point>> = BTreeMap::new();
    for one in stored_bounds(call, &files)? {
        let (Some(partition), Some(least), Some(greatest)) = (files.get(&one.file), one.least, one.greatest) else {
            continue;
        };
        let Ok(field) = schema.field_with_name(&one.column) else { continue };
        let points = groups.entry((partition, one.column.clone())).or_default();
        for (text, is_greatest) in [(least, false), (greatest, true)] {
            points.push(Point { value: Value::parse(&text, field.data_type(), &one.column)?, text, is_greatest });
        }
    }
    let mut rows = Vec::new();
    for ((partition, column), points) in groups {
        let file_count = file_counts.get(partition).copied().unwrap_or(0);
        rows.push((column.clone(), overlap_row(partition, &column, points, file_count)));
    }
    rows.sort_by(|(one, (first, _)), (other, (second, _))| one.cmp(other).then(first.total_cmp(second)));
    Ok(rows.into_iter().map(|(_, (_, row))| row).collect())
}

/// The average overlap, and the row. Going through the bounds in order, each least one begins a file and each greatest
/// one ends one.
#[expect(clippy::cast_precision_loss, reason = "an average of numbers of files")]
fn overlap_row(partition: &str, column: &str, mut points: Vec<Point>, files: usize) -> (f64, ProcedureRow) {
    points.sort_by(|one, other| one.value.order(&other.value).then(one.is_greatest.cmp(&other.is_greatest)));
    let (mut current, mut most) = (0_usize, 0_usize);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for point in &points {
        if point.is_greatest {
            counts.entry(&point.text).or_insert(current);
            current = current.saturating_sub(1);
        } else {
            current = current.saturating_add(1);
            most = most.max(current);
            counts.insert(&point.text, current);
        }
    }
    let mut sorted: Vec<usize> = counts.into_values().collect();
    sorted.sort_unstable();
    let sum = sorted.iter().fold(0_usize, |sum, count| sum.saturating_add(*count));
    let average = if sorted.is_empty() { 0.0 } else { sum as f64 / sorted.len() as f64 };
    let percentile = |percent: usize| {
        let last = sorted.len().saturating_sub(1);
        sorted.get(percent.saturating_mul(last) / 100).copied().unwrap_or(0)
    };
    let row = row![
        partition,
        column,
        average,
        most,
        files,
        percentile(50),
        percentile(75),
        percentile(95),
        percentile(99),
        sorted.len(),
    ];
    (average, row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_overlap_where_their_bounds_do() {
        let points = [("1", "5"), ("3", "4"), ("4", "9")].into_iter().flat_map(|(least, greatest)| {
            [(least, false), (greatest, true)].map(|(text, is_greatest)| Point {
                value: Value::parse(text, &DataType::Int32, "id").unwrap(),
                text: text.to_owned(),
                is_greatest,
            })
        });
        let (average, row) = overlap_row("p", "id", points.collect(), 3);
        assert!((average - 1.8).abs() < 1e-9);
        let expected: ProcedureRow =
            row!["p", "id", 9.0 / 5.0, 3_usize, 3_usize, 2_usize, 2_usize, 2_usize, 2_usize, 5_usize];
        assert_eq!(row, expected);
        assert!(Value::parse("x", &DataType::Int32, "id").is_err());
    }
}
