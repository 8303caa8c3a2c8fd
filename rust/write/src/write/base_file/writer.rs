//! One base file.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

use super::distinct_keys::{DISTINCT_KEYS, DistinctKeys};
use super::key_summary::KeySummary;
use super::options::BaseFileOptions;
use super::statistics::{add_nan_columns, column_ranges};
use crate::write::column_range::ColumnRange;
use crate::write::file_upload::FileUpload;
use crate::write::meta_columns::{FileMeta, MetaColumns, strings};
use crate::write::write_token::WriteToken;
use mortice_avro::{Schema, Type};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, RequestedTime, meta_columns};
use mortice_formats::avro_parquet::{ParquetColumns, ParquetWriter};
use mortice_formats::bloom::BloomType;
use mortice_merge::spill::row_bytes;
use mortice_storage::FileStore;

/// Rows that are encoded before the size of the row group and of the file is looked at.
const ROWS: usize = 8192;
/// Longer bounds are cut, as long as they remain bounds. parquet-mr leaves such out.
const MAX_BOUND_BYTES: usize = 4096;

/// Which file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseFileTarget {
    /// The partition's path from the table; empty for a table without partitions.
    pub partition: String,
    /// The file group.
    pub file_id: String,
    /// The instant that writes it: its requested time.
    pub instant: RequestedTime,
    /// The attempt that writes it.
    pub token: WriteToken,
}

impl BaseFileTarget {
    /// The file's name.
    ///
    /// # Errors
    /// `InvalidArgument` for parts that no base file's name can have.
    pub fn name(&self) -> Result<String> {
        Ok(BaseFileName::compose(&self.file_id, &self.token.to_string(), &self.instant, "parquet")?.name)
    }

    /// The file's path from the table.
    ///
    /// # Errors
    /// As for [`Self::name`].
    pub fn path(&self) -> Result<String> {
        let name = self.name()?;
        Ok(if self.partition.is_empty() { name } else { format!("{}/{name}", self.partition) })
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenBaseFile {
    /// The file's path from the table.
    pub path: String,
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The least and the greatest record key, in Java's order; none without a Bloom filter or rows.
    pub key_range: Option<(String, String)>,
    /// The Bloom filter's type and text.
    pub bloom: Option<(BloomType, String)>,
    /// The ranges of the columns.
    pub columns: Vec<ColumnRange>,
}

/// A base file that rows are written to. It is not visible before [`Self::finish`]; dropped before, it leaves nothing.
///
/// Memory holds the row group that is being encoded and the batch that is written.
pub struct BaseFileWriter {
    path: String,
    meta: FileMeta,
    schema: Schema,
    columns: ParquetColumns,
    writer: ParquetWriter<FileUpload>,
    keys: Option<KeySummary>,
    distinct: Option<DistinctKeys>,
    with_nan: BTreeSet<String>,
    max_file_bytes: u64,
    rows: u64,
}

impl BaseFileWriter {
    /// Begins a file. `schema` is that of the file: with the meta columns in front, if the table has them.
    ///
    /// # Errors
    /// `InvalidArgument` for a name or options that make no file; `Unsupported`, naming the field, for types that
    /// parquet has no form for; those of the store.
    pub fn new(
        store: &dyn FileStore,
        schema: &Schema,
        target: &BaseFileTarget,
        options: &BaseFileOptions,
    ) -> Result<Self> {
        let meta = FileMeta {
            instant: target.instant.clone(),
            token: target.token,
            partition: target.partition.clone(),
            file_name: target.name()?,
        };
        Self::at(store, schema, target.path()?, meta, options)
    }

    /// Begins a file of this form at another path from the table: that of a native log.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(in crate::write) fn at(
        store: &dyn FileStore,
        schema: &Schema,
        path: String,
        meta: FileMeta,
        options: &BaseFileOptions,
    ) -> Result<Self> {
        let columns = ParquetColumns::new(schema, options.lists)?;
        let has_meta = schema.fields().first().is_some_and(|field| field.name == meta_columns::COMMIT_TIME);
        let bloom = options.bloom.as_ref().filter(|_| has_meta);
        let keys = bloom.map(KeySummary::new).transpose()?;
        let upload = FileUpload::new(store, &path)?;
        let full_path = upload.path().to_owned();
        let writer = ParquetWriter::new(
            upload,
            &columns,
            properties(options),
            (options.codec, options.dictionaries),
            options.block_bytes,
        )
        .map_err(|error| error.in_file(full_path))?;
        let max_file_bytes = options.max_file_bytes;
        Ok(Self {
            path,
            meta,
            schema: schema.clone(),
            columns,
            writer,
            keys,
            distinct: (has_meta && options.marks_distinct_keys).then(DistinctKeys::default),
            with_nan: BTreeSet::new(),
            max_file_bytes,
            rows: 0,
        })
    }

    /// Adds to the key-value metadata of the file.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::write) fn add_metadata(&mut self, key: &str, value: String) -> Result<()> {
        let added = self.writer.add_metadata(key, value);
        added.map_err(|error| self.failure(error))
    }

    /// Writes rows until the file is full. Returns how many were written; the others belong into another file.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and field, for rows that the schema does not take: none of the batch is written
    /// then, and the next may be. Those of the store: the file cannot be finished then.
    pub fn write(&mut self, data: &RecordBatch, meta: MetaColumns<'_>) -> Result<usize> {
        let rows = self.meta.complete(data, meta, self.rows)?;
        let stored = self.columns.convert(&rows)?;
        let keys = match (self.keys.is_some() || self.distinct.is_some(), meta) {
            (false, _) => None,
            (true, MetaColumns::Computed { record_keys }) => Some(record_keys.clone()),
            (true, _) => Some(strings(&rows, meta_columns::RECORD_KEY)?),
        };
        let mut start = 0;
        let at_once = BatchLimit::with_rows(ROWS).rows_of(row_bytes(&stored) / stored.num_rows().max(1));
        while start < stored.num_rows() && !self.is_full() {
            let len = at_once.min(stored.num_rows() - start);
            if let Some(keys) = keys.as_ref().map(|keys| keys.slice(start, len)) {
                self.keys.as_mut().map_or(Ok(()), |summary| summary.add(&keys))?;
                self.distinct.iter_mut().for_each(|distinct| distinct.add(&keys));
            }
            let part = stored.slice(start, len);
            add_nan_columns(self.schema.as_record()?, part.columns(), "", &mut self.with_nan);
            let written = self.writer.write(&part);
            written.map_err(|error| self.failure(error))?;
            self.rows = self.rows.saturating_add(len as u64);
            start += len;
        }
        Ok(start)
    }

    /// Rows written so far.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether the file has reached its size: the next rows belong into another (`HoodieBaseParquetWriter.canWrite`).
    #[must_use]
    pub fn is_full(&self) -> bool {
        let bytes = self.writer.estimated_bytes() as u64;
        let row = bytes.checked_div(self.rows).unwrap_or_default().max(1);
        self.rows > 0 && bytes > self.max_file_bytes.saturating_sub(row.saturating_mul(2))
    }

    /// Bytes of rows in memory, which wait for their row group to be complete.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.writer.memory_bytes()
    }

    /// Writes the rows that are in memory, as a row group.
    ///
    /// # Errors
    /// Those of the store: the file cannot be finished then.
    pub fn end_row_group(&mut self) -> Result<()> {
        let ended = self.writer.end_row_group();
        ended.map_err(|error| self.failure(error))
    }

    /// The store's error, if it was one that made `error`.
    fn failure(&mut self, error: Error) -> Error {
        match self.writer.output() {
            Ok(upload) => upload.failure(error),
            Err(_) => error.in_file(&self.path),
        }
    }

    /// Completes the file and makes it visible.
    ///
    /// # Errors
    /// Those of the store.
    pub fn finish(mut self) -> Result<WrittenBaseFile> {
        let (key_range, bloom) = match self.keys.take() {
            None => (None, None),
            Some(keys) => {
                let (range, filter) = keys.finish();
                (range, Some((filter.kind(), filter.to_text())))
            }
        };
        for (key, value) in footer(&self.schema, key_range.as_ref(), bloom.as_ref()) {
            self.writer.add_metadata(key, value)?;
        }
        if let Some(rows) = self.distinct.take().and_then(DistinctKeys::finish) {
            self.writer.add_metadata(DISTINCT_KEYS, rows)?;
        }
        let finished = self.writer.finish();
        let metadata = finished.map_err(|error| self.failure(error))?;
        let bytes = self.writer.output()?.finish()?;
        let columns = column_ranges(&self.schema, &metadata, &self.with_nan)?;
        Ok(WrittenBaseFile { path: self.path, rows: self.rows, bytes, key_range, bloom, columns })
    }
}

fn properties(options: &BaseFileOptions) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_data_page_size_limit(options.page_bytes)
        .set_dictionary_page_size_limit(options.page_bytes)
        .set_statistics_truncate_length(Some(MAX_BOUND_BYTES))
}

/// What the footer says of keys and vectors.
fn footer(
    schema: &Schema,
    range: Option<&(String, String)>,
    bloom: Option<&(BloomType, String)>,
) -> Vec<(&'static str, String)> {
    let mut entries = Vec::new();
    if let Some((kind, text)) = bloom {
        entries.push(("org.apache.hudi.bloomfilter", text.clone()));
        if *kind == BloomType::DynamicV0 {
            entries.push(("hoodie_bloom_filter_type_code", kind.name().to_owned()));
        }
    }
    if let Some((least, greatest)) = range {
        entries.push(("hoodie_min_record_key", least.clone()));
        entries.push(("hoodie_max_record_key", greatest.clone()));
    }
    let vectors = schema.fields().iter().filter_map(|field| match field.ty.non_null() {
        Type::Vector(vector) => Some(format!("{}:{}", field.name, vector.shape.descriptor())),
        _ => None,
    });
    let vectors = vectors.collect::<Vec<_>>().join(",");
    if !vectors.is_empty() {
        entries.push(("hoodie.vector.columns", vectors));
    }
    entries
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::write::column_range::ColumnValue;
    use mortice_formats::bloom::BloomFilter;
    use mortice_storage::LocalStorage;

    const SCHEMA: &str = r#"{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[
        {"name":"id","type":["null","string"],"default":null},
        {"name":"n","type":"int"},
        {"name":"x","type":["null","double"],"default":null},
        {"name":"d","type":["null",{"type":"fixed","name":"fixed","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null}]}"#;

    fn schema() -> Schema {
        Schema::parse(SCHEMA).unwrap().with_leading_nullable_strings(&meta_columns::ALL).unwrap()
    }

    fn target() -> BaseFileTarget {
        let token = WriteToken { task: 5, stage: 1, attempt: 9 };
        BaseFileTarget { partition: "p/q=1".into(), file_id: "f-0".into(), instant: "20240101000000000".into(), token }
    }

    fn rows(ids: &[&str], numbers: &[Option<i32>]) -> (RecordBatch, StringArray) {
        let keys = StringArray::from(ids.to_vec());
        let x: Vec<Option<f64>> = numbers.iter().map(|number| number.map(f64::from)).collect();
        let d = Decimal128Array::from_iter(numbers.iter().map(|number| number.map(i128::from)));
        let columns: [(&str, ArrayRef); 4] = [
            ("id", Arc::new(keys.clone())),
            ("n", Arc::new(Int32Array::from(numbers.to_vec()))),
            ("x", Arc::new(Float64Array::from(x))),
            ("d", Arc::new(d.with_precision_and_scale(10, 2).unwrap())),
        ];
        (RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap(), keys)
    }

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn writer(&self, change: impl FnOnce(&mut BaseFileOptions)) -> BaseFileWriter {
            let mut options = BaseFileOptions::default();
            change(&mut options);
            let store = LocalStorage::new(&self.0.path().to_string_lossy(), true);
            BaseFileWriter::new(&store, &schema(), &target(), &options).unwrap()
        }

        /// The rows of the file, and the keys of its footer.
        fn read(&self) -> (RecordBatch, Vec<(String, String)>) {
            let path = self.0.path().join(target().path().unwrap());
            let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
            let about = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
            let about = about.into_iter().map(|entry| (entry.key, entry.value.unwrap())).collect();
            let schema = Arc::clone(reader.schema());
            let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
            (arrow_select::concat::concat_batches(&schema, &batches).unwrap(), about)
        }

        fn files(&self) -> Vec<String> {
            let folder = self.0.path().join("p/q=1");
            let entries = std::fs::read_dir(folder).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    fn write(writer: &mut BaseFileWriter, ids: &[&str], numbers: &[Option<i32>]) -> Result<usize> {
        let (data, keys) = rows(ids, numbers);
        writer.write(&data, MetaColumns::Computed { record_keys: &keys })
    }

    fn column(rows: &RecordBatch, name: &str) -> Vec<String> {
        rows.column_by_name(name).unwrap().as_string::<i32>().iter().map(|one| one.unwrap().to_owned()).collect()
    }

    #[test]
    fn rows_have_meta_columns_and_the_footer_their_keys() {
        let folder = Folder::new();
        let mut writer = folder.writer(|_| {});
        write(&mut writer, &["b", "a"], &[Some(2), Some(-1)]).unwrap();
        write(&mut writer, &["ü"], &[Some(0)]).unwrap();
        assert!(!folder.files().contains(&target().name().unwrap()), "visible before it is complete");
        let written = writer.finish().unwrap();
        assert_eq!(folder.files(), [target().name().unwrap()]);
        let (rows, about) = folder.read();
        let instant = "20240101000000000";
        assert_eq!(column(&rows, meta_columns::COMMIT_TIME), [instant; 3]);
        assert_eq!(column(&rows, meta_columns::COMMIT_SEQNO), ["0", "1", "2"].map(|n| format!("{instant}_5_{n}")));
        assert_eq!(column(&rows, meta_columns::RECORD_KEY), ["b", "a", "ü"]);
        assert_eq!(column(&rows, meta_columns::PARTITION_PATH), ["p/q=1"; 3]);
        assert_eq!(column(&rows, meta_columns::FILE_NAME), ["f-0_5-1-9_20240101000000000.parquet"; 3]);
        let entry = |key: &str| about.iter().find(|(one, _)| one == key).map(|(_, value)| value.as_str());
        assert_eq!(entry("hoodie_min_record_key").zip(entry("hoodie_max_record_key")), Some(("a", "ü")));
        assert_eq!(entry("hoodie_bloom_filter_type_code"), Some("DYNAMIC_V0"));
        assert_eq!(entry("writer.model.name"), Some("avro"));
        assert_eq!(entry("org.apache.spark.version"), Some("3.5.0 (mortice)"));
        assert_eq!(Schema::parse(entry("parquet.avro.schema").unwrap()).unwrap(), schema());
        let bloom = BloomFilter::parse(entry("org.apache.hudi.bloomfilter").unwrap(), BloomType::DynamicV0).unwrap();
        assert!(["a", "b", "ü"].iter().all(|key| bloom.may_contain(key)) && !bloom.may_contain("c"));
        assert_eq!((written.rows, written.key_range), (3, Some(("a".into(), "ü".into()))));
        assert_eq!(written.bytes, std::fs::metadata(folder.0.path().join(&written.path)).unwrap().len());
    }

    #[test]
    fn column_ranges_cover_all_row_groups() {
        let folder = Folder::new();
        let mut writer = folder.writer(|options| options.block_bytes = 1);
        write(&mut writer, &["a", "b"], &[Some(2), Some(-1)]).unwrap();
        write(&mut writer, &["c"], &[Some(7)]).unwrap();
        let written = writer.finish().unwrap();
        let range = |name: &str| written.columns.iter().find(|range| range.column == name).unwrap();
        assert_eq!(range("n").bounds, Some((ColumnValue::Int(-1), ColumnValue::Int(7))));
        assert_eq!(range("x").bounds, Some((ColumnValue::from_f64(-1.0), ColumnValue::from_f64(7.0))));
        assert_eq!(range("d").bounds, Some((ColumnValue::Decimal(-1), ColumnValue::Decimal(7))));
        assert_eq!(range("id").bounds, Some((ColumnValue::String("a".into()), ColumnValue::String("c".into()))));
        assert!(written.columns.iter().all(|range| (range.values, range.nulls) == (3, 0) && range.total_size > 0));
    }

    #[test]
    fn nan_is_the_greatest_value() {
        let folder = Folder::new();
        let mut writer = folder.writer(|_| {});
        let columns: [(&str, ArrayRef); 2] = [
            ("n", Arc::new(Int32Array::from(vec![1, 2]))),
            ("x", Arc::new(Float64Array::from(vec![Some(f64::NAN), None]))),
        ];
        let keys = StringArray::from(vec!["a", "b"]);
        let data = RecordBatch::try_from_iter(columns).unwrap();
        writer.write(&data, MetaColumns::Computed { record_keys: &keys }).unwrap();
        let columns = writer.finish().unwrap().columns;
        let range = |name: &str| columns.iter().find(|range| range.column == name).unwrap();
        let nan = ColumnValue::from_f64(f64::NAN);
        let bounds = Some((nan.clone(), nan.clone()));
        assert_eq!((range("x").bounds.clone(), range("x").values, range("x").nulls), (bounds, 2, 1));
        let mut writer = folder.writer(|options| options.block_bytes = 1);
        for value in [3.0, f64::NAN, 1.0] {
            let x: ArrayRef = Arc::new(Float64Array::from(vec![value]));
            let columns = [("n", Arc::new(Int32Array::from(vec![1])) as ArrayRef), ("x", x)];
            let data = RecordBatch::try_from_iter(columns).unwrap();
            writer.write(&data, MetaColumns::Computed { record_keys: &keys.slice(0, 1) }).unwrap();
        }
        let several = writer.finish().unwrap().columns;
        let x = several.iter().find(|range| range.column == "x").unwrap();
        assert_eq!(x.bounds, Some((ColumnValue::from_f64(1.0), nan)));
        assert_eq!((range("d").bounds.as_ref(), range("d").nulls), (None, 2));
    }

    #[test]
    fn what_is_refused_leaves_the_file_as_it_was() {
        let folder = Folder::new();
        let mut writer = folder.writer(|_| {});
        let error = write(&mut writer, &["a", "b"], &[Some(1), None]).unwrap_err();
        assert!(error.to_string().contains("row 1, field n"), "{error}");
        let error = write(&mut writer, &["a", ""], &[Some(1), Some(2)]).unwrap_err();
        assert!(error.to_string().contains("row 1: the record key is empty"), "{error}");
        let (data, _) = rows(&["a"], &[Some(1)]);
        let none = StringArray::from(vec![None::<&str>]);
        let error = writer.write(&data, MetaColumns::Computed { record_keys: &none }).unwrap_err();
        assert!(error.to_string().contains("row 0: the record key is null"), "{error}");
        assert!(writer.write(&data, MetaColumns::Kept).unwrap_err().to_string().contains("_hoodie_commit_time"));
        write(&mut writer, &["c"], &[Some(3)]).unwrap();
        let written = writer.finish().unwrap();
        assert_eq!((written.rows, written.key_range), (1, Some(("c".into(), "c".into()))));
        assert_eq!(column(&folder.read().0, "id"), ["c"]);
    }

    #[test]
    fn other_types_of_the_same_values_are_taken() {
        let folder = Folder::new();
        let mut writer = folder.writer(|options| options.bloom = None);
        let keys = StringArray::from(vec!["a", "b"]);
        let decimals = Decimal128Array::from(vec![Some(1), None]).with_precision_and_scale(4, 1).unwrap();
        let columns: [(&str, ArrayRef); 4] = [
            ("d", Arc::new(decimals)),
            ("id", Arc::new(arrow_array::LargeStringArray::from(vec!["a", "b"]))),
            ("n", Arc::new(arrow_array::UInt8Array::from(vec![200, 1]))),
            ("x", Arc::new(arrow_array::Float32Array::from(vec![0.5, -0.5]))),
        ];
        let data = RecordBatch::try_from_iter(columns).unwrap();
        writer.write(&data, MetaColumns::Computed { record_keys: &keys }).unwrap();
        let long: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let wrong = RecordBatch::try_from_iter([("n", long)]).unwrap();
        let error = writer.write(&wrong, MetaColumns::Computed { record_keys: &keys }).unwrap_err();
        assert!(error.to_string().contains("field n: a column of type Int64"), "{error}");
        let written = writer.finish().unwrap();
        assert_eq!((written.key_range, written.bloom), (None, None));
        let (rows, about) = folder.read();
        assert!(about.iter().all(|(key, _)| !key.starts_with("hoodie_")));
        assert_eq!(
            rows.column_by_name("n").unwrap().as_primitive::<arrow_array::types::Int32Type>().values(),
            &[200, 1]
        );
        // As many digits behind the point as the table has.
        let decimals = rows.column_by_name("d").unwrap();
        assert_eq!(decimals.as_primitive::<arrow_array::types::Decimal128Type>().value_as_string(0), "0.10");
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing() {
        let folder = Folder::new();
        let mut writer = folder.writer(|options| options.block_bytes = 1);
        write(&mut writer, &["a"], &[Some(1)]).unwrap();
        drop(writer);
        assert_eq!(folder.files(), [""; 0]);
    }

    #[test]
    fn a_full_file_takes_no_more_rows() {
        let folder = Folder::new();
        let mut writer = folder.writer(|options| {
            options.max_file_bytes = 20_000;
            options.codec = mortice_formats::avro_parquet::ParquetCodec::Uncompressed;
        });
        let ids: Vec<String> = (0..20_000).map(|number| format!("key {number}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let numbers: Vec<Option<i32>> = (0..20_000).map(Some).collect();
        assert_eq!(write(&mut writer, &ids, &numbers).unwrap(), ROWS);
        assert!(writer.is_full());
        assert_eq!(write(&mut writer, &ids, &numbers).unwrap(), 0);
        assert_eq!(writer.finish().unwrap().rows, ROWS as u64);
    }
}
