//! The file slices that a writer tags, updates and adds rows to (`HoodieTable.getBaseFileOnlyView`, `getSliceView`).
//!
//! Both kinds of slices are of the newest completed write. Files of pending and failed writes are not among them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::file_slices::SelectedSlices;
use super::logs_beside_compaction::LogsBesideCompaction;
use super::registered_files::check_writable;
use crate::file_group::{FileSlice, FileSystemView, PartitionFiles, files_of};
use crate::metadata_table::{FILES, MetadataTable};
use crate::plan::open_table::OpenTable;
use crate::plan::query::ScanRequest;
use crate::plan::query_kind::RowForm;
use crate::plan::query_options::QueryOptions;
use crate::plan::scan::Scan;
use crate::split::PathColumns;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::OnDamage;
use mortice_storage::parallel;

/// An instant for a file group, by partition and file id.
type InstantsByGroup = BTreeMap<String, BTreeMap<String, RequestedTime>>;

/// What a writer has to know of file groups.
#[derive(Debug, Clone, Default)]
pub struct WriteView {
    /// The newest base file of each file group that has one. Its logs are those that writers began while the compaction
    /// that made it was pending: they found keys in the base file before it, and the compaction may have left out such
    /// a key, deleted before, whose newest row is in a log.
    pub base_files: Vec<FileSlice>,
    /// The latest slice of each file group; with the slice before it, if it was begun by a pending compaction.
    pub slices: Vec<FileSlice>,
    /// Partitions of the table: those of the view that have files and, if the metadata table was asked, those that are
    /// within or around one of the view.
    pub partitions: BTreeSet<String>,
    compactions: InstantsByGroup,
    clustering: InstantsByGroup,
}

impl WriteView {
    /// A view of these slices alone, for looking up keys.
    #[must_use]
    pub fn of_slices(slices: Vec<FileSlice>) -> Self {
        Self { slices, ..Self::default() }
    }

    /// The pending compaction of a file group.
    #[must_use]
    pub fn pending_compaction(&self, partition: &str, file_id: &str) -> Option<&RequestedTime> {
        self.compactions.get(partition)?.get(file_id)
    }

    /// The pending clustering that is to replace a file group.
    #[must_use]
    pub fn pending_clustering(&self, partition: &str, file_id: &str) -> Option<&RequestedTime> {
        self.clustering.get(partition)?.get(file_id)
    }

    /// Forgets pending clustering that was rolled back.
    pub fn forget_clustering(&mut self, rolled_back: &BTreeSet<RequestedTime>) {
        self.clustering.values_mut().for_each(|groups| groups.retain(|_, instant| !rolled_back.contains(instant)));
    }
}

impl OpenTable {
    /// The view of these partitions, or of all. Partitions that are not there have no file groups.
    ///
    /// # Errors
    /// What listing files and reading plans may fail with.
    pub fn write_view(&self, partitions: Option<&BTreeSet<String>>) -> Result<WriteView> {
        let in_table = |error: Error| error.in_file(&self.uri);
        let view = FileSystemView::new(&self.timeline, &self.config, None).map_err(in_table)?;
        let mut found = WriteView::default();
        for plan in self.timeline.pending_compactions()? {
            for operation in plan.operations {
                let groups = found.compactions.entry(operation.partition).or_default();
                groups.insert(operation.file_id, plan.instant.clone());
            }
        }
        for group in self.timeline.file_groups_in_pending_clustering()? {
            found.clustering.entry(group.partition).or_default().insert(group.file_id, group.instant);
        }
        if view.query_instant().is_none() {
            return Ok(found);
        }
        let beside = LogsBesideCompaction::new(self);
        let (listed, known) = self.listed_partitions(partitions)?;
        found.partitions = known;
        check_writable(&listed).map_err(in_table)?;
        for files in listed {
            if !files.is_empty() {
                found.partitions.insert(files.partition.clone());
            }
            let slices = view.slices(&files)?;
            let mut base_files = view.base_files(&files)?;
            beside.add_to(&mut base_files, &slices)?;
            found.base_files.extend(base_files);
            found.slices.extend(slices);
        }
        self.attach_sources(found.base_files.iter_mut().chain(&mut found.slices))?;
        Ok(found)
    }

    /// The files of partitions, or of all, listed as for a query. A partition that is not there has no files.
    ///
    /// # Errors
    /// Those of listing; `Unsupported` for files that other tools have registered.
    pub fn files_of_partitions(&self, partitions: Option<&BTreeSet<String>>) -> Result<Vec<PartitionFiles>> {
        let (files, _) = self.listed_partitions(partitions)?;
        check_writable(&files).map_err(|error| error.in_file(&self.uri))?;
        Ok(files)
    }

    /// The files of partitions, or of all; and if the metadata table was asked, the partitions within or around those.
    pub(super) fn listed_partitions(
        &self,
        partitions: Option<&BTreeSet<String>>,
    ) -> Result<(Vec<PartitionFiles>, BTreeSet<String>)> {
        let lister = self.lister();
        let Some(partitions) = partitions else {
            return Ok((lister.list(None, &mut |files| files)?.0.files, BTreeSet::new()));
        };
        if lister.has(FILES) && self.options.metadata {
            let known = RefCell::new(BTreeSet::new());
            let choose = |paths: &[&str]| {
                let related = paths.iter().filter(|path| is_related(path, partitions));
                known.replace(related.map(|&path| path.to_owned()).collect());
                Ok(paths.iter().map(|path| partitions.contains(*path)).collect())
            };
            if let Ok(listed) = lister.metadata_table().and_then(|table| table.list(Some(&choose)).map_err(Arc::new)) {
                return Ok((listed.files, known.take()));
            }
        }
        let partitions: Vec<&String> = partitions.iter().collect();
        let files = parallel::map(&partitions, self.storage.requests_at_once(), |partition| {
            match files_of(self.storage.as_ref(), partition) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(PartitionFiles::new(partition, [])),
                listed => listed,
            }
        })?;
        Ok((files, BTreeSet::new()))
    }
}

/// Whether a partition is one of these, within one, or around one.
fn is_related(path: &str, partitions: &BTreeSet<String>) -> bool {
    let below = format!("{path}/");
    let mut around = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    partitions.contains(path)
        || around.any(|outer| partitions.contains(outer))
        || partitions.range(below.clone()..).next().is_some_and(|inner| inner.starts_with(&below))
}

impl OpenTable {
    /// Returns true if reads have to compare lengths of logs with the metadata of commits.
    pub(in crate::plan) fn checks_lengths(&self) -> bool {
        let lists_files = self.config.metadata_partitions.iter().any(|partition| partition == FILES);
        let is_listed = self.options.metadata && lists_files && self.metadata.get().is_some_and(Result::is_ok);
        self.options.on_damage == OnDamage::Raise && !is_listed
    }

    /// The metadata table, if it has this partition, complete.
    ///
    /// # Errors
    /// `InvalidTable` if the metadata table cannot be used: it is behind the table's timeline, or damaged. An index has
    /// no substitute in storage.
    pub fn metadata_index(&self, partition: &str) -> Result<Option<&MetadataTable>> {
        let lister = self.lister();
        if !lister.has(partition) {
            return Ok(None);
        }
        let unusable =
            |error| Error::invalid_table(format!("{partition} of the metadata table cannot be used")).caused_by(error);
        lister.metadata_table().map(Some).map_err(|error| unusable(error).in_file(&self.uri))
    }

    /// Plans a query of the merged rows of some slices. Partition columns have the values of the files, not those of
    /// the paths.
    ///
    /// # Errors
    /// Those of [`OpenTable::snapshot`].
    pub fn stored_rows(&self, slices: &[FileSlice], options: &QueryOptions) -> Result<Scan> {
        let request = ScanRequest {
            name: "stored_rows",
            options,
            form: RowForm::MERGED,
            schema_at: None,
            path_columns: PathColumns::default(),
            is_latest: false,
        };
        let latest = self.timeline.latest_visible();
        self.scan(request, |_| {
            let mut slices = slices.to_vec();
            self.attach_sources(&mut slices)?;
            let slices = slices.into_iter().map(Arc::new).collect();
            Ok(SelectedSlices { slices, instants: self.timeline.instant_filter(latest), ..SelectedSlices::default() })
        })
    }
}
