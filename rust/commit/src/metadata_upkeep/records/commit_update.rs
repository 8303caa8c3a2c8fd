//! What a commit changed, as far as the metadata table has to know.

use std::collections::{BTreeMap, BTreeSet};

use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_table::timeline::WriteOperation;
use mortice_write::write::{WriteStatus, WrittenFile};

/// What a commit wrote and replaced.
#[derive(Debug, Clone, Copy)]
pub struct CommitUpdate<'a> {
    /// What it does.
    pub operation: WriteOperation,
    /// The files that it wrote.
    pub statuses: &'a [WriteStatus],
    /// The file groups that it replaces, by partition.
    pub replaced: &'a BTreeMap<String, Vec<String>>,
    /// The schema of the rows, with or without meta columns.
    pub schema: &'a avro::Schema,
}

/// A file that a commit wrote.
#[derive(Debug, Clone, Copy)]
pub(in crate::metadata_upkeep) struct CommitFile<'a> {
    pub(in crate::metadata_upkeep) partition: &'a str,
    pub(in crate::metadata_upkeep) name: &'a str,
    pub(in crate::metadata_upkeep) status: &'a WriteStatus,
    pub(in crate::metadata_upkeep) file: &'a WrittenFile,
}

impl<'a> CommitUpdate<'a> {
    /// The files.
    pub(in crate::metadata_upkeep) fn files(&self) -> Result<Vec<CommitFile<'a>>> {
        let with_file = self.statuses.iter().filter_map(|status| Some((status, status.file.as_ref()?)));
        let files = with_file.map(|(status, file)| {
            if file.bytes == 0 {
                return Err(Error::internal("a file without bytes is committed").in_file(&file.path));
            }
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            Ok(CommitFile { partition: &status.partition, name, status, file })
        });
        files.collect()
    }

    /// The partitions all of whose new files begin file groups.
    pub(in crate::metadata_upkeep) fn partitions_of_new_groups(&self) -> BTreeSet<&'a str> {
        let mut partitions = self.written_partitions();
        for status in self.statuses.iter().filter(|status| status.previous_commit.is_some()) {
            partitions.remove(status.partition.as_str());
        }
        partitions
    }

    /// The partitions that have new files.
    pub(in crate::metadata_upkeep) fn written_partitions(&self) -> BTreeSet<&'a str> {
        self.statuses.iter().filter(|status| status.file.is_some()).map(|status| status.partition.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_new_if_all_its_files_begin_file_groups() {
        let schema = avro::Schema::parse(r#"{"type":"record","name":"r","fields":[]}"#).unwrap();
        let status = |partition: &str, previous: Option<&str>, has_file: bool| WriteStatus {
            previous_commit: previous.map(str::to_owned),
            file: has_file.then(|| WrittenFile::new(format!("{partition}/a.parquet"), 1)),
            ..WriteStatus::new(partition, "f-0")
        };
        let statuses = [
            status("new", None, true),
            status("old", Some("1"), true),
            status("both", None, true),
            status("both", Some("1"), true),
            status("refused", None, false),
        ];
        let replaced = BTreeMap::new();
        let operation = WriteOperation::Upsert;
        let update = CommitUpdate { operation, statuses: &statuses, replaced: &replaced, schema: &schema };
        assert_eq!(update.written_partitions(), BTreeSet::from(["both", "new", "old"]));
        assert_eq!(update.partitions_of_new_groups(), BTreeSet::from(["new"]));
        let names: Vec<&str> = update.files().unwrap().iter().map(|file| file.name).collect();
        assert_eq!(names, ["a.parquet"; 4]);
    }
}
