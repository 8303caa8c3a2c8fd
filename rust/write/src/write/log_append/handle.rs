//! Rows of one file group to log files.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{BooleanArray, RecordBatch, UInt64Array};

use super::column_ranges::column_ranges;
use super::log_file::LogFile;
use super::native_logs::NativeLogs;
use super::options::{AppendOptions, LogFormat};
use super::pending::{Pending, known_positions, order_by, with_positions};
use super::target::LogTarget;
use crate::write::markers::Markers;
use crate::write::meta_columns::{FileMeta, MetaColumns};
use crate::write::partition_metadata::create_partition_metadata;
use crate::write::write_status::WriteStatus;
use mortice_avro::{Encoder, Schema};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::avro_parquet::{ListStructure, ParquetCodec, ParquetColumns};
use mortice_formats::log::BlockType;
use mortice_formats::log::writer::{BlockHeader, DeleteColumns, avro_block_frame, delete_block, parquet_block};
use mortice_merge::spill::row_bytes;
use mortice_storage::FileStore;

/// Rows that are encoded at a time.
const ROWS: usize = 4096;

/// Rows to append.
#[derive(Debug, Clone, Copy)]
pub struct LogRows<'a> {
    /// The columns; with the meta columns, if they are [`MetaColumns::Kept`].
    pub data: &'a RecordBatch,
    /// Where the meta columns come from.
    pub meta: MetaColumns<'a>,
    /// Which rows are new; none if none is.
    pub inserts: Option<&'a BooleanArray>,
    /// The row of the base file that each row updates; null or none if it is not known.
    pub positions: Option<&'a UInt64Array>,
}

/// Writes the rows and deletes of one delta commit to the log of one file group.
///
/// Memory holds the records of one block. A file is visible once it is complete; each has a marker before it exists.
pub struct AppendHandle {
    store: Arc<dyn FileStore>,
    markers: Markers,
    target: LogTarget,
    options: AppendOptions,
    schema: Schema,
    columns: ParquetColumns,
    /// Whether records have some of the table's columns only.
    is_partial: bool,
    meta: FileMeta,
    /// The instant of the base file that positions are of.
    base_instant: Option<RequestedTime>,
    /// The instants whose blocks the handle's blocks replace.
    compacted: Vec<RequestedTime>,
    pending: Pending,
    deletes: Vec<RecordBatch>,
    delete_columns: Option<DeleteColumns>,
    delete_positions: Option<Vec<u64>>,
    rows: u64,
    version: i64,
    file: Option<LogFile>,
    names: Vec<String>,
    statuses: Vec<WriteStatus>,
    /// What is written instead of blocks, from table version 10 on.
    native: Option<NativeLogs>,
    started: Instant,
}

impl AppendHandle {
    /// Begins to write to a file group of the table at the store's root. `schema` is that of the records: with the meta
    /// columns, if the table has them. No file is created before there is a block. `base_instant` names the base file
    /// that positions are of; none writes no positions (tables up to version 7).
    ///
    /// # Errors
    /// `InvalidArgument` for names that no log file can have; those of the store.
    pub fn new(
        store: Arc<dyn FileStore>,
        schema: &Schema,
        target: LogTarget,
        base_instant: Option<&RequestedTime>,
        options: AppendOptions,
    ) -> Result<Self> {
        let version = target.first_version()?;
        target.name(version)?;
        let meta = FileMeta {
            instant: target.instant.clone(),
            token: target.token,
            partition: target.partition.clone(),
            file_name: target.file_id.clone(),
        };
        let native = options.native.as_ref();
        let native = native.map(|native| NativeLogs::new(&store, schema, &target, base_instant, native, &meta));
        Ok(Self {
            native: native.transpose()?,
            markers: Markers::new(Arc::clone(&store), &target.instant),
            columns: ParquetColumns::new(schema, ListStructure::ThreeLevels)?,
            schema: schema.clone(),
            is_partial: false,
            base_instant: base_instant.cloned(),
            compacted: Vec::new(),
            pending: Pending::new(),
            deletes: Vec::new(),
            delete_columns: None,
            delete_positions: Some(Vec::new()),
            // Hudi counts the rows of logs from 1.
            rows: 1,
            file: None,
            names: Vec::new(),
            statuses: Vec::new(),
            started: Instant::now(),
            store,
            target,
            options,
            meta,
            version,
        })
    }

    /// Has all blocks replace those of these instants, which are the valid ones of the slice, oldest first (log
    /// compaction).
    #[must_use]
    pub fn replacing(self, instants: &[RequestedTime]) -> Self {
        Self { compacted: instants.to_vec(), ..self }
    }

    /// Appends rows.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and field, for rows that the schema does not take: none of the batch is written
    /// then, and the next may be. Those of the store: the handle cannot be finished then.
    pub fn upsert(&mut self, rows: &LogRows<'_>) -> Result<()> {
        let count = rows.data.num_rows();
        if rows.inserts.is_some_and(|inserts| inserts.len() != count)
            || rows.positions.is_some_and(|positions| positions.len() != count)
        {
            return Err(Error::invalid_argument(format!("inserts or positions are not as many as the {count} rows")));
        }
        let complete = self.meta.complete(rows.data, rows.meta, self.rows)?;
        let header = self.header();
        if let Some(native) = &mut self.native {
            let has_meta = !matches!(rows.meta, MetaColumns::Absent);
            native.write(&complete, has_meta, rows.inserts, rows.positions, &header)?;
            self.rows = self.rows.saturating_add(count as u64);
            return Ok(());
        }
        let stored = self.columns.convert(&complete)?;
        // Nothing is refused from here on.
        self.rows = self.rows.saturating_add(count as u64);
        let encoder = Encoder::new(&self.schema, complete.schema_ref())?;
        let limit = BatchLimit::with_rows(ROWS).with_bytes(self.options.max_block_bytes);
        let at_once = limit.rows_of(row_bytes(&complete) / count.max(1));
        for start in (0..count).step_by(at_once) {
            let len = at_once.min(count - start);
            let part = BatchRows {
                rows: complete.slice(start, len),
                stored: stored.slice(start, len),
                inserts: rows.inserts.map(|inserts| inserts.slice(start, len)),
                positions: rows.positions.map(|positions| positions.slice(start, len)),
            };
            self.push(&part, &encoder)?;
        }
        Ok(())
    }

    /// Lets the rows that follow have some of the table's columns only: those of a schema, with the meta columns. Their
    /// data blocks are marked as partial, and so is the block of deletes, as in Hudi
    /// (`HoodieAppendHandle.getUpdatedHeader`).
    ///
    /// # Errors
    /// Those of the store; `InvalidArgument` for a schema that files cannot have.
    pub fn begin_partial(&mut self, schema: &Schema) -> Result<()> {
        let header = self.header();
        if let Some(native) = &mut self.native {
            native.begin(schema, &header)?;
        }
        self.flush()?;
        self.columns = ParquetColumns::new(schema, ListStructure::ThreeLevels)?;
        self.schema = schema.clone();
        self.is_partial = true;
        Ok(())
    }

    /// The header that all blocks have in common.
    fn header(&self) -> BlockHeader {
        let header = BlockHeader::new(&self.target.instant).with_compacted_instants(&self.compacted);
        if self.is_partial { header.partial() } else { header }
    }

    /// Adds deletes. They are written as one block, behind all rows, when the handle is finished.
    ///
    /// # Errors
    /// `InvalidArgument` for columns or values that a delete block cannot hold; `Unsupported` for deletes that a native
    /// log cannot express (see [`NativeDeletes`](mortice_formats::log::writer::NativeDeletes)).
    pub fn delete(
        &mut self,
        deletes: &RecordBatch,
        columns: &DeleteColumns,
        positions: Option<&UInt64Array>,
    ) -> Result<()> {
        if self.delete_columns.as_ref().is_some_and(|known| known != columns) {
            return Err(Error::invalid_argument("deletes of one handle have the same columns"));
        }
        if positions.is_some_and(|positions| positions.len() != deletes.num_rows()) {
            return Err(Error::invalid_argument("positions are not as many as the deletes"));
        }
        if let Some(native) = &mut self.native {
            native.delete(deletes, columns, positions)?;
            self.delete_columns = Some(columns.clone());
            return Ok(());
        }
        // What cannot be deleted is refused now, not when the rows are written already.
        let header = BlockHeader::new(&self.target.instant);
        delete_block(&deletes.schema(), &mut std::iter::once(Ok(deletes.clone())), columns, &header)?;
        self.delete_columns = Some(columns.clone());
        match (&mut self.delete_positions, known_positions(positions)) {
            (Some(all), Some(more)) => all.extend(more),
            (all, _) => *all = None,
        }
        self.deletes.push(deletes.clone());
        Ok(())
    }

    /// Writes what waits, and makes the last file visible. One status for each file; none if there was nothing to
    /// write.
    ///
    /// # Errors
    /// Those of the store.
    pub fn finish(mut self) -> Result<Vec<WriteStatus>> {
        let header = self.header();
        match self.native.take() {
            Some(native) => self.statuses = native.finish(&header)?,
            None => {
                self.flush()?;
                self.write_deletes()?;
                self.close_file()?;
            }
        }
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.statuses.iter_mut().for_each(|status| status.millis = millis);
        Ok(self.statuses)
    }

    /// Adds rows to those that wait; before, writes these if the block would be too large with both.
    fn push(&mut self, part: &BatchRows, encoder: &Encoder) -> Result<()> {
        let count = part.rows.num_rows();
        let before = self.pending.mark();
        let bytes = match self.options.format {
            LogFormat::Avro => {
                encoder.encode(&part.rows, &mut self.pending.datums, &mut self.pending.ends)?;
                self.pending.datums.len().saturating_sub(before.datums).saturating_add(count.saturating_mul(4))
            }
            LogFormat::Parquet(_) => row_bytes(&part.stored),
        };
        if bytes > self.options.max_block_bytes && count > 1 {
            self.pending.truncate(&before);
            let (first, second) = part.halves();
            self.push(&first, encoder)?;
            return self.push(&second, encoder);
        }
        if self.pending.bytes.saturating_add(bytes) > self.options.max_block_bytes {
            let next = self.pending.split_off(&before);
            self.flush()?;
            self.pending = next;
        }
        if matches!(self.options.format, LogFormat::Parquet(_)) {
            self.pending.batches.push(part.rows.clone());
        }
        self.pending.bytes = self.pending.bytes.saturating_add(bytes);
        self.pending.rows = self.pending.rows.saturating_add(count);
        let inserts =
            part.inserts.as_ref().map_or(0, |inserts| inserts.iter().flatten().filter(|insert| *insert).count());
        self.pending.inserts = self.pending.inserts.saturating_add(inserts as u64);
        self.pending.add_columns(column_ranges(&self.schema, &part.stored)?);
        let positions = part.positions.as_ref().filter(|_| self.base_instant.is_some());
        self.pending.add_positions(known_positions(positions));
        Ok(())
    }

    /// Writes the rows that wait as a block.
    fn flush(&mut self) -> Result<()> {
        if self.pending.rows == 0 {
            return Ok(());
        }
        let pending = std::mem::replace(&mut self.pending, Pending::new());
        let header = with_positions(self.header(), self.base_instant.as_ref(), pending.positions.as_deref())?;
        match self.options.format {
            LogFormat::Avro => self.write_avro(&pending, &header)?,
            LogFormat::Parquet(codec) => self.write_parquet(&pending, &header, codec)?,
        }
        let file = self.file()?;
        file.count(pending.rows as u64, pending.inserts, pending.columns);
        if file.bytes() > self.options.max_file_bytes { self.close_file() } else { Ok(()) }
    }

    fn write_avro(&mut self, pending: &Pending, header: &BlockHeader) -> Result<()> {
        let header = header.clone().with_schema(self.schema.json());
        let frame = avro_block_frame(BlockType::AvroData, &header, pending.rows, pending.datums.len())?;
        let file = self.file()?;
        file.append(&frame.head)?;
        for row in pending.order()? {
            let row = row as usize;
            let start = row.checked_sub(1).map_or(Some(&0), |before| pending.ends.get(before));
            let datum = start.zip(pending.ends.get(row)).and_then(|(start, end)| pending.datums.get(*start..*end));
            let datum = datum.ok_or_else(|| Error::internal("an encoded record beyond the encoded bytes"))?;
            let len = i32::try_from(datum.len()).map_err(|_| Error::invalid_argument("a record of 2 GiB or more"))?;
            file.append(&len.to_be_bytes())?;
            file.append(datum)?;
        }
        file.append(&frame.tail)
    }

    fn write_parquet(&mut self, pending: &Pending, header: &BlockHeader, codec: ParquetCodec) -> Result<()> {
        let Some(batch) = pending.batch()? else { return Ok(()) };
        let mut batches = std::iter::once(Ok(batch.clone()));
        let block = parquet_block(&batch.schema(), &mut batches, &self.schema, header, codec)?;
        self.file()?.append(block.bytes())
    }

    fn write_deletes(&mut self) -> Result<()> {
        let (Some(columns), Some(first)) = (self.delete_columns.take(), self.deletes.first()) else { return Ok(()) };
        let schema = first.schema();
        let unfit = |error| Error::invalid_argument("the deletes of a handle have different columns").caused_by(error);
        let all = arrow_select::concat::concat_batches(&schema, &self.deletes).map_err(unfit)?;
        self.deletes.clear();
        if all.num_rows() == 0 {
            return Ok(());
        }
        let positions = self.delete_positions.take();
        let order = order_by(positions.as_deref().filter(|_| self.base_instant.is_some()), all.num_rows())?;
        let order = arrow_array::UInt32Array::from(order);
        let all = arrow_select::take::take_record_batch(&all, &order).map_err(unfit)?;
        let header = self.header().with_schema(self.schema.json());
        let header = with_positions(header, self.base_instant.as_ref(), positions.as_deref())?;
        let keys = all.num_rows() as u64;
        let block = delete_block(&schema, &mut std::iter::once(Ok(all)), &columns, &header)?;
        let file = self.file()?;
        file.append(block.bytes())?;
        file.count_deletes(keys);
        Ok(())
    }

    /// The file that is written to: the one that is open, or the next.
    fn file(&mut self) -> Result<&mut LogFile> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                create_partition_metadata(self.store.as_ref(), &self.target.partition, &self.target.instant)?;
                let file = LogFile::create(self.store.as_ref(), &self.markers, &self.target, self.version)?;
                self.version = self.version.saturating_add(1);
                file
            }
        };
        Ok(self.file.insert(file))
    }

    fn close_file(&mut self) -> Result<()> {
        if let Some(file) = self.file.take() {
            self.statuses.push(file.finish(&self.target, &mut self.names)?);
        }
        Ok(())
    }
}

/// Rows of one batch, complete and in both forms.
struct BatchRows {
    rows: RecordBatch,
    stored: RecordBatch,
    inserts: Option<BooleanArray>,
    positions: Option<UInt64Array>,
}

impl BatchRows {
    fn halves(&self) -> (Self, Self) {
        let half = self.rows.num_rows() / 2;
        let part = |start: usize, len: usize| Self {
            rows: self.rows.slice(start, len),
            stored: self.stored.slice(start, len),
            inserts: self.inserts.as_ref().map(|inserts| inserts.slice(start, len)),
            positions: self.positions.as_ref().map(|positions| positions.slice(start, len)),
        };
        (part(0, half), part(half, self.rows.num_rows() - half))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, Int32Array, StringArray};

    use super::super::target::LogNaming;
    use super::*;
    use crate::write::column_range::ColumnValue;
    use crate::write::{MarkerKind, WriteToken};
    use mortice_base::names::meta_columns;
    use mortice_formats::filter::KeyFilter;
    use mortice_formats::log::writer::PartitionPath;
    use mortice_formats::log::{BlockKind, LogFile};
    use mortice_storage::LocalStorage;

    struct Table(tempfile::TempDir);

    impl Table {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn store(&self) -> Arc<dyn FileStore> {
            Arc::new(LocalStorage::new(&self.0.path().to_string_lossy(), true))
        }

        fn handle(&self, naming: LogNaming, base: Option<&str>, options: AppendOptions) -> AppendHandle {
            let schema = r#"{"type":"record","name":"r","fields":[{"name":"id","type":"string"},{"name":"n","type":["null","int"],"default":null}]}"#;
            let schema = Schema::parse(schema).unwrap().with_leading_nullable_strings(&meta_columns::ALL).unwrap();
            let token = WriteToken { task: 4, stage: 1, attempt: 2 };
            let target =
                LogTarget { partition: "p".into(), file_id: "f-0".into(), instant: "002".into(), token, naming };
            AppendHandle::new(self.store(), &schema, target, base.map(RequestedTime::from).as_ref(), options).unwrap()
        }

        /// The blocks of a file: kind, the keys in it, positions.
        fn blocks(&self, status: &WriteStatus) -> Vec<(BlockType, Vec<String>, Option<Vec<u64>>)> {
            let path = self.0.path().join(&status.file.as_ref().unwrap().path);
            let file = LogFile::open(&path.to_string_lossy(), &Default::default(), true).unwrap();
            let read = |block: Result<mortice_formats::log::Block>| {
                let block = block.unwrap();
                let BlockKind::Sound(kind) = block.kind else { panic!("a corrupt block") };
                let (rows, column) = match kind {
                    BlockType::Delete => (file.deletes(&block).unwrap(), "record_key"),
                    _ => (file.records(&block, &KeyFilter::All).unwrap(), meta_columns::RECORD_KEY),
                };
                let keys = rows.column_by_name(column).unwrap().as_string::<i32>();
                let keys = keys.iter().map(|key| key.unwrap().to_owned()).collect();
                (kind, keys, file.positions(&block).unwrap())
            };
            file.blocks(false).map(read).collect()
        }

        fn names(&self) -> Vec<String> {
            let files = self.store().list_recursively("p").unwrap();
            files.into_iter().map(|(path, _)| path).filter(|path| path.contains(".log.")).collect()
        }
    }

    fn data(numbers: &[i32]) -> (RecordBatch, StringArray) {
        let keys = StringArray::from_iter_values(numbers.iter().map(|number| format!("k{number}")));
        let columns: [(&str, ArrayRef); 2] =
            [("id", Arc::new(keys.clone())), ("n", Arc::new(Int32Array::from(numbers.to_vec())))];
        (RecordBatch::try_from_iter(columns).unwrap(), keys)
    }

    fn upsert(handle: &mut AppendHandle, numbers: &[i32], positions: Option<Vec<Option<u64>>>) {
        let (data, record_keys) = data(numbers);
        let positions = positions.map(UInt64Array::from);
        let meta = MetaColumns::Computed { record_keys: &record_keys };
        let inserts = BooleanArray::from_iter(numbers.iter().map(|number| Some(*number < 0)));
        let rows = LogRows { data: &data, meta, inserts: Some(&inserts), positions: positions.as_ref() };
        handle.upsert(&rows).unwrap();
    }

    fn delete(handle: &mut AppendHandle, keys: &[&str], positions: Option<Vec<u64>>) {
        let keys: ArrayRef = Arc::new(StringArray::from(keys.to_vec()));
        let columns = DeleteColumns {
            record_key: "key".into(),
            partition_path: PartitionPath::Constant("p".into()),
            ordering: Vec::new(),
        };
        let batch = RecordBatch::try_from_iter([("key", keys)]).unwrap();
        handle.delete(&batch, &columns, positions.map(UInt64Array::from).as_ref()).unwrap();
    }

    fn keys(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    const PARQUET: LogFormat = LogFormat::Parquet(ParquetCodec::Gzip);

    #[test]
    fn rows_come_before_deletes_and_both_in_the_order_of_their_positions() {
        for format in [LogFormat::Avro, PARQUET] {
            let table = Table::new();
            let options = AppendOptions { format, ..AppendOptions::default() };
            let mut handle = table.handle(LogNaming::ByDeltaCommit, Some("001"), options);
            delete(&mut handle, &["d9", "d8"], Some(vec![9, 8]));
            upsert(&mut handle, &[3, 1], Some(vec![Some(30), Some(10)]));
            upsert(&mut handle, &[2], Some(vec![Some(20)]));
            let statuses = handle.finish().unwrap();
            let [status] = statuses.as_slice() else { panic!("{} files", statuses.len()) };
            let kind = if format == LogFormat::Avro { BlockType::AvroData } else { BlockType::ParquetData };
            let expected = [
                (kind, keys(&["k1", "k2", "k3"]), Some(vec![10, 20, 30])),
                (BlockType::Delete, keys(&["d8", "d9"]), Some(vec![8, 9])),
            ];
            assert_eq!(table.blocks(status), expected);
            assert_eq!(table.names(), ["p/.f-0_002.log.1_4-1-2"]);
            assert_eq!((status.writes, status.updates, status.inserts, status.deletes), (3, 3, 0, 2));
            let file = status.file.as_ref().unwrap();
            assert_eq!(file.bytes, std::fs::metadata(table.0.path().join(&file.path)).unwrap().len());
            let range = file.columns.iter().find(|range| range.column == "n").unwrap();
            assert_eq!((range.bounds.as_ref(), range.values), (Some(&(ColumnValue::Int(1), ColumnValue::Int(3))), 3));
            let log = file.log.as_ref().unwrap();
            assert_eq!(
                (log.version, log.base_file.as_str(), log.log_files.as_slice()),
                (1, "", &keys(&[".f-0_002.log.1_4-1-2"])[..])
            );
            assert_eq!(status.previous_commit.as_deref(), Some("002"));
        }
    }

    #[test]
    fn positions_that_are_not_complete_are_not_written() {
        for (positions, base) in [
            (Some(vec![Some(1), None]), Some("001")),
            (None, Some("001")),
            (Some(vec![Some(1), Some(1)]), Some("001")),
            (Some(vec![Some(2), Some(1)]), None),
        ] {
            let table = Table::new();
            let mut handle = table.handle(LogNaming::ByDeltaCommit, base, AppendOptions::default());
            upsert(&mut handle, &[5, 4], positions);
            delete(&mut handle, &["d"], None);
            let statuses = handle.finish().unwrap();
            for (_, _, positions) in table.blocks(&statuses[0]) {
                assert_eq!(positions, None);
            }
        }
    }

    #[test]
    fn blocks_and_files_end_at_their_limits() {
        for format in [LogFormat::Avro, PARQUET] {
            let table = Table::new();
            let options =
                AppendOptions { format, max_block_bytes: 400, max_file_bytes: 1000, ..AppendOptions::default() };
            let mut handle = table.handle(LogNaming::ByDeltaCommit, Some("001"), options);
            let numbers: Vec<i32> = (0..40).collect();
            upsert(&mut handle, &numbers, Some((0..40).map(Some).collect()));
            upsert(&mut handle, &[-1], None);
            delete(&mut handle, &["d"], None);
            let statuses = handle.finish().unwrap();
            assert!(statuses.len() > 2);
            let blocks: Vec<_> = statuses.iter().flat_map(|status| table.blocks(status)).collect();
            let found: Vec<String> = blocks.iter().flat_map(|(_, keys, _)| keys.clone()).collect();
            let expected: Vec<String> = numbers.iter().chain(&[-1]).map(|number| format!("k{number}")).collect();
            assert_eq!(found[..41], expected);
            assert_eq!(found[41..], ["d"]);
            // The positions of a block are those of its own rows.
            assert_eq!(blocks[0].2, Some((0..blocks[0].1.len() as u64).collect()));
            let sum = |count: fn(&WriteStatus) -> u64| statuses.iter().map(count).sum::<u64>();
            let counts =
                [sum(|one| one.writes), sum(|one| one.updates), sum(|one| one.inserts), sum(|one| one.deletes)];
            assert_eq!(counts, [41, 40, 1, 1]);
            let versions: Vec<i32> =
                statuses.iter().map(|status| status.file.as_ref().unwrap().log.as_ref().unwrap().version).collect();
            assert_eq!(versions, (1..).take(statuses.len()).collect::<Vec<_>>());
            let rows = statuses.iter().flat_map(|status| &status.file.as_ref().unwrap().columns);
            let rows: u64 = rows.filter(|range| range.column == "n").map(|range| range.values).sum();
            assert_eq!(rows, 41);
            let marked = Markers::new(table.store(), &"002".into()).list().unwrap();
            assert_eq!(marked.len(), statuses.len());
            assert!(marked.iter().all(|marker| marker.kind == MarkerKind::Create));
        }
    }

    #[test]
    fn up_to_table_version_7_files_are_named_by_their_slice() {
        let table = Table::new();
        let naming = LogNaming::BySlice {
            base_instant: "001".into(),
            base_file: "f-0_0-0-0_001.parquet".into(),
            log_files: keys(&[".f-0_001.log.1_0-0-0", ".f-0_001.log.12_0-0-0"]),
        };
        let options = AppendOptions { max_file_bytes: 1, ..AppendOptions::default() };
        let mut handle = table.handle(naming, None, options);
        upsert(&mut handle, &[1], None);
        delete(&mut handle, &["d"], None);
        let statuses = handle.finish().unwrap();
        assert_eq!(table.names(), ["p/.f-0_001.log.13_4-1-2", "p/.f-0_001.log.14_4-1-2"]);
        let stat = statuses[1].to_write_stat().unwrap();
        let names = [".f-0_001.log.1_0-0-0", ".f-0_001.log.12_0-0-0", ".f-0_001.log.13_4-1-2", ".f-0_001.log.14_4-1-2"];
        assert_eq!((stat.log_version, stat.log_files), (Some(14), Some(keys(&names))));
        assert_eq!(
            (stat.prev_commit.as_deref(), stat.base_file.as_deref()),
            (Some("001"), Some("f-0_0-0-0_001.parquet"))
        );
        let marked = Markers::new(table.store(), &"002".into()).list().unwrap();
        assert!(marked.len() == 2 && marked.iter().all(|marker| marker.kind == MarkerKind::Append));
    }

    #[test]
    fn what_is_refused_leaves_nothing() {
        let table = Table::new();
        let mut handle = table.handle(LogNaming::ByDeltaCommit, None, AppendOptions::default());
        let (batch, _) = data(&[1, 2]);
        let record_keys = StringArray::from(vec![Some("a"), None]);
        let rows = LogRows {
            data: &batch,
            meta: MetaColumns::Computed { record_keys: &record_keys },
            inserts: None,
            positions: None,
        };
        assert!(handle.upsert(&rows).unwrap_err().to_string().contains("row 1: the record key is null"));
        let few = UInt64Array::from(vec![1]);
        assert!(handle.upsert(&LogRows { positions: Some(&few), ..rows }).is_err());
        assert!(handle.finish().unwrap().is_empty());
        assert!(!Path::new(&table.0.path().join("p")).exists());
    }
}
