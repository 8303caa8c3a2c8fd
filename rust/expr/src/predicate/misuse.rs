//! What is wrong with filters that are not text: their form, their terms and their literals.

use mortice_base::Error;
use mortice_formats::filter::Operator;

const SHAPE: &str = "filters must be text (\"fare > 80 and city = 'oslo'\"), an expression of pyarrow or polars, a list \
                     of (column, operator, literal) terms, all of which must hold, or a list of such lists, any of \
                     which must";
/// The operators of terms, in the order in which messages list them.
const OPERATORS: &[Operator] = &[
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::In,
    Operator::NotIn,
    Operator::Like,
    Operator::NotLike,
    Operator::IsNull,
    Operator::IsNotNull,
];

/// What is wrong. Values are described as their language shows them.
#[derive(Debug, Clone, Copy)]
pub enum Misuse<'a> {
    /// Neither text nor an expression nor a list, by its type, and its value if that is short.
    NoFilters(&'a str),
    /// An item of a list of lists that is no list.
    NoList,
    /// A term next to lists of terms.
    TermNextToLists,
    /// A list without terms.
    EmptyList,
    /// No column, operator and literal.
    NoTerm,
    /// An operator that there is not.
    Operator(&'a str),
    /// A literal behind a test for null.
    Literal(Operator),
    /// No literal.
    NoLiteral,
    /// Something else than a list behind an operator of lists.
    NoLiteralList(&'a str),
    /// Something else than a string behind an operator of patterns.
    NoPattern(Operator),
    /// A literal of another type, or out of range: its value, its type, and why.
    Unusable(&'a str, &'a str, &'a str),
}

impl Misuse<'_> {
    /// Why a number is refused.
    pub const TOO_MANY_DIGITS: &'static str = "it has more than 38 digits";
    /// Why a value of another type is refused.
    pub const OTHER_TYPE: &'static str = "use None, bool, int, float, str, bytes, Decimal, date or datetime";

    /// Returns the error for an item, which is shown: a term, or an item of a list.
    #[must_use]
    pub fn error(self, shown: &str) -> Error {
        Error::invalid_argument(match self {
            Self::NoFilters(got) => format!("{SHAPE}; got {got}"),
            Self::NoList => format!("{SHAPE}; got {shown} instead of a term or a list of terms"),
            Self::TermNextToLists => format!("{SHAPE}; got the term {shown} next to lists of terms"),
            Self::EmptyList => format!("{SHAPE}; one of the lists is empty"),
            Self::NoTerm => format!("a filter term must be (column, operator, literal), got {shown}"),
            Self::Operator(name) => {
                let known: Vec<_> = OPERATORS.iter().map(|operator| operator.text()).collect();
                let hint = if words(name) == "is" { "; write ('…', 'is null')" } else { "" };
                format!("unknown operator '{name}' in {shown}; supported: {}{hint}", known.join(", "))
            }
            Self::Literal(operator) => format!("'{}' takes no literal, got {shown}", operator.text()),
            Self::NoLiteral => format!("the filter term {shown} needs a literal: (column, operator, literal)"),
            Self::NoLiteralList(name) => format!("'{name}' takes a list of literals, got {shown}"),
            Self::NoPattern(operator) => {
                format!("'{}' takes a pattern, such as 'os%', got {shown}", operator.text())
            }
            Self::Unusable(value, kind, why) => {
                format!("the literal {value} ({kind}) in {shown} cannot be used; {why}")
            }
        })
    }
}

/// Returns the operator of a term by its name, in letters of either case. None if there is none.
#[must_use]
pub fn operator(name: &str) -> Option<Operator> {
    match words(name).as_str() {
        "<>" => Some(Operator::NotEq),
        words => Operator::parse(words).ok(),
    }
}

fn words(name: &str) -> String {
    name.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}
