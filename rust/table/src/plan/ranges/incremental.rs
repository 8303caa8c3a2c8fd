//! Queries of the rows that a range of commits wrote, planned from commit metadata. Folders are listed only to check
//! whether the files still exist, if the query may fall back to a full scan.

use std::sync::Arc;

use super::written_files::WrittenFiles;
use crate::file_group::FileSystemView;
use crate::plan::open_table::OpenTable;
use crate::plan::path_columns::RowKind;
use crate::plan::query::ScanRequest;
use crate::plan::query_kind::{CommitBounds, FullScanFallback, IncrementalRange, RowForm};
use crate::plan::query_options::QueryOptions;
use crate::plan::scan::Scan;
use crate::plan::slices::file_slices::SelectedSlices;
use crate::plan::slices::partition_filter::PartitionFilter;
use crate::plan::slices::registered_files::rows_without_commits;
use crate::timeline::TimelineRange;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_merge::config::{MergeSemantics, TimelineLayout};

impl OpenTable {
    /// Plans a query of the rows that the commits of a range wrote, as of its end: log blocks and base rows of other
    /// commits are removed, and the rest is merged. Bounds are completion times from table version 8, requested times
    /// before.
    ///
    /// # Errors
    /// `Unsupported` for tables without meta columns; `InvalidArgument` for bounds that are not instants, and for a
    /// range with a pending commit if `holes` is `Fail`.
    pub fn incremental(&self, options: &QueryOptions, range: &IncrementalRange) -> Result<Scan> {
        let timeline_range = self.range_of_rows(&range.bounds)?;
        let written = WrittenFiles::read(&self.timeline, &timeline_range, range.skipped())?;
        self.scan_written(options, range, timeline_range, &written)
    }

    /// Returns the range of an incremental query, up to the first pending commit if `holes` blocks.
    pub(in crate::plan) fn range_of_rows(&self, bounds: &CommitBounds) -> Result<TimelineRange> {
        self.check_rows_tell_commits()?;
        self.range_without_hollow_commits(bounds)
    }

    pub(in crate::plan) fn range_without_hollow_commits(&self, bounds: &CommitBounds) -> Result<TimelineRange> {
        let timeline_range =
            TimelineRange::from_query(&bounds.begin, bounds.end.as_deref(), self.config.timeline_zone)?;
        self.timeline.without_hollow_commits(timeline_range, bounds.holes).map_err(|error| error.in_file(&self.uri))
    }

    pub(in crate::plan) fn check_rows_tell_commits(&self) -> Result<()> {
        if self.config.populate_meta_fields {
            return Ok(());
        }
        let message = "incremental queries need meta columns: with hoodie.populate.meta.fields=false, rows do not have the commit that wrote them";
        Err(Error::unsupported(message).in_file(&self.uri))
    }

    /// Plans a query of the rows that commits of a range have written. The bounds of `range` are not used.
    pub(in crate::plan) fn scan_written(
        &self,
        options: &QueryOptions,
        range: &IncrementalRange,
        timeline_range: TimelineRange,
        written: &WrittenFiles,
    ) -> Result<Scan> {
        if let Some(path) = written.registered() {
            return Err(rows_without_commits(path).in_file(&self.uri));
        }
        let schema_at = written.latest().filter(|_| range.schema_at_end).cloned();
        let path_columns = self.path_columns(RowKind::Written);
        // A value that was not decoded from an encoded path differs from the value that the path was made of.
        let is_encoded = path_columns.as_they_stand && (self.config.url_encode_partitions || path_columns.alone);
        let find = |wanted: Option<&_>| self.slices_in(written, &timeline_range, range, wanted.filter(|_| !is_encoded));
        let form = RowForm::from(range.rows);
        let request = ScanRequest { name: "incremental", options, form, schema_at, path_columns, is_latest: false };
        let mut scan = self.scan(request, find)?;
        let merging = form.merged && options.merger.is_none();
        if merging && scan.splits.iter().any(|split| !split.slice.log_files.is_empty()) {
            self.merge.check_supported(self.options.semantics).map_err(|error| error.in_file(&self.uri))?;
        }
        scan.between = Some(timeline_range);
        Ok(scan)
    }

    /// Returns the slices of the files that commits have written in selected partitions.
    fn slices_in(
        &self,
        written: &WrittenFiles,
        timeline_range: &TimelineRange,
        range: &IncrementalRange,
        wanted: Option<&PartitionFilter>,
    ) -> Result<SelectedSlices> {
        if self.falls_back(written, range)? {
            let mut found = self.slices(None, FileSystemView::slices, wanted)?;
            found.range = Some(match range.is_changelog() {
                true => written.range_of_changes(false),
                false => written.range_in_all_files(),
            });
            return Ok(found);
        }
        // File groups that were replaced after the range have changes in the range.
        let replaced = if range.is_changelog() { Vec::new() } else { written.replaced.clone() };
        let view = FileSystemView::in_range(&self.timeline, &self.config, replaced)
            .map_err(|error| error.in_file(&self.uri))?;
        let paths = written.partitions();
        let kept = wanted.map_or_else(|| Ok(vec![true; paths.len()]), |wanted| wanted.may_match(&paths))?;
        let mut found = SelectedSlices::default();
        if kept.len() != paths.len() {
            return Err(Error::internal(format_args!("{} choices for {} partitions", kept.len(), paths.len())));
        }
        for (partition, _) in paths.iter().zip(&kept).filter(|(_, kept)| **kept) {
            let files = written.files_in(partition, &|path, len| self.len_of(path, len))?;
            let some =
                if range.is_changelog() { view.all_slices_in_range(&files)? } else { view.slices_in_range(&files)? };
            found.slices.extend(some.into_iter().map(Arc::new));
            found.partitions.read += 1;
        }
        found.partitions.pruned = kept.len() - found.partitions.read;
        self.attach_sources(found.slices.iter_mut().map(Arc::make_mut))?;
        found.instants = self.timeline.instant_filter(self.timeline.latest_visible());
        found.range = Some(if range.is_changelog() {
            written.range_of_changes(true)
        } else {
            written.range(self.config.layout(), timeline_range)
        });
        Ok(found)
    }

    /// Returns the size of a file: as commits report it, otherwise as the storage does. A file that does not exist has
    /// size 0; reading it raises [`ErrorKind::FileCleaned`].
    pub(in crate::plan) fn len_of(&self, path: &str, reported: Option<u64>) -> Result<u64> {
        if let Some(len) = reported {
            return Ok(len);
        }
        match self.storage.len_of(path) {
            Ok(len) => Ok(len),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Returns true if rows are read from all files (`HoodieIncrementalRelationV2Trait.fullTableScan`).
    fn falls_back(&self, written: &WrittenFiles, range: &IncrementalRange) -> Result<bool> {
        let by_itself = self.options.semantics == MergeSemantics::V1x && self.config.layout() == TimelineLayout::V2;
        let falls_back = match range.full_scan {
            FullScanFallback::ByTableVersion => by_itself && !range.is_changelog(),
            FullScanFallback::Enabled => true,
            FullScanFallback::Disabled => false,
        };
        if !falls_back {
            return Ok(false);
        }
        Ok(written.is_archived() || written.is_cleaned(self.storage.as_ref())?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use std::sync::Arc;

    use super::*;
    use crate::timeline::MemoryStorage;
    use crate::timeline::Timeline;
    use mortice_merge::config::{MergeSemantics, ReadOptions, TableConfig};
    use mortice_storage::{FileSource, FolderEntry, Storage, StorageOptions};

    /// Counts the requests to a storage.
    struct Counting {
        storage: Arc<dyn Storage>,
        listed: AtomicUsize,
        opened: AtomicUsize,
    }

    impl Storage for Counting {
        fn root(&self) -> &str {
            self.storage.root()
        }

        fn list(&self, folder: &str) -> Result<Option<Vec<FolderEntry>>> {
            self.listed.fetch_add(1, Ordering::Relaxed);
            self.storage.list(folder)
        }

        fn open(&self, path: &str) -> Result<Arc<dyn FileSource>> {
            self.opened.fetch_add(1, Ordering::Relaxed);
            self.storage.open(path)
        }
    }

    const SCHEMA: &str = r#"{\"type\":\"record\",\"name\":\"t\",\"fields\":[]}"#;

    /// Returns the numbers of requests and splits of an incremental query, in a table in which each of `commits` wrote
    /// to a different partition, and `others` partitions have no changes.
    fn planned(commits: usize, others: usize) -> (usize, usize, usize) {
        let properties = "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.type=MERGE_ON_READ\n";
        let mut files = vec![(".hoodie/hoodie.properties".to_owned(), properties.to_owned())];
        for at in 0..commits + others {
            let (name, instant) = (format!("p{at}/f_0-1-2_{at:03}.parquet"), format!(".hoodie/{at:03}.deltacommit"));
            let commit = format!(
                r#"{{"partitionToWriteStats":{{"p{at}":[{{"path":"{name}","fileSizeInBytes":1}}]}},"extraMetadata":{{"schema":"{SCHEMA}"}}}}"#
            );
            files.extend([(name, "x".to_owned()), (format!("p{at}/.hoodie_partition_metadata"), String::new())]);
            files.push((instant, commit));
        }
        let storage = MemoryStorage::holding(files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())));
        let counting = Arc::new(Counting { storage, listed: AtomicUsize::default(), opened: AtomicUsize::default() });
        let storage: Arc<dyn Storage> = counting.clone();
        let config = TableConfig::load(&*storage).unwrap();
        let merge = config.merge_by(MergeSemantics::V1x).unwrap();
        let timeline = Timeline::load(&storage, &config).unwrap();
        let (uri, storage_options, options) = (String::new(), StorageOptions::default(), ReadOptions::default());
        let (metadata, known_schema) = (std::sync::OnceLock::new(), std::sync::Mutex::default());
        let table =
            OpenTable { uri, storage_options, storage, config, merge, timeline, options, metadata, known_schema };
        counting.listed.store(0, Ordering::Relaxed);
        counting.opened.store(0, Ordering::Relaxed);
        // Instants are zero-padded; the query selects the last `commits` of them.
        let bounds = CommitBounds { begin: format!("{:03}", others - 1), ..CommitBounds::default() };
        let range = IncrementalRange { bounds, ..IncrementalRange::default() };
        let scan = table.incremental(&QueryOptions::default(), &range).unwrap();
        let requests = (counting.listed.load(Ordering::Relaxed), counting.opened.load(Ordering::Relaxed));
        (requests.0, requests.1, scan.splits().len())
    }

    #[test]
    fn planning_a_range_depends_on_its_commits_alone() {
        let (listed, opened, splits) = planned(2, 3);
        assert_eq!((listed, splits), (0, 2));
        assert_eq!(planned(2, 300), (listed, opened, splits));
        let (_, more, _) = planned(4, 300);
        assert_eq!(more, opened + 2);
    }
}
