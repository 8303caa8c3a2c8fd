//! What an instant is to those who look after a table: a write, or one of its services.

use super::commit_metadata::MetadataPart;
use super::instant::{Action, Instant};
use super::timeline::Timeline;
use super::write_operation::WriteOperation;
use mortice_base::error::Result;
use mortice_merge::config::TableType;

const WRITE: &str = "write";
const COMPACTION: &str = "compaction";

impl Timeline {
    /// Returns what a completed instant is: `write`, `compaction`, `clustering`, or Hudi's name of another action.
    ///
    /// A completed compaction is a `commit`, a clustering a `replacecommit`: their metadata says which they are.
    ///
    /// # Errors
    /// Those of reading the metadata.
    pub fn kind_of(&self, instant: &Instant, table_type: TableType) -> Result<&'static str> {
        match instant.action {
            Action::DeltaCommit => return Ok(WRITE),
            Action::Commit if table_type != TableType::MergeOnRead => return Ok(WRITE),
            Action::Commit | Action::ReplaceCommit => {}
            other => return Ok(other.name()),
        }
        let metadata = self.commit_metadata(instant, MetadataPart::Header)?;
        Ok(match metadata.and_then(|metadata| metadata.write_operation()) {
            Some(WriteOperation::Compact) => COMPACTION,
            Some(WriteOperation::Cluster) => Action::Clustering.name(),
            _ => WRITE,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::memory_storage::MemoryStorage;
    use super::*;
    use mortice_merge::config::TableConfig;
    use mortice_storage::Storage;

    #[test]
    fn metadata_say_which_commits_are_services() {
        let properties = "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.type=MERGE_ON_READ\n";
        let files = [
            (".hoodie/1.deltacommit", ""),
            (".hoodie/2.commit", r#"{"operationType":"COMPACT"}"#),
            (".hoodie/3.commit", r#"{"operationType":"BULK_INSERT"}"#),
            (".hoodie/4.replacecommit", r#"{"operationType":"CLUSTER"}"#),
            (".hoodie/5.replacecommit", r#"{"operationType":"INSERT_OVERWRITE"}"#),
            (".hoodie/6.clean", ""),
            (".hoodie/hoodie.properties", properties),
        ];
        let storage: Arc<dyn Storage> = MemoryStorage::holding(files.map(|(path, text)| (path, text.as_bytes())));
        let timeline = Timeline::load(&storage, &TableConfig::load(&*storage).unwrap()).unwrap();
        let kinds = |table_type| {
            let kinds = timeline.instants().iter().map(|instant| timeline.kind_of(instant, table_type).unwrap());
            kinds.collect::<Vec<_>>()
        };
        let expected = ["write", "compaction", "write", "clustering", "write", "clean"];
        assert_eq!(kinds(TableType::MergeOnRead), expected);
        assert_eq!(kinds(TableType::CopyOnWrite)[1], "write");
    }
}
