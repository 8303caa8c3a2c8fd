//! Parquet base files: row groups stream through, those without a wanted row are passed over, and only the wanted
//! columns' bytes are touched.
//!
//! The parquet crate panics on some damaged files. Such a panic is caught here and becomes an error that names the
//! file; the reader it came from is not used again.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowGroups as _, RowSelection, RowSelector,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use super::conform::{conformed, reading_type};
use super::footer::read_footer;
use super::footer_schema::with_root;
use super::legacy_calendar::LegacyCalendar;
use super::list_of_maps;
use super::mislabelled;
use super::pages::ColumnPages;
use super::reader::{BaseBatches, BaseFile};
use super::row_ranges;
use super::source_bytes::{SourceBytes, guarded};
use super::statistics::bounds;
use crate::filter::{BoundFilter, ColumnBounds};
use mortice_avro::Schema as AvroSchema;
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
    /// The rows to read among those of the row groups to read.
    fn selection(&self) -> Option<RowSelection> {
        let rows = self.rows.as_ref()?;
        let groups = (0..).zip(row_ranges::consecutive(&self.row_groups()));
        let kept = groups.filter(|(at, _)| self.row_groups.as_ref().is_none_or(|kept| kept.contains(at)));
        let mut selectors = Vec::new();
        let len = |from: u64, to: u64| usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        for (_, group) in kept {
            let mut at = group.start;
            for range in row_ranges::common(std::slice::from_ref(&group), rows) {
                selectors.extend([
                    RowSelector::skip(len(at, range.start)),
                    RowSelector::select(len(range.start, range.end)),
                ]);
                at = range.end;
            }
            selectors.push(RowSelector::skip(len(at, group.end)));
        }
        Some(RowSelection::from(selectors))
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

/// Where a column chunk is in its file.
pub(super) fn chunk_range(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let (start, len) = chunk.byte_range();
    start..start.saturating_add(len)
}

/// The rows of each row group, as the footer has them.
///
/// # Errors
/// `InvalidTable` for negative counts and for groups that do not sum up to the file's rows.
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

    fn batches(self: Box<Self>, wanted: &SchemaRef, batch_rows: usize) -> Result<BaseBatches> {
        let metadata = self.hinted(wanted)?;
        let selection = self.selection();
        let roots: Vec<usize> = metadata
            .schema()
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, field)| wanted.fields().find(field.name()).is_some())
            .map(|(index, _)| index)
            .collect();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots.iter().copied());
        plan_reads(&self.bytes, &metadata, &mask, self.row_groups.as_deref())?;
        let pages = ColumnPages::new(self.bytes.clone(), Arc::clone(metadata.metadata()), self.row_groups);
        let (pages, rows) = match &selection {
            Some(selection) => (pages.with_pages_left_out(), selection.row_count() as u64),
            None => {
                let rows = pages.num_rows() as u64;
                (pages, rows)
            }
        };
        let reader = guarded(&self.bytes, || {
            let fields = metadata.schema().fields();
            let levels = parquet_to_arrow_field_levels(metadata.parquet_schema(), mask, Some(fields))?;
            let batch_rows = batch_rows.min(pages.num_rows());
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &pages, batch_rows, selection)
        })?;
        let hybrid =
            self.calendar.map(|calendar| Hybrid { calendar, metadata: Arc::clone(metadata.metadata()), roots });
        let (wanted, bytes) = (Arc::clone(wanted), self.bytes);
        Ok(Box::new(Conformed { reader: Some(reader), rows_left: rows, hybrid, wanted, bytes }))
    }
}

/// Columns of which some are of the hybrid calendar.
struct Hybrid {
    calendar: LegacyCalendar,
    metadata: Arc<ParquetMetaData>,
    /// The columns that are read, by their numbers in the file.
    roots: Vec<usize>,
}

impl Hybrid {
    fn proleptic(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.calendar.proleptic(batch, self.metadata.file_metadata().schema_descr(), &self.roots)
    }
}

/// Batches as the file has them, brought to the wanted columns.
struct Conformed {
    /// None after an error, and at the end.
    reader: Option<ParquetRecordBatchReader>,
    /// By the footer.
    rows_left: u64,
    hybrid: Option<Hybrid>,
    wanted: SchemaRef,
    bytes: SourceBytes,
}

impl Iterator for Conformed {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let bytes = &self.bytes;
        let read = guarded(bytes, || reader.next().transpose());
        let read = read.and_then(|batch| counted(&mut self.rows_left, batch).map_err(|error| bytes.error(error)));
        let batch = match read {
            Ok(Some(batch)) => batch,
            end => {
                self.reader = None;
                return end.transpose();
            }
        };
        let wanted = match &self.hybrid {
            Some(hybrid) => hybrid.proleptic(&batch).and_then(|batch| conformed(&batch, &self.wanted)),
            None => conformed(&batch, &self.wanted),
        };
        Some(wanted.map_err(|error| error.in_file(self.bytes.source.path())))
    }
}

/// Counts the rows of a batch: a damaged page header may hide some.
fn counted(left: &mut u64, batch: Option<RecordBatch>) -> Result<Option<RecordBatch>> {
    let rows = batch.as_ref().map_or(0, RecordBatch::num_rows) as u64;
    let missing = if batch.is_none() { *left } else { 0 };
    match left.checked_sub(rows) {
        Some(rest) if missing == 0 => *left = rest,
        Some(_) => {
            return Err(Error::invalid_table(format!("{missing} rows of the Parquet file are missing: it is damaged")));
        }
        None => return Err(Error::invalid_table("the Parquet file has more rows than its footer says: it is damaged")),
    }
    Ok(batch)
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
