//! What a caller asks of rows: any of several lists of terms, all terms of a list (disjunctive normal form, as in
//! pyarrow).

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use mortice_base::error::{Error, Result};

/// A value to compare with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Literal {
    /// Only refused, with the way out: null equals nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of any width.
    Int(i128),
    /// A floating-point number, by its bits: a split travels as text, which has no NaN.
    Float(#[serde(with = "bits")] f64),
    /// Text; also a date or time as text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A decimal number.
    Decimal {
        /// Its digits.
        unscaled: i128,
        /// How many of them stand behind the point.
        scale: i8,
    },
    /// Days since the epoch.
    Date(i32),
    /// Microseconds since the epoch.
    Timestamp {
        /// The microseconds.
        micros: i64,
        /// Whether they are an instant, or else a wall clock's.
        utc: bool,
    },
}

mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.to_bits().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

/// How a column is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// `=`
    Eq,
    /// `!=`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
    /// `in`
    In,
    /// `not in`
    NotIn,
    /// `like`, a pattern of SQL
    Like,
    /// `not like`
    NotLike,
    /// `is null`
    IsNull,
    /// `is not null`
    IsNotNull,
}

impl Operator {
    const TEXTS: [(&'static str, Self); 13] = [
        ("=", Self::Eq),
        ("==", Self::Eq),
        ("!=", Self::NotEq),
        ("<", Self::Lt),
        ("<=", Self::LtEq),
        (">", Self::Gt),
        (">=", Self::GtEq),
        ("in", Self::In),
        ("not in", Self::NotIn),
        ("like", Self::Like),
        ("not like", Self::NotLike),
        ("is null", Self::IsNull),
        ("is not null", Self::IsNotNull),
    ];

    /// The operator that a text names; letters of either case.
    pub fn parse(text: &str) -> Result<Self> {
        let lower = text.trim().to_lowercase();
        Self::TEXTS.iter().find(|(name, _)| *name == lower).map(|(_, operator)| *operator).ok_or_else(|| {
            let known: Vec<_> = Self::TEXTS.iter().map(|(name, _)| *name).collect();
            Error::invalid_argument(format!("unknown filter operator {text:?} (supported: {})", known.join(", ")))
        })
    }

    /// Its text.
    #[must_use]
    pub fn text(self) -> &'static str {
        Self::TEXTS.iter().find(|(_, operator)| *operator == self).map_or("", |(name, _)| name)
    }

    /// The operator of the same comparison with its sides exchanged.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
            same => same,
        }
    }

    /// The operator that is true where this one is false, and null where it is null.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
            Self::Lt => Self::GtEq,
            Self::LtEq => Self::Gt,
            Self::Gt => Self::LtEq,
            Self::GtEq => Self::Lt,
            Self::In => Self::NotIn,
            Self::NotIn => Self::In,
            Self::Like => Self::NotLike,
            Self::NotLike => Self::Like,
            Self::IsNull => Self::IsNotNull,
            Self::IsNotNull => Self::IsNull,
        }
    }
}

/// One comparison of one column, or of a field of a struct. One that another process has sent is checked as one that a
/// caller makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedTerm")]
pub struct Term {
    column: String,
    /// The names of the field within the column, outermost first; none for the column itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    operator: Operator,
    literals: Vec<Literal>,
}

impl Term {
    /// `literals`: one for a comparison, any number for `in` and `not in`, none for the null tests. A null literal is
    /// refused: nothing equals null.
    pub fn new(column: impl Into<String>, operator: Operator, literals: Vec<Literal>) -> Result<Self> {
        let column = column.into();
        let fits = match operator {
            Operator::In | Operator::NotIn => true,
            Operator::IsNull | Operator::IsNotNull => literals.is_empty(),
            _ => literals.len() == 1,
        };
        if !fits {
            let message =
                format!("a filter has {} literals for {:?} of column {column:?}", literals.len(), operator.text());
            return Err(Error::invalid_argument(message));
        }
        if literals.contains(&Literal::Null) {
            let message = format!(
                "a filter compares {:?} of column {column:?} with null, which equals nothing; use \"is null\"",
                operator.text()
            );
            return Err(Error::invalid_argument(message));
        }
        Ok(Self { column, fields: Vec::new(), operator, literals })
    }

    /// The term that is true where this one is false.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self { operator: self.operator.negated(), ..self.clone() }
    }

    /// Compares a field within the column instead: the names of structs and their field, outermost first.
    #[must_use]
    pub fn with_fields(self, fields: Vec<String>) -> Self {
        Self { fields, ..self }
    }

    /// The field within the column that is compared, by its names; empty for the column itself.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// The column compared, or the one that has the field.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// How.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// With what.
    #[must_use]
    pub fn literals(&self) -> &[Literal] {
        &self.literals
    }
}

/// What is sent of a term.
#[derive(Deserialize)]
struct UncheckedTerm {
    column: String,
    #[serde(default)]
    fields: Vec<String>,
    operator: Operator,
    literals: Vec<Literal>,
}

impl TryFrom<UncheckedTerm> for Term {
    type Error = Error;

    fn try_from(sent: UncheckedTerm) -> Result<Self> {
        Ok(Self::new(sent.column, sent.operator, sent.literals)?.with_fields(sent.fields))
    }
}

/// Which rows are wanted; by default all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    any: Vec<Vec<Term>>,
}

impl Filter {
    /// Rows that satisfy all terms of any of the lists. No list at all is every row; so is a list without terms.
    #[must_use]
    pub fn any_of(any: Vec<Vec<Term>>) -> Self {
        if any.iter().any(Vec::is_empty) { Self::default() } else { Self { any } }
    }

    /// Returns the filter as another process of the same release reads it.
    ///
    /// # Errors
    /// `Internal` if it cannot be serialised.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::internal("a filter is JSON").caused_by(error))
    }

    /// Reads what [`Filter::to_bytes`] has returned.
    ///
    /// # Errors
    /// `InvalidArgument` for other bytes.
    pub fn from_bytes(data: &[u8]) -> Result<Self> {
        serde_json::from_slice(data).map_err(|error| Error::invalid_argument("not a filter").caused_by(error))
    }

    /// Rows that satisfy all terms; without terms every row.
    #[must_use]
    pub fn all_of(terms: Vec<Term>) -> Self {
        Self::any_of(if terms.is_empty() { Vec::new() } else { vec![terms] })
    }

    /// Whether every row is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// The lists.
    #[must_use]
    pub fn lists(&self) -> &[Vec<Term>] {
        &self.any
    }

    /// The columns it looks at.
    #[must_use]
    pub fn columns(&self) -> BTreeSet<&str> {
        self.any.iter().flatten().map(Term::column).collect()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.any.is_empty() {
            return f.write_str("none");
        }
        let lists: Vec<String> =
            self.any.iter().map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")).collect();
        f.write_str(&lists.join(" or "))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.column)?;
        self.fields.iter().try_for_each(|field| write!(f, ".{field}"))?;
        write!(f, " {}", self.operator.text())?;
        match self.literals.as_slice() {
            [] => Ok(()),
            [one] => write!(f, " {one}"),
            more => write!(f, " ({})", more.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::Bytes(value) => write!(f, "{} bytes", value.len()),
            Self::Decimal { unscaled, scale } => write!(f, "{unscaled}e-{scale}"),
            Self::Date(days) => write!(f, "day {days}"),
            Self::Timestamp { micros, .. } => write!(f, "{micros} µs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_by_their_strings() {
        for (text, operator) in Operator::TEXTS {
            assert_eq!(Operator::parse(text).unwrap(), operator);
        }
        assert_eq!(Operator::parse(" NOT IN ").unwrap(), Operator::NotIn);
        assert!(Operator::parse("~").unwrap_err().to_string().contains("is not null"));
    }

    #[test]
    fn a_negation_is_undone_by_another() {
        for (_, operator) in Operator::TEXTS {
            assert_ne!(operator.negated(), operator);
            assert_eq!(operator.negated().negated(), operator);
            assert_eq!(operator.turned().turned(), operator);
        }
    }

    #[test]
    fn null_is_refused_with_the_way_out() {
        let error = Term::new("a", Operator::Eq, vec![Literal::Null]).unwrap_err();
        assert!(error.to_string().contains("is null"));
        assert!(Term::new("a", Operator::Eq, vec![]).is_err());
        assert!(Term::new("a", Operator::IsNull, vec![Literal::Int(1)]).is_err());
    }

    #[test]
    fn a_term_that_was_sent_is_checked() {
        let read = |operator: &str, literals: &str| {
            let term = format!(r#"{{"column":"a","operator":"{operator}","literals":{literals}}}"#);
            serde_json::from_str::<Filter>(&format!(r#"{{"any":[[{term}]]}}"#))
        };
        let (none, one, two) = ("[]", r#"[{"Int":1}]"#, r#"[{"Int":1},{"Int":2}]"#);
        assert!(read("Eq", one).is_ok() && read("In", none).is_ok() && read("IsNull", none).is_ok());
        for (operator, literals) in [("Eq", none), ("Lt", two), ("Like", none), ("IsNull", one), ("In", r#"["Null"]"#)]
        {
            assert!(read(operator, literals).is_err(), "{operator} {literals}");
        }
    }

    #[test]
    fn travels_as_text() {
        let literals =
            vec![Literal::Float(f64::NAN), Literal::Float(-0.0), Literal::Int(i128::MAX), Literal::Bytes(vec![0, 255])];
        let filter = Filter::any_of(vec![vec![Term::new("a", Operator::In, literals).unwrap()]]);
        let back = Filter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{filter:?}"));
    }
}
