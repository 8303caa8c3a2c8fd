//! Clauses that several statements have: options, columns with types, partitions, values.

use std::collections::HashSet;

use mortice_base::Result;

use super::cursor::Cursor;
use super::parsed::{Assignment, Column, Name, Options, Partition, TextSpan};
use crate::lexer::{Token, TokenKind};

const BEHIND_TYPES: &[&str] = &["NOT", "COMMENT", "DEFAULT", "GENERATED", "FIRST", "AFTER", "COLLATE", ","];

/// Consumes `(name = value, name value, 'name' = 'value')`.
pub(super) fn options(cursor: &mut Cursor<'_>) -> Result<Options> {
    let mut options = Options::new();
    cursor.require(&["("])?;
    while !cursor.take(&[")"]) {
        let name = option_name(cursor)?;
        cursor.take_one(&["=", "=="]);
        let is_value = |token: &&Token| {
            matches!(token.kind, TokenKind::Text | TokenKind::Number) || matches!(token.word.as_str(), "TRUE" | "FALSE")
        };
        let Some(value) = cursor.token().filter(is_value) else {
            return Err(cursor.error("a value is expected here"));
        };
        cursor.at += 1;
        options.push((name, value.text.clone()));
        if !cursor.take(&[","]) && !cursor.is_at(&[")"]) {
            return Err(cursor.error(", or ) is expected here"));
        }
    }
    Ok(options)
}

/// Consumes the name of an option: a string, or a name with points.
pub(super) fn option_name(cursor: &mut Cursor<'_>) -> Result<String> {
    let is_string = cursor.token().is_some_and(|token| token.kind == TokenKind::Text);
    if is_string { cursor.string() } else { Ok(cursor.name()?.parts.join(".")) }
}

/// Consumes a type: `decimal(10, 2)`, `struct<a: int, b: map<string, int>>`.
pub(super) fn type_text(cursor: &mut Cursor<'_>) -> Result<String> {
    let begin = cursor.at;
    let mut depth = 0_usize;
    while let Some(token) = cursor.token() {
        if depth == 0 && (BEHIND_TYPES.contains(&token.word.as_str()) || token.word == ")") {
            break;
        }
        if token.kind == TokenKind::Symbol {
            depth += token.word.matches(['(', '<']).count();
            depth = depth.saturating_sub(token.word.matches([')', '>']).count());
        }
        cursor.at += 1;
    }
    if cursor.at == begin {
        return Err(cursor.error("a type is expected here"));
    }
    let (start, end) = cursor.span(begin);
    Ok(cursor.tokens.text.between(start, end))
}

/// Consumes `name type [NOT NULL] [COMMENT 'text'] [FIRST | AFTER name]`.
pub(super) fn column(cursor: &mut Cursor<'_>) -> Result<Column> {
    let name = cursor.name()?;
    cursor.take(&[":"]);
    let mut column = Column { path: name.parts, at: name.at, is_nullable: true, ..Column::default() };
    column.kind_at = cursor.place();
    column.kind = Some(type_text(cursor)?);
    loop {
        if cursor.take(&["NOT", "NULL"]) {
            column.is_nullable = false;
        } else if cursor.is_at(&["DEFAULT"]) || cursor.is_at(&["GENERATED"]) {
            return Err(cursor.error("columns with default and generated values are not supported"));
        } else if !place_or_comment(cursor, &mut column)? {
            return Ok(column);
        }
    }
}

/// Consumes `COMMENT 'text'`, `FIRST` or `AFTER name`. Returns false if none of them is next.
pub(super) fn place_or_comment(cursor: &mut Cursor<'_>, column: &mut Column) -> Result<bool> {
    if cursor.take(&["COMMENT"]) {
        column.comment = Some(cursor.string()?);
    } else if cursor.take(&["FIRST"]) {
        column.is_first = true;
    } else if cursor.take(&["AFTER"]) {
        let name = cursor.name()?;
        (column.after, column.after_at) = (name.parts.into_iter().next_back(), name.at);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Consumes columns with their types, up to a bracket.
pub(super) fn columns(cursor: &mut Cursor<'_>) -> Result<Vec<Column>> {
    let mut columns = vec![column(cursor)?];
    while cursor.take(&[","]) {
        columns.push(column(cursor)?);
    }
    Ok(columns)
}

/// Consumes `PARTITION (dt = '2021-12-09', hh)`.
pub(super) fn partition(cursor: &mut Cursor<'_>) -> Result<Partition> {
    cursor.require(&["PARTITION"])?;
    cursor.require(&["("])?;
    let mut names = HashSet::new();
    let mut values = Partition::new();
    loop {
        let name = cursor.name()?;
        let column = name.parts.last().cloned().unwrap_or_default();
        if !names.insert(column.to_lowercase()) {
            return Err(cursor.error_at(name.at, "the column is named twice"));
        }
        let value = if cursor.take_one(&["=", "=="]) { Some(cursor.until(&[","])?) } else { None };
        values.push((column, value));
        if !cursor.take(&[","]) {
            cursor.require(&[")"])?;
            return Ok(values);
        }
    }
}

/// Consumes a PARTITION clause if it is next.
pub(super) fn optional_partition(cursor: &mut Cursor<'_>) -> Result<Partition> {
    if cursor.is_at(&["PARTITION"]) { partition(cursor) } else { Ok(Partition::new()) }
}

/// Consumes a PARTITION clause in which each column has a value.
pub(super) fn valued_partition(cursor: &mut Cursor<'_>) -> Result<Partition> {
    let at = cursor.place();
    let values = partition(cursor)?;
    if values.iter().any(|(_, value)| value.is_none()) {
        return Err(cursor.error_at(at, "each column needs a value here: PARTITION (name = value)"));
    }
    Ok(values)
}

/// Consumes `(a, b)`: columns of the table.
pub(super) fn listed_names(cursor: &mut Cursor<'_>) -> Result<Vec<Name>> {
    cursor.require(&["("])?;
    let mut names = vec![cursor.name()?];
    while cursor.take(&[","]) {
        names.push(cursor.name()?);
    }
    cursor.require(&[")"])?;
    let mut known = HashSet::new();
    let mut is_new = |name: &Name| known.insert(name.parts.last().map(|part| part.to_lowercase()));
    if names.iter().all(&mut is_new) { Ok(names) } else { Err(cursor.error("a column is named twice before this")) }
}

/// Consumes a new value; DEFAULT is none, which is null, as columns have no other default.
pub(super) fn value(cursor: &mut Cursor<'_>, stops: &[&str]) -> Result<Option<TextSpan>> {
    let begin = cursor.at;
    let text = cursor.until(stops)?;
    Ok((cursor.at != begin + 1 || cursor.tokens.word(begin) != "DEFAULT").then_some(text))
}

/// Consumes `(1, 'a')`.
pub(super) fn listed_values(cursor: &mut Cursor<'_>) -> Result<Vec<Option<TextSpan>>> {
    cursor.require(&["("])?;
    let mut values = vec![value(cursor, &[","])?];
    while cursor.take(&[","]) {
        values.push(value(cursor, &[","])?);
    }
    cursor.require(&[")"])?;
    Ok(values)
}

/// Consumes `a = 1, t.b = 2`, up to a word at which the last value ends.
pub(super) fn assignments(cursor: &mut Cursor<'_>, stop: &str) -> Result<Vec<Assignment>> {
    let mut found = Vec::new();
    loop {
        let name = cursor.name()?;
        if !cursor.take_one(&["=", "=="]) {
            return Err(cursor.error("= is expected here"));
        }
        found.push(Assignment { parts: name.parts, at: name.at, value: value(cursor, &[",", stop])? });
        if !cursor.take(&[","]) {
            return Ok(found);
        }
    }
}
