//! Parquet base files: row groups stream through, those without a wanted row are passed over, and only the wanted
//! columns' bytes are touched.
//!
//! The parquet crate panics on some damaged files. Such a panic is caught here and becomes an error that names the
//! file; the reader it came from is not used again.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Fields, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::conform::reading_type;
use super::footer::read_footer;
use super::footer_schema::with_root;
use super::legacy_calendar::LegacyCalendar;
use super::list_of_maps;
use super::mislabelled;
use super::parquet_batches::{Hybrid, ParquetBatches, ParquetRows};
use super::reader::{BaseBatches, BaseFile};
use super::row_ranges;
use super::source_bytes::{SourceBytes, chunk_range, guarded};
use super::statistics::bounds;
use crate::filter::{BoundFilter, ColumnBounds};
use mortice_avro::Schema as AvroSchema;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::FieldNames;
use mortice_storage::FileSource;

/// The key under which Avro writers leave their schema.
const AVRO_SCHEMA: &str = "parquet.avro.schema";

/// A parquet file, its footer read.
#[derive(Clone)]
pub(super) struct ParquetFile {
    bytes: SourceBytes,
    metadata: ArrowReaderMetadata,
    /// The calendar of its dates and times, if that is the hybrid one.
    calendar: Option<LegacyCalendar>,
    /// The rows of each row group.
    group_rows: Vec<u64>,
    /// The row groups to read; all of them where none were left out.
    row_groups: Option<Vec<usize>>,
    /// The rows to read, where they are not those of the row groups.
    rows: Option<Vec<Range<u64>>>,
}

impl ParquetFile {
    /// Reads the footer. What it says of Arrow types is passed over: the table's schema decides.
    pub(super) fn open(source: Arc<dyn FileSource>) -> Result<Self> {
        let bytes = SourceBytes::new(source);
        let metadata = guarded(&bytes, || {
            let metadata = list_of_maps::readable(read_footer(&bytes)?)?;
            ArrowReaderMetadata::try_new(Arc::new(metadata), options())
        })?;
        let group_rows = group_rows(metadata.metadata()).map_err(|error| error.in_file(bytes.source.path()))?;
        let file = metadata.metadata().file_metadata();
        let calendar = LegacyCalendar::from_footer(file).filter(|it| it.applies_to_any(file.schema_descr()));
        Ok(Self { bytes, metadata, calendar, group_rows, row_groups: None, rows: None })
    }

    /// The file's metadata with its columns read as the wanted types want them.
    fn hinted(&self, wanted: &Schema) -> Result<ArrowReaderMetadata> {
        let fields = self.metadata.schema().fields().iter().map(|field| match wanted.fields().find(field.name()) {
            Some((_, target)) => {
                let kind = reading_type(field.data_type(), target.data_type());
                Arc::new(field.as_ref().clone().with_data_type(kind))
            }
            None => Arc::clone(field),
        });
        let hint = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        if hint.fields() == self.metadata.schema().fields() {
            return Ok(self.metadata.clone());
        }
        let metadata = Arc::clone(self.metadata.metadata());
        guarded(&self.bytes, || ArrowReaderMetadata::try_new(metadata, options().with_schema(hint)))
    }
}

impl ParquetFile {
    /// What is read of the wanted columns.
    fn rows_of(&self, wanted: &Schema) -> Result<ParquetRows> {
        let metadata = self.hinted(wanted)?;
        let roots: Vec<usize> = metadata
            .schema()
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, field)| wanted.fields().find(field.name()).is_some())
            .map(|(index, _)| index)
            .collect();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots.iter().copied());
        let hybrid = self.calendar.clone().map(|calendar| Hybrid { calendar, roots });
        let group_rows = row_ranges::consecutive(&self.group_rows);
        let groups = self.row_groups.clone().unwrap_or_else(|| (0..group_rows.len()).collect());
        let in_groups = self.kept_rows();
        let kept = self.rows.as_ref().map_or_else(|| in_groups.clone(), |rows| row_ranges::common(&in_groups, rows));
        Ok(ParquetRows { bytes: self.bytes.clone(), metadata, mask, groups, group_rows, kept, hybrid })
    }
}

/// Announces the column chunks that will be read.
fn plan_reads(
    bytes: &SourceBytes,
    metadata: &ArrowReaderMetadata,
    mask: &ProjectionMask,
    kept: Option<&[usize]>,
) -> Result<()> {
    if bytes.source.window().is_none() {
        return Ok(());
    }
    let metadata = metadata.metadata();
    let groups = (0..).zip(metadata.row_groups()).filter(|(at, _)| kept.is_none_or(|kept| kept.contains(at)));
    let chunks = |group: &RowGroupMetaData| {
        let columns = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        columns.map(|(_, column)| chunk_range(column)).collect::<Vec<_>>()
    };
    let groups: Vec<Vec<Range<u64>>> =
        guarded(bytes, || Ok::<_, ParquetError>(groups.map(|(_, group)| chunks(group)).collect()))?;
    bytes.source.plan_reads(&groups)
}

/// The rows of each row group, as the footer has them.
fn group_rows(metadata: &ParquetMetaData) -> Result<Vec<u64>> {
    let count = |rows: i64| {
        u64::try_from(rows).map_err(|_| Error::invalid_table(format!("invalid Parquet footer: {rows} rows")))
    };
    let rows = count(metadata.file_metadata().num_rows())?;
    let groups = metadata.row_groups().iter().map(|group| count(group.num_rows())).collect::<Result<Vec<_>>>()?;
    match groups.iter().try_fold(0_u64, |sum, group| sum.checked_add(*group)) {
        Some(sum) if sum == rows => Ok(groups),
        _ => Err(Error::invalid_table(format!(
            "invalid Parquet footer: {rows} rows, but its row groups have {groups:?}"
        ))),
    }
}

fn options() -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_skip_arrow_metadata(true)
}

impl BaseFile for ParquetFile {
    fn row_count(&self) -> u64 {
        self.group_rows.iter().sum()
    }

    fn row_groups(&self) -> Vec<u64> {
        self.group_rows.clone()
    }

    fn column_bytes(&self, wanted: &SchemaRef) -> Option<Vec<u64>> {
        let mut bytes = vec![0_u64; wanted.fields().len()];
        for column in self.metadata.metadata().row_groups().iter().flat_map(|group| group.columns()) {
            let root = column.column_path().parts().first();
            let place = root.and_then(|root| wanted.index_of(root).ok());
            if let Some(sum) = place.and_then(|at| bytes.get_mut(at)) {
                *sum = sum.saturating_add(u64::try_from(column.uncompressed_size()).unwrap_or(0));
            }
        }
        Some(bytes)
    }

    fn bounds(&self, wanted: &Field) -> Option<ColumnBounds> {
        let (metadata, file) = (self.metadata.metadata(), self.metadata.schema());
        // Statistics that make no sense are as good as none.
        guarded(&self.bytes, || Ok::<_, ParquetError>(bounds(metadata, file, wanted, self.calendar.as_ref())))
            .ok()
            .flatten()
    }

    fn again(&self) -> Option<Box<dyn BaseFile>> {
        Some(Box::new(self.clone()))
    }

    fn keep_row_groups(&mut self, kept: Range<usize>) {
        self.row_groups = Some(kept.collect());
    }

    fn correct_types(&mut self, table: &AvroSchema, names: &FieldNames) -> Result<()> {
        let metadata = self.metadata.metadata();
        let corrected = guarded(&self.bytes, || {
            let root = metadata.file_metadata().schema_descr().root_schema_ptr();
            let root = mislabelled::corrected(&root, table, names)?;
            let corrected = |root| ArrowReaderMetadata::try_new(Arc::new(with_root(metadata, root)), options());
            root.map(corrected).transpose()
        })?;
        if let Some(corrected) = corrected {
            self.metadata = corrected;
        }
        Ok(())
    }

    fn avro_schema(&self) -> Option<String> {
        self.footer_value(AVRO_SCHEMA)
    }

    fn footer_value(&self, key: &str) -> Option<String> {
        let pairs = self.metadata.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone())
    }

    fn has_column(&self, name: &str) -> bool {
        self.metadata.schema().fields().find(name).is_some()
    }

    fn fields(&self) -> Option<Fields> {
        Some(self.metadata.schema().fields().clone())
    }

    fn prune(&mut self, wanted: &SchemaRef, filter: &BoundFilter) -> Result<u64> {
        if filter.is_empty() {
            return Ok(0);
        }
        let rows = self.row_groups();
        let may_pass = filter.may_pass(&rows, |column| self.bounds(wanted.fields().get(column)?))?;
        let mut kept = self.row_groups.take().unwrap_or_else(|| (0..rows.len()).collect());
        let before = kept.len();
        kept.retain(|group| may_pass.get(*group).is_none_or(|may| *may));
        let pruned = before.saturating_sub(kept.len());
        self.row_groups = Some(kept);
        Ok(pruned as u64)
    }

    fn kept_rows(&self) -> Vec<Range<u64>> {
        let groups = row_ranges::consecutive(&self.row_groups());
        let kept = |at: &usize| self.row_groups.as_ref().is_none_or(|kept| kept.contains(at));
        let kept: Vec<Range<u64>> = (0..).zip(groups).filter(|(at, _)| kept(at)).map(|(_, group)| group).collect();
        row_ranges::common(&kept, &row_ranges::whole(self.row_count()))
    }

    fn keep_rows(&mut self, rows: Vec<Range<u64>>) -> Result<()> {
        let groups = row_ranges::consecutive(&self.row_groups());
        let with_rows = |group: &Range<u64>| rows.iter().any(|rows| row_ranges::overlaps(rows, group));
        self.row_groups = Some((0..).zip(&groups).filter(|(_, group)| with_rows(group)).map(|(at, _)| at).collect());
        self.rows = Some(rows);
        Ok(())
    }

    fn least_batch_rows(&self, wanted: &SchemaRef, limit: BatchLimit) -> Result<usize> {
        let stretches = self.rows_of(wanted)?.stretches(limit)?;
        Ok(stretches.iter().map(|stretch| stretch.batch_rows).min().unwrap_or(limit.rows()))
    }

    fn batches(self: Box<Self>, wanted: &SchemaRef, limit: BatchLimit) -> Result<BaseBatches> {
        let rows = self.rows_of(wanted)?;
        plan_reads(&self.bytes, &rows.metadata, &rows.mask, self.row_groups.as_deref())?;
        Ok(Box::new(ParquetBatches::new(rows, Arc::clone(wanted), limit)?))
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::metadata::FileMetaData;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    fn footer(rows: i64, groups: &[i64]) -> ParquetMetaData {
        let schema = parse_message_type("message m { }").unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let group = |rows: &i64| RowGroupMetaData::builder(Arc::clone(&schema)).set_num_rows(*rows).build().unwrap();
        let groups = groups.iter().map(group).collect();
        ParquetMetaData::new(FileMetaData::new(1, rows, None, None, Arc::clone(&schema), None), groups)
    }

    #[test]
    fn counts_of_rows_are_checked() {
        assert_eq!(group_rows(&footer(5, &[2, 3])).unwrap(), [2, 3]);
        assert_eq!(group_rows(&footer(0, &[])).unwrap(), [0_u64; 0]);
        for (rows, groups) in [(-1, vec![]), (1, vec![2, -1]), (5, vec![2]), (0, vec![i64::MAX, i64::MAX, 2])] {
            assert!(group_rows(&footer(rows, &groups)).is_err(), "{rows} {groups:?}");
        }
    }
}
