//! The names of tables in queries, with the states that they ask for.

use super::statement;
use crate::statements::{Relation, StatementKind, table_name};

fn tables(text: &str) -> Vec<String> {
    statement(text).relations().unwrap().iter().map(|one| one.parts.join(".")).collect()
}

fn relation(text: &str) -> Relation {
    statement(text).relations().unwrap().into_iter().next().unwrap()
}

#[test]
fn tables_of_a_query_are_found_wherever_they_are() {
    for (text, expected) in [
        ("SELECT * FROM a, b c JOIN d.e USING (x), (f) LEFT JOIN (g CROSS JOIN h) ON g.i = h.i", "a b d.e f g h"),
        ("SELECT (SELECT 1 FROM a WHERE x IN (TABLE b)), y FROM (SELECT z FROM c) d, e WHERE k, l", "a b c e"),
        ("SELECT extract(year FROM a), trim(BOTH x FROM y) FROM b WHERE c IS DISTINCT FROM d GROUP BY e, f", "b"),
        ("WITH a AS (SELECT * FROM a, b), c(x) AS (SELECT * FROM a) SELECT * FROM c, d", "a b d"),
        ("SELECT * FROM a WHERE x IN (WITH b AS (SELECT 1) SELECT * FROM b) UNION ALL TABLE b", "a b"),
        ("WITH RECURSIVE r MAX RECURSION LEVEL 5 AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r, a", "a"),
        ("WITH a AS NOT MATERIALIZED (SELECT * FROM b) SELECT * FROM a", "b"),
        ("FROM a SELECT b.c UNION SELECT * FROM VALUES (1), (2) AS v(x), w LATERAL VIEW explode(x) AS y", "a w"),
        ("MERGE INTO t USING a ON t.x = a.x WHEN MATCHED AND x IN (SELECT y FROM b) THEN DELETE", "a b"),
        ("WITH s AS (SELECT 1) MERGE INTO t USING s ON 1 = 1 WHEN MATCHED THEN DELETE", ""),
        ("DELETE FROM t WHERE x IN (SELECT x FROM t)", "t"),
        ("FROM a, b INSERT INTO c SELECT * INSERT OVERWRITE d SELECT * WHERE x IN (TABLE e)", "a b e"),
        (
            "SELECT * FROM range(3), a TABLESAMPLE (1 ROWS) PIVOT (max(x) FOR y IN (1, 2)), LATERAL (SELECT 1 FROM b)",
            "a b",
        ),
        ("CREATE TABLE x USING parquet AS SELECT * FROM a", "a"),
    ] {
        assert_eq!(tables(text), expected.split_whitespace().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn a_table_has_the_state_that_follows_its_name() {
    let found = relation("SELECT * FROM db.t FOR TIMESTAMP AS OF '2024' WHERE x");
    assert_eq!((found.as_of.as_deref(), found.at, found.end), (Some("2024"), 14, 45));
    assert_eq!(found.alias_at, Some(45));
    let text = "SELECT * FROM t VERSION AS OF current_date() - INTERVAL 1 DAY x, b";
    let found = relation(text);
    assert_eq!(super::part(text, found.as_of_expression.unwrap()), "current_date() - INTERVAL 1 DAY");
    assert_eq!(found.alias_at, None);
    let found = relation("SELECT * FROM hudi_table_changes('t', 'cdc', '0', '1') AS c");
    assert_eq!(found.arguments.unwrap(), ["t", "cdc", "0", "1"]);
    let text = "SELECT * FROM hudi_table_changes('t', 'all', '0')";
    let (message, at) = super::refusal(statement(text).relations());
    assert!(message.starts_with("four strings are expected here"), "{message}");
    assert_eq!(at, 32);
}

#[test]
fn table_functions_have_arguments_of_their_own() {
    let arguments = |call: &str| relation(&format!("SELECT * FROM {call}")).arguments.unwrap();
    assert_eq!(arguments("hudi_query_timeline('t')"), ["t"]);
    assert_eq!(arguments("Hudi_Query_Timeline('/lake/t', TRUE)"), ["/lake/t", "true"]);
    assert_eq!(arguments("hudi_filesystem_view('t', 'city=oslo')"), ["t", "city=oslo"]);
    assert_eq!(arguments("hudi_metadata('t')"), ["t"]);
    assert_eq!(arguments("hudi_query('t', 'snapshot')"), ["t", "snapshot"]);
    for (call, expected) in [
        ("hudi_query('t', 'incremental')", "two strings are expected here: a table or a path, snapshot or"),
        ("hudi_metadata('t', 'files')", "one string is expected here"),
    ] {
        let text = format!("SELECT * FROM {call}");
        let (message, _) = super::refusal(statement(&text).relations());
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn an_alias_is_put_where_there_is_none() {
    let found = relation("SELECT * FROM t TABLESAMPLE (1 ROWS) REPEATABLE (2) WHERE x");
    assert_eq!((found.end, found.alias_at), (15, Some(51)));
    assert_eq!(relation("SELECT * FROM t").alias_at, Some(15));
    assert_eq!(relation("SELECT * FROM t x").alias_at, None);
    let found = relation("TABLE t");
    assert!(!found.takes_alias && found.alias_at.is_none());
}

#[test]
fn a_with_clause_ends_before_its_statement() {
    let text = "WITH a AS (SELECT 1), b (x) AS (SELECT ')') DELETE FROM t WHERE x IN (SELECT x FROM b, c.b)";
    let found = statement(text);
    assert_eq!((found.head.kind, &found.head.names[0].parts), (StatementKind::Delete, &vec!["t".to_owned()]));
    let (clause, relations) = found.with_relations();
    assert_eq!(super::part(text, clause.unwrap()), "WITH a AS (SELECT 1), b (x) AS (SELECT ')')");
    assert_eq!(relations.iter().map(|one| one.parts.join(".")).collect::<Vec<_>>(), ["b"]);
    assert_eq!(found.relations().unwrap().len(), 1);
}

#[test]
fn names_of_a_statement_are_those_that_it_reads() {
    let found = statement("UPDATE Trips SET Fare = x.cost WHERE trips.id = `A b`");
    let (first, others) = found.words();
    assert!(first.contains("fare") && first.contains("a b") && first.contains("trips"));
    assert_eq!(others.into_iter().collect::<Vec<_>>(), ["cost", "id"]);
    let text = "SELECT db.t.x, `DB`.t.y, a.db.t.z, db.t FROM db.t";
    let parts = ["db".to_owned(), "t".to_owned()];
    let spans = statement(text).qualified(&parts);
    assert_eq!(spans.into_iter().map(|span| super::part(text, span)).collect::<Vec<_>>(), ["db.t", "`DB`.t"]);
}

#[test]
fn a_name_has_parts() {
    assert_eq!(table_name("a.`b.c`").unwrap(), ["a", "b.c"]);
    assert!(table_name("'a'").is_err());
    assert!(table_name("").is_err());
}
