//! Columns with ids (schema on read), as each write of a table stores them beside its Avro schema
//! (`BaseHoodieWriteClient.saveInternalSchema`). A write without them would make columns known by name again, so that
//! values from before a column was renamed were lost. Their history is a file for each write, since commits are
//! archived.

use bytes::Bytes;

use super::{CommitExtra, Transaction};
use mortice_avro::{Field, Schema};
use mortice_base::error::Result;
use mortice_base::names::{CompletionTime, meta_columns};
use mortice_merge::config::TimelineLayout;
use mortice_table::plan::OpenTable;
use mortice_table::schema::{HISTORY_FOLDER, history_text, table_schema};

/// The columns of a table with their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnIds {
    /// The JSON of the columns (`latest_schema`).
    pub latest: String,
    /// The JSON of all versions of them, newest first.
    pub history: String,
}

impl ColumnIds {
    /// Those that a table has now; none if its columns have none.
    pub(super) fn of_table(table: &OpenTable) -> Result<Option<Self>> {
        let Some(latest) = table_schema::column_ids(&table.timeline, &table.config)? else { return Ok(None) };
        let stored = history_text(table.storage.as_ref(), &table.timeline)?;
        let stored = stored.and_then(|text| String::from_utf8(text.to_vec()).ok());
        let history = stored.unwrap_or_else(|| format!("{{\"schemas\":[{latest}]}}"));
        Ok(Some(Self { latest, history }))
    }
}

/// What a write has besides its files, with the schema as the table stores it, if it is the same: with descriptions of
/// columns, which rows do not have.
pub(super) fn with_stored_schema(table: &OpenTable, extra: &CommitExtra) -> Result<CommitExtra> {
    let Some(stored) = table_schema::stored_text(&table.timeline, &table.config)? else { return Ok(extra.clone()) };
    let is_described = stored.contains("\"doc\"") && extra.column_ids.is_none();
    if is_described && own_columns(&stored)? == own_columns(&extra.schema)? {
        return Ok(CommitExtra { schema: stored, ..extra.clone() });
    }
    Ok(extra.clone())
}

fn own_columns(schema: &str) -> Result<Vec<Field>> {
    Ok(Schema::parse(schema)?.without_fields(&meta_columns::ALL)?.fields().to_vec())
}

impl Transaction {
    /// Writes the history of columns, which counts once the write is completed.
    pub(super) fn write_history(&self, ids: &ColumnIds, completion: &CompletionTime) -> Result<()> {
        let time = &self.instant;
        let completed = match self.files.layout() {
            TimelineLayout::V2 => format!("{time}_{completion}"),
            TimelineLayout::V1 => time.to_string(),
        };
        let content = Bytes::from(ids.history.clone());
        let files = [
            (format!("{time}.schemacommit.requested"), Bytes::new()),
            (format!("{time}.schemacommit.inflight"), Bytes::new()),
            (format!("{completed}.schemacommit"), content),
        ];
        for (name, content) in files {
            let path = format!("{HISTORY_FOLDER}/{name}");
            self.store().put_if_absent(&path, &content)?;
        }
        Ok(())
    }
}
