//! ORC base files: stripes stream through, those without a wanted row are passed over, and only the wanted columns are
//! decoded.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array, new_null_array,
};
use arrow_schema::{DataType, Field, Fields, SchemaRef};

use super::conform::{conform, conformed};
use super::orc_longs::OrcLongs;
use super::reader::{BaseBatches, BaseFile};
use super::row_ranges;
use crate::filter::{BoundFilter, ColumnBounds};
use crate::orc::{ColumnStatistics, OrcFile, StatisticsRange};
use mortice_avro::Schema;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::Result;
use mortice_base::names::FieldNames;
use mortice_storage::FileSource;

/// The name under which Hudi's writer leaves the Avro schema (`HoodieOrcConfig.AVRO_SCHEMA_METADATA_KEY`).
const AVRO_SCHEMA: &str = "orc.avro.schema";

/// An ORC file, its footer read.
pub(super) struct OrcBase {
    file: OrcFile,
    path: String,
    /// Rows to read, in order; all of them where none were left out.
    kept: Option<Vec<Range<u64>>>,
    /// How longs are read, if some are timestamps.
    longs: Option<OrcLongs>,
}

impl OrcBase {
    pub(super) fn open(source: Arc<dyn FileSource>) -> Result<Self> {
        let path = source.path().to_owned();
        Ok(Self { file: OrcFile::open(source)?, path, kept: None, longs: None })
    }

    /// The bounds of a wanted column in each stripe.
    fn bounds(&self, wanted: &Field) -> Option<ColumnBounds> {
        let rows = self.file.stripe_rows();
        let unknown = || new_null_array(wanted.data_type(), rows.len());
        if self.file.schema().fields().find(wanted.name()).is_none() {
            // A column that the file has not is null.
            let nulls = UInt64Array::from(rows.clone());
            return Some(ColumnBounds { least: unknown(), greatest: unknown(), nulls });
        }
        let known = self.file.statistics(wanted.name())?;
        let nulls = known.iter().zip(&rows).map(|(known, rows)| rows.checked_sub(known.values?)).collect();
        let of = |bound: fn(&StatisticsRange) -> Bound| bounds_of(&known, wanted, bound).unwrap_or_else(unknown);
        Some(ColumnBounds { least: of(least), greatest: of(greatest), nulls })
    }
}

enum Bound {
    Int(i64),
    Double(f64),
    Text(String),
}

fn least(range: &StatisticsRange) -> Bound {
    match range {
        StatisticsRange::Ints(least, _) => Bound::Int(*least),
        StatisticsRange::Doubles(least, _) => Bound::Double(*least),
        StatisticsRange::Strings(least, _) => Bound::Text(least.clone()),
    }
}

fn greatest(range: &StatisticsRange) -> Bound {
    match range {
        StatisticsRange::Ints(_, greatest) => Bound::Int(*greatest),
        StatisticsRange::Doubles(_, greatest) => Bound::Double(*greatest),
        StatisticsRange::Strings(_, greatest) => Bound::Text(greatest.clone()),
    }
}

/// One bound in each stripe, of the wanted type; none where the types do not tell each other's order.
fn bounds_of(known: &[ColumnStatistics], wanted: &Field, bound: fn(&StatisticsRange) -> Bound) -> Option<ArrayRef> {
    let bounds = || known.iter().map(|known| known.range.as_ref().map(bound));
    let ints = || bounds().map(|bound| if let Some(Bound::Int(value)) = bound { Some(value) } else { None });
    let array: ArrayRef = match wanted.data_type() {
        DataType::Int32 | DataType::Int64 => Arc::new(ints().collect::<Int64Array>()),
        DataType::Date32 => {
            Arc::new(ints().map(|days| days.and_then(|days| i32::try_from(days).ok())).collect::<Date32Array>())
        }
        DataType::Float64 => Arc::new(
            bounds()
                .map(|bound| if let Some(Bound::Double(value)) = bound { Some(value) } else { None })
                .collect::<Float64Array>(),
        ),
        DataType::Utf8 => Arc::new(
            bounds()
                .map(|bound| if let Some(Bound::Text(text)) = bound { Some(text) } else { None })
                .collect::<StringArray>(),
        ),
        _ => return None,
    };
    if *array.data_type() == DataType::Int64 && *wanted.data_type() == DataType::Int32 {
        return arrow_cast::cast(&array, &DataType::Int32).ok();
    }
    conform(&array, wanted.data_type(), wanted.name()).ok()
}

impl BaseFile for OrcBase {
    fn row_count(&self) -> u64 {
        self.file.row_count()
    }

    fn avro_schema(&self) -> Option<String> {
        self.footer_value(AVRO_SCHEMA)
    }

    fn footer_value(&self, key: &str) -> Option<String> {
        self.file.metadata(key).and_then(|text| String::from_utf8(text.to_vec()).ok())
    }

    fn correct_types(&mut self, table: &Schema, names: &FieldNames) -> Result<()> {
        self.longs = OrcLongs::new(table, names);
        Ok(())
    }

    fn has_column(&self, name: &str) -> bool {
        self.file.schema().fields().find(name).is_some()
    }

    fn fields(&self) -> Option<Fields> {
        Some(self.file.schema().fields().clone())
    }

    fn row_groups(&self) -> Vec<u64> {
        self.file.stripe_rows()
    }

    fn keep_row_groups(&mut self, kept: Range<usize>) {
        let stripes = row_ranges::consecutive(&self.row_groups());
        self.kept = Some(row_ranges::common(&self.kept_rows(), stripes.get(kept).unwrap_or_default()));
    }

    fn prune(&mut self, wanted: &SchemaRef, filter: &BoundFilter) -> Result<u64> {
        if filter.is_empty() {
            return Ok(0);
        }
        let rows = self.file.stripe_rows();
        let may_pass = filter.may_pass(&rows, |column| self.bounds(wanted.fields().get(column)?))?;
        let stripes = row_ranges::consecutive(&rows);
        let kept = self.kept_rows();
        let is_left = |stripe: &Range<u64>| kept.iter().any(|kept| row_ranges::overlaps(kept, stripe));
        let pruned = stripes.iter().zip(&may_pass).filter(|(stripe, may)| !**may && is_left(stripe)).count();
        let passing: Vec<Range<u64>> =
            stripes.into_iter().zip(may_pass).filter(|(_, may)| *may).map(|(stripe, _)| stripe).collect();
        self.kept = Some(row_ranges::common(&kept, &passing));
        Ok(pruned as u64)
    }

    fn kept_rows(&self) -> Vec<Range<u64>> {
        self.kept.clone().unwrap_or_else(|| row_ranges::whole(self.row_count()))
    }

    fn keep_rows(&mut self, rows: Vec<Range<u64>>) -> Result<()> {
        self.kept = Some(rows);
        Ok(())
    }

    fn batches(self: Box<Self>, wanted: &SchemaRef, limit: BatchLimit) -> Result<BaseBatches> {
        let kept = self.kept_rows();
        let stripes = row_ranges::consecutive(&self.file.stripe_rows());
        let with_rows = |stripe: &Range<u64>| kept.iter().any(|kept| row_ranges::overlaps(kept, stripe));
        let stripes = stripes.iter().enumerate().filter(|(_, stripe)| with_rows(stripe)).map(|(at, _)| at).collect();
        let rows = self.file.rows(&|name| wanted.fields().find(name).is_some(), stripes, limit);
        let (wanted, path, longs) = (Arc::clone(wanted), self.path, self.longs);
        let batches = rows.flat_map(move |step| {
            let of_batch = |(batch, rows): (RecordBatch, Range<u64>)| {
                let batch = match &longs {
                    Some(longs) => longs.as_timestamps(&batch),
                    None => Ok(batch),
                };
                let batch = batch.and_then(|batch| conformed(&batch, &wanted)).map_err(|error| error.in_file(&path))?;
                Ok(row_ranges::slices(&batch, &rows, &kept))
            };
            match step.and_then(of_batch) {
                Ok(slices) => slices.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            }
        });
        Ok(Box::new(batches))
    }
}
