//! New base files of one partition (`HoodieCreateHandle`, `CreateHandleFactory`): each is a file group of its own, and
//! the next is begun when one is full.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, RecordBatch};

use super::base_file::{BaseFileOptions, BaseFileTarget, BaseFileWriter};
use super::markers::{MarkerKind, Markers};
use super::meta_columns::MetaColumns;
use super::partition_metadata::create_partition_metadata;
use super::row_errors::write_accepted;
use super::write_status::{WriteStatus, WrittenFile};
use super::write_token::WriteToken;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::FileStore;

/// Which files are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTarget {
    /// The partition's path from the table; empty for a table without partitions.
    pub partition: String,
    /// The first part of the file groups' ids: a UUID. The n-th file is that of `<prefix>-<n>`, from 0 on.
    pub file_id_prefix: String,
    /// The instant that writes: its requested time.
    pub instant: RequestedTime,
    /// The attempt that writes.
    pub token: WriteToken,
}

/// Writes new rows of one partition.
pub struct CreateHandle {
    store: Arc<dyn FileStore>,
    markers: Markers,
    schema: Schema,
    target: CreateTarget,
    options: BaseFileOptions,
    ignore_failed: bool,
    file: Option<(BaseFileWriter, WriteStatus, Instant)>,
    files: u64,
    statuses: Vec<WriteStatus>,
    /// Rows that were refused before there was a file.
    refused: Option<WriteStatus>,
}

impl CreateHandle {
    /// Begins to write to a partition of the table at the store's root. `schema` is that of the files: with the meta
    /// columns, if the table has them. No file is created before there is a row. With `ignore_failed`, rows that are
    /// refused are left out and reported in the statuses.
    #[must_use]
    pub fn new(
        store: Arc<dyn FileStore>,
        schema: &Schema,
        target: CreateTarget,
        options: BaseFileOptions,
        ignore_failed: bool,
    ) -> Self {
        let markers = Markers::new(Arc::clone(&store), &target.instant);
        let schema = schema.clone();
        Self {
            store,
            markers,
            schema,
            target,
            options,
            ignore_failed,
            file: None,
            files: 0,
            statuses: Vec::new(),
            refused: None,
        }
    }

    /// Writes new rows.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and field, for rows that the schema does not take, unless these are ignored. Those
    /// of the store.
    pub fn insert(&mut self, data: &RecordBatch, meta: MetaColumns<'_>) -> Result<()> {
        if let MetaColumns::Computed { record_keys } = meta
            && record_keys.len() != data.num_rows()
        {
            return Err(Error::invalid_argument(format!(
                "{} record keys for {} rows",
                record_keys.len(),
                data.num_rows()
            )));
        }
        if self.ignore_failed {
            self.insert_accepted(data, meta)
        } else {
            self.insert_stretch(data, meta, 0, data.num_rows())
        }
    }

    /// Bytes of rows in memory, which wait for their row group to be complete.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.file.as_ref().map_or(0, |(file, ..)| file.held_bytes())
    }

    /// Writes the rows that are in memory, as a row group.
    ///
    /// # Errors
    /// Those of the store: the handle cannot be finished then.
    pub fn end_row_group(&mut self) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), |(file, ..)| file.end_row_group())
    }

    /// Completes the last file. One status for each file.
    ///
    /// # Errors
    /// Those of the store.
    pub fn finish(mut self) -> Result<Vec<WriteStatus>> {
        self.close_file()?;
        self.statuses.extend(self.refused.take());
        Ok(self.statuses)
    }

    /// Writes some of the rows, to as many files as it takes. What is refused is refused before any of them is written.
    fn insert_stretch(&mut self, data: &RecordBatch, meta: MetaColumns<'_>, start: usize, len: usize) -> Result<()> {
        let mut start = start;
        let end = start.saturating_add(len);
        while start < end {
            let (file, status, _) = self.file()?;
            let rest = data.slice(start, end - start);
            let written = match meta {
                MetaColumns::Computed { record_keys } => {
                    let record_keys = &record_keys.slice(start, end - start);
                    file.write(&rest, MetaColumns::Computed { record_keys })?
                }
                other => file.write(&rest, other)?,
            };
            status.writes = status.writes.saturating_add(written as u64);
            status.inserts = status.inserts.saturating_add(written as u64);
            start = start.saturating_add(written);
            if file.is_full() {
                self.close_file()?;
            }
        }
        Ok(())
    }

    fn insert_accepted(&mut self, data: &RecordBatch, meta: MetaColumns<'_>) -> Result<()> {
        let mut refused = Vec::new();
        let mut write = |start: usize, len: usize| self.insert_stretch(data, meta, start, len);
        write_accepted(data.num_rows(), &mut write, &mut |row, error| refused.push((row, error.to_string())))?;
        for (row, message) in refused {
            let key = match meta {
                MetaColumns::Computed { record_keys } => record_keys.is_valid(row).then(|| record_keys.value(row)),
                _ => None,
            };
            let status = match &mut self.file {
                Some((_, status, _)) => status,
                None => self.refused.get_or_insert_with(|| WriteStatus::new(&self.target.partition, "")),
            };
            // It was refused as the only row of a batch.
            status.refuse(key, message.replacen("row 0", &format!("row {row}"), 1));
        }
        Ok(())
    }

    /// The file that is written to: the one that is open, or the next.
    fn file(&mut self) -> Result<&mut (BaseFileWriter, WriteStatus, Instant)> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.next_file()?,
        };
        Ok(self.file.insert(file))
    }

    fn next_file(&mut self) -> Result<(BaseFileWriter, WriteStatus, Instant)> {
        let CreateTarget { partition, file_id_prefix, instant, token } = &self.target;
        let target = BaseFileTarget {
            partition: partition.clone(),
            file_id: format!("{file_id_prefix}-{}", self.files),
            instant: instant.clone(),
            token: *token,
        };
        let started = Instant::now();
        let path = target.path()?;
        create_partition_metadata(self.store.as_ref(), partition, instant)?;
        self.markers.create(&path, MarkerKind::Create)?;
        let writer = BaseFileWriter::new(self.store.as_ref(), &self.schema, &target, &self.options)?;
        self.files = self.files.saturating_add(1);
        Ok((writer, WriteStatus::new(partition, &target.file_id), started))
    }

    fn close_file(&mut self) -> Result<()> {
        let Some((writer, mut status, started)) = self.file.take() else { return Ok(()) };
        if writer.rows() > 0 {
            let written = writer.finish()?;
            status.file = Some(WrittenFile {
                key_range: written.key_range,
                bloom: written.bloom.map(|(kind, text)| (kind.name().to_owned(), text)),
                columns: written.columns,
                ..WrittenFile::new(written.path, written.bytes)
            });
        }
        status.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if status.file.is_some() || status.total_errors > 0 {
            self.statuses.push(status);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arrow_array::{ArrayRef, Int32Array, StringArray};

    use super::*;
    use mortice_base::names::meta_columns;
    use mortice_storage::{LocalStorage, Storage};

    fn handle(
        folder: &tempfile::TempDir,
        options: BaseFileOptions,
        ignore_failed: bool,
    ) -> (CreateHandle, Arc<LocalStorage>) {
        let schema =
            r#"{"type":"record","name":"r","fields":[{"name":"id","type":"string"},{"name":"n","type":"int"}]}"#;
        let schema = Schema::parse(schema).unwrap().with_leading_nullable_strings(&meta_columns::ALL).unwrap();
        let store = Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true));
        let target = CreateTarget {
            partition: "p".into(),
            file_id_prefix: "f".into(),
            instant: "001".into(),
            token: WriteToken { task: 0, stage: 1, attempt: 2 },
        };
        let shared: Arc<dyn FileStore> = Arc::<LocalStorage>::clone(&store);
        (CreateHandle::new(shared, &schema, target, options, ignore_failed), store)
    }

    fn rows(numbers: impl Iterator<Item = Option<i32>>) -> (RecordBatch, StringArray) {
        let numbers = Int32Array::from_iter(numbers);
        let keys = StringArray::from_iter_values((0..numbers.len()).map(|row| format!("key {row}")));
        let columns: [(&str, ArrayRef); 2] = [("id", Arc::new(keys.clone())), ("n", Arc::new(numbers))];
        (RecordBatch::try_from_iter(columns).unwrap(), keys)
    }

    #[test]
    fn rows_go_to_as_many_files_as_it_takes() {
        let folder = tempfile::tempdir().unwrap();
        let options = BaseFileOptions { max_file_bytes: 30_000, bloom: None, ..BaseFileOptions::default() };
        let (mut handle, store) = handle(&folder, options, false);
        let (data, record_keys) = rows((0..50_000).map(Some));
        handle.insert(&data, MetaColumns::Computed { record_keys: &record_keys }).unwrap();
        let statuses = handle.finish().unwrap();
        assert!(statuses.len() > 1);
        assert_eq!(statuses.iter().map(|status| status.writes).sum::<u64>(), 50_000);
        let ids: Vec<&str> = statuses.iter().map(|status| status.file_id.as_str()).collect();
        assert_eq!(ids[..2], ["f-0", "f-1"]);
        let markers = Markers::new(store, &"001".into()).list().unwrap();
        let marked: BTreeSet<String> = markers.into_iter().map(|marker| marker.data_path).collect();
        assert_eq!(marked, statuses.iter().map(|status| status.file.as_ref().unwrap().path.clone()).collect());
        assert!(folder.path().join("p/.hoodie_partition_metadata").is_file());
    }

    #[test]
    fn rows_that_are_refused_fail_the_write_or_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let (data, record_keys) = rows((0..10_000).map(|number| (number != 9000 && number != 3).then_some(number)));
        let meta = MetaColumns::Computed { record_keys: &record_keys };
        let (mut strict, store) = handle(&folder, BaseFileOptions::default(), false);
        let error = strict.insert(&data, meta).unwrap_err();
        assert!(error.to_string().contains("row 3, field n"), "{error}");
        drop(strict);
        let files = store.list_recursively("p").unwrap();
        assert!(files.iter().all(|(path, _)| !path.ends_with(".parquet")), "{files:?}");
        let (mut tolerant, _) = handle(&folder, BaseFileOptions::default(), true);
        tolerant.insert(&data, meta).unwrap();
        let statuses = tolerant.finish().unwrap();
        let [status] = statuses.as_slice() else { panic!("{} files", statuses.len()) };
        assert_eq!((status.writes, status.total_errors), (9998, 2));
        let keys: Vec<_> = status.errors.iter().map(|error| error.record_key.as_deref().unwrap()).collect();
        assert_eq!(keys, ["key 3", "key 9000"]);
        assert!(status.errors[1].message.contains("row 9000, field n"), "{:?}", status.errors);
    }

    #[test]
    fn without_rows_there_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (mut handle, _) = handle(&folder, BaseFileOptions::default(), true);
        let (data, record_keys) = rows([None].into_iter());
        handle.insert(&data, MetaColumns::Computed { record_keys: &record_keys }).unwrap();
        let statuses = handle.finish().unwrap();
        assert_eq!(statuses.iter().map(|status| status.total_errors).sum::<u64>(), 1);
        assert!(statuses.iter().all(|status| status.file.is_none()));
    }
}
