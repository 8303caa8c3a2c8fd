//! The names of tables in a query: behind FROM, JOIN, TABLE and USING, in brackets and lists, and in WITH.

use std::collections::{HashMap, VecDeque};

use mortice_base::Result;

use super::cursor::Cursor;
use super::parsed::Relation;
use super::tokens::{Tokens, is_name};
use crate::lexer::{Token, TokenKind};

const QUERY: &[&str] = &["SELECT", "WITH", "FROM", "TABLE", "VALUES"];
const BEHIND_LISTS: &[&str] = &[
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "SELECT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "MINUS",
    "SORT",
    "CLUSTER",
    "DISTRIBUTE",
    "WINDOW",
    "OFFSET",
    "QUALIFY",
    "SET",
    "WHEN",
    "PIVOT",
    "UNPIVOT",
];
/// Words before TABLE that are not those of a query.
const NO_QUERY: &[&str] = &[
    "CREATE",
    "INTO",
    "OVERWRITE",
    "TRUNCATE",
    "ALTER",
    "DROP",
    "CACHE",
    "UNCACHE",
    "REFRESH",
    "DESCRIBE",
    "DESC",
    "ANALYZE",
    "REPAIR",
    "SHOW",
    "EXTERNAL",
    "REPLACE",
    "LAZY",
    "TEMPORARY",
];
/// Words behind the name of a table that are not an alias.
const AFTER: &[&str] = &[
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "JOIN",
    "INNER",
    "LEFT",
    "RIGHT",
    "FULL",
    "CROSS",
    "ON",
    "USING",
    "AS",
    "WHEN",
    "SET",
    "LATERAL",
    "CLUSTER",
    "DISTRIBUTE",
    "SORT",
    "WINDOW",
    ",",
    "TABLESAMPLE",
    "PIVOT",
    "UNPIVOT",
    "SELECT",
    "MATCHED",
    "THEN",
    "NATURAL",
    "ANTI",
    "SEMI",
    "ASOF",
    "QUALIFY",
    "MINUS",
    "OFFSET",
    "VALUES",
    "INSERT",
    "WITH",
    "|>",
];
const STATES: &[&str] = &["TIMESTAMP", "VERSION", "SYSTEM_TIME", "SYSTEM_VERSION"];
/// Hudi's table functions: the values of their second argument, if it has certain ones, the least and the most
/// arguments, and what these are.
const FUNCTIONS: [(&str, &[&str], usize, usize, &str); 5] = [
    (
        "hudi_table_changes",
        &["latest_state", "cdc"],
        3,
        4,
        "four strings are expected here: a table or a path, latest_state or cdc, begin and end",
    ),
    (
        "hudi_query",
        &["snapshot", "read_optimized"],
        2,
        2,
        "two strings are expected here: a table or a path, snapshot or read_optimized",
    ),
    (
        "hudi_query_timeline",
        &[],
        1,
        2,
        "two strings are expected here: a table or a path, and true for archived instants, too",
    ),
    ("hudi_filesystem_view", &[], 1, 2, "two strings are expected here: a table or a path, and a partition"),
    ("hudi_metadata", &[], 1, 1, "one string is expected here: a table or a path"),
];
/// The most words between the name of a query and its brackets: MAX RECURSION LEVEL 5, AS NOT MATERIALIZED.
const MOST_WORDS: usize = 4;

/// A query of a WITH clause: its name in lower case, its first token, and the one behind it.
pub(super) struct NamedQuery {
    pub(super) name: String,
    begin: usize,
    end: usize,
}

/// Returns the queries of a WITH clause, and the token behind it; `None` if none is at a token.
pub(super) fn with_clause(tokens: &Tokens, at: usize, end: usize) -> Option<(Vec<NamedQuery>, usize)> {
    with_queries(tokens, at, end).ok()
}

/// Does what `with_clause` does. Returns the token where it is no such clause as the error.
fn with_queries(tokens: &Tokens, begin: usize, end: usize) -> std::result::Result<(Vec<NamedQuery>, usize), usize> {
    let word = |at: usize| if at < end { tokens.word(at) } else { "" };
    if word(begin) != "WITH" {
        return Err(begin);
    }
    let mut at = begin + 1;
    at += usize::from(word(at) == "RECURSIVE");
    let mut queries = Vec::new();
    while let Some(name) = tokens.get(at).filter(|token| at < end && is_name(token)) {
        at += 1;
        if word(at) == "(" {
            at = tokens.closing(at).saturating_add(1);
        }
        let is_next = |place: &usize| matches!(word(*place), "AS" | "(" | "," | ")");
        at = (at..=at + MOST_WORDS).find(is_next).ok_or(at)?;
        if word(at) != "AS" {
            return Err(at);
        }
        at = (at..=at + MOST_WORDS).find(|place| word(*place) == "(").ok_or(at)?;
        let close = tokens.closing(at).min(end);
        queries.push(NamedQuery { name: name.text.to_lowercase(), begin: at + 1, end: close });
        at = close.saturating_add(1);
        if word(at) != "," {
            return Ok((queries, at));
        }
        at += 1;
    }
    Err(at)
}

/// The name of a table in a query: its tokens, and whether WITH gives it.
pub(super) struct Found {
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) is_known: bool,
}

/// Returns the names of tables in a statement, from a token on.
pub(super) fn named_tables(tokens: &Tokens, begin: usize) -> Vec<Found> {
    let end = tokens.len();
    let statement = with_clause(tokens, begin, end).map_or(begin, |(_, behind)| behind);
    let is_merge = tokens.word(statement) == "MERGE";
    let root = Frame { at: begin, end, is_query: true, ..Frame::default() };
    Scan { tokens, is_merge, known: HashMap::new(), no_clause_before: 0, frames: vec![root], found: Vec::new() }.run()
}

/// The tokens between two brackets, and what is known of them.
#[derive(Default)]
struct Frame {
    at: usize,
    end: usize,
    /// Whether FROM has the tables of a query, and is not an argument such as `year FROM t`.
    is_query: bool,
    /// Whether a table is expected.
    expects: bool,
    /// Whether a comma is followed by another table.
    in_list: bool,
    /// The queries of a WITH clause that are not scanned yet.
    queries: VecDeque<NamedQuery>,
    is_recursive: bool,
    /// The name of the query that is being scanned.
    name: Option<String>,
    /// The names that WITH gives within the frame.
    names: Vec<String>,
}

struct Scan<'a> {
    tokens: &'a Tokens,
    /// Whether USING names a table.
    is_merge: bool,
    /// How often each name is given by WITH.
    known: HashMap<String, usize>,
    /// A token before which no WITH clause begins, as one that began earlier could not be read.
    no_clause_before: usize,
    frames: Vec<Frame>,
    found: Vec<Found>,
}

impl Scan<'_> {
    fn run(mut self) -> Vec<Found> {
        while let Some(frame) = self.frames.pop() {
            self.frame(frame);
        }
        self.found
    }

    /// Scans the rest of a frame, up to one within it, which is then the last of the frames.
    fn frame(&mut self, mut frame: Frame) {
        if let Some(name) = frame.name.take() {
            self.give(&mut frame, name);
        }
        if let Some(query) = frame.queries.pop_front() {
            if frame.is_recursive {
                self.give(&mut frame, query.name);
            } else {
                frame.name = Some(query.name);
            }
            let inner = Frame { at: query.begin, end: query.end, is_query: true, ..Frame::default() };
            self.frames.extend([frame, inner]);
            return;
        }
        while frame.at < frame.end {
            if self.tokens.word(frame.at) == "(" {
                let close = self.tokens.closing(frame.at).min(frame.end);
                let begin = frame.at + 1;
                let is_inner = begin < close && QUERY.contains(&self.tokens.word(begin));
                let expects = frame.expects && !is_inner;
                let is_query = is_inner || frame.expects;
                let inner = Frame { at: begin, end: close, is_query, expects, in_list: expects, ..Frame::default() };
                (frame.at, frame.expects) = (close.saturating_add(1), false);
                self.frames.extend([frame, inner]);
                return;
            }
            if self.takes_clause(&mut frame) {
                self.frames.push(frame);
                return;
            }
        }
        for name in frame.names {
            if let Some(times) = self.known.get_mut(&name) {
                *times = times.saturating_sub(1);
            }
        }
    }

    fn give(&mut self, frame: &mut Frame, name: String) {
        *self.known.entry(name.clone()).or_default() += 1;
        frame.names.push(name);
    }

    /// Takes a token or the name of a table. Returns true for a WITH clause, whose queries the frame then has.
    fn takes_clause(&mut self, frame: &mut Frame) -> bool {
        let at = frame.at;
        let Some(token) = self.tokens.get(at) else {
            frame.at = frame.end;
            return false;
        };
        if self.tokens.is_field(at) {
            frame.at += 1;
            return false;
        }
        let word = token.word.as_str();
        if frame.expects && is_name(token) && word != "LATERAL" && !QUERY.contains(&word) {
            self.table(frame);
            return false;
        }
        let begins_clause = word == "WITH" && at >= self.no_clause_before && at + 1 < frame.end;
        if begins_clause && self.tokens.get(at + 1).is_some_and(is_name) {
            match with_queries(self.tokens, at, frame.end) {
                Ok((queries, behind)) => {
                    frame.is_recursive = self.tokens.word(at + 1) == "RECURSIVE";
                    (frame.queries, frame.at) = (queries.into(), behind);
                    return true;
                }
                Err(place) => self.no_clause_before = place,
            }
        }
        (frame.expects, frame.in_list) = self.after(frame);
        frame.at += 1;
        false
    }

    fn table(&mut self, frame: &mut Frame) {
        let begin = frame.at;
        let mut end = begin + 1;
        while end + 1 < frame.end && self.tokens.word(end) == "." && self.tokens.get(end + 1).is_some_and(is_name) {
            end += 2;
        }
        let name = self.tokens.get(begin).map(|token| token.text.to_lowercase()).unwrap_or_default();
        let is_known = end == begin + 1 && self.known.get(&name).is_some_and(|times| *times > 0);
        self.found.push(Found { begin, end, is_known });
        (frame.at, frame.expects) = (end, false);
    }

    /// Returns whether a table is expected behind a token, and whether a comma would be followed by another.
    fn after(&self, frame: &Frame) -> (bool, bool) {
        let before = frame.at.checked_sub(1).map_or("", |before| self.tokens.word(before));
        let Some(token) = self.tokens.get(frame.at) else { return (false, false) };
        if token.kind == TokenKind::Symbol {
            let expects = if token.word == "," { frame.in_list } else { frame.expects };
            return (expects, frame.in_list);
        }
        match token.word.as_str() {
            "LATERAL" => (frame.expects, frame.in_list),
            "FROM" => {
                let is_clause = frame.is_query && before != "DISTINCT";
                (is_clause, is_clause || frame.in_list)
            }
            "JOIN" => (true, true),
            "USING" => (self.is_merge && before != ")", frame.in_list),
            "TABLE" if !NO_QUERY.contains(&before) => (true, false),
            word => (false, frame.in_list && !BEHIND_LISTS.contains(&word)),
        }
    }
}

/// Returns a table that a statement names, with the state that it asks for; `None` for a function.
pub(super) fn relation(tokens: &Tokens, found: &Found) -> Result<Option<Relation>> {
    let mut cursor = Cursor::new(tokens, found.end);
    let mut relation = named(tokens, found);
    if cursor.is_at(&["("]) {
        let [name] = relation.parts.as_slice() else { return Ok(None) };
        let Some(function) = FUNCTIONS.iter().find(|(function, ..)| name.eq_ignore_ascii_case(function)) else {
            return Ok(None);
        };
        relation.arguments = Some(function_arguments(&mut cursor, function)?);
    } else {
        state(&mut cursor, &mut relation)?;
    }
    relation.end = cursor.end_before();
    relation.alias_at = alias_place(cursor, &relation);
    Ok(Some(relation))
}

/// Returns a table that a statement names, without anything that follows the name but its alias.
pub(super) fn named(tokens: &Tokens, found: &Found) -> Relation {
    let cursor = Cursor::new(tokens, found.end);
    let parts = (found.begin..found.end).step_by(2).filter_map(|at| tokens.get(at)).map(|token| token.text.clone());
    let mut relation = Relation {
        parts: parts.collect(),
        at: tokens.get(found.begin).map_or(0, |token| token.at),
        end: cursor.end_before(),
        as_of: None,
        as_of_expression: None,
        arguments: None,
        takes_alias: found.begin.checked_sub(1).is_none_or(|before| tokens.word(before) != "TABLE"),
        alias_at: None,
    };
    relation.alias_at = alias_place(cursor, &relation);
    relation
}

/// Returns where an alias has to be put; `None` if there is one, or none can be.
fn alias_place(mut cursor: Cursor<'_>, relation: &Relation) -> Option<usize> {
    if !relation.takes_alias {
        return None;
    }
    if cursor.take(&["TABLESAMPLE"]) {
        cursor.at = cursor.tokens.closing(cursor.at).saturating_add(1).min(cursor.end);
        if cursor.take(&["REPEATABLE"]) {
            cursor.at = cursor.tokens.closing(cursor.at).saturating_add(1).min(cursor.end);
        }
    }
    let place = cursor.end_before();
    cursor.alias(AFTER).ok().flatten().is_none().then_some(place)
}

/// Consumes TIMESTAMP AS OF and its like.
fn state(cursor: &mut Cursor<'_>, relation: &mut Relation) -> Result<()> {
    let begin = cursor.at;
    cursor.take(&["FOR"]);
    if !STATES.iter().any(|kind| cursor.take(&[kind, "AS", "OF"])) {
        cursor.at = begin;
        return Ok(());
    }
    let is_literal = |token: &&Token| matches!(token.kind, TokenKind::Text | TokenKind::Number);
    let goes_on = cursor.ahead(1).is_some_and(|next| matches!(next.word.as_str(), "+" | "-" | "||" | "::"));
    if let Some(literal) = cursor.token().filter(is_literal).filter(|_| !goes_on) {
        relation.as_of = Some(literal.text.clone());
        cursor.at += 1;
    } else {
        relation.as_of_expression = Some(cursor.until_name(AFTER, true)?);
    }
    Ok(())
}

/// Consumes the arguments of one of Hudi's table functions: strings, and words such as true.
fn function_arguments(
    cursor: &mut Cursor<'_>,
    (_, kinds, least, most, expected): &(&str, &[&str], usize, usize, &str),
) -> Result<Vec<String>> {
    let at = cursor.place();
    cursor.require(&["("])?;
    let mut given = Vec::new();
    while !cursor.take(&[")"]) {
        let word = [("TRUE", "true"), ("FALSE", "false")].into_iter().find(|(word, _)| cursor.take(&[*word]));
        given.push(match word {
            Some((_, text)) => text.to_owned(),
            None => cursor.string()?,
        });
        if !cursor.take(&[","]) && !cursor.is_at(&[")"]) {
            return Err(cursor.error_at(at, expected));
        }
    }
    let has_kind = kinds.is_empty() || given.get(1).is_some_and(|kind| kinds.contains(&kind.as_str()));
    if has_kind && (*least..=*most).contains(&given.len()) { Ok(given) } else { Err(cursor.error_at(at, expected)) }
}
