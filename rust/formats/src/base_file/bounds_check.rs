//! Compares the statistics in the footer of a Parquet file with its values: pruning trusts them, and the footers of
//! other writers have no checksum.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, Float32Array, Float64Array, Scalar};
use arrow_ord::cmp::{gt, lt};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};

use super::footer::checked_footer;
use super::open::open_parquet;
use super::reader::BaseFile;
use super::source_bytes::{SourceBytes, guarded};
use crate::filter::ColumnBounds;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_storage::FileSource;

/// Rows that are compared at a time.
const ROWS: usize = 8192;

/// Compares bounds and numbers of nulls of all top-level columns that have an order, unless the footer has a checksum.
///
/// # Errors
/// `InvalidTable`, with column and row group, for a value outside of its bounds, and for another number of nulls; those
/// of reading the file.
pub fn check_bounds(source: &Arc<dyn FileSource>) -> Result<()> {
    let bytes = SourceBytes::new(Arc::clone(source));
    if guarded(&bytes, || checked_footer(&bytes))?.1 {
        return Ok(());
    }
    let file = open_parquet(Arc::clone(source))?;
    let fields = file.fields().unwrap_or_default();
    let ordered = fields.iter().filter(|field| has_order(field.data_type()));
    let columns: Vec<(FieldRef, ColumnBounds)> =
        ordered.filter_map(|field| Some((Arc::clone(field), file.bounds(field)?))).collect();
    if columns.is_empty() {
        return Ok(());
    }
    let wanted = Arc::new(Schema::new(columns.iter().map(|(field, _)| Arc::clone(field)).collect::<Vec<_>>()));
    (0..file.row_groups().len())
        .try_for_each(|group| check_group(file.as_ref(), group..group + 1, &columns, &wanted))
        .map_err(|error| error.in_file(source.path()))
}

fn has_order(kind: &DataType) -> bool {
    use DataType::{Binary, Boolean, Date32, Decimal128, Float32, Float64, Int32, Int64, Timestamp, Utf8};
    matches!(
        kind,
        Boolean | Int32 | Int64 | Float32 | Float64 | Date32 | Utf8 | Binary | Timestamp(..) | Decimal128(..)
    )
}

/// Compares the columns of a row group, whose bounds are known.
fn check_group(
    file: &dyn BaseFile,
    group: Range<usize>,
    columns: &[(FieldRef, ColumnBounds)],
    wanted: &SchemaRef,
) -> Result<()> {
    let at = group.start;
    let wrong = |field: &FieldRef, what: String| {
        let name = field.name();
        Error::invalid_table(format!("invalid statistics in the footer: column {name} of row group {at} {what}"))
    };
    let mut part = file.again().ok_or_else(|| Error::internal("a Parquet file that is read only once"))?;
    part.keep_row_groups(group);
    let mut nulls = vec![0_u64; columns.len()];
    for batch in part.batches(wanted, BatchLimit::with_rows(ROWS))? {
        let batch = batch?;
        for (((field, bounds), values), nulls) in columns.iter().zip(batch.columns()).zip(&mut nulls) {
            *nulls = nulls.saturating_add(values.null_count() as u64);
            let compared = |error: ArrowError| wrong(field, "cannot be compared".into()).caused_by(error);
            if has_outside(values, &bounds.least, at, lt).map_err(compared)? {
                return Err(wrong(field, "has a value below its minimum".into()));
            }
            if has_outside(values, &bounds.greatest, at, gt).map_err(compared)? {
                return Err(wrong(field, "has a value above its maximum".into()));
            }
        }
    }
    for ((field, bounds), found) in columns.iter().zip(nulls) {
        let known = bounds.nulls.iter().nth(at).flatten();
        if let Some(known) = known.filter(|known| *known != found) {
            return Err(wrong(field, format!("has {found} nulls, not {known}")));
        }
    }
    Ok(())
}

type Compared<T> = std::result::Result<T, ArrowError>;
type Comparison = fn(&dyn Datum, &dyn Datum) -> Compared<BooleanArray>;

/// Whether a value is on the wrong side of a bound.
fn has_outside(values: &ArrayRef, bounds: &ArrayRef, group: usize, is_outside: Comparison) -> Compared<bool> {
    if group >= bounds.len() {
        return Ok(false);
    }
    let bound = numbers(&bounds.slice(group, 1));
    if bound.is_null(0) {
        return Ok(false);
    }
    Ok(is_outside(&numbers(values), &Scalar::new(bound))?.true_count() > 0)
}

/// Floats without NaN, which is in no statistics, and with one zero.
fn numbers(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float32 => {
            let floats = values.as_primitive::<Float32Type>().iter();
            Arc::new(
                floats
                    .map(|value| value.filter(|value| !value.is_nan()).map(|value| value + 0.0))
                    .collect::<Float32Array>(),
            )
        }
        DataType::Float64 => {
            let floats = values.as_primitive::<Float64Type>().iter();
            Arc::new(
                floats
                    .map(|value| value.filter(|value| !value.is_nan()).map(|value| value + 0.0))
                    .collect::<Float64Array>(),
            )
        }
        _ => Arc::clone(values),
    }
}
