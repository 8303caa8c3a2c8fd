//! No text makes the parser panic, or read its tokens more than a bounded number of times.

use mortice_base::property::check;
use proptest::collection::vec;
use proptest::prop_assert;
use proptest::sample::select;

use crate::statements::{Statement, TextSpan, statement_parameters};

/// How often each token may be read.
const MOST_READS: usize = 400;
const PIECES: &[&str] = &[
    "MERGE INTO t USING s ON a WHEN MATCHED THEN UPDATE SET",
    "WHEN NOT MATCHED THEN INSERT (a) VALUES (1)",
    "UPDATE",
    "DELETE FROM",
    "INSERT INTO",
    "INSERT OVERWRITE TABLE",
    "FROM",
    "TRUNCATE TABLE",
    "ALTER TABLE t",
    "ADD COLUMNS",
    "CREATE TABLE",
    "USING hudi",
    "CREATE TEMPORARY VIEW",
    "DROP TABLE",
    "CALL p",
    "DESCRIBE EXTENDED",
    "SHOW",
    "CREATE TABLE a LIKE b",
    "PARTITIONED BY (",
    "OPTIONS (a = 'b')",
    "TIMESTAMP AS OF",
    "VERSION AS OF 'x'",
    "PARTITION (",
    "TABLESAMPLE (",
    "hudi_table_changes(",
    "WITH a AS (",
    "WITH RECURSIVE a AS",
    "SELECT",
    "TABLE",
    "JOIN",
    "LATERAL",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "NOT",
    "AND",
    "AS",
    "SET",
    "WHERE",
    "BY NAME",
    "VALUES",
    "DEFAULT",
    "struct<a:",
    "int",
    "CHANGE COLUMN a",
    "DROP",
    "AFTER",
    "IF EXISTS",
    "a",
    "`b c`",
    "c.d",
    "'text'",
    "1",
    "1.5e3",
    "YEAR",
    "(",
    ")",
    "[",
    "<",
    ">",
    ",",
    ".",
    "=",
    "=>",
    ":p",
    "?",
    "*",
    ";",
    "/*",
    "*/",
    "--",
    "\n",
    "'",
    "\\",
    "ä",
    "\u{1f600}",
];

/// Reads all that there is to read of a statement. Returns the places that it names.
fn read(statement: &Statement) -> Vec<TextSpan> {
    let mut spans = Vec::new();
    let (clause, given) = statement.with_relations();
    spans.extend(clause);
    let relations = statement.relations().unwrap_or_default();
    spans.extend(relations.iter().chain(&given).map(|one| (one.at, one.end)));
    spans.extend(statement.qualified(&["c".to_owned(), "d".to_owned()]));
    let _ = statement.words();
    if let Ok(merge) = statement.merge() {
        spans.extend([merge.source, merge.on]);
        spans.extend(merge.clauses.iter().flat_map(|clause| &clause.assignments).filter_map(|one| one.value));
    }
    if let Ok(change) = statement.row_change() {
        spans.extend(change.condition);
    }
    spans.extend(statement.inserts().unwrap_or_default().into_iter().map(|insert| insert.query));
    let partition = statement.partition().ok().flatten().unwrap_or_default();
    spans.extend(partition.into_iter().filter_map(|(_, value)| value));
    spans.extend(statement.create_table().ok().and_then(|table| table.query));
    let _ = statement.alter_table();
    spans.extend(statement.arguments().unwrap_or_default().into_iter().map(|argument| argument.value));
    let _ = statement.property();
    spans
}

fn is_read_once(text: &str) -> bool {
    let length = text.chars().count();
    let parameters = statement_parameters(text).unwrap_or_default();
    let Ok(statement) = Statement::parse(text, Vec::new()) else { return true };
    let mut spans = read(&statement);
    spans.extend(parameters.iter().map(|one| (one.at, one.end)));
    let tokens = statement.tokens();
    let are_parts = spans.iter().all(|(start, end)| start <= end && *end <= length);
    are_parts && tokens.reads.get() <= MOST_READS * (tokens.len() + 10)
}

#[test]
fn any_text_is_read_or_refused() {
    check(2000, &vec(select(PIECES), 0..40), |pieces| {
        prop_assert!(is_read_once(&pieces.join(" ")));
        prop_assert!(is_read_once(&pieces.concat()));
        Ok(())
    });
}

#[test]
fn a_text_of_the_same_pieces_is_read_once() {
    for first in
        ["SELECT * FROM", "MERGE INTO t USING", "WITH a AS (SELECT 1)", "CREATE TABLE", "INSERT INTO t", "CALL a("]
    {
        check(10, &vec(select(PIECES), 1..4), |pieces| {
            let text = format!("{first} {}", format!("{} ", pieces.join(" ")).repeat(2000));
            prop_assert!(is_read_once(&text));
            Ok(())
        });
    }
}
