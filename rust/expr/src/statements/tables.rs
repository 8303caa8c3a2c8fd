//! CREATE TABLE and ALTER TABLE.

use mortice_base::Result;

use super::clauses::{column, columns, option_name, options, place_or_comment, type_text, valued_partition};
use super::cursor::Cursor;
use super::parsed::{AlterTable, Column, CreateTable};

/// Words that begin the query of CREATE TABLE without AS.
const QUERY: &[&str] = &["SELECT", "WITH", "VALUES", "FROM", "TABLE", "("];

/// What CREATE TABLE says before the columns.
#[derive(Default)]
pub(super) struct CreateHead {
    pub(super) replaces: bool,
    pub(super) is_external: bool,
    pub(super) if_not_exists: bool,
}

/// Consumes `CREATE [OR REPLACE] [EXTERNAL] TABLE [IF NOT EXISTS]`; `None` if it is another statement.
pub(super) fn create_head(cursor: &mut Cursor<'_>) -> Option<CreateHead> {
    let mut head = CreateHead::default();
    cursor.take(&["CREATE"]).then_some(())?;
    head.replaces = cursor.take(&["OR", "REPLACE"]);
    head.is_external = cursor.take(&["EXTERNAL"]);
    cursor.take(&["TABLE"]).then_some(())?;
    head.if_not_exists = cursor.take(&["IF", "NOT", "EXISTS"]);
    Some(head)
}

/// Returns the source behind USING in upper case, without consuming anything; empty if none is given.
pub(super) fn provider(cursor: &Cursor<'_>) -> String {
    let mut place = *cursor;
    if place.word() == "(" {
        place.at = place.tokens.closing(place.at).saturating_add(1);
    }
    let found = if place.word() == "USING" { place.ahead(1) } else { None };
    found.map(|token| token.text.to_uppercase()).unwrap_or_default()
}

/// Consumes a CREATE TABLE.
pub(super) fn create_table(cursor: &mut Cursor<'_>) -> Result<CreateTable> {
    let head = create_head(cursor).unwrap_or_default();
    let name = cursor.name()?;
    let is_like = cursor.is_at(&["LIKE"]);
    let (is_external, if_not_exists) = (head.is_external, head.if_not_exists);
    let mut table = CreateTable { parts: name.parts, is_external, if_not_exists, ..CreateTable::default() };
    if is_like {
        cursor.at += 1;
        cursor.name()?;
    }
    table.provider = provider(cursor);
    if head.replaces {
        let message = "OR REPLACE is not supported, as it would delete the table with its history; drop it first";
        return Err(cursor.error(message));
    }
    if !is_like && cursor.take(&["("]) {
        table.columns = columns(cursor)?;
        cursor.require(&[")"])?;
    }
    if !is_like || !table.provider.is_empty() {
        cursor.require(&["USING"])?;
        cursor.name()?;
    }
    while cursor.token().is_some() {
        let is_known = clause(cursor, &mut table)? || (!is_like && clause_of_definition(cursor, &mut table)?);
        if !is_known {
            let expected = if is_like { "USING, TBLPROPERTIES, OPTIONS, LOCATION or COMMENT" } else { DEFINITION };
            return Err(cursor.error(&format!("{expected} is expected here")));
        }
    }
    Ok(table)
}

const DEFINITION: &str = "PARTITIONED BY, TBLPROPERTIES, OPTIONS, LOCATION, COMMENT or AS";

/// Consumes a clause that all new tables can have. Returns false if none is next.
fn clause(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<bool> {
    if cursor.take(&["OPTIONS"]) {
        table.options = options(cursor)?;
    } else if cursor.take(&["TBLPROPERTIES"]) {
        table.properties = options(cursor)?;
    } else if cursor.take(&["LOCATION"]) {
        table.location = Some(cursor.string()?);
    } else if cursor.take(&["COMMENT"]) {
        table.comment = Some(cursor.string()?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Consumes partitions or a query. Returns false if none of them is next.
fn clause_of_definition(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<bool> {
    if cursor.take(&["PARTITIONED", "BY"]) {
        partitions(cursor, table)?;
        return Ok(true);
    }
    if !cursor.take(&["AS"]) && !QUERY.contains(&cursor.word()) {
        return Ok(false);
    }
    let at = cursor.place();
    table.query = Some(cursor.until(&[])?);
    if !table.columns.is_empty() {
        return Err(cursor.error_at(at, "columns and AS SELECT exclude each other"));
    }
    Ok(true)
}

fn partitions(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<()> {
    cursor.require(&["("])?;
    loop {
        let following = cursor.ahead(1).map_or("", |token| &token.word);
        if following == "(" {
            return Err(cursor.error("tables are partitioned by columns; partition transforms are not supported"));
        }
        let path = if matches!(following, "," | ")") {
            cursor.name()?.parts
        } else {
            let column = column(cursor)?;
            let path = column.path.clone();
            table.columns.push(column);
            path
        };
        table.partitions.extend(path.into_iter().next_back());
        if !cursor.take(&[","]) {
            return cursor.require(&[")"]);
        }
    }
}

/// Consumes the clauses of ALTER TABLE behind the name.
pub(super) fn alter_table(cursor: &mut Cursor<'_>) -> Result<AlterTable> {
    let mut table = AlterTable { kind: "change", ..AlterTable::default() };
    if cursor.take(&["ADD"]) {
        table.kind = "add";
        table.columns = added(cursor)?;
    } else if cursor.take(&["REPLACE"]) {
        table.kind = "replace";
        table.columns = added(cursor)?;
    } else if cursor.take(&["DROP"]) {
        dropped(cursor, &mut table)?;
    } else if cursor.is_at(&["RENAME", "TO"]) {
        table.kind = "rename_table";
        cursor.at += 1;
        table.to_at = cursor.place();
        cursor.at += 1;
        table.to = Some(cursor.name()?.parts);
    } else if cursor.take(&["RENAME"]) {
        cursor.require(&["COLUMN"])?;
        let mut column = changed(cursor)?;
        cursor.require(&["TO"])?;
        column.new_name = cursor.name()?.parts.into_iter().next_back();
        table.columns.push(column);
    } else if cursor.is_at(&["SET", "TBLPROPERTIES"]) || cursor.is_at(&["UNSET", "TBLPROPERTIES"]) {
        properties(cursor, &mut table)?;
    } else if cursor.take_one(&["ALTER", "CHANGE"]) {
        cursor.take(&["COLUMN"]);
        table.columns.push(altered(cursor)?);
        while cursor.take(&[","]) {
            table.columns.push(altered(cursor)?);
        }
    } else {
        return Err(cursor.error(refusal(cursor)));
    }
    cursor.require_end()?;
    Ok(table)
}

fn refusal(cursor: &Cursor<'_>) -> &'static str {
    match cursor.word() {
        "SET" | "UNSET" => {
            "the location and the format of a table cannot be changed by ALTER TABLE; SET and UNSET TBLPROPERTIES \
             change options of writes"
        }
        _ => "ADD, REPLACE, DROP, RENAME, ALTER, CHANGE, SET or UNSET is expected here",
    }
}

/// Consumes `SET TBLPROPERTIES ('a' = '1')` and `UNSET TBLPROPERTIES [IF EXISTS] ('a')`.
fn properties(cursor: &mut Cursor<'_>, table: &mut AlterTable) -> Result<()> {
    table.kind = "properties";
    let is_set = cursor.take(&["SET"]);
    cursor.take(&["UNSET"]);
    cursor.require(&["TBLPROPERTIES"])?;
    table.if_exists = !is_set && cursor.take(&["IF", "EXISTS"]);
    table.properties_at = cursor.place();
    if is_set {
        table.properties = options(cursor)?.into_iter().map(|(name, value)| (name, Some(value))).collect();
        return Ok(());
    }
    cursor.require(&["("])?;
    loop {
        table.properties.push((option_name(cursor)?, None));
        if !cursor.take(&[","]) {
            return cursor.require(&[")"]);
        }
    }
}

/// Consumes `COLUMNS (tip double COMMENT 'x' AFTER fare, …)` behind ADD and REPLACE.
fn added(cursor: &mut Cursor<'_>) -> Result<Vec<Column>> {
    if matches!(cursor.word(), "PARTITION" | "IF") {
        return Err(cursor.error("partitions are not added by hand; a write adds those of its rows"));
    }
    column_word(cursor)?;
    let is_in_brackets = cursor.take(&["("]);
    let added = columns(cursor)?;
    if is_in_brackets {
        cursor.require(&[")"])?;
    }
    if let Some(column) = added.iter().find(|column| !column.is_nullable) {
        let message = "a new column is null in the rows that there are, and cannot be NOT NULL";
        return Err(cursor.error_at(column.kind_at, message));
    }
    Ok(added)
}

/// Consumes `COLUMNS (a, b.c)` and `PARTITION (dt = '…')` behind DROP.
fn dropped(cursor: &mut Cursor<'_>, table: &mut AlterTable) -> Result<()> {
    cursor.take(&["IF", "EXISTS"]);
    if cursor.is_at(&["PARTITION"]) {
        table.kind = "drop_partitions";
        table.partitions.push(valued_partition(cursor)?);
        while cursor.take(&[","]) {
            table.partitions.push(valued_partition(cursor)?);
        }
        cursor.take(&["PURGE"]);
        return Ok(());
    }
    table.kind = "drop";
    column_word(cursor)?;
    table.if_exists = cursor.take(&["IF", "EXISTS"]);
    let is_in_brackets = cursor.take(&["("]);
    table.dropped.push(cursor.name()?);
    while cursor.take(&[","]) {
        table.dropped.push(cursor.name()?);
    }
    if is_in_brackets { cursor.require(&[")"]) } else { Ok(()) }
}

fn column_word(cursor: &mut Cursor<'_>) -> Result<()> {
    let is_here = cursor.take_one(&["COLUMN", "COLUMNS"]);
    if is_here { Ok(()) } else { Err(cursor.error("COLUMN or COLUMNS is expected here")) }
}

/// Consumes the name of a column that is there.
fn changed(cursor: &mut Cursor<'_>) -> Result<Column> {
    let name = cursor.name()?;
    Ok(Column { path: name.parts, at: name.at, is_nullable: true, ..Column::default() })
}

/// Consumes `a TYPE bigint`, `a COMMENT 'x'`, `a b bigint COMMENT 'x' AFTER c` and their like.
fn altered(cursor: &mut Cursor<'_>) -> Result<Column> {
    let mut found = changed(cursor)?;
    if cursor.take(&["TYPE"]) {
        found.kind_at = cursor.place();
        found.kind = Some(type_text(cursor)?);
    } else if cursor.take(&["DROP", "NOT", "NULL"]) {
        found.drops_not_null = true;
    } else if matches!(cursor.word(), "SET" | "DROP") {
        let message = "TYPE, COMMENT, FIRST, AFTER or DROP NOT NULL is expected here; others cannot be done";
        return Err(cursor.error(message));
    } else if !place_or_comment(cursor, &mut found)? {
        let new = column(cursor)?;
        let new_name = new.path.last().cloned();
        return Ok(Column { path: found.path, at: found.at, new_name, ..new });
    }
    Ok(found)
}
