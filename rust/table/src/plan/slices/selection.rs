//! The file slices of a query: those of a view over listed partitions, pruned by partition paths and record keys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::{DataType, Schema};

use super::file_slices::SelectedSlices;
use super::lister::Lister;
use super::lost_files::LostFiles;
use super::partition_filter::PartitionFilter;
use crate::bootstrap;
use crate::file_group::{FileSlice, FileSystemView, PartitionFiles};
use crate::metadata_table::MetadataTable;
use crate::plan::open_table::OpenTable;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::filter::Filter;

/// The slices of a listed partition.
struct ListedSlices {
    slices: Vec<Arc<FileSlice>>,
    /// The files of cleans that are there.
    there: Vec<String>,
}

impl OpenTable {
    /// Returns the slices that a view selects in each selected partition, and the valid instants.
    pub(in crate::plan) fn slices<'t>(
        &'t self,
        as_of: Option<&RequestedTime>,
        choose: fn(&FileSystemView<'t>, &PartitionFiles) -> Result<Vec<FileSlice>>,
        wanted: Option<&PartitionFilter>,
    ) -> Result<SelectedSlices> {
        let view =
            FileSystemView::new(&self.timeline, &self.config, as_of).map_err(|error| error.in_file(&self.uri))?;
        let Some(latest) = view.query_instant() else { return Ok(SelectedSlices::default()) };
        let mut found =
            SelectedSlices { instants: self.timeline.instant_filter(Some(latest)), ..SelectedSlices::default() };
        if let Some(kept) = view.kept() {
            self.kept_slices(&mut found, &view, choose, kept, wanted)?;
            return Ok(found);
        }
        let choose = |files: &PartitionFiles| choose(&view, files);
        self.listed_slices(&mut found, self.lost_files(as_of)?, &choose, wanted)?;
        Ok(found)
    }

    /// Adds the slices of the listed partitions. Slices are chosen while partitions are listed: the files of all of
    /// them take more memory than their slices.
    fn listed_slices(
        &self,
        found: &mut SelectedSlices,
        mut lost: LostFiles<'_>,
        choose: &(dyn Fn(&PartitionFiles) -> Result<Vec<FileSlice>> + Sync),
        wanted: Option<&PartitionFilter>,
    ) -> Result<()> {
        let of_partition = |lost: &LostFiles<'_>, mut files: PartitionFiles| {
            let there = lost.put_back(&mut files);
            let listed = choose(&files).map(|chosen| ListedSlices { slices: shared(chosen), there });
            (files.partition, listed)
        };
        let (listed, listing) = self.lister().list(wanted, &mut |files| of_partition(&lost, files))?;
        (found.listing, found.partitions.pruned) = (listing, listed.left_out);
        let mut partitions: BTreeMap<String, Result<ListedSlices>> = listed.files.into_iter().collect();
        // Of the files of a clean that has begun in the meantime, the listing may have some.
        loop {
            let changed = selected(self.lost_since(&mut lost)?, wanted)?;
            if changed.is_empty() {
                break;
            }
            let (listed, _) = self.listed_partitions(Some(&changed))?;
            partitions.extend(listed.into_iter().map(|files| of_partition(&lost, files)));
        }
        let is_missing = |partition: &String| !partitions.contains_key(partition);
        let missing = selected(lost.partitions().filter(|partition| is_missing(partition)).cloned().collect(), wanted)?;
        partitions.extend(missing.iter().map(|partition| of_partition(&lost, PartitionFiles::new(partition, []))));
        found.partitions.read = partitions.len();
        for (partition, listed) in partitions {
            let ListedSlices { slices, there } = listed?;
            lost.forget(&partition, &there);
            found.slices.extend(slices);
        }
        self.check_there(&mut found.slices, &lost)?;
        self.attach_sources(found.slices.iter_mut().map(Arc::make_mut))
    }

    /// Returns the slices of the files that a savepoint keeps. No files are listed.
    fn kept_slices<'t>(
        &'t self,
        found: &mut SelectedSlices,
        view: &FileSystemView<'t>,
        choose: fn(&FileSystemView<'t>, &PartitionFiles) -> Result<Vec<FileSlice>>,
        kept: &[PartitionFiles],
        wanted: Option<&PartitionFilter>,
    ) -> Result<()> {
        let paths: Vec<&str> = kept.iter().map(|files| files.partition.as_str()).collect();
        let matching = wanted.map_or_else(|| Ok(vec![true; paths.len()]), |wanted| wanted.may_match(&paths))?;
        for (files, _) in kept.iter().zip(&matching).filter(|(_, matches)| **matches) {
            found.slices.extend(choose(view, files)?.into_iter().map(Arc::new));
            found.partitions.read += 1;
        }
        found.partitions.pruned = kept.len() - found.partitions.read;
        self.measure(found.slices.iter_mut().map(Arc::make_mut))?;
        self.attach_sources(found.slices.iter_mut().map(Arc::make_mut))
    }

    /// Requests the sizes of all files from the storage: a savepoint has only their names.
    fn measure<'s>(&self, slices: impl IntoIterator<Item = &'s mut FileSlice>) -> Result<()> {
        for slice in slices {
            let bases = slice.base_file.iter_mut().map(|base| (&base.path, &mut base.len));
            let logs = slice.log_files.iter_mut().map(|log| (&log.path, &mut log.len));
            for (path, len) in bases.chain(logs) {
                *len = self.len_of(path, None)?;
            }
        }
        Ok(())
    }

    /// Adds the source files to slices with skeleton files of a bootstrap.
    pub(in crate::plan) fn attach_sources<'s>(
        &self,
        slices: impl IntoIterator<Item = &'s mut FileSlice>,
    ) -> Result<()> {
        bootstrap::attach(self.storage.as_ref(), &self.config, slices).map_err(|error| error.in_file(&self.uri))
    }

    pub(in crate::plan) fn lister(&self) -> Lister<'_> {
        let Self { uri, storage_options, storage, config, timeline, options, metadata, .. } = self;
        Lister { uri, storage_options, storage, config, timeline, options, metadata }
    }

    /// The table's metadata table; opened when it is first used.
    ///
    /// # Errors
    /// Those of opening a table; `InvalidTable` if it lags behind the table's newest write.
    pub fn metadata_table(&self) -> std::result::Result<&MetadataTable, Arc<Error>> {
        self.lister().metadata_table()
    }

    /// Returns the filter on partition paths; `None` if all partitions are read, whose files are then listed at once.
    pub(in crate::plan) fn partition_filter(&self, types: &Schema, filter: &Filter) -> Result<Option<PartitionFilter>> {
        let found = PartitionFilter::new(&self.config, types, filter)?;
        Ok(Some(found).filter(|found| self.options.prune && found.excludes_any()))
    }

    /// Returns the column that stored keys are equal to, if its type can be recovered from its string.
    pub(in crate::plan) fn key_field(&self, types: &Schema) -> Option<String> {
        let (_, field) = types.fields().find(self.config.key_field()?)?;
        let is_exact = matches!(field.data_type(), DataType::Utf8 | DataType::Int32 | DataType::Int64);
        is_exact.then(|| field.name().clone())
    }
}

/// Returns the slices as those that are shared.
fn shared(slices: Vec<FileSlice>) -> Vec<Arc<FileSlice>> {
    // `collect` would reuse the allocation, which is many times larger.
    let mut shared = Vec::with_capacity(slices.len());
    shared.extend(slices.into_iter().map(Arc::new));
    shared
}

/// Returns the partitions that the filter selects.
fn selected(partitions: BTreeSet<String>, wanted: Option<&PartitionFilter>) -> Result<BTreeSet<String>> {
    let Some(wanted) = wanted else { return Ok(partitions) };
    let matching = wanted.may_match(&partitions.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok(partitions.into_iter().zip(matching).filter(|(_, matches)| *matches).map(|(partition, _)| partition).collect())
}
