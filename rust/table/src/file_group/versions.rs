//! All versions of file groups: what a clean chooses from (`HoodieFileGroup.getAllFileSlices`).

use super::partition_files::PartitionFiles;
use super::view::{FileSystemView, instant_of_group};
use super::{by_completion, by_name};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_merge::config::TimelineLayout;

/// A file group with its slices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupVersions {
    /// The id of the file group.
    pub file_id: String,
    /// Its slices that readers can see, the newest first.
    pub versions: Vec<SliceFiles>,
}

/// The files of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceFiles {
    /// The base instant of the slice.
    pub base_instant: RequestedTime,
    /// The names of its files, base files first, with change logs.
    pub names: Vec<String>,
}

impl FileSystemView<'_> {
    /// The versions of all file groups of a partition, by file id. Files of instants that are not completed are in
    /// none, except, up to table version 7, logs of completed slices. A group of which nothing is completed has no
    /// versions.
    ///
    /// # Errors
    /// As for [`FileSystemView::slices`].
    pub fn versions(&self, files: &PartitionFiles) -> Result<Vec<GroupVersions>> {
        let mut groups = Vec::new();
        for (file_id, (bases, logs)) in self.groups(files, |_| true) {
            let pending = instant_of_group(&self.pending_compactions, &files.partition, &file_id);
            let slices = match self.layout {
                TimelineLayout::V1 => by_name::build(bases, logs, pending),
                TimelineLayout::V2 => by_completion::build(bases, logs, pending, self.timeline)
                    .map_err(|error| error.in_file(&files.partition))?,
            };
            let visible = slices.into_iter().rev().filter(|(instant, _)| self.timeline.is_visible(instant));
            let versions = visible.map(|(base_instant, draft)| {
                let bases = draft.bases.into_iter().map(|base| base.name);
                let bases = bases.filter(|base| self.timeline.is_completed(&base.instant)).map(|base| base.name);
                SliceFiles {
                    base_instant,
                    names: bases.chain(draft.logs.into_iter().map(|log| log.name.name)).collect(),
                }
            });
            groups.push(GroupVersions { file_id, versions: versions.collect() });
        }
        Ok(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_group::view::tests::{Table, listed};

    fn described(table: &Table, names: &[&str]) -> Vec<String> {
        let view = FileSystemView::new(&table.timeline, &table.config, None).unwrap();
        let groups = view.versions(&listed(names)).unwrap();
        let version = |version: SliceFiles| format!("{}: {}", version.base_instant, version.names.join(" "));
        groups.into_iter().flat_map(|group| group.versions).map(version).collect()
    }

    #[test]
    fn versions_are_completed_slices_with_all_logs() {
        let table = Table::new("9", &["10_11.commit", "20_21.deltacommit", "30_31.commit", "40.deltacommit.inflight"]);
        let names = [
            "f_0-1-2_10.parquet",
            ".f_20.log.1_0-1-2",
            ".f_10.log.1_0-1-2.cdc",
            "f_0-1-2_30.parquet",
            ".f_40.log.1_0-1-2",
            "f_0-1-2_40.parquet",
        ];
        let expected = ["30: f_0-1-2_30.parquet", "10: f_0-1-2_10.parquet .f_10.log.1_0-1-2.cdc .f_20.log.1_0-1-2"];
        assert_eq!(described(&table, &names), expected);
    }

    #[test]
    fn names_decide_up_to_version_7() {
        let table = Table::new("6", &["10.commit", "20.deltacommit", "30.commit", "40.deltacommit.inflight"]);
        let names =
            ["f_0-1-2_10.parquet", ".f_10.log.1_0-1-2", "f_0-1-2_30.parquet", ".f_30.log.1_0-1-2", ".g_40.log.1_0-1-2"];
        let expected = ["30: f_0-1-2_30.parquet .f_30.log.1_0-1-2", "10: f_0-1-2_10.parquet .f_10.log.1_0-1-2"];
        assert_eq!(described(&table, &names), expected);
    }
}
