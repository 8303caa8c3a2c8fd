//! Batches of streams, each of which is one commit that is made once: a commit records the number of its batch, so that
//! a batch that comes again is left out.
//!
//! It is `{"identifier": "batch id"}` in the metadata of the commit, as JSON, as Hudi's streaming sink records it
//! (`HoodieStreamingSink`); and the id of the engine's query, which Hudi does not read. Only the writer's own
//! identifier is recorded: a copy of another one from an older commit would be out of date beside a concurrent writer.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use mortice_base::error::{Error, Result};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Instant;

/// `HoodieStreamingSink.SINK_CHECKPOINT_KEY`.
const CHECKPOINT_KEY: &str = "_hudi_streaming_sink_checkpoint";
/// The id of the query, which its checkpoint folder keeps over restarts; also a map by identifier.
const QUERY_KEY: &str = "_mortice_streaming_query";
const IDENTIFIER: &str = "hoodie.datasource.write.streaming.checkpoint.identifier";

/// A batch that is to be written.
#[derive(Debug, Clone)]
pub struct StreamBatch {
    /// The identifier of the stream.
    pub identifier: String,
    /// The engine's number of the batch.
    pub batch: u64,
    /// The engine's id of the query; none if it gives none.
    pub query: Option<String>,
    /// The operation of the write, as an option names it.
    pub operation: String,
}

/// The last batch of a stream that is in a table.
#[derive(Debug)]
struct Checkpoint {
    batch: u64,
    /// None if Hudi wrote the batch, or an engine that does not give the id.
    query: Option<String>,
    instant: String,
    /// Empty if the commit records none.
    operation: String,
}

impl StreamBatch {
    /// What the commit of the batch records, as options of the write.
    #[must_use]
    pub fn options(&self) -> BTreeMap<String, String> {
        let of = |value: &str| Json::from_iter([(self.identifier.clone(), Json::from(value))]).to_string();
        let mut recorded = BTreeMap::from([(CHECKPOINT_KEY.to_owned(), of(&self.batch.to_string()))]);
        recorded.extend(self.query.as_ref().map(|query| (QUERY_KEY.to_owned(), of(query))));
        recorded
    }

    /// Whether the batch is in the table. Archived commits are looked at if no active one has a batch of the stream,
    /// and they are wanted; Hudi does not.
    ///
    /// # Errors
    /// `InvalidTable` for a checkpoint that is not Hudi's map; `InvalidArgument` if another query, or another writer of
    /// the query, has used the identifier: its batches have the same numbers.
    pub fn is_written(&self, table: &OpenTable, reads_archive: bool) -> Result<bool> {
        let Some(last) = self.last(table, reads_archive)? else { return Ok(false) };
        let place = |error: Error| Err(error.in_file(&table.uri).at_instant(&last.instant));
        match (&last.query, &self.query) {
            (Some(known), Some(query)) if known != query => {
                return place(self.used_by_another(&format!("by the query {known}, and this is the query {query}")));
            }
            (Some(_), Some(_)) => {}
            _ if self.batch < last.batch => {
                let how = format!("for batch {}, and this is batch {}", last.batch, self.batch);
                return place(self.used_by_another(&how));
            }
            _ => {}
        }
        let lower = last.operation.to_ascii_lowercase();
        let operation = lower.strip_suffix("_prepped").unwrap_or(&lower);
        if self.batch == last.batch && !["", "unknown", self.operation.as_str()].contains(&operation) {
            let how = format!("its commit is one of {operation}, and this is {}", self.operation);
            return place(self.of_several_writers(&how));
        }
        Ok(self.batch <= last.batch)
    }

    /// The error of a batch that another writer has written.
    #[must_use]
    pub fn of_several_writers(&self, how: &str) -> Error {
        Error::invalid_argument(format!(
            "batch {} of the stream '{}' is in the table already, but {how}, so that these rows would be lost: each writer of a batch needs an {IDENTIFIER} of its own; if there is one writer, and its operation was changed, restart it once with the one before",
            self.batch, self.identifier
        ))
    }

    fn used_by_another(&self, how: &str) -> Error {
        Error::invalid_argument(format!(
            "the identifier '{}' of a stream was last used {how}: batches of both have the same numbers; start with the checkpoint folder of the first query, or give the new one another {IDENTIFIER}",
            self.identifier
        ))
    }

    /// As `CommitUtils.getValidCheckpointForCurrentWriter`.
    fn last(&self, table: &OpenTable, reads_archive: bool) -> Result<Option<Checkpoint>> {
        if let Some(found) = self.newest(table, table.timeline.completed_writes().rev())? {
            return Ok(Some(found));
        }
        if !reads_archive {
            return Ok(None);
        }
        self.newest(table, table.timeline.archived()?.iter().rev().filter(|one| one.is_completed_write()))
    }

    fn newest<'a>(
        &self,
        table: &OpenTable,
        newest_first: impl Iterator<Item = &'a Instant>,
    ) -> Result<Option<Checkpoint>> {
        for instant in newest_first {
            let Some(metadata) = table.timeline.metadata(instant)? else { continue };
            let instant = instant.requested_time.to_string();
            let invalid = |message: String| Error::invalid_table(message).in_file(&table.uri).at_instant(&instant);
            let extra = metadata.get("extraMetadata");
            let entry = |key: &str| match extra.and_then(|extra| extra.get(key)).and_then(Json::as_str) {
                None | Some("") => Ok(None),
                Some(text) => match serde_json::from_str(text) {
                    Ok(Json::Object(map)) => Ok(map.get(&self.identifier).filter(|one| !one.is_null()).map(text_of)),
                    _ => Err(invalid(format!("the checkpoint of a stream is not a JSON map: '{text}'"))),
                },
            };
            let Some(batch) = entry(CHECKPOINT_KEY)? else { continue };
            let not_a_batch = |_| invalid(format!("the checkpoint of a stream is not a batch id: '{batch}'"));
            let operation = metadata.get("operationType").and_then(Json::as_str).unwrap_or_default().to_owned();
            let (batch, query) = (batch.trim().parse().map_err(not_a_batch)?, entry(QUERY_KEY)?);
            return Ok(Some(Checkpoint { batch, query, instant, operation }));
        }
        Ok(None)
    }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WriteInput;
    use crate::merge_into::testing::{TestTable, batch, options};
    use crate::write::write;
    use mortice_base::ErrorKind;
    use mortice_commit::writable_table::TableLocation;
    use mortice_storage::StorageOptions;
    use mortice_table::timeline::WriteOperation;

    fn batch_of(number: u64, query: Option<&str>) -> StreamBatch {
        let query = query.map(str::to_owned);
        StreamBatch { identifier: "s".into(), batch: number, query, operation: "upsert".into() }
    }

    fn written(table: &TestTable, recorded: &BTreeMap<String, String>) {
        let rows = batch(&[("a", "oslo", 1.0, 1)]);
        let (schema, mut rows) = (rows.schema(), std::iter::once(Ok(rows)));
        let options = options(&[]).into_iter().chain(recorded.clone()).collect();
        let input = WriteInput { schema, batches: &mut rows, is_in_memory: true, options: &options, validator: None };
        write(&TableLocation::new(&table.uri(), &StorageOptions::new()), WriteOperation::Upsert, input).unwrap();
    }

    #[test]
    fn a_batch_is_written_once_by_one_query_and_one_operation() {
        let table = TestTable::new();
        assert!(!batch_of(0, Some("q")).is_written(&table.open(), true).unwrap());
        written(&table, &batch_of(3, Some("q")).options());
        // A later commit of another stream.
        written(&table, &StreamBatch { identifier: "other".into(), ..batch_of(9, Some("r")) }.options());
        let is_written = |batch: u64| batch_of(batch, Some("q")).is_written(&table.open(), false).unwrap();
        assert_eq!([2, 3, 4].map(is_written), [true, true, false]);
        let refused = |batch: StreamBatch| {
            let error = batch.is_written(&table.open(), false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            error.text()
        };
        assert!(refused(batch_of(4, Some("r"))).contains("last used by the query q, and this is the query r"));
        assert!(refused(batch_of(2, None)).contains("for batch 3, and this is batch 2"));
        let other = StreamBatch { operation: "insert".into(), ..batch_of(3, Some("q")) };
        assert!(refused(other).contains("its commit is one of upsert, and this is insert"));
        assert!(batch_of(3, None).is_written(&table.open(), false).unwrap());
    }

    #[test]
    fn other_checkpoints_are_refused() {
        for (text, message) in [("[1]", "is not a JSON map: '[1]'"), (r#"{"s": "x"}"#, "is not a batch id: 'x'")] {
            let table = TestTable::new();
            written(&table, &options(&[(CHECKPOINT_KEY, text)]));
            let error = batch_of(0, None).is_written(&table.open(), false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidTable);
            assert!(error.text().contains(message), "{error}");
        }
    }
}
