//! The HTTP callback of a commit (`HoodieWriteCommitHttpCallback`).

use bytes::Bytes;
use serde_json::{Value, json};

use super::options::CallbackOptions;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_storage::HttpPost;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, TimelineMetadata as _};

const API_KEY: &str = "HUDI-CALLBACK-KEY";

/// A commit, as a callback describes it.
pub(super) struct CalledCommit<'a> {
    pub(super) instant: &'a str,
    pub(super) table: &'a str,
    pub(super) base_path: &'a str,
    pub(super) action: &'a str,
    pub(super) metadata: &'a HoodieCommitMetadata,
}

impl CalledCommit<'_> {
    /// The message (`HoodieWriteCommitCallbackMessage`).
    fn message(&self) -> Result<Value> {
        let not_json = Error::internal_by("the metadata of a commit is JSON");
        let metadata: Value = serde_json::from_slice(&self.metadata.to_json()).map_err(not_json)?;
        let of_partitions = metadata.get("partitionToWriteStats").and_then(Value::as_object);
        let stats: Vec<&Value> =
            of_partitions.into_iter().flat_map(|all| all.values().filter_map(Value::as_array).flatten()).collect();
        Ok(json!({
            "commitTime": self.instant,
            "tableName": self.table,
            "basePath": self.base_path,
            "hoodieWriteStat": stats,
            "commitActionType": self.action,
            "extraMetadata": metadata.get("extraMetadata"),
        }))
    }

    /// Sends the message.
    ///
    /// # Errors
    /// As for [`HttpPost::send`]; `Io` for an answer that is an error.
    pub(super) fn send(&self, to: &CallbackOptions) -> Result<()> {
        let mut headers = vec![
            (API_KEY.to_owned(), to.api_key.clone()),
            ("Content-Type".to_owned(), "application/json; charset=UTF-8".to_owned()),
        ];
        headers.extend(to.headers.iter().cloned());
        let body = Bytes::from(self.message()?.to_string());
        match (HttpPost { url: to.url.clone(), headers, body, timeout: to.timeout }).send()? {
            ..300 => Ok(()),
            status => {
                Err(Error::new(ErrorKind::Io, format!("the callback was answered HTTP {status}")).in_file(&to.url))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_table::timeline::metadata::{HoodieWriteStat, OrderedMap};

    #[test]
    fn a_message_has_the_files_of_all_partitions() {
        let stat = |id: &str| HoodieWriteStat { file_id: Some(id.into()), ..HoodieWriteStat::default() };
        let stats = [("a", vec![stat("f1"), stat("f2")]), ("b", vec![stat("f3")])];
        let metadata = HoodieCommitMetadata {
            partition_to_write_stats: Some(OrderedMap::from_iter(stats)),
            extra_metadata: Some(OrderedMap::from_iter([("k", "v".to_owned())])),
            ..HoodieCommitMetadata::default()
        };
        let commit =
            CalledCommit { instant: "20240101", table: "t", base_path: "/t", action: "commit", metadata: &metadata };
        let message = commit.message().unwrap();
        let ids: Vec<&str> = message["hoodieWriteStat"]
            .as_array()
            .unwrap()
            .iter()
            .map(|stat| stat["fileId"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["f1", "f2", "f3"]);
        assert_eq!((&message["commitTime"], &message["extraMetadata"]["k"]), (&json!("20240101"), &json!("v")));
    }
}
