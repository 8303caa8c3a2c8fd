//! A parquet file as Hudi's Avro writer makes it, row group by row group.

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves};
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::WriterPropertiesBuilder;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

use super::footer_checksum::{FooterOutput, unknown_checksum};
use super::page_store::{ChunkStore, FilePages};
use super::{Dictionaries, ParquetCodec, ParquetColumns, parquet_schema};
use mortice_base::error::{Error, Result};

/// Bytes of a row group: parquet-mr's default.
pub const ROW_GROUP_BYTES: usize = 128 << 20;

/// The key by which Spark recognises files whose dates and times are of the proleptic Gregorian calendar
/// (`DataSourceUtils.datetimeRebaseSpec`, `int96RebaseSpec`): those of its releases from 3.1 on. Spark 3 refuses dates
/// before 1582 and times before 1900 of files without it. The value begins with a release for readers that compare it.
const SPARK_VERSION: (&str, &str) = ("org.apache.spark.version", "3.5.0 (mortice)");

/// Writes batches of [`ParquetColumns`] as a parquet file. The rows of a row group are in memory, encoded and
/// compressed, until it is complete.
///
/// The first rows decide which columns have dictionaries, so that nothing is written before them.
pub struct ParquetWriter<W: Write + Send> {
    file: FileState<W>,
    schema: SchemaRef,
    dictionaries: Dictionaries,
    pages: Arc<FilePages>,
    is_gzip: bool,
    row_group: Option<RowGroup>,
    max_row_group_bytes: usize,
}

/// What is known of the file.
enum FileState<W: Write + Send> {
    /// There are no rows yet.
    Waiting(Box<(W, WriterPropertiesBuilder, SchemaDescriptor)>),
    /// It is written.
    Begun(Box<(SerializedFileWriter<FooterOutput<W>>, ArrowRowGroupWriterFactory)>),
    /// It could not be begun.
    Failed,
}

/// The row group that is being written.
struct RowGroup {
    columns: Vec<ArrowColumnWriter>,
    /// Of each column.
    chunks: Vec<Arc<ChunkStore>>,
}

impl RowGroup {
    /// Bytes of all columns as they are, or will be, written.
    fn estimated_bytes(&self) -> usize {
        let made = self.columns.iter().map(ArrowColumnWriter::get_estimated_total_bytes);
        made.zip(&self.chunks).map(|(bytes, chunk)| chunk.stored_estimate(bytes)).sum()
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file of converted columns. A row group ends after the batch by which it has `max_row_group_bytes`. Of
    /// the properties, compression and key-value metadata are set here.
    ///
    /// # Errors
    /// `Unsupported`, naming the field, for types that parquet has no form for; those of `out`.
    pub fn new(
        out: W,
        converter: &ParquetColumns,
        properties: WriterPropertiesBuilder,
        (codec, dictionaries): (ParquetCodec, Dictionaries),
        max_row_group_bytes: usize,
    ) -> Result<Self> {
        let stored = parquet_schema(converter.schema(), converter.lists())?;
        let is_gzip = codec == ParquetCodec::Gzip;
        let pages = Arc::new(FilePages::new(is_gzip));
        let text = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
        let about = vec![
            text("parquet.avro.schema", converter.schema().json()),
            text("writer.model.name", "avro"),
            text(SPARK_VERSION.0, SPARK_VERSION.1),
        ];
        let properties = properties
            .set_compression(if is_gzip { Compression::UNCOMPRESSED } else { codec.compression() })
            .set_dictionary_enabled(dictionaries != Dictionaries::None)
            .set_key_value_metadata(Some(about));
        let schema = Arc::clone(converter.stored_schema());
        let file = FileState::Waiting(Box::new((out, properties, stored)));
        Ok(Self { file, schema, dictionaries, pages, is_gzip, row_group: None, max_row_group_bytes })
    }

    /// Begins the file, unless it is begun. `rows` are its first ones, if it has some.
    fn begin(&mut self, rows: Option<&RecordBatch>) -> ParquetResult<()> {
        if !matches!(self.file, FileState::Waiting(_)) {
            return Ok(());
        }
        let FileState::Waiting(waiting) = std::mem::replace(&mut self.file, FileState::Failed) else { return Ok(()) };
        let (out, mut properties, stored) = *waiting;
        for column in rows.map(|rows| self.dictionaries.columns_without(rows)).unwrap_or_default() {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(column.to_owned()), false);
        }
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_skip_arrow_metadata(true)
            .with_parquet_schema(stored);
        let writer = ArrowWriter::try_new_with_options(FooterOutput::new(out), Arc::clone(&self.schema), options)?;
        let (file, columns) = writer.into_serialized_writer()?;
        let columns = columns.with_page_store_factory(Arc::<FilePages>::clone(&self.pages));
        self.file = FileState::Begun(Box::new((file, columns)));
        Ok(())
    }

    /// Adds converted rows.
    ///
    /// # Errors
    /// Those of the output, if a row group is complete, as the cause of `InvalidArgument`.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        self.encode(rows).map_err(unwritten)
    }

    fn encode(&mut self, rows: &RecordBatch) -> ParquetResult<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        self.begin(Some(rows))?;
        let group = match &mut self.row_group {
            Some(group) => group,
            None => {
                let (file, columns) = self.file.begun()?;
                let columns = columns.create_column_writers(file.flushed_row_groups().len())?;
                let chunks = self.pages.take_begun();
                self.row_group.insert(RowGroup { columns, chunks })
            }
        };
        let mut columns = group.columns.iter_mut();
        for (field, column) in self.schema.fields().iter().zip(rows.columns()) {
            for leaf in compute_leaves(field, column)? {
                let writer = columns.next();
                writer
                    .ok_or_else(|| ParquetError::General("rows of more columns than the schema".into()))?
                    .write(&leaf)?;
            }
        }
        if group.estimated_bytes() >= self.max_row_group_bytes {
            self.write_row_group()?;
        }
        Ok(())
    }

    /// Writes the rows that are in memory, as a row group.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn end_row_group(&mut self) -> Result<()> {
        self.write_row_group().map_err(unwritten)
    }

    fn write_row_group(&mut self) -> ParquetResult<()> {
        let Some(group) = self.row_group.take() else { return Ok(()) };
        let (file, _) = self.file.begun()?;
        let mut out = file.next_row_group()?;
        for (column, chunk) in group.columns.into_iter().zip(group.chunks) {
            let (pages, close) = chunk.finish(column.close()?.close(), self.is_gzip)?;
            out.append_column(&pages, close)?;
        }
        out.close()?;
        Ok(())
    }

    /// Bytes that are written, and that the rows in memory are estimated to take.
    #[must_use]
    pub fn estimated_bytes(&self) -> usize {
        let written = match &self.file {
            FileState::Begun(file) => file.0.bytes_written(),
            FileState::Waiting(_) | FileState::Failed => 0,
        };
        written.saturating_add(self.row_group.as_ref().map_or(0, RowGroup::estimated_bytes))
    }

    /// Bytes of rows in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let columns = self.row_group.iter().flat_map(|group| &group.columns);
        columns.map(ArrowColumnWriter::memory_size).sum()
    }

    /// Adds to the key-value metadata of the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add_metadata(&mut self, key: &str, value: String) -> Result<()> {
        self.begin(None).map_err(unwritten)?;
        let (file, _) = self.file.begun().map_err(unwritten)?;
        file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        Ok(())
    }

    /// Completes the file. Nothing can be written afterwards.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn finish(&mut self) -> Result<ParquetMetaData> {
        self.begin(None).map_err(unwritten)?;
        self.end_row_group()?;
        self.write_footer().map_err(unwritten)
    }

    fn write_footer(&mut self) -> ParquetResult<ParquetMetaData> {
        let (file, _) = self.file.begun()?;
        file.append_key_value_metadata(unknown_checksum());
        file.inner_mut().begin_end();
        let metadata = file.finish()?;
        file.inner_mut().write_end()?;
        Ok(metadata)
    }

    /// The output. What is written to it directly makes the file invalid.
    ///
    /// # Errors
    /// `Internal` after the file could not be begun.
    pub fn output(&mut self) -> Result<&mut W> {
        match &mut self.file {
            FileState::Waiting(waiting) => Ok(&mut waiting.0),
            FileState::Begun(file) => Ok(file.0.inner_mut().output()),
            FileState::Failed => Err(Error::internal("a parquet file that could not be begun")),
        }
    }
}

impl<W: Write + Send> FileState<W> {
    fn begun(
        &mut self,
    ) -> ParquetResult<(&mut SerializedFileWriter<FooterOutput<W>>, &mut ArrowRowGroupWriterFactory)> {
        match self {
            Self::Begun(file) => Ok((&mut file.0, &mut file.1)),
            Self::Waiting(_) | Self::Failed => Err(ParquetError::General("a file that is not begun".into())),
        }
    }
}

/// The error of our own that the parquet crate passed on, or that of the crate.
fn unwritten(error: ParquetError) -> Error {
    let error = match error {
        ParquetError::External(cause) => match cause.downcast::<Error>() {
            Ok(ours) => return *ours,
            Err(cause) => ParquetError::External(cause),
        },
        other => other,
    };
    Error::invalid_argument("the rows cannot be written as parquet").caused_by(error)
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int64Builder, ListBuilder};
    use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray};
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::{
        ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
    };
    use parquet::file::metadata::PageIndexPolicy;
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::avro_parquet::ListStructure;
    use mortice_avro::Schema;
    use mortice_base::ErrorKind;

    const SCHEMA: &str = r#"{"type":"record","name":"t","fields":[{"name":"key","type":"string"},
        {"name":"few","type":["null","string"]},{"name":"n","type":["null","int"]},{"name":"x","type":"double"},
        {"name":"none","type":["null","long"]},{"name":"list","type":{"type":"array","items":["null","long"]}}]}"#;
    const ROWS: usize = 20_000;

    fn rows(count: usize) -> RecordBatch {
        let keys = StringArray::from_iter_values((0..count).map(|row| format!("key {row} {}", row * 7919 % 1009)));
        let few = StringArray::from_iter((0..count).map(|row| (row % 3 > 0).then(|| ["a", "longer"][row % 2])));
        let n = Int32Array::from_iter((0..count).map(|row| (row % 5 > 0).then_some(row as i32 * 31)));
        let x = Float64Array::from_iter_values((0..count).map(|row| (row as f64).sqrt()));
        let mut lists = ListBuilder::new(Int64Builder::new());
        for row in 0..count {
            lists.append_value((0..row % 4).map(|at| (at != 2).then_some(at as i64)));
        }
        let columns: [(&str, ArrayRef); 5] = [
            ("key", Arc::new(keys)),
            ("few", Arc::new(few)),
            ("n", Arc::new(n)),
            ("x", Arc::new(x)),
            ("list", Arc::new(lists.finish())),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    /// Small pages, so that there are several in a column chunk.
    fn properties() -> WriterPropertiesBuilder {
        WriterProperties::builder().set_data_page_size_limit(4096).set_dictionary_page_size_limit(20_000)
    }

    fn columns() -> ParquetColumns {
        ParquetColumns::new(&Schema::parse(SCHEMA).unwrap(), ListStructure::ThreeLevels).unwrap()
    }

    fn written(codec: ParquetCodec, row_group_bytes: usize, batches: &[RecordBatch]) -> (Bytes, ParquetMetaData) {
        let mut columns = columns();
        let mut writer =
            ParquetWriter::new(Vec::new(), &columns, properties(), (codec, Dictionaries::All), row_group_bytes)
                .unwrap();
        for batch in batches {
            writer.write(&columns.convert(batch).unwrap()).unwrap();
        }
        let metadata = writer.finish().unwrap();
        (std::mem::take(writer.output().unwrap()).into(), metadata)
    }

    fn read(file: &Bytes, selection: Option<RowSelection>) -> RecordBatch {
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let mut reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file.clone(), options).unwrap();
        if let Some(selection) = selection {
            reader = reader.with_row_selection(selection);
        }
        let schema = Arc::clone(reader.schema());
        let batches: Vec<RecordBatch> = reader.with_batch_size(999).build().unwrap().map(|one| one.unwrap()).collect();
        arrow_select::concat::concat_batches(&schema, &batches).unwrap()
    }

    #[test]
    fn rows_come_back_from_files_of_every_codec() {
        let expected = columns().convert(&rows(ROWS)).unwrap();
        for codec in ["gzip", "snappy", "zstd", "lz4", "lz4_raw", "none"].map(|name| ParquetCodec::parse(name).unwrap())
        {
            for row_group_bytes in [usize::MAX, 1, 100_000] {
                let batches: Vec<RecordBatch> = (0..ROWS).step_by(4000).map(|at| rows(ROWS).slice(at, 4000)).collect();
                let (file, metadata) = written(codec, row_group_bytes, &batches);
                let groups = metadata.num_row_groups();
                let expected_groups = if row_group_bytes == usize::MAX {
                    1..=1
                } else if row_group_bytes == 1 {
                    5..=5
                } else {
                    2..=5
                };
                assert!(expected_groups.contains(&groups), "{codec:?}: {groups}");
                let found = read(&file, None);
                assert_eq!(found.columns(), expected.columns(), "{codec:?}");
                let name = codec.compression();
                let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
                for chunk in chunks {
                    assert_eq!(std::mem::discriminant(&chunk.compression()), std::mem::discriminant(&name));
                }
            }
        }
    }

    #[test]
    fn columns_whose_values_hardly_repeat_have_no_dictionary() {
        for codec in [ParquetCodec::Gzip, ParquetCodec::Zstd] {
            let mut columns = columns();
            let dictionaries = Dictionaries::WhereTheyPay(20_000);
            let mut writer =
                ParquetWriter::new(Vec::new(), &columns, properties(), (codec, dictionaries), usize::MAX).unwrap();
            assert_eq!(writer.estimated_bytes(), 0);
            let stored = columns.convert(&rows(ROWS)).unwrap();
            writer.write(&stored).unwrap();
            let metadata = writer.finish().unwrap();
            let file: Bytes = std::mem::take(writer.output().unwrap()).into();
            assert_eq!(read(&file, None).columns(), stored.columns());
            let chunks = metadata.row_group(0).columns();
            let with_dictionary = chunks.iter().filter(|chunk| chunk.dictionary_page_offset().is_some());
            let names: Vec<String> = with_dictionary.map(|chunk| chunk.column_path().string()).collect();
            assert_eq!(names, ["few", "none", "list.list.element"]);
        }
    }

    #[test]
    fn a_selection_of_rows_is_found_by_the_page_index() {
        let (file, _) = written(ParquetCodec::Gzip, usize::MAX, &[rows(ROWS)]);
        let selection = RowSelection::from(vec![
            RowSelector::skip(7001),
            RowSelector::select(3),
            RowSelector::skip(11_000),
            RowSelector::select(2),
        ]);
        let found = read(&file, Some(selection));
        let expected = columns().convert(&rows(ROWS)).unwrap();
        let at = [7001, 7002, 7003, 18_004, 18_005].into_iter().collect::<arrow_array::UInt32Array>();
        let expected = arrow_select::take::take_record_batch(&expected, &at).unwrap();
        assert_eq!(found.columns(), expected.columns());
    }

    #[test]
    fn gzip_has_the_metadata_that_the_crates_own_encoder_writes() {
        let (file, ours) = written(ParquetCodec::Gzip, usize::MAX, &[rows(ROWS)]);
        let mut columns = columns();
        let stored = columns.convert(&rows(ROWS)).unwrap();
        let about = ours.file_metadata().key_value_metadata().cloned();
        let properties = properties().set_compression(ParquetCodec::Gzip.compression()).set_key_value_metadata(about);
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_skip_arrow_metadata(true)
            .with_parquet_schema(parquet_schema(columns.schema(), columns.lists()).unwrap());
        let mut writer = ArrowWriter::try_new_with_options(Vec::new(), stored.schema(), options).unwrap();
        writer.write(&stored).unwrap();
        let theirs = writer.finish().unwrap();
        assert_eq!(ours.file_metadata(), theirs.file_metadata());
        for (ours, theirs) in ours.row_group(0).columns().iter().zip(theirs.row_group(0).columns()) {
            assert_eq!(ours.compression_codec(), theirs.compression_codec());
            assert_eq!((ours.num_values(), ours.statistics()), (theirs.num_values(), theirs.statistics()));
            assert_eq!(ours.encodings().collect::<Vec<_>>(), theirs.encodings().collect::<Vec<_>>());
            assert_eq!(ours.page_encoding_stats(), theirs.page_encoding_stats());
            assert_eq!(ours.dictionary_page_offset().is_some(), theirs.dictionary_page_offset().is_some());
            let difference = ours.uncompressed_size().abs_diff(theirs.uncompressed_size());
            assert!(difference < 1000, "{}: {difference}", ours.column_path());
            let (start, len) = ours.byte_range();
            assert!(start + len < file.len() as u64);
        }
    }

    #[test]
    fn estimates_are_of_compressed_pages() {
        let mut columns = columns();
        let gzip = ParquetCodec::Gzip;
        let mut writer =
            ParquetWriter::new(Vec::new(), &columns, properties(), (gzip, Dictionaries::All), usize::MAX).unwrap();
        writer.write(&columns.convert(&rows(ROWS)).unwrap()).unwrap();
        let (estimate, memory) = (writer.estimated_bytes(), writer.memory_bytes());
        writer.finish().unwrap();
        let bytes = writer.output().unwrap().len();
        assert!((bytes * 9 / 10..bytes * 3 / 2).contains(&estimate), "{estimate} estimated, {bytes} written");
        assert!((bytes / 2..bytes * 4).contains(&memory), "{memory} in memory, {bytes} written");
    }

    #[test]
    fn a_file_without_rows_has_no_row_group() {
        let (file, metadata) = written(ParquetCodec::Gzip, 1, &[rows(0)]);
        assert_eq!((metadata.num_row_groups(), read(&file, None).num_rows()), (0, 0));
    }

    #[test]
    fn an_error_of_our_own_keeps_its_kind() {
        let ours = unwritten(ParquetError::External(Box::new(Error::internal("a page is lost"))));
        assert_eq!(ours.kind(), ErrorKind::Internal);
        let theirs = unwritten(ParquetError::General("a level is missing".into()));
        assert_eq!(theirs.kind(), ErrorKind::InvalidArgument);
        assert!(theirs.to_string().contains("a level is missing"), "{theirs}");
    }
}
