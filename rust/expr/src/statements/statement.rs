//! A statement: the tables that it names, and its clauses, which are read when it is known to be one of a table of
//! mortice. All others are Spark's.

use std::collections::{BTreeSet, HashSet};

use mortice_base::{Error, Result};

use super::changes;
use super::clauses::{option_name, optional_partition, valued_partition};
use super::cursor::Cursor;
use super::head::{Head, StatementKind};
use super::indexes::{index_clauses, index_head};
use super::parameters::{ParameterValue, bound};
use super::parsed::{
    AlterTable, Argument, CreateTable, IndexStatement, Insert, Merge, Partition, Relation, RowChange, TextSpan,
};
use super::relations::{named, named_tables, relation};
use super::tables;
use super::tokens::{Tokens, is_name};
use crate::lexer::TokenKind;
use crate::text::{ExpressionText, Grammar};

/// A statement.
pub struct Statement {
    tokens: Tokens,
    /// Its beginning.
    pub head: Head,
}

/// Returns the error for a statement, which shows the line of a place.
#[must_use]
pub fn statement_error(text: &str, at: usize, message: &str) -> Error {
    ExpressionText::new(text, Grammar::Statement).refused(at, message)
}

/// Returns the parts of the name of a table. `InvalidArgument` for anything else.
pub fn table_name(text: &str) -> Result<Vec<String>> {
    let tokens = Tokens::of_text(text)?;
    Ok(Cursor::new(&tokens, 0).name()?.parts)
}

impl Statement {
    /// Returns a statement, with the values of parameters and their places, in order. `InvalidArgument`, which shows
    /// the place, for a beginning that is not valid.
    pub fn parse(text: &str, values: Vec<(usize, usize, ParameterValue)>) -> Result<Self> {
        let tokens = bound(Tokens::of_text(text)?, values);
        let head = Head::read(&tokens)?;
        Ok(Self { tokens, head })
    }

    /// The error of a statement that tables of mortice do not have.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        let StatementKind::Refused(message) = self.head.kind else { return None };
        Some(Cursor::new(&self.tokens, 0).error(message))
    }

    fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.tokens, self.head.parts.first().copied().unwrap_or(0))
    }

    /// The tokens that it was read from.
    #[cfg(test)]
    pub(super) const fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Where it ends.
    #[must_use]
    pub fn end(&self) -> usize {
        Cursor::new(&self.tokens, self.tokens.len()).place()
    }

    /// Where the names of tables begin that it writes to.
    fn written_to(&self) -> HashSet<usize> {
        self.head.names.iter().filter(|_| self.head.kind.changes_rows()).map(|name| name.at).collect()
    }

    /// The tables that it reads, by the names that it has for them. `InvalidArgument` for the state of one that is not
    /// valid.
    pub fn relations(&self) -> Result<Vec<Relation>> {
        let (written, mut found) = (self.written_to(), Vec::new());
        for table in named_tables(&self.tokens, 0).into_iter().filter(|table| !table.is_known) {
            let at = self.tokens.get(table.begin).map_or(0, |token| token.at);
            if !written.contains(&at) {
                found.extend(relation(&self.tokens, &table)?);
            }
        }
        Ok(found)
    }

    /// The WITH clause of a statement that changes rows, and the names of its queries in the rest of the statement.
    #[must_use]
    pub fn with_relations(&self) -> (Option<TextSpan>, Vec<Relation>) {
        if self.head.with_end == 0 {
            return (None, Vec::new());
        }
        let tables = named_tables(&self.tokens, self.head.with_end).into_iter().filter(|table| !table.is_known);
        let relations = tables.map(|table| named(&self.tokens, &table));
        let is_given = |relation: &Relation| matches!(relation.parts.as_slice(), [name] if self.head.with_names.contains(&name.to_lowercase()));
        let mut cursor = Cursor::new(&self.tokens, 0);
        cursor.at = self.head.with_end;
        (Some(cursor.span(0)), relations.filter(is_given).collect())
    }

    /// The names in it in lower case, but for those of tables that it writes to: the first parts, and the others.
    #[must_use]
    pub fn words(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let written = self.written_to();
        let (mut first, mut others) = (BTreeSet::new(), BTreeSet::new());
        for (at, token) in self.tokens.tokens.iter().enumerate() {
            if is_name(token) && !written.contains(&token.at) {
                let set = if self.tokens.is_field(at) { &mut others } else { &mut first };
                set.insert(token.text.to_lowercase());
            }
        }
        (first, others)
    }

    /// Where columns are qualified by the name of a table of several parts, which are in lower case.
    #[must_use]
    pub fn qualified(&self, parts: &[String]) -> Vec<TextSpan> {
        let word = |at: usize| self.tokens.word(at);
        let is_part = |at: usize, part: &String| {
            self.tokens.get(at).is_some_and(|token| is_name(token) && token.text.to_lowercase() == *part)
        };
        let is_here = |at: &usize| {
            let follows = |(by, part): (usize, &String)| {
                let place = at.saturating_add(2 * by);
                is_part(place, part) && word(place + 1) == "."
            };
            !self.tokens.is_field(*at) && parts.iter().enumerate().all(follows)
        };
        let last = 2 * parts.len().saturating_sub(1);
        let spans = (0..self.tokens.len()).filter(is_here).filter_map(|at| {
            let end = self.tokens.get(at + last)?;
            (at + last + 2 < self.tokens.len()).then_some((self.tokens.get(at)?.at, end.end))
        });
        spans.collect()
    }

    /// The clauses of MERGE.
    pub fn merge(&self) -> Result<Merge> {
        changes::merge(&mut self.cursor())
    }

    /// The clauses of UPDATE or DELETE.
    pub fn row_change(&self) -> Result<RowChange> {
        changes::row_change(&mut self.cursor())
    }

    /// The clauses of each INSERT.
    pub fn inserts(&self) -> Result<Vec<Insert>> {
        let first = self.head.parts.first().copied().unwrap_or(0);
        let before = self.head.before.map(|begin| Cursor::new(&self.tokens, first).span(begin));
        let ends = self.head.parts.iter().skip(1).copied().chain([self.tokens.len()]);
        let part =
            |(at, end): (&usize, usize)| changes::insert(&mut Cursor { tokens: &self.tokens, at: *at, end }, before);
        self.head.parts.iter().zip(ends).map(part).collect()
    }

    /// The PARTITION clause of TRUNCATE, in which all columns have values, or of SHOW PARTITIONS and MSCK REPAIR; none
    /// if it has no such clause. `InvalidArgument` if anything else follows.
    pub fn partition(&self) -> Result<Option<Partition>> {
        let mut cursor = self.cursor();
        let truncates = self.head.kind == StatementKind::Truncate;
        if truncates {
            cursor.require(&["TRUNCATE"])?;
            cursor.take(&["TABLE"]);
            cursor.name()?;
        }
        let repairs = self.head.kind == StatementKind::Repair;
        if repairs && cursor.take_one(&["ADD", "DROP", "SYNC"]) {
            cursor.require(&["PARTITIONS"])?;
        }
        let has_clause = cursor.is_at(&["PARTITION"]);
        let found =
            if truncates && has_clause { valued_partition(&mut cursor)? } else { optional_partition(&mut cursor)? };
        cursor.require_end()?;
        Ok(has_clause.then_some(found))
    }

    /// The clauses of CREATE TABLE.
    pub fn create_table(&self) -> Result<CreateTable> {
        tables::create_table(&mut self.cursor())
    }

    /// The clauses of ALTER TABLE.
    pub fn alter_table(&self) -> Result<AlterTable> {
        tables::alter_table(&mut self.cursor())
    }

    /// The arguments of CALL.
    pub fn arguments(&self) -> Result<Vec<Argument>> {
        let mut cursor = self.cursor();
        cursor.require(&["("])?;
        let mut found = Vec::new();
        while !cursor.take(&[")"]) {
            let at = cursor.place();
            let has_name = cursor.ahead(1).is_some_and(|token| matches!(token.word.as_str(), "=>" | "="));
            let name = if has_name { Some(cursor.part()?.to_lowercase()) } else { None };
            cursor.at += usize::from(has_name);
            let begin = cursor.at;
            let value = cursor.until(&[","])?;
            let text = self.tokens.get(begin).filter(|token| token.kind == TokenKind::Text && cursor.at == begin + 1);
            found.push(Argument { name, at, text: text.map(|token| token.text.clone()), value });
            cursor.take(&[","]);
        }
        cursor.require_end()?;
        Ok(found)
    }

    /// A statement about indexes; `InvalidArgument` if it is not valid.
    pub fn index(&self) -> Result<IndexStatement> {
        let head = index_head(&mut Cursor::new(&self.tokens, 0))?;
        let head = head.ok_or_else(|| Error::internal("a statement that is not of an index"))?;
        index_clauses(&mut self.cursor(), head)
    }

    /// The property that SHOW TBLPROPERTIES names; `InvalidArgument` if anything else follows the name of the table.
    pub fn property(&self) -> Result<Option<String>> {
        let mut cursor = self.cursor();
        let mut found = None;
        if self.head.kind == StatementKind::ShowCreateTable {
            cursor.take(&["AS", "SERDE"]);
        } else if cursor.take(&["("]) {
            found = Some(option_name(&mut cursor)?);
            cursor.require(&[")"])?;
        }
        cursor.require_end()?;
        Ok(found)
    }
}
