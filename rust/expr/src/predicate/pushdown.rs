//! The filter that a reader gets of a predicate.

use arrow_schema::{DataType, Schema, TimeUnit};
use mortice_base::{Error, Result};
use mortice_formats::filter::{Filter, Literal, Operator, Term};

use super::normal_form::{Lists, disjunctive};
use super::paths::{resolved, type_at};
use super::tree::Predicate;
use crate::decimals::digits_of;

/// Integers up to which a float is exact.
const EXACT_IN_FLOAT: i128 = 1 << 53;

impl Predicate {
    /// Returns the filter that selects the same rows; an empty one if these are all.
    ///
    /// # Arguments
    /// * `schema` - The columns of the table, if they are known.
    ///
    /// # Errors
    /// `InvalidArgument` if the predicate has a part that readers cannot evaluate, or is too complex.
    pub fn filter(&self, schema: Option<&Schema>) -> Result<Filter> {
        let lists = disjunctive(self, false)?;
        let bounded = |terms: Vec<Term>| terms.into_iter().map(with_bounds).collect::<Result<Vec<_>>>();
        let lists = lists.into_iter().map(|terms| Ok(bounded(terms)?.into_iter().flatten().collect()));
        any_of(lists.collect::<Result<_>>()?, schema)
    }

    /// Returns a filter that selects all rows which the predicate selects, and perhaps others; an empty one if these
    /// are all. It has no part that readers evaluate otherwise than the library of the expression does.
    ///
    /// # Errors
    /// `InvalidArgument` if no row is selected and there are no columns.
    pub fn superset(&self, schema: &Schema) -> Result<Filter> {
        let exact = |term: &Term| {
            if is_exact(term, schema) { Self::Term(term.clone()) } else { Self::Unknown(String::new()) }
        };
        any_of(disjunctive(&self.rewritten(&exact), true)?, Some(schema))
    }
}

/// Returns the filter that selects the rows which both filters select.
///
/// # Errors
/// `InvalidArgument` if it is too complex.
pub fn conjunction(one: &Filter, other: &Filter) -> Result<Filter> {
    let both = Predicate::AllOf(vec![one.into(), other.into()]);
    Ok(Filter::any_of(disjunctive(&both, false)?))
}

/// Returns the filter of terms in normal form. A column `a.b` is a field of a struct if no column has that name.
///
/// # Errors
/// `InvalidArgument` for a pattern that is no string.
pub fn of_terms(lists: Lists, schema: Option<&Schema>) -> Result<Filter> {
    let found = |term: Term| {
        let path = resolved(&[term.column().to_owned()], schema);
        let (column, fields) = path.split_first().ok_or_else(|| Error::internal("a column has a name"))?;
        let found = Term::new(column, term.operator(), term.literals().to_vec())?.with_fields(fields.to_vec());
        with_bounds(found)
    };
    let all = |terms: Vec<Term>| {
        let terms = terms.into_iter().map(found).collect::<Result<Vec<_>>>()?;
        Ok(terms.into_iter().flatten().collect())
    };
    Ok(Filter::any_of(lists.into_iter().map(all).collect::<Result<_>>()?))
}

fn any_of(lists: Lists, schema: Option<&Schema>) -> Result<Filter> {
    if !lists.is_empty() {
        return Ok(Filter::any_of(lists));
    }
    // A filter that no row satisfies: one without lists would be every row.
    let first = schema.and_then(|schema| schema.fields().first());
    let column = first.ok_or_else(|| Error::invalid_argument("the filter is never true; leave out the query"))?;
    Ok(Filter::any_of(vec![vec![Term::new(column.name(), Operator::In, Vec::new())?]]))
}

/// Returns a term together with bounds that follow from a pattern with a constant beginning: statistics of files
/// exclude by them.
fn with_bounds(term: Term) -> Result<Vec<Term>> {
    let (Operator::Like, [Literal::Text(pattern)]) = (term.operator(), term.literals()) else { return Ok(vec![term]) };
    let prefix = prefix(pattern);
    if prefix.is_empty() {
        return Ok(vec![term]);
    }
    let bound = |operator, literal| {
        let bound = Term::new(term.column(), operator, vec![Literal::Text(literal)])?;
        Ok(bound.with_fields(term.fields().to_vec()))
    };
    let upper = after(&prefix).map(|after| bound(Operator::Lt, after));
    let lower = bound(Operator::GtEq, prefix);
    std::iter::once(Ok(term.clone())).chain([lower]).chain(upper).collect()
}

/// Returns what is before the first wildcard of a pattern.
pub(super) fn prefix(pattern: &str) -> String {
    let mut prefix = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' | '_' => break,
            '\\' => prefix.push(characters.next().unwrap_or('\\')),
            other => prefix.push(other),
        }
    }
    prefix
}

/// Returns the first string after all that begin with a prefix. None if there is none.
pub(super) fn after(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // The range of characters leaves out surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

/// Whether readers evaluate a term as every other engine does, by the type of its column.
fn is_exact(term: &Term, schema: &Schema) -> bool {
    let path: Vec<String> = std::iter::once(term.column().to_owned()).chain(term.fields().iter().cloned()).collect();
    type_at(&path, schema).is_some_and(|kind| term.literals().iter().all(|literal| fits(literal, kind)))
}

fn fits(literal: &Literal, kind: &DataType) -> bool {
    match (literal, kind) {
        (Literal::Int(value), kind) if kind.is_integer() => {
            let Some(bits) = kind.primitive_width().and_then(|bytes| u32::try_from(bytes * 8).ok()) else {
                return false;
            };
            let limit = 1_i128 << (bits - 1);
            (-limit..limit).contains(value)
        }
        (Literal::Float(_), DataType::Float64)
        | (Literal::Bool(_), DataType::Boolean)
        | (Literal::Text(_), DataType::Utf8)
        | (Literal::Bytes(_), DataType::Binary)
        | (Literal::Date(_), DataType::Date32) => true,
        (Literal::Int(value), DataType::Float64) => (-EXACT_IN_FLOAT..=EXACT_IN_FLOAT).contains(value),
        (Literal::Timestamp { utc, .. }, DataType::Timestamp(TimeUnit::Microsecond, zone)) => *utc == zone.is_some(),
        (Literal::Decimal { unscaled, scale }, DataType::Decimal128(precision, most)) => {
            let (digits, scale) = (digits_of(*unscaled), i32::from(*scale));
            scale <= i32::from(*most) && digits.saturating_sub(scale) <= i32::from(*precision) - i32::from(*most)
        }
        _ => false,
    }
}
