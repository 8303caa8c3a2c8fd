//! What statements are, and their clauses.

use super::{part, refusal, statement};
use crate::statements::{ParameterValue, Statement, StatementKind};

#[test]
fn statements_are_known_by_their_first_words() {
    use StatementKind as Kind;
    for (text, kind, names) in [
        ("SELECT 1", Kind::Query, ""),
        ("(TABLE t)", Kind::Query, ""),
        ("WITH a AS (SELECT 1) SELECT * FROM a", Kind::Query, ""),
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", Kind::CreateView, "v"),
        ("CREATE TABLE IF NOT EXISTS a.b (x int) USING hudi", Kind::CreateTable, "a.b"),
        ("CREATE TABLE a LIKE b USING mortice", Kind::CreateTable, "a b"),
        ("CREATE TABLE a LIKE b LOCATION 'x'", Kind::CreateTableLike, "a b"),
        ("CREATE TABLE a USING parquet AS SELECT 1", Kind::Query, "a"),
        ("MERGE INTO a.b t USING s ON 1 = 1", Kind::Merge, "a.b"),
        ("update t set x = 1", Kind::Update, "t"),
        ("WITH s AS (SELECT 1) DELETE FROM t", Kind::Delete, "t"),
        ("INSERT OVERWRITE TABLE t SELECT 1", Kind::Insert, "t"),
        ("FROM a INSERT INTO b SELECT 1 INSERT INTO c SELECT 2", Kind::Insert, "b c"),
        ("TRUNCATE TABLE t", Kind::Truncate, "t"),
        ("ALTER TABLE t SET nonsense", Kind::AlterTable, "t"),
        ("DROP TABLE IF EXISTS t PURGE", Kind::DropTable, "t"),
        ("DROP VIEW t", Kind::DropView, "t"),
        ("CALL run_clean('t')", Kind::Call, "run_clean"),
        ("CALL help()", Kind::Help, "help"),
        ("DESC EXTENDED t", Kind::Describe, "t"),
        ("SHOW CREATE TABLE t AS SERDE", Kind::ShowCreateTable, "t"),
        ("SHOW TBLPROPERTIES t ('a')", Kind::ShowProperties, "t"),
        ("SHOW PARTITIONS t", Kind::ShowPartitions, "t"),
        ("MSCK REPAIR TABLE t SYNC PARTITIONS", Kind::Repair, "t"),
        ("CREATE INDEX IF NOT EXISTS i ON TABLE a.t (c)", Kind::Index, "a.t"),
        ("DROP INDEX i ON t", Kind::Index, "t"),
        ("REFRESH INDEX i ON t", Kind::Index, "t"),
        ("SHOW INDEXES FROM t", Kind::Index, "t"),
    ] {
        let found = statement(text);
        let found_names: Vec<_> = found.head.names.iter().map(|name| name.parts.join(".")).collect();
        assert_eq!((found.head.kind, found_names.join(" ").as_str()), (kind, names), "{text}");
    }
    let text = "ANALYZE TABLE t COMPUTE STATISTICS";
    assert!(matches!(statement(text).head.kind, StatementKind::Refused(_)));
    for text in [
        "",
        "SHOW TABLES",
        "DESCRIBE t x",
        "DESCRIBE QUERY SELECT 1",
        "DROP DATABASE x",
        "REPAIR x",
        "SET a=b",
        "REFRESH TABLE t",
    ] {
        assert_eq!(statement(text).head.kind, Kind::Other, "{text}");
    }
}

#[test]
fn statements_of_indexes_name_the_partition_of_the_metadata_table() {
    for (text, change, name, is_lenient) in [
        ("CREATE INDEX i ON t (c)", "create", "secondary_index_i(c)", false),
        (
            "CREATE INDEX IF NOT EXISTS i ON TABLE a.t USING secondary_index (a.b)",
            "create",
            "secondary_index_i(a.b)",
            true,
        ),
        ("CREATE INDEX i ON t USING record_index (id)", "create", "record_index", false),
        ("CREATE INDEX i ON t USING BLOOM_FILTERS", "create", "bloom_filters", false),
        ("DROP INDEX IF EXISTS i ON t", "drop", "secondary_index_i", true),
        ("DROP INDEX secondary_index_i ON t", "drop", "secondary_index_i", false),
        ("REFRESH INDEX record_index ON t", "refresh", "record_index", false),
        ("SHOW INDEXES IN t", "show", "", false),
    ] {
        let found = statement(text).index().unwrap();
        assert_eq!((found.change.name(), found.name.as_str(), found.is_lenient), (change, name, is_lenient), "{text}");
    }
    for (text, word) in [
        ("CREATE INDEX i ON t", "one column"),
        ("CREATE INDEX i ON t (a, b)", "one column"),
        ("CREATE INDEX i ON t USING lucene (a)", "unknown type"),
        ("CREATE INDEX i ON t USING column_stats (a) OPTIONS (expr = 'lower')", "expression indexes"),
        ("DROP INDEX i ON t x", "end here"),
    ] {
        let error = statement(text).index().unwrap_err().to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn a_merge_has_its_clauses_in_order() {
    let text = "MERGE INTO t AS x USING (SELECT 1) s ON x.id = s.id WHEN MATCHED AND s.gone THEN DELETE \
                WHEN MATCHED THEN UPDATE SET x.a = DEFAULT, b = CASE WHEN 1 = 1 THEN 2 END \
                WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = a + 1 \
                WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, DEFAULT) WHEN NOT MATCHED BY TARGET THEN INSERT *";
    let merge = statement(text).merge().unwrap();
    assert_eq!((merge.alias.as_deref(), merge.source_alias.as_deref()), (Some("x"), Some("s")));
    assert_eq!((part(text, merge.source).as_str(), part(text, merge.on).as_str()), ("(SELECT 1)", "x.id = s.id"));
    let kinds: Vec<_> = merge.clauses.iter().map(|clause| (clause.kind, clause.side)).collect();
    let expected = [
        ("delete", "matched"),
        ("update", "matched"),
        ("update", "target"),
        ("insert", "source"),
        ("insert", "source"),
    ];
    assert_eq!(kinds, expected);
    let values: Vec<_> = merge.clauses[1]
        .assignments
        .iter()
        .map(|one| (one.parts.join("."), one.value.map(|span| part(text, span))))
        .collect();
    let case = "CASE WHEN 1 = 1 THEN 2 END".to_owned();
    assert_eq!(values, [("x.a".to_owned(), None), ("b".to_owned(), Some(case))]);
    assert!(merge.clauses[4].star_at.is_some());
    let merge = statement("MERGE INTO t USING db.s VERSION AS OF 5 AS x ON 1 = 1 WHEN MATCHED THEN DELETE");
    let merge = merge.merge().unwrap();
    assert_eq!((merge.source, merge.source_alias.as_deref()), ((19, 39), Some("x")));
    assert_eq!(merge.source_parts, ["db", "s"]);
}

#[test]
fn errors_of_changes_show_the_place() {
    for (text, message, at) in [
        ("MERGE INTO t USING s x WHEN MATCHED THEN DELETE", "ON is expected here", 23),
        ("MERGE INTO t USING s ON 1 = 1", "WHEN MATCHED or WHEN NOT MATCHED is expected here", 29),
        ("MERGE INTO t USING s ON 1 = 1 WHEN MATCHED THEN INSERT *", "UPDATE is expected here", 48),
        (
            "MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)",
            "2 values are expected here, one for each column",
            73,
        ),
        ("UPDATE t SET a = 1, b WHERE c", "= is expected here", 22),
        ("DELETE FROM t WHERE a) b", "the statement should end here", 21),
        ("INSERT INTO t PARTITION (a, A) SELECT 1", "the column is named twice", 28),
        ("INSERT INTO t (a, A) SELECT 1", "a column is named twice before this", 21),
        ("INSERT INTO t PARTITION (a) IF NOT EXISTS SELECT 1", "IF NOT EXISTS is not supported here", 28),
        ("TRUNCATE TABLE t PARTITION (a)", "each column needs a value here: PARTITION (name = value)", 17),
    ] {
        let found = statement(text);
        let refused = match found.head.kind {
            StatementKind::Merge => refusal(found.merge()),
            StatementKind::Insert => refusal(found.inserts()),
            StatementKind::Truncate => refusal(found.partition()),
            _ => refusal(found.row_change()),
        };
        assert_eq!(refused, (message.to_owned(), at), "{text}");
    }
}

#[test]
fn inserts_have_the_rows_of_their_queries() {
    let text = "FROM a INSERT INTO b PARTITION (x = 1, y) (c) SELECT 1 INSERT OVERWRITE d BY NAME VALUES (DEFAULT, 2)";
    let found = statement(text).inserts().unwrap();
    let before: Vec<_> = found.iter().map(|one| part(text, one.before.unwrap())).collect();
    assert_eq!(before, ["FROM a", "FROM a"]);
    assert_eq!(found[0].columns.as_deref(), Some(&["c".to_owned()][..]));
    assert_eq!(found[0].partition, [("x".to_owned(), Some((36, 37))), ("y".to_owned(), None)]);
    assert_eq!(part(text, found[0].query), "SELECT 1");
    assert_eq!(part(text, found[1].query), "VALUES (DEFAULT, 2)");
    assert_eq!(found[1].defaults.iter().map(|span| part(text, *span)).collect::<Vec<_>>(), ["DEFAULT"]);
    assert!(found[1].overwrites && found[1].by_name && !found[0].overwrites);
}

#[test]
fn a_new_table_has_columns_and_clauses() {
    let text = "CREATE EXTERNAL TABLE t (id bigint NOT NULL COMMENT 'key', `a b` struct<x: int, y: decimal(10, 2)>) \
                USING hudi PARTITIONED BY (city string, day) TBLPROPERTIES (primaryKey = 'id', 'b' true) COMMENT 'c'";
    let table = statement(text).create_table().unwrap();
    let columns: Vec<_> = table.columns.iter().map(|one| (one.path.join("."), one.kind.clone().unwrap())).collect();
    let expected = [("id", "bigint"), ("a b", "struct<x: int, y: decimal(10, 2)>"), ("city", "string")];
    assert_eq!(columns, expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
    assert_eq!((table.columns[0].is_nullable, table.columns[0].comment.as_deref()), (false, Some("key")));
    assert_eq!((table.partitions, table.provider), (vec!["city".to_owned(), "day".to_owned()], "HUDI".to_owned()));
    assert_eq!(table.properties.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["primaryKey", "b"]);
    assert!(table.is_external && !table.if_not_exists);
    for (text, message) in [
        ("CREATE TABLE t (a int DEFAULT 1) USING hudi", "columns with default and generated values are not supported"),
        ("CREATE TABLE t (a int) USING hudi AS SELECT 1", "columns and AS SELECT exclude each other"),
        (
            "CREATE TABLE t (a int) USING hudi PARTITIONED BY (days(a))",
            "tables are partitioned by columns; partition transforms are not supported",
        ),
        (
            "CREATE TABLE t USING hudi CLUSTERED",
            "PARTITIONED BY, TBLPROPERTIES, OPTIONS, LOCATION, COMMENT or AS is expected here",
        ),
    ] {
        assert_eq!(refusal(statement(text).create_table()).0, message);
    }
    let table = statement("CREATE TABLE a LIKE b USING hudi LOCATION '/x'").create_table().unwrap();
    assert_eq!((table.location.as_deref(), table.parts), (Some("/x"), vec!["a".to_owned()]));
}

#[test]
fn columns_are_added_changed_and_dropped() {
    let found = statement("ALTER TABLE t ADD COLUMNS (a int, s.b string COMMENT 'x' AFTER a)").alter_table().unwrap();
    assert_eq!((found.kind, found.columns[1].path.join(".").as_str()), ("add", "s.b"));
    assert_eq!((found.columns[1].after.as_deref(), found.columns[0].kind.as_deref()), (Some("a"), Some("int")));
    let found = statement("ALTER TABLE t REPLACE COLUMNS (a int, b string)").alter_table().unwrap();
    assert_eq!((found.kind, found.columns.len()), ("replace", 2));
    let found = statement("ALTER TABLE t CHANGE COLUMN a b bigint FIRST").alter_table().unwrap();
    let column = &found.columns[0];
    assert_eq!((column.path.join("."), column.new_name.as_deref()), ("a".to_owned(), Some("b")));
    assert!(column.is_first && column.kind.as_deref() == Some("bigint"));
    let found = statement("ALTER TABLE t ALTER COLUMN a TYPE bigint, b DROP NOT NULL").alter_table().unwrap();
    assert!(found.columns[1].drops_not_null && found.columns[0].new_name.is_none());
    let found = statement("ALTER TABLE t DROP COLUMN IF EXISTS a, b.c").alter_table().unwrap();
    assert_eq!((found.kind, found.dropped.len(), found.if_exists), ("drop", 2, true));
    let found = statement("ALTER TABLE t DROP PARTITION (a = 1), PARTITION (a = 2) PURGE").alter_table().unwrap();
    assert_eq!((found.kind, found.partitions.len()), ("drop_partitions", 2));
    let found = statement("ALTER TABLE t RENAME TO a.b").alter_table().unwrap();
    assert_eq!((found.kind, found.to.unwrap().join("."), found.to_at), ("rename_table", "a.b".to_owned(), 21));
    let found = statement("ALTER TABLE t SET TBLPROPERTIES ('a.b' = '1', c = 2)").alter_table().unwrap();
    let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
    assert_eq!((found.kind, found.properties), ("properties", vec![set("a.b", "1"), set("c", "2")]));
    let found = statement("ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('a.b', c)").alter_table().unwrap();
    assert_eq!((found.properties, found.if_exists), (vec![("a.b".to_owned(), None), ("c".to_owned(), None)], true));
    let found = statement("ALTER TABLE t RENAME COLUMN a TO b").alter_table().unwrap();
    assert_eq!(found.columns[0].new_name.as_deref(), Some("b"));
    for (text, message) in [
        ("ALTER TABLE t ADD a int", "COLUMN or COLUMNS is expected here"),
        ("ALTER TABLE t ADD PARTITION (a = 1)", "partitions are not added by hand; a write adds those of its rows"),
        ("ALTER TABLE t MOVE a", "ADD, REPLACE, DROP, RENAME, ALTER, CHANGE, SET or UNSET is expected here"),
        ("ALTER TABLE t DROP COLUMN a b", "the statement should end here"),
    ] {
        assert_eq!(refusal(statement(text).alter_table()).0, message);
    }
}

#[test]
fn calls_have_arguments_with_and_without_names() {
    let text = "CALL run_clean('db.t', 5, retain_commits => 1 + 1, options = 'a=b')";
    let found = statement(text).arguments().unwrap();
    let shown: Vec<_> =
        found.iter().map(|one| (one.name.as_deref(), one.text.as_deref(), part(text, one.value))).collect();
    let expected = [
        (None, Some("db.t"), "'db.t'"),
        (None, None, "5"),
        (Some("retain_commits"), None, "1 + 1"),
        (Some("options"), Some("a=b"), "'a=b'"),
    ];
    assert_eq!(shown, expected.map(|(name, text, value)| (name, text, value.to_owned())));
    assert_eq!(refusal(statement("CALL a(1").arguments()).0, "an expression is expected here");
    assert_eq!(statement("SHOW TBLPROPERTIES t (a.b)").property().unwrap().as_deref(), Some("a.b"));
    assert!(statement("SHOW CREATE TABLE t x").property().is_err());
}

#[test]
fn values_of_parameters_are_tokens() {
    let text = "CREATE TABLE t (a int) USING hudi LOCATION :place TBLPROPERTIES (a = :n, b = :b)";
    let values = vec![
        (43, 49, ParameterValue::Text("/lake".to_owned())),
        (69, 71, ParameterValue::Number("5".to_owned())),
        (77, 79, ParameterValue::Word("true".to_owned())),
    ];
    let table = Statement::parse(text, values).unwrap().create_table().unwrap();
    assert_eq!(table.location.as_deref(), Some("/lake"));
    let expected = [("a".to_owned(), "5".to_owned()), ("b".to_owned(), "true".to_owned())];
    assert_eq!(table.properties, expected);
}
