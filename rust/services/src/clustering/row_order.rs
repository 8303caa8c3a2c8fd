//! The order of rows: a key of bytes for each row, by which rows are compared.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;

use super::sortable::sortable;
use super::space_curve::{Curve, coordinates_of_values};
use super::value_ranks::ValueRanks;
use mortice_base::error::{Error, Result};
use mortice_merge::config::{WriteOption, WriteOptions, option_names};
use mortice_merge::keys::FieldPath;

const STRATEGY: WriteOption<option_names::Word> = option_names::LAYOUT_OPTIMIZE_STRATEGY;
const METHOD: WriteOption<option_names::Word> = option_names::LAYOUT_OPTIMIZE_CURVE_BUILD_METHOD;

/// How columns make an order (`LayoutOptimizationStrategy`, `SpatialCurveCompositionStrategyType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowLayout {
    /// By the first column, then by the next.
    Linear,
    /// Along a curve through the values.
    Values(Curve),
    /// Along a curve through the ranks of values among so many rows.
    Ranks(Curve, usize),
}

impl RowLayout {
    /// By Hudi's options.
    pub(super) fn from_options(options: &WriteOptions) -> Result<Self> {
        let named = |name: WriteOption<option_names::Word>| {
            Result::Ok(options.word(name)?.to_ascii_lowercase().replace(['-', '_'], ""))
        };
        let curve = match named(STRATEGY)?.as_str() {
            "linear" => return Ok(Self::Linear),
            "zorder" => Curve::ZOrder,
            "hilbert" => Curve::Hilbert,
            other => {
                let message = format!("option {STRATEGY} must be linear, z-order or hilbert, got {other:?}");
                return Err(Error::invalid_argument(message));
            }
        };
        match named(METHOD)?.as_str() {
            "direct" => Ok(Self::Values(curve)),
            "sample" => Ok(Self::Ranks(curve, options.integer(option_names::LAYOUT_OPTIMIZE_BUILD_CURVE_SAMPLE_SIZE)?)),
            other => Err(Error::invalid_argument(format!("option {METHOD} must be direct or sample, got {other:?}"))),
        }
    }
}

/// By which columns rows are sorted; ascending, nulls first, as Spark sorts, unless along a curve.
#[derive(Debug)]
pub(super) struct RowOrder {
    columns: Vec<String>,
    kind: OrderKind,
}

#[derive(Debug)]
enum OrderKind {
    Linear,
    Values(Curve),
    Ranks(Curve, Vec<ValueRanks>),
}

impl RowOrder {
    /// By columns, nested ones with dots; none if rows stay as they are. `sample` reads the rows of these columns.
    pub(super) fn by_columns<B>(
        columns: &[String],
        layout: RowLayout,
        rows: &Schema,
        sample: impl FnOnce(&[String]) -> Result<B>,
    ) -> Result<Option<Self>>
    where
        B: Iterator<Item = Result<RecordBatch>>,
    {
        check_columns(columns, rows)?;
        let kind = match layout {
            _ if columns.is_empty() => return Ok(None),
            // A curve through one column is the order of its values.
            _ if columns.len() == 1 => OrderKind::Linear,
            RowLayout::Linear => OrderKind::Linear,
            RowLayout::Values(curve) => OrderKind::Values(curve),
            RowLayout::Ranks(curve, size) => {
                let read = sample(&top_columns(columns))?;
                OrderKind::Ranks(curve, ValueRanks::of_sample(read, size, |rows| column_values(columns, rows))?)
            }
        };
        Ok(Some(Self { columns: columns.to_vec(), kind }))
    }

    /// The keys of rows.
    pub(super) fn keys(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let values = column_values(&self.columns, rows)?;
        let (curve, coordinates) = match &self.kind {
            OrderKind::Linear => return Ok(Arc::new(sortable(&values)?)),
            OrderKind::Values(curve) => (curve, values.iter().map(coordinates_of_values).collect::<Result<Vec<_>>>()?),
            OrderKind::Ranks(curve, ranks) => {
                let ranked = ranks.iter().zip(&values).map(|(ranks, column)| ranks.coordinates(column));
                (curve, ranked.collect::<Result<Vec<_>>>()?)
            }
        };
        Ok(Arc::new(curve.positions(&coordinates, rows.num_rows())?))
    }
}

/// Makes sure that rows have columns.
fn check_columns(columns: &[String], rows: &Schema) -> Result<()> {
    let missing = |column: &&String| rows.column_with_name(FieldPath::new(column).column()).is_none();
    match columns.iter().find(missing) {
        Some(column) => Err(Error::invalid_argument(format!(
            "clustering sorts by column {column:?}, which the table does not have"
        ))),
        None => Ok(()),
    }
}

fn top_columns(columns: &[String]) -> Vec<String> {
    let mut top: Vec<String> = columns.iter().map(|column| FieldPath::new(column).column().to_owned()).collect();
    top.sort_unstable();
    top.dedup();
    top
}

/// The values of columns, which may be nested.
fn column_values(columns: &[String], rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let values = |column: &String| {
        let path = FieldPath::new(column);
        let top = rows.column_by_name(path.column());
        path.values(top.ok_or_else(|| Error::internal(format!("column {column:?} is not read")))?)
    };
    columns.iter().map(values).collect()
}
