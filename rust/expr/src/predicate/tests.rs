//! Predicates of text and terms, their normal form, and what is pushed down.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal256Array, DictionaryArray, StringArray, TimestampNanosecondArray, UInt64Array};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use mortice_base::ErrorKind;
use mortice_formats::filter::{Filter, Literal, Operator, Term};

use super::pushdown::{after, prefix};
use super::values::literal_at;
use super::*;

fn schema() -> Schema {
    let rider = vec![Field::new("name", DataType::Utf8, true)];
    Schema::new(vec![
        Field::new("n", DataType::Int32, true),
        Field::new("x", DataType::Float64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("b", DataType::Boolean, true),
        Field::new("d", DataType::Date32, true),
        Field::new("t", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new("m", DataType::Decimal128(6, 2), true),
        Field::new("r", DataType::Struct(rider.into()), true),
        Field::new("r.k", DataType::Int64, true),
    ])
}

fn filter(text: &str) -> String {
    condition(text, Some(&schema())).unwrap().filter(Some(&schema())).unwrap().to_string()
}

fn refused(text: &str) -> String {
    let found = condition(text, Some(&schema())).and_then(|found| found.filter(Some(&schema())));
    let error = found.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    error.to_string()
}

#[test]
fn text_in_normal_form() {
    for (text, expected) in [
        ("n > 1", "n > 1"),
        ("2 <= n and not b", "n >= 2 and b != true"),
        ("n > 1.5", "n > 15e-1"),
        ("n > 3e0 or n > 1e5", "n > 3e-0 or n > 100000"),
        ("s = '10'", "s = \"10\""),
        ("s = oslo", "s = \"oslo\""),
        ("r.name = 'a' and r.k = 1", "r.name = \"a\" and r.k = 1"),
        ("not (n > 1 or s in ('a', 'b'))", "n <= 1 and s not in (\"a\", \"b\")"),
        ("not (n > 1 and b)", "n <= 1 or b != true"),
        ("n = 1 or n in (2, 3) or s is null", "n in (1, 2, 3) or s is null"),
        ("n <=> null or n <=> 1", "n is null or n = 1 and n is not null"),
        ("not (n <=> 1)", "n != 1 or n is null"),
        ("b is not true", "b != true or b is null"),
        ("n between 1 and 2", "n >= 1 and n <= 2"),
        ("n in (1, null)", "n = 1"),
        ("n = null", "n in"),
        ("not (n = null) and b", "n in"),
        ("true", "none"),
        ("n > 1 or true", "none"),
        ("d = 2024-01-03", "d = \"2024-01-03\""),
        ("d = date '1970-01-02'", "d = day 1"),
    ] {
        assert_eq!(filter(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_filter_is_refused_at_its_place() {
    for (text, message) in [
        ("n > 1 n", "has 'n', which is not expected at character 7"),
        ("1 = 1", "compares no column with a literal: a column is expected at character 3"),
        ("n = b", "with a literal, not with the column b; the string is 'b'"),
        ("n = n + 1", "compares a column with no literal"),
        ("s like 5", "LIKE without a pattern in single quotes at character 3"),
        ("s = 10", "compares the strings of column s with the number 10; the string is '10'"),
        ("r.name in ('a', 3)", "column r.name with the number 3; the string is '3'"),
        ("5", "has no operator"),
        ("n + 1", "computes a value (+)"),
        (
            "n = 100000000000000000000000000000000000000",
            "the literal 100000000000000000000000000000000000000 (int) in ('n', '=', \
             100000000000000000000000000000000000000) cannot be used; it has more than 38 digits",
        ),
    ] {
        let error = refused(text);
        assert!(error.contains(message), "{text}: {error}");
    }
    let never = condition("false", None).unwrap().filter(None).unwrap_err();
    assert!(never.to_string().contains("is never true"), "{never}");
}

#[test]
fn a_normal_form_has_a_limit_and_can_be_weakened() {
    let parts: Vec<_> = (0..20).map(|number| format!("(n = {number} or x = {number})")).collect();
    let text = parts.join(" and ");
    assert!(refused(&text).contains("4096 are the most"));
    let weakened = condition(&text, Some(&schema())).unwrap().superset(&schema()).unwrap();
    assert!((1..=MOST_TERMS).contains(&weakened.lists().len()));
    let equal: Vec<_> = (0..9_999).map(|number| format!("n = {number}")).collect();
    let found = condition(&equal.join(" or "), None).unwrap().filter(None).unwrap();
    assert_eq!(found.lists()[0][0].literals().len(), 9_999);
}

#[test]
fn patterns_have_bounds() {
    assert_eq!(filter("s like 'os%'"), r#"s like "os%" and s >= "os" and s < "ot""#);
    assert_eq!(filter("s like '%o'"), r#"s like "%o""#);
    assert_eq!(filter("not s like 'os%'"), r#"s not like "os%""#);
    for (pattern, beginning) in [("a_b", "a"), (r"a\_b%c", "a_b"), (r"a\", r"a\"), ("", ""), ("%", "")] {
        assert_eq!(prefix(pattern), beginning, "{pattern}");
    }
    let (last, before_surrogates) = ("\u{10ffff}", "a\u{d7ff}");
    assert_eq!(after(last), None);
    assert_eq!(after(&format!("a{last}")).as_deref(), Some("b"));
    assert_eq!(after(before_surrogates).as_deref(), Some("a\u{e000}"));
}

#[test]
fn terms_name_fields_of_structs_with_points() {
    let term = |column: &str| Term::new(column, Operator::IsNull, vec![]).unwrap();
    let of = |schema: Option<&Schema>| of_terms(vec![vec![term("r.name"), term("r.k"), term("q.k")]], schema).unwrap();
    let fields = |filter: &Filter| filter.lists()[0].iter().map(|term| term.fields().len()).collect::<Vec<_>>();
    assert_eq!(fields(&of(Some(&schema()))), [1, 0, 0]);
    assert_eq!(fields(&of(None)), [0, 0, 0]);
    assert_eq!(of(Some(&schema())).lists()[0][2].column(), "q.k");
}

#[test]
fn a_conjunction_of_filters() {
    let of = |text| condition(text, None).unwrap().filter(None).unwrap();
    let both = conjunction(&of("n = 1 or b"), &of("n = 1 and x > 2")).unwrap();
    assert_eq!(both.to_string(), "n = 1 and x > 2 or b = true and n = 1 and x > 2");
    assert_eq!(conjunction(&Filter::default(), &of("b")).unwrap().to_string(), "b = true");
    assert!(conjunction(&Filter::default(), &Filter::default()).unwrap().is_empty());
}

#[test]
fn a_superset_has_what_every_engine_evaluates_alike() {
    let superset = |predicate: Predicate| predicate.superset(&schema()).unwrap().to_string();
    let compared =
        |column: &str, literal: Literal| Predicate::Term(Term::new(column, Operator::Eq, vec![literal]).unwrap());
    let decimal = |unscaled, scale| Literal::Decimal { unscaled, scale };
    let moment = |utc| Literal::Timestamp { micros: 0, utc };
    for (column, exact, other) in [
        ("n", Literal::Int(1), Literal::Float(1.0)),
        ("n", Literal::Int(i128::from(i32::MIN)), Literal::Int(1 << 31)),
        ("x", Literal::Float(0.5), Literal::Int((1 << 53) + 1)),
        ("x", Literal::Int(-(1 << 53)), decimal(5, 1)),
        ("s", Literal::Text("a".into()), Literal::Bytes(vec![97])),
        ("b", Literal::Bool(true), Literal::Int(1)),
        ("d", Literal::Date(1), Literal::Text("1970-01-02".into())),
        ("t", moment(true), moment(false)),
        ("m", decimal(999_999, 2), decimal(1_000_000, 2)),
        ("m", decimal(0, 2), decimal(1, 3)),
    ] {
        let and = |literal: Literal| {
            superset(Predicate::AllOf(vec![compared(column, literal), compared("s", Literal::Text("z".into()))]))
        };
        assert!(and(exact.clone()).starts_with(&format!("{column} = ")), "{exact}");
        assert_eq!(and(other.clone()), "s = \"z\"", "{other}");
        assert_eq!(
            superset(Predicate::AnyOf(vec![compared(column, other), compared("b", Literal::Bool(true))])),
            "none"
        );
    }
    assert_eq!(superset(compared("nope", Literal::Int(1))), "none");
    assert_eq!(superset(Predicate::Constant(Some(false))), "n in");
}

#[test]
fn values_of_arrays_are_literals_if_they_are_exact() {
    let at = |values: ArrayRef| literal_at(&values, 0);
    assert_eq!(at(Arc::new(UInt64Array::from(vec![u64::MAX]))), Some(Literal::Int(u64::MAX.into())));
    assert_eq!(at(Arc::new(StringArray::from(vec![None::<&str>]))), Some(Literal::Null));
    assert_eq!(at(Arc::new(StringArray::new_null(0))), None);
    let words: DictionaryArray<arrow_array::types::Int8Type> = vec!["oslo"].into_iter().collect();
    assert_eq!(at(Arc::new(words)), Some(Literal::Text("oslo".into())));
    let nanos = |value| at(Arc::new(TimestampNanosecondArray::from(vec![value])));
    assert_eq!(nanos(-2_000), Some(Literal::Timestamp { micros: -2, utc: false }));
    assert_eq!(nanos(1), None);
    let wide = |value| {
        let values = Decimal256Array::from(vec![value]).with_precision_and_scale(76, 3).unwrap();
        at(Arc::new(values))
    };
    assert_eq!(wide(i256::from(1_500)), Some(Literal::Decimal { unscaled: 1_500, scale: 3 }));
    assert_eq!(wide(i256::MAX.wrapping_div(i256::from(10))), None);
}

#[test]
fn operators_of_terms_by_their_names() {
    assert_eq!(operator("IS  Not null"), Some(Operator::IsNotNull));
    assert_eq!((operator("<>"), operator("==")), (Some(Operator::NotEq), Some(Operator::Eq)));
    assert_eq!(operator("is"), None);
    let error = Misuse::Operator("is").error("('a', 'is', None)").to_string();
    assert!(error.contains("supported: =, !=, <, <=, >, >=, in, not in, like"), "{error}");
    assert!(error.contains("write ('…', 'is null')"), "{error}");
}
