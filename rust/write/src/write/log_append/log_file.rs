//! One log file that is written.

use crate::write::column_range::ColumnRange;
use crate::write::file_upload::FileUpload;
use crate::write::markers::Markers;
use crate::write::write_status::{WriteStatus, WrittenFile};
use mortice_base::error::Result;
use mortice_storage::FileStore;

use super::pending::add_columns;
use super::target::LogTarget;

/// A log file, its marker created. It is visible once it is finished.
pub(super) struct LogFile {
    upload: FileUpload,
    status: WriteStatus,
    name: String,
    path: String,
    version: i64,
    columns: Vec<ColumnRange>,
}

impl LogFile {
    pub(super) fn create(store: &dyn FileStore, markers: &Markers, target: &LogTarget, version: i64) -> Result<Self> {
        let name = target.name(version)?;
        let path = target.path(&name);
        markers.create(&path, target.marker())?;
        let upload = FileUpload::new(store, &path)?;
        let mut status = WriteStatus::new(&target.partition, &target.file_id);
        status.previous_commit = Some(target.previous_commit().to_owned());
        Ok(Self { upload, status, name, path, version, columns: Vec::new() })
    }

    /// Writes a part of a block.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.upload.append(bytes)
    }

    /// Bytes written so far.
    pub(super) const fn bytes(&self) -> u64 {
        self.upload.written()
    }

    /// Counts records of a block that was written.
    pub(super) fn count(&mut self, records: u64, inserts: u64, columns: Vec<ColumnRange>) {
        self.status.writes = self.status.writes.saturating_add(records);
        self.status.inserts = self.status.inserts.saturating_add(inserts);
        self.status.updates = self.status.updates.saturating_add(records.saturating_sub(inserts));
        add_columns(&mut self.columns, columns);
    }

    /// Counts deleted keys of a block that was written.
    pub(super) fn count_deletes(&mut self, keys: u64) {
        self.status.deletes = self.status.deletes.saturating_add(keys);
    }

    /// Makes the file visible. `before` are the names of those that the same handle has written.
    pub(super) fn finish(mut self, target: &LogTarget, before: &mut Vec<String>) -> Result<WriteStatus> {
        let bytes = self.upload.finish()?;
        self.status.file = Some(WrittenFile {
            log: Some(target.status(self.version, &self.name, before)),
            columns: self.columns,
            ..WrittenFile::new(self.path, bytes)
        });
        before.push(self.name);
        Ok(self.status)
    }
}
