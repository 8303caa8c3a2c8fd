//! Writes the timeline and the archive of a table in the layout of another version, beside those that are in use.

use std::sync::Arc;

use bytes::Bytes;

use super::completion_times::CompletionTimes;
use super::timeline_files::{content_in, name_in_layout_1, name_in_layout_2};
use crate::archival::{copy_archive, delete_archive};
use crate::service_table::ServiceTable;
use mortice_base::error::{Error, Result};
use mortice_base::names::CompletionTime;
use mortice_commit::commit::{TimelineWriter, epoch_millis, epoch_text};
use mortice_merge::config::{TableConfig, TimelineLayout};
use mortice_storage::{FileStatus, FileStore, parallel};
use mortice_table::file_group::list_table;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Instant;

/// A change of the layout of a table's timeline.
pub(super) struct LayoutChange<'a> {
    store: &'a Arc<dyn FileStore>,
    before: ServiceTable,
    after: &'a TableConfig,
}

/// A file of the new timeline.
struct NewFile {
    name: String,
    content: Bytes,
    /// When the instant was completed, in milliseconds since the epoch, if the name does not say it.
    completed_ms: Option<i64>,
}

impl<'a> LayoutChange<'a> {
    /// Of an open table, to the layout of the properties that it will have.
    ///
    /// # Errors
    /// `Unsupported` if both layouts have the same folders.
    pub(super) fn new(store: &'a Arc<dyn FileStore>, table: &OpenTable, after: &'a TableConfig) -> Result<Self> {
        let before = ServiceTable::new(store, table);
        let new_timeline = if before.is_v1() { &after.timeline_folder } else { &before.config.timeline_folder };
        let old_archive = if before.is_v1() { &before.config.archive_folder } else { &after.archive_folder };
        if format!("{old_archive}/").starts_with(&format!("{new_timeline}/")) {
            let message =
                format!("archived instants of table version 6 in the timeline's folder of version 8, {old_archive}");
            return Err(Error::unsupported(message));
        }
        Ok(Self { store, before, after })
    }

    /// The number of files that [`Self::write`] writes, and of archived instants.
    pub(super) fn counts(&self) -> Result<(u64, u64)> {
        let files = self.before.timeline_writer().files()?.len();
        Ok((files as u64, self.before.timeline.archived()?.len() as u64))
    }

    /// Writes the archive and the timeline. What an attempt that was stopped has left is deleted before.
    ///
    /// # Errors
    /// Those of reading the timeline and of the storage.
    pub(super) fn write(&self) -> Result<()> {
        let files = list_table(self.before.storage.as_ref())?;
        let times = match self.after.layout() {
            TimelineLayout::V2 => CompletionTimes::from_files(&files),
            TimelineLayout::V1 => CompletionTimes::default(),
        };
        delete_instants(self.store, &self.after.timeline_folder, self.after.layout())?;
        let after = ServiceTable::with_config(self.store, self.after, &self.before.timeline);
        delete_archive(&after)?;
        self.store.create_folder(&self.after.timeline_folder)?;
        self.store.create_folder(&self.after.archive_folder)?;
        copy_archive(&self.before, &after, &|instant| {
            let written = instant.completion_time.as_ref().map(ToString::to_string);
            times.completed_at(&instant.requested_time, written)
        })?;
        let old = self.before.timeline_writer();
        let found = old.files_with_status()?;
        let write = |(file, status): &(Instant, FileStatus)| {
            let content = old.read(&file.file_name)?.ok_or_else(|| gone(&old, file))?;
            let new = self
                .converted(file, status, &content, &times)
                .map_err(|error| error.in_file(old.path(&file.file_name)))?;
            self.put(&new)
        };
        parallel::map(&found, self.store.requests_at_once(), write).map(drop)
    }

    fn converted(
        &self,
        file: &Instant,
        status: &FileStatus,
        content: &Bytes,
        times: &CompletionTimes,
    ) -> Result<NewFile> {
        let (layout, zone) = (self.after.layout(), self.before.config.timeline_zone);
        let content = content_in(layout, file, content)?;
        Ok(match layout {
            TimelineLayout::V2 => {
                let written = epoch_text(status.modified_ms, zone);
                let completion =
                    file.is_completed().then(|| times.completed_at(&file.requested_time, written)).transpose()?;
                NewFile { name: name_in_layout_2(file, completion.as_ref()), content, completed_ms: None }
            }
            TimelineLayout::V1 => {
                let of_name = |time: &CompletionTime| epoch_millis(time.as_str(), zone);
                let completed = file.completion_time.as_ref().map_or(Some(status.modified_ms), of_name);
                let completed_ms = completed.filter(|_| file.is_completed());
                NewFile { name: name_in_layout_1(file), content, completed_ms }
            }
        })
    }

    /// In layout 1 Hudi 1.x takes the time of the file for the completion time. By a later one it would merge logs that
    /// were compacted with the base files of their compactions.
    fn put(&self, new: &NewFile) -> Result<()> {
        let path = format!("{}/{}", self.after.timeline_folder, new.name);
        self.store.put(&path, &new.content, None)?;
        match new.completed_ms {
            Some(completed_ms) => self.store.set_modified(&path, completed_ms).map(drop),
            None => Ok(()),
        }
    }
}

/// Deletes the files of instants of a timeline that is not in use.
pub(super) fn delete_instants(store: &Arc<dyn FileStore>, folder: &str, layout: TimelineLayout) -> Result<()> {
    let writer = TimelineWriter::in_folder(Arc::clone(store), folder, layout);
    let files = writer.files()?;
    parallel::map(&files, store.requests_at_once(), |file| store.delete(&writer.path(&file.file_name))).map(drop)
}

fn gone(writer: &TimelineWriter, file: &Instant) -> Error {
    let message = "a file of the timeline has been deleted by another writer meanwhile; run it again";
    Error::new(mortice_base::error::ErrorKind::WriteConflict, message).in_file(writer.path(&file.file_name))
}
