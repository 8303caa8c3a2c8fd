//! The order of rows: a key of bytes for each row, by which rows are compared.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;

use super::planning::{Curve, RowLayout};
use super::sortable::sortable;
use super::space_curve::coordinates_of_values;
use super::value_ranks::ValueRanks;
use mortice_base::error::{Error, Result};
use mortice_merge::keys::FieldPath;

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
