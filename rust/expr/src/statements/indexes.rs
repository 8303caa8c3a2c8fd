//! CREATE INDEX, DROP INDEX, REFRESH INDEX and SHOW INDEXES, as in Hudi's SQL (`HoodieSqlCommon.g4`).

use mortice_base::Result;

use super::clauses;
use super::cursor::Cursor;
use super::parsed::{IndexChange, IndexStatement};

/// What the partitions of secondary indexes are called before the name that a user gives them.
const SECONDARY: &str = "secondary_index_";
/// Indexes of which a table has one, by the name of their type.
const SINGLE: [&str; 4] = ["column_stats", "partition_stats", "record_index", "bloom_filters"];

/// Consumes a statement up to the name of its table; `None` if it is another statement.
///
/// ```text
/// CREATE INDEX [IF NOT EXISTS] name ON [TABLE] table [USING type] [(column, …)] [OPTIONS (…)]
/// DROP INDEX [IF EXISTS] name ON [TABLE] table
/// REFRESH INDEX name ON [TABLE] table
/// SHOW INDEXES FROM|IN [TABLE] table
/// ```
pub(super) fn index_head(cursor: &mut Cursor<'_>) -> Result<Option<IndexStatement>> {
    if cursor.take(&["SHOW", "INDEXES", "FROM"]) || cursor.take(&["SHOW", "INDEXES", "IN"]) {
        cursor.take(&["TABLE"]);
        return Ok(Some(IndexStatement {
            change: IndexChange::Show,
            name: String::new(),
            is_lenient: false,
            kind: None,
        }));
    }
    let change = match cursor.word() {
        "CREATE" => IndexChange::Create,
        "DROP" => IndexChange::Drop,
        "REFRESH" => IndexChange::Refresh,
        _ => return Ok(None),
    };
    cursor.at = cursor.at.saturating_add(1);
    if !cursor.take(&["INDEX"]) {
        return Ok(None);
    }
    let is_lenient = match change {
        IndexChange::Create => cursor.take(&["IF", "NOT", "EXISTS"]),
        IndexChange::Drop => cursor.take(&["IF", "EXISTS"]),
        _ => false,
    };
    let name = cursor.part()?;
    cursor.require(&["ON"])?;
    cursor.take(&["TABLE"]);
    let name = partition_of(&name);
    Ok(Some(IndexStatement { change, name, is_lenient, kind: None }))
}

/// The partition of the metadata table that has an index.
fn partition_of(name: &str) -> String {
    let is_partition = SINGLE.contains(&name) || name.starts_with(SECONDARY);
    if is_partition { name.to_owned() } else { format!("{SECONDARY}{name}") }
}

/// Consumes what follows the name of the table.
pub(super) fn index_clauses(cursor: &mut Cursor<'_>, mut statement: IndexStatement) -> Result<IndexStatement> {
    if statement.change != IndexChange::Create {
        cursor.require_end()?;
        return Ok(statement);
    }
    let mut kind = "secondary_index".to_owned();
    if cursor.take(&["USING"]) {
        let at = cursor.place();
        kind = cursor.part()?.to_lowercase();
        if kind != "secondary_index" && !SINGLE.contains(&kind.as_str()) {
            let known = SINGLE.join(", ");
            return Err(cursor.error_at(at, &format!("an unknown type of index; supported: secondary_index, {known}")));
        }
    }
    let at = cursor.place();
    let mut columns = Vec::new();
    if cursor.take(&["("]) {
        loop {
            columns.push(cursor.name()?.parts.join("."));
            if !cursor.take(&[","]) {
                break;
            }
        }
        cursor.require(&[")"])?;
    }
    if cursor.is_at(&["OPTIONS"]) {
        let at = cursor.place();
        cursor.require(&["OPTIONS"])?;
        if clauses::options(cursor)?.iter().any(|(name, _)| name == "expr") {
            return Err(cursor.error_at(at, "expression indexes are not supported; create the index with Hudi"));
        }
    }
    cursor.require_end()?;
    if kind == "secondary_index" {
        let [column] = &columns[..] else {
            return Err(cursor.error_at(at, "a secondary index has one column"));
        };
        statement.name = format!("{}({column})", statement.name);
    } else {
        statement.name.clone_from(&kind);
    }
    statement.kind = Some(kind);
    Ok(statement)
}
