//! A filter as a condition of Spark's SQL that the same rows pass. Comparisons are Spark's already (`evaluate`).
//!
//! Literals have the type of their column, so that Spark casts no column and pushes the condition down. Strings are
//! written as their bytes: no setting of the session changes how they are parsed.

use std::fmt::{LowerExp, Write as _};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema, TimeUnit};

use super::evaluate::{BoundFilter, BoundTerm};
use super::expr::Operator;

impl BoundFilter {
    /// Returns the filter as a condition of Spark's SQL on rows with the columns of `schema`, to which it is bound.
    ///
    /// `None` if no condition is certain to pass the same rows: patterns with escapes, which Spark checks, and literals
    /// of timestamps without a zone, which Spark's SQL cannot write as a number.
    #[must_use]
    pub fn spark_sql(&self, schema: &Schema) -> Option<String> {
        if self.any.is_empty() {
            return Some("TRUE".to_owned());
        }
        let all = |terms: &Vec<BoundTerm>| {
            let terms = terms.iter().map(|term| term.spark_sql(schema)).collect::<Option<Vec<_>>>()?;
            Some(format!("({})", terms.join(" AND ")))
        };
        Some(self.any.iter().map(all).collect::<Option<Vec<_>>>()?.join(" OR "))
    }
}

impl BoundTerm {
    fn spark_sql(&self, schema: &Schema) -> Option<String> {
        let column = self.spark_name(schema)?;
        let literals = || (0..self.literals.len()).map(|row| literal(&self.literals, row)).collect::<Option<Vec<_>>>();
        Some(match self.operator {
            Operator::IsNull => format!("{column} IS NULL"),
            Operator::IsNotNull => format!("{column} IS NOT NULL"),
            Operator::In if self.literals.is_empty() => "FALSE".to_owned(),
            Operator::NotIn if self.literals.is_empty() => format!("{column} IS NOT NULL"),
            Operator::In => format!("{column} IN ({})", literals()?.join(", ")),
            Operator::NotIn => format!("{column} NOT IN ({})", literals()?.join(", ")),
            Operator::Like | Operator::NotLike if self.has_escapes() => return None,
            Operator::Like => format!("{column} LIKE {}", literals()?.first()?),
            Operator::NotLike => format!("{column} NOT LIKE {}", literals()?.first()?),
            Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
                format!("{column} {} {}", self.operator.text(), literals()?.first()?)
            }
        })
    }

    fn has_escapes(&self) -> bool {
        self.literals.as_string_opt::<i32>().is_none_or(|strings| strings.iter().flatten().any(|it| it.contains('\\')))
    }

    /// Returns the column, or the field within it, as an identifier.
    fn spark_name(&self, schema: &Schema) -> Option<String> {
        let mut field = schema.fields().get(self.column)?;
        let mut name = quoted(field.name());
        for ordinal in &self.fields {
            let DataType::Struct(fields) = field.data_type() else { return None };
            field = fields.get(*ordinal)?;
            // Writing to a String cannot fail.
            let _ = write!(name, ".{}", quoted(field.name()));
        }
        Some(name)
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn literal(literals: &ArrayRef, row: usize) -> Option<String> {
    let cast = |value: String, kind: &str| Some(format!("CAST('{value}' AS {kind})"));
    if literals.is_null(row) {
        return None;
    }
    match literals.data_type() {
        DataType::Boolean => Some(if literals.as_boolean().value(row) { "TRUE" } else { "FALSE" }.to_owned()),
        DataType::Int32 => cast(literals.as_primitive::<Int32Type>().value(row).to_string(), "INT"),
        DataType::Int64 => cast(literals.as_primitive::<Int64Type>().value(row).to_string(), "BIGINT"),
        DataType::Float32 => cast(float_text(literals.as_primitive::<Float32Type>().value(row)), "FLOAT"),
        DataType::Float64 => cast(float_text(literals.as_primitive::<Float64Type>().value(row)), "DOUBLE"),
        DataType::Utf8 => Some(format!("CAST({} AS STRING)", hex(literals.as_string::<i32>().value(row).as_bytes()))),
        DataType::Binary => Some(hex(literals.as_binary::<i32>().value(row))),
        DataType::Date32 => Some(format!("DATE_FROM_UNIX_DATE({})", literals.as_primitive::<Date32Type>().value(row))),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            let micros = literals.as_primitive::<TimestampMicrosecondType>().value(row);
            Some(format!("TIMESTAMP_MICROS(CAST('{micros}' AS BIGINT))"))
        }
        DataType::Decimal128(precision, scale) => {
            let unscaled = literals.as_primitive::<Decimal128Type>().value(row);
            cast(format!("{unscaled}E{}", -i32::from(*scale)), &format!("DECIMAL({precision}, {scale})"))
        }
        _ => None,
    }
}

/// The shortest text of a float, as Java parses it.
fn float_text(value: impl Into<f64> + LowerExp + Copy) -> String {
    match value.into() {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        wide if wide.is_nan() => "NaN".to_owned(),
        _ => format!("{value:e}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    });
    format!("X'{digits}'")
}

#[cfg(test)]
mod tests {
    use arrow_schema::{Field, Fields};

    use super::super::expr::{Filter, Literal, Term};
    use super::*;

    fn schema() -> Schema {
        let inner = Fields::from(vec![Field::new("x`y", DataType::Int32, true)]);
        let micros = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
        let columns = [
            ("b", DataType::Boolean),
            ("i", DataType::Int32),
            ("l", DataType::Int64),
            ("f", DataType::Float32),
            ("d", DataType::Float64),
            ("s", DataType::Utf8),
            ("y", DataType::Binary),
            ("day", DataType::Date32),
            ("t", micros(Some("UTC"))),
            ("n", micros(None)),
            ("m", DataType::Decimal128(5, 2)),
            ("in", DataType::Struct(inner)),
        ];
        Schema::new(columns.map(|(name, kind)| Field::new(name, kind, true)).to_vec())
    }

    fn sql(terms: Vec<Term>) -> Option<String> {
        BoundFilter::bind(&Filter::all_of(terms), &schema()).unwrap().spark_sql(&schema())
    }

    fn term(column: &str, operator: Operator, literals: Vec<Literal>) -> Term {
        Term::new(column, operator, literals).unwrap()
    }

    #[test]
    fn literals_have_the_type_of_their_column() {
        let text = |text: &str| Literal::Text(text.to_owned());
        for (column, literal, expected) in [
            ("b", Literal::Bool(true), "TRUE"),
            ("i", Literal::Int(i32::MIN.into()), "CAST('-2147483648' AS INT)"),
            ("l", Literal::Int(7), "CAST('7' AS BIGINT)"),
            ("f", Literal::Float(0.1), "CAST('1e-1' AS FLOAT)"),
            ("d", Literal::Float(f64::NAN), "CAST('NaN' AS DOUBLE)"),
            ("d", Literal::Float(f64::NEG_INFINITY), "CAST('-Infinity' AS DOUBLE)"),
            ("s", text("a'ü"), "CAST(X'6127C3BC' AS STRING)"),
            ("s", text(""), "CAST(X'' AS STRING)"),
            ("y", Literal::Bytes(vec![0, 255]), "X'00FF'"),
            ("day", Literal::Date(-3), "DATE_FROM_UNIX_DATE(-3)"),
            ("t", Literal::Timestamp { micros: -1, utc: true }, "TIMESTAMP_MICROS(CAST('-1' AS BIGINT))"),
            ("m", Literal::Decimal { unscaled: -125, scale: 2 }, "CAST('-125E-2' AS DECIMAL(5, 2))"),
        ] {
            let found = sql(vec![term(column, Operator::Eq, vec![literal])]).unwrap();
            assert_eq!(found, format!("(`{column}` = {expected})"));
        }
        let local = Literal::Timestamp { micros: 1, utc: false };
        assert_eq!(sql(vec![term("n", Operator::Eq, vec![local])]), None);
        assert_eq!(sql(vec![term("n", Operator::IsNull, vec![])]).unwrap(), "(`n` IS NULL)");
    }

    #[test]
    fn operators_and_lists() {
        let one = |operator, literals| sql(vec![term("i", operator, literals)]).unwrap();
        assert_eq!(one(Operator::In, vec![]), "(FALSE)");
        assert_eq!(one(Operator::NotIn, vec![]), "(`i` IS NOT NULL)");
        let two = || vec![Literal::Int(2), Literal::Int(1)];
        assert_eq!(one(Operator::In, two()), "(`i` IN (CAST('1' AS INT), CAST('2' AS INT)))");
        assert_eq!(one(Operator::Gt, vec![Literal::Float(1.5)]), "(`i` > CAST('1' AS INT))");
        let like = |text: &str| sql(vec![term("s", Operator::NotLike, vec![Literal::Text(text.to_owned())])]);
        assert_eq!(like("a%").unwrap(), "(`s` NOT LIKE CAST(X'6125' AS STRING))");
        assert_eq!(like("a\\%"), None, "Spark checks escapes");
        let nested = term("in", Operator::IsNotNull, vec![]).with_fields(vec!["x`y".to_owned()]);
        assert_eq!(sql(vec![nested.clone(), nested]).unwrap(), "(`in`.`x``y` IS NOT NULL AND `in`.`x``y` IS NOT NULL)");
        let null = |column| vec![term(column, Operator::IsNull, vec![])];
        let either = BoundFilter::bind(&Filter::any_of(vec![null("i"), null("s")]), &schema()).unwrap();
        assert_eq!(either.spark_sql(&schema()).unwrap(), "(`i` IS NULL) OR (`s` IS NULL)");
        assert_eq!(sql(vec![]).unwrap(), "TRUE");
    }
}
