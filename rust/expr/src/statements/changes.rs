//! Statements that change rows: MERGE, UPDATE, DELETE, INSERT.

use mortice_base::Result;

use super::clauses::{assignments, listed_names, listed_values, optional_partition};
use super::cursor::Cursor;
use super::parsed::{Assignment, Insert, Merge, MergeClause, Name, RowChange, TextSpan};
use super::relations::{Found, relation};

/// Words before the name of the table that a statement writes to.
const BEFORE_TARGETS: &[&str] = &[
    "MERGE",
    "WITH",
    "SCHEMA",
    "EVOLUTION",
    "INTO",
    "UPDATE",
    "DELETE",
    "FROM",
    "INSERT",
    "OVERWRITE",
    "TRUNCATE",
    "TABLE",
];

/// Returns the token at which the name of the table begins that a statement writes to.
pub(super) fn written_to(cursor: &Cursor<'_>) -> usize {
    let mut place = *cursor;
    while BEFORE_TARGETS.contains(&place.word()) {
        place.at += 1;
    }
    place.at
}

/// Returns the tokens at which INSERT begins behind `FROM a, b`.
pub(super) fn inserts(cursor: &Cursor<'_>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut place = *cursor;
    while place.token().is_some() {
        if place.word() == "(" {
            place.at = place.tokens.closing(place.at);
        } else if place.is_at(&["INSERT", "INTO"]) || place.is_at(&["INSERT", "OVERWRITE"]) {
            found.push(place.at);
        }
        place.at += 1;
    }
    found
}

/// Consumes a MERGE.
pub(super) fn merge(cursor: &mut Cursor<'_>) -> Result<Merge> {
    cursor.require(&["MERGE"])?;
    if cursor.is_at(&["WITH", "SCHEMA", "EVOLUTION"]) {
        return Err(cursor.error("WITH SCHEMA EVOLUTION is not supported; add the columns to the table first"));
    }
    cursor.take(&["INTO"]);
    cursor.name()?;
    let alias = cursor.alias(&["USING"])?;
    cursor.require(&["USING"])?;
    let (source, source_parts) = source(cursor)?;
    let source_alias = cursor.alias(&["ON"])?;
    cursor.require(&["ON"])?;
    let on = cursor.until(&["WHEN"])?;
    let mut clauses = Vec::new();
    while cursor.take(&["WHEN"]) {
        clauses.push(clause(cursor)?);
    }
    cursor.require_end()?;
    if clauses.is_empty() {
        return Err(cursor.error("WHEN MATCHED or WHEN NOT MATCHED is expected here"));
    }
    Ok(Merge { alias, source, source_alias, source_parts, on, clauses })
}

/// Consumes the source: a query in brackets, or a table with the state that it asks for.
fn source(cursor: &mut Cursor<'_>) -> Result<(TextSpan, Vec<String>)> {
    let begin = cursor.at;
    let mut parts = vec![String::from("source")];
    if cursor.is_at(&["("]) {
        cursor.at = cursor.tokens.closing(begin).saturating_add(1).min(cursor.end);
    } else {
        parts = cursor.name()?.parts;
        let found = Found { begin, end: cursor.at, is_known: false };
        if let Some(relation) = relation(cursor.tokens, &found)? {
            while cursor.token().is_some_and(|token| token.at < relation.end) {
                cursor.at += 1;
            }
        }
    }
    Ok((cursor.span(begin), parts))
}

/// Consumes a clause of MERGE behind WHEN.
fn clause(cursor: &mut Cursor<'_>) -> Result<MergeClause> {
    let is_not = cursor.take(&["NOT"]);
    cursor.require(&["MATCHED"])?;
    let mut side = if is_not { "source" } else { "matched" };
    if is_not && cursor.take(&["BY"]) {
        if cursor.take(&["SOURCE"]) {
            side = "target";
        } else {
            cursor.require(&["TARGET"])?;
        }
    }
    let condition = if cursor.take(&["AND"]) { Some(cursor.until(&["THEN"])?) } else { None };
    cursor.require(&["THEN"])?;
    let mut clause = MergeClause { kind: "update", side, condition, assignments: Vec::new(), star_at: None };
    if side == "source" {
        clause.kind = "insert";
        cursor.require(&["INSERT"])?;
        inserted(cursor, &mut clause)?;
    } else if cursor.take(&["DELETE"]) {
        clause.kind = "delete";
    } else {
        cursor.require(&["UPDATE"])?;
        cursor.require(&["SET"])?;
        clause.star_at = star(cursor);
        if clause.star_at.is_some() && side == "target" {
            return Err(cursor.error("rows without a source row have no values for *"));
        }
        if clause.star_at.is_none() {
            clause.assignments = assignments(cursor, "WHEN")?;
        }
    }
    Ok(clause)
}

fn star(cursor: &mut Cursor<'_>) -> Option<usize> {
    let at = cursor.place();
    cursor.take(&["*"]).then_some(at)
}

fn inserted(cursor: &mut Cursor<'_>, clause: &mut MergeClause) -> Result<()> {
    clause.star_at = star(cursor);
    if clause.star_at.is_some() {
        return Ok(());
    }
    let names = listed_names(cursor)?;
    cursor.require(&["VALUES"])?;
    let at = cursor.place();
    let values = listed_values(cursor)?;
    if values.len() != names.len() {
        let message = format!("{} values are expected here, one for each column", names.len());
        return Err(cursor.error_at(at, &message));
    }
    let assigned = |(name, value): (Name, _)| Assignment { parts: name.parts, at: name.at, value };
    clause.assignments = names.into_iter().zip(values).map(assigned).collect();
    Ok(())
}

/// Consumes an UPDATE or a DELETE.
pub(super) fn row_change(cursor: &mut Cursor<'_>) -> Result<RowChange> {
    let updates = cursor.take(&["UPDATE"]);
    if !updates {
        cursor.require(&["DELETE"])?;
        cursor.require(&["FROM"])?;
    }
    cursor.name()?;
    let alias = cursor.alias(&[if updates { "SET" } else { "WHERE" }])?;
    let mut found = Vec::new();
    if updates {
        cursor.require(&["SET"])?;
        found = assignments(cursor, "WHERE")?;
    }
    let condition = if cursor.take(&["WHERE"]) { Some(cursor.until(&[])?) } else { None };
    cursor.require_end()?;
    Ok(RowChange { alias, assignments: found, condition })
}

/// Consumes an INSERT; `before` is what the statement has before it.
pub(super) fn insert(cursor: &mut Cursor<'_>, before: Option<TextSpan>) -> Result<Insert> {
    cursor.require(&["INSERT"])?;
    let overwrites = cursor.take(&["OVERWRITE"]);
    if !overwrites {
        cursor.require(&["INTO"])?;
    }
    cursor.take(&["TABLE"]);
    cursor.name()?;
    let partition_at = cursor.place();
    let partition = optional_partition(cursor)?;
    if cursor.is_at(&["IF", "NOT", "EXISTS"]) {
        return Err(cursor.error("IF NOT EXISTS is not supported here"));
    }
    let rows_at = cursor.place();
    let by_name = cursor.take(&["BY", "NAME"]);
    let is_query = cursor.is_at(&["(", "SELECT"]) || cursor.is_at(&["(", "WITH"]);
    let mut columns = None;
    if cursor.is_at(&["("]) && !is_query {
        let names = listed_names(cursor)?;
        columns = Some(names.into_iter().filter_map(|name| name.parts.into_iter().next_back()).collect());
    }
    let defaults = defaults(cursor);
    let query = cursor.until(&[])?;
    Ok(Insert { overwrites, partition_at, partition, rows_at, by_name, columns, query, defaults, before })
}

/// Returns where DEFAULT is a value of VALUES.
fn defaults(cursor: &Cursor<'_>) -> Vec<TextSpan> {
    if !cursor.is_at(&["VALUES"]) {
        return Vec::new();
    }
    let word = |at: usize| if at < cursor.end { cursor.tokens.word(at) } else { "" };
    let is_default =
        |at: &usize| word(*at) == "DEFAULT" && matches!(word(at - 1), "(" | ",") && matches!(word(at + 1), ")" | ",");
    let found = (cursor.at + 1..cursor.end).filter(is_default).filter_map(|at| cursor.tokens.get(at));
    found.map(|token| (token.at, token.end)).collect()
}
