//! Tokens, the ends of expressions, and parameters.

use super::{part, refusal, with_cursor};
use crate::statements::statement_parameters;
use crate::statements::tokens::Tokens;

const WORDS: &[&str] =
    &["case", "end", "when", "then", "else", "set", "values", "matched", "not", "by", "where", "on", "using", "as"];

fn token_strings(text: &str) -> Vec<String> {
    Tokens::of_text(text).unwrap().tokens.into_iter().map(|token| token.text).collect()
}

#[test]
fn tokens_are_those_of_spark() {
    let cases: &[(&str, &[&str])] = &[
        ("X'' x'0A'", &["X", "", "x", "0A"]),
        (
            "1L 1e3D 5BD .5 5. 1.e-3 1st a.1st 1.2a 1e5x",
            &["1L", "1e3D", "5BD", ".5", "5.", "1.e-3", "1st", "a", ".", "1st", "1", ".", "2a", "1e5x"],
        ),
        (r#"'it\'s' 'a\\' '\u0041\101\n' "q'q" '\%\0\U00000042\1'"#, &["it's", "a\\", "AA\n", "q'q", "\\%\0B1"]),
        (r"'it''s' '\''''", &["it's", "''"]),
        (r#"r'a\' R"\""#, &["a\\", "\\"]),
        ("`a``b`.`c d` ``", &["a`b", ".", "c d", ""]),
        ("a /* x /* ' */ ( */ b -- ( '\nc --\\\n d", &["a", "b", "c"]),
        ("SELECT /*+ BROADCAST(v) */ 1;;", &["SELECT", "1"]),
        ("a<=>b::int <> c => d -> e", &["a", "<=>", "b", "::", "int", "<>", "c", "=>", "d", "->", "e"]),
        ("ä \u{1f600}$", &["ä", "\u{1f600}", "$"]),
    ];
    for (text, expected) in cases {
        assert_eq!(token_strings(text), *expected, "{text}");
    }
}

#[test]
fn what_has_no_end_is_an_error_with_its_place() {
    for text in ["'a", "\"a", "`a", "SELECT\n /* a /* b */", "'a\\'", "r'a", "'", "'a''"] {
        let message = Tokens::of_text(text).err().unwrap().to_string();
        assert!(message.contains("has no end (line "), "{message}");
        assert!(message.ends_with('^'), "{message}");
    }
    let message = Tokens::of_text("SELECT\n  'ä").err().unwrap().to_string();
    assert!(message.ends_with("this string has no end (line 2, column 3)\n  'ä\n  ^"), "{message}");
}

fn until(text: &str, stops: &[&str]) -> (String, String) {
    with_cursor(text, |cursor| {
        let span = cursor.until(stops).unwrap();
        (part(text, span), cursor.word().to_owned())
    })
}

/// Spark allows these words as names of columns, without quotes.
#[test]
fn an_expression_goes_on_at_names_that_are_keywords() {
    for word in WORDS {
        let operand = format!("t.{word}");
        for text in [
            format!("{operand} > 1"),
            format!("{operand} + s.{word} IS NOT NULL AND f({operand})"),
            format!("CASE WHEN {operand} > 1 THEN {operand} ELSE t.{word} END"),
            format!("{word}.x = 1 AND (SELECT {word} FROM x WHERE CASE WHEN 1 = 1 THEN 1 END = 1) = 1"),
        ] {
            for stop in ["WHEN", "THEN", "WHERE", ","] {
                let found = until(&format!("{text} {stop} rest"), &["WHEN", "THEN", "WHERE", ","]);
                assert_eq!(found, (text.clone(), stop.to_owned()));
            }
        }
    }
}

#[test]
fn an_expression_goes_on_at_such_names_without_a_table() {
    for word in ["end", "when", "then", "set", "values", "matched", "case", "on", "using"] {
        for text in [
            format!("{word} > 1"),
            format!("1 = {word}"),
            format!("{word} IS NULL OR CASE WHEN {word} = 2 THEN {word} END = {word}"),
        ] {
            assert_eq!(until(&format!("{text} THEN rest"), &["WHEN", "THEN"]).0, text);
        }
    }
}

#[test]
fn an_expression_has_strings_and_brackets_of_all_forms() {
    let text = r#"r'(' || X'' || '(' = "\")" AND a[1] IN (1, 'WHEN') AND INTERVAL '1' DAY > {x}"#;
    assert_eq!(until(&format!("{text} WHEN MATCHED"), &["WHEN"]).0, text);
    let found = with_cursor("WHEN MATCHED", |cursor| refusal(cursor.until(&["WHEN"])));
    assert_eq!(found, ("an expression is expected here".to_owned(), 0));
}

#[test]
fn parameters_are_found_where_they_are_named() {
    for (text, expected) in [
        ("SELECT :a, ':a', x.a -- :a", vec![(7, 9, Some("a"))]),
        ("SELECT 1 -:a, b::int, :b", vec![(10, 12, Some("a")), (22, 24, Some("b"))]),
        ("SELECT CAST(x AS struct<a:int, b:struct<c:int>>) = :int", vec![(51, 55, Some("int"))]),
        ("SELECT a < b, :c, d > e", vec![(14, 16, Some("c"))]),
        ("SELECT ?, '?', : a", vec![(7, 8, None)]),
    ] {
        let found = statement_parameters(text).unwrap();
        let found: Vec<_> = found.iter().map(|one| (one.at, one.end, one.name.as_deref())).collect();
        assert_eq!(found, expected, "{text}");
    }
}
