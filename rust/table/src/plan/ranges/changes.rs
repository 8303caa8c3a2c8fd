//! Queries of the changes that a range of commits made to rows (change data capture), planned from commit metadata. A
//! folder is listed only if a commit does not report the files of the slice that it changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::changed_files::{ChangeKind, FoundChange, WrittenFile, changes_in};
use crate::file_group::files_of;
use crate::file_group::{BaseFile, FileSlice, FileSystemView, LogFile, PartitionFiles};
use crate::plan::open_table::OpenTable;
use crate::plan::path_columns::RowKind;
use crate::plan::query::ScanRequest;
use crate::plan::query_kind::{CommitBounds, RowForm};
use crate::plan::query_options::QueryOptions;
use crate::plan::query_plan::changes_schema;
use crate::plan::scan::Scan;
use crate::plan::slices::file_slices::{PartitionCounts, SelectedSlices};
use crate::plan::slices::registered_files::rows_without_commits;
use crate::split::{ChangeSource, FileGroupChange, Query, Split};
use crate::timeline::TimelineRange;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_merge::config::{CdcMode, TimelineLayout};

impl OpenTable {
    /// Plans a query of the changes that the commits of a range made: one row for each change, with the row before and
    /// after it as JSON. Columns and filter are those of the result ([`change_schema`]). Bounds are those of
    /// [`OpenTable::incremental`].
    ///
    /// # Errors
    /// `Unsupported` for tables without change data capture, and for commits that were written without it;
    /// `FileCleaned` if files that must be listed have been removed; `InvalidArgument` for bounds that are not
    /// instants, and for a range with a pending commit if `holes` is `Fail`.
    pub fn changes(&self, options: &QueryOptions, bounds: &CommitBounds) -> Result<Scan> {
        let (mode, timeline_range) = self.range_of_changes(bounds)?;
        let output = changes_schema(options)?;
        let found = changes_in(&self.timeline, &timeline_range).map_err(|error| error.in_file(&self.uri))?;
        let instants = self.timeline.instant_filter(self.timeline.latest_visible());
        let request = ScanRequest {
            name: "changes",
            options: &QueryOptions { merger: options.merger.clone(), ..QueryOptions::default() },
            form: RowForm::MERGED,
            schema_at: None,
            path_columns: self.path_columns(RowKind::Changes),
            is_latest: false,
        };
        let mut scan = self.scan(request, |_| Ok(SelectedSlices { instants, ..SelectedSlices::default() }))?;
        let mut images = Images { table: self, mode, listed: HashMap::new() };
        let found = found.into_iter().map(|changed| images.slice_and_change(changed)).collect::<Result<Vec<_>>>()?;
        let (mut slices, changes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        self.attach_sources(&mut slices)?;
        let planned: Vec<_> = slices.into_iter().zip(changes).collect();
        self.check_merges(options, &planned)?;
        let columns = output.fields().iter().map(|field| field.name().clone()).collect();
        scan.schema = output;
        let mut query = Query { columns, filter: options.filter.clone(), ..Query::clone(&scan.query) };
        // The rows before a log was written may be merged rows, so row numbers in logs cannot be used.
        query.options.record_positions = false;
        scan.query = Arc::new(query);
        scan.partitions = PartitionCounts { read: partitions(&planned), pruned: 0 };
        scan.splits = self.change_splits(&scan.query, planned, options);
        scan.between = Some(timeline_range);
        Ok(scan)
    }

    /// Returns the contents of the table's change logs, and the range of a query of changes, up to the first pending
    /// commit if `holes` blocks.
    pub(in crate::plan) fn range_of_changes(&self, bounds: &CommitBounds) -> Result<(CdcMode, TimelineRange)> {
        let Some(mode) = self.config.cdc else {
            let message = "the table has no change log: hoodie.table.cdc.enabled is not true; use an incremental query";
            return Err(Error::unsupported(message).in_file(&self.uri));
        };
        Ok((mode, self.range_without_hollow_commits(bounds)?))
    }

    /// Returns the splits. If commits share log files, blocks that later commits appended are ignored.
    fn change_splits(
        &self,
        query: &Arc<Query>,
        planned: Vec<(FileSlice, FileGroupChange)>,
        options: &QueryOptions,
    ) -> Vec<Split> {
        let mut splits: Vec<Split> = Vec::with_capacity(planned.len());
        for (slice, change) in planned {
            let known = splits.last().filter(|split| split.query.instants.latest.as_ref() == Some(&change.instant));
            let query = match known {
                _ if !query.commits_by_block => Arc::clone(query),
                Some(split) => Arc::clone(&split.query),
                None => {
                    let instants = self.timeline.instant_filter(Some(&change.instant));
                    Arc::new(Query { instants, ..Query::clone(query) })
                }
            };
            splits.push(Split {
                query,
                slice: Arc::new(slice),
                part: None,
                change: Some(Box::new(change)),
                merger: options.merger.clone(),
            });
        }
        splits
    }

    fn check_merges(&self, options: &QueryOptions, planned: &[(FileSlice, FileGroupChange)]) -> Result<()> {
        let merges = |(slice, change): &(FileSlice, FileGroupChange)| {
            !slice.log_files.is_empty() || matches!(change.source, ChangeSource::Logs(_))
        };
        if options.merger.is_none() && planned.iter().any(merges) {
            self.merge.check_supported(self.options.semantics).map_err(|error| error.in_file(&self.uri))?;
        }
        Ok(())
    }
}

/// Finds the files with the rows before and after a change.
struct Images<'t> {
    table: &'t OpenTable,
    mode: CdcMode,
    /// The partitions that had to be listed.
    listed: HashMap<String, PartitionFiles>,
}

impl Images<'_> {
    /// Returns the slice and the change of a split.
    fn slice_and_change(&mut self, changed: FoundChange) -> Result<(FileSlice, FileGroupChange)> {
        let instant = changed.instant.clone();
        self.found(changed).map_err(|error| error.at_instant(instant))
    }

    fn found(&mut self, changed: FoundChange) -> Result<(FileSlice, FileGroupChange)> {
        let FoundChange { instant, partition, file_id, how } = changed;
        let group = Group { partition, file_id };
        let (mut slice, source) = match how {
            ChangeKind::Inserted(file) => (self.base(&group, file)?, ChangeSource::Inserted),
            ChangeKind::Emptied { before } => (self.base_of(&group, &before)?, ChangeSource::Deleted),
            ChangeKind::Replaced => {
                let last = self.slice_at(&group, &instant)?;
                (last.ok_or_else(|| gone(&group, "replaced"))?, ChangeSource::Deleted)
            }
            ChangeKind::Logged { logs, base_file, logs_before } => {
                let logs = logs.into_iter().map(|file| self.log_file(file)).collect::<Result<Vec<_>>>()?;
                let mut before = match base_file {
                    Some(name) => self.before(&group, &name, &logs_before)?,
                    None => self.slice_at(&group, &instant)?.unwrap_or_else(|| group.empty(&instant)),
                };
                if self.table.config.layout() == TimelineLayout::V2 {
                    // Before that version commits share log files, and the blocks of the commit are selected when they
                    // are read.
                    before.log_files.retain(|log| logs.iter().all(|own| own.path != log.path));
                }
                (before, ChangeSource::Logs(logs))
            }
            ChangeKind::WithChangeLogs { base_file, change_logs, before } => {
                let before = match (self.mode, before) {
                    (CdcMode::OpKeyOnly, Some(before)) => {
                        let mut before = self.base_of(&group, &before)?;
                        self.table.attach_sources([&mut before])?;
                        Some(Box::new(before))
                    }
                    _ => None,
                };
                let files = change_logs.into_iter().map(|file| self.log_file(file)).collect::<Result<Vec<_>>>()?;
                (self.base(&group, base_file)?, ChangeSource::ChangeLogs { files, mode: self.mode, before })
            }
        };
        if let (CdcMode::DataBeforeAfter, ChangeSource::ChangeLogs { .. }) = (self.mode, &source) {
            // The change logs have both rows.
            slice.base_file = None;
        }
        Ok((slice, FileGroupChange { instant, source }))
    }

    /// Returns a base file as a slice.
    fn base(&self, group: &Group, (path, len): WrittenFile) -> Result<FileSlice> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let Some(parsed) = BaseFileName::parse(name) else {
            return Err(Error::invalid_table(format!(
                "invalid commit metadata: {path:?} is not the name of a data file"
            )));
        };
        if parsed.is_registered() {
            return Err(rows_without_commits(&path));
        }
        let len = self.table.len_of(&path, len)?;
        let (instant, source, registered_name) = (parsed.instant.clone(), None, None);
        let file = BaseFile { path, len, etag: None, instant, source, registered_name };
        Ok(FileSlice { base_file: Some(file), ..group.empty(&parsed.instant) })
    }

    /// Returns the slice of a base file and log files, given by their names. Change logs are not part of it.
    fn before(&self, group: &Group, base_file: &str, logs: &[String]) -> Result<FileSlice> {
        let mut slice = self.base(group, (group.path(base_file), None))?;
        let mut names = logs.iter().map(|name| log_file_name(name)).collect::<Result<Vec<LogFileName>>>()?;
        names.retain(|name| !name.cdc);
        names.sort_by(LogFileName::slice_order);
        names.dedup();
        let files = names.into_iter().map(|name| self.log_file((group.path(&name.name), None)));
        slice.log_files = files.collect::<Result<_>>()?;
        Ok(slice)
    }

    fn log_file(&self, (path, len): WrittenFile) -> Result<LogFile> {
        let name = log_file_name(&path)?;
        if !self.table.config.version.has_native_logs() {
            name.check_is_inline().map_err(|error| error.in_file(&path))?;
        }
        let len = self.table.len_of(&path, len)?;
        Ok(LogFile { path, len, etag: None })
    }

    fn files(&mut self, partition: &str) -> Result<&PartitionFiles> {
        if !self.listed.contains_key(partition) {
            let files = files_of(self.table.storage.as_ref(), partition)?;
            self.listed.insert(partition.to_owned(), files);
        }
        self.listed.get(partition).ok_or_else(|| Error::internal("a partition that was not listed"))
    }

    /// Returns the files of one file group.
    fn files_of_group(&mut self, group: &Group) -> Result<PartitionFiles> {
        let mut files = self.files(&group.partition)?.clone();
        files.base_files.retain(|base| base.name.file_id == group.file_id);
        files.log_files.retain(|log| log.name.file_id == group.file_id);
        Ok(files)
    }

    /// Returns the slice of the file group as of an instant.
    fn slice_at(&mut self, group: &Group, instant: &RequestedTime) -> Result<Option<FileSlice>> {
        let files = self.files_of_group(group)?;
        let view = FileSystemView::with_replaced(&self.table.timeline, &self.table.config, instant)?;
        Ok(view.slices(&files)?.into_iter().next())
    }

    /// Returns the base file that an instant wrote.
    fn base_of(&mut self, group: &Group, instant: &RequestedTime) -> Result<FileSlice> {
        let files = self.files_of_group(group)?;
        let view = FileSystemView::with_replaced(&self.table.timeline, &self.table.config, instant)?;
        let found = view.base_files(&files)?.into_iter().find(|slice| slice.base_instant == *instant);
        found.ok_or_else(|| gone(group, "wrote upon"))
    }
}

fn partitions(planned: &[(FileSlice, FileGroupChange)]) -> usize {
    planned.iter().map(|(slice, _)| slice.partition.as_str()).collect::<BTreeSet<_>>().len()
}

/// A file group.
struct Group {
    partition: String,
    file_id: String,
}

impl Group {
    fn empty(&self, instant: &RequestedTime) -> FileSlice {
        FileSlice {
            partition: self.partition.clone(),
            file_id: self.file_id.clone(),
            base_instant: instant.clone(),
            base_file: None,
            log_files: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> String {
        if self.partition.is_empty() { name.to_owned() } else { format!("{}/{name}", self.partition) }
    }
}

/// Parses the file name of a path.
fn log_file_name(path: &str) -> Result<LogFileName> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let invalid = || Error::invalid_table(format!("invalid commit metadata: {path:?} is not the name of a log file"));
    LogFileName::parse(name).ok_or_else(invalid)
}

fn gone(group: &Group, what: &str) -> Error {
    let message = format!(
        "the files of file group {} that a commit of the range {what} have been removed by the cleaner; begin the range later",
        group.file_id
    );
    Error::new(ErrorKind::FileCleaned, message).in_file(&group.partition)
}
