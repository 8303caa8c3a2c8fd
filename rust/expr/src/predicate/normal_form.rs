//! Alternatives of conjunctions: the disjunctive normal form of a predicate.

use mortice_base::{Error, Result};
use mortice_formats::filter::{Literal, Operator, Term};

use super::tree::Predicate;

/// Comparisons of a normal form, which can be exponentially longer than the predicate.
pub const MOST_TERMS: usize = 4096;

/// Lists of terms: a row is selected if all terms of any list are true. An empty list selects every row; without lists
/// no row is selected.
pub(super) type Lists = Vec<Vec<Term>>;

/// Returns the normal form of a predicate.
///
/// # Arguments
/// * `weakened` - True leaves out what cannot be evaluated, and what makes the normal form too long. All rows that the
///   predicate selects are selected then, and perhaps others.
///
/// # Errors
/// `InvalidArgument` if the predicate cannot be evaluated, or its normal form is too long.
pub(super) fn disjunctive(predicate: &Predicate, weakened: bool) -> Result<Lists> {
    lists(predicate, false, weakened)
}

fn lists(predicate: &Predicate, is_negated: bool, weakened: bool) -> Result<Lists> {
    let (parts, is_conjunction) = match predicate {
        Predicate::Negation(part) => return lists(part, !is_negated, weakened),
        Predicate::Term(term) => return Ok(vec![vec![if is_negated { term.negated() } else { term.clone() }]]),
        Predicate::Constant(value) => {
            let is_true = value.is_some_and(|value| value != is_negated);
            return Ok(if is_true { vec![Vec::new()] } else { Vec::new() });
        }
        Predicate::Unknown(_) if weakened => return Ok(vec![Vec::new()]),
        Predicate::Unknown(reason) => return Err(Error::invalid_argument(reason.clone())),
        Predicate::AllOf(parts) => (parts, !is_negated),
        Predicate::AnyOf(parts) => (parts, is_negated),
    };
    let parts = parts.iter().map(|part| lists(part, is_negated, weakened)).collect::<Result<Vec<_>>>()?;
    if !is_conjunction {
        return either(parts);
    }
    parts.into_iter().try_fold(vec![Vec::new()], |one, other| both(one, other, weakened))
}

/// Returns the lists of all parts; `a = 1 or a in (2, 3)` is one list.
fn either(parts: Vec<Lists>) -> Result<Lists> {
    let mut equal: Vec<(Term, Vec<Literal>)> = Vec::new();
    let mut others = Lists::new();
    for terms in parts.into_iter().flatten() {
        match terms.as_slice() {
            [] => return Ok(vec![Vec::new()]),
            [term] if matches!(term.operator(), Operator::Eq | Operator::In) => {
                let same = |(of, _): &&mut (Term, _)| of.column() == term.column() && of.fields() == term.fields();
                match equal.iter_mut().find(same) {
                    Some((_, literals)) => literals.extend_from_slice(term.literals()),
                    None => equal.push((term.clone(), term.literals().to_vec())),
                }
            }
            _ => others.push(terms),
        }
    }
    let membership = |(term, literals): (Term, Vec<Literal>)| {
        let operator = if literals.len() == 1 { Operator::Eq } else { Operator::In };
        Ok(vec![Term::new(term.column(), operator, literals)?.with_fields(term.fields().to_vec())])
    };
    equal.into_iter().map(membership).chain(others.into_iter().map(Ok)).collect()
}

fn both(one: Lists, other: Lists, weakened: bool) -> Result<Lists> {
    let length = |lists: &Lists| lists.iter().map(Vec::len).sum::<usize>();
    let (mine, theirs) = (length(&one).saturating_mul(other.len()), length(&other).saturating_mul(one.len()));
    let terms = mine.saturating_add(theirs);
    if terms > MOST_TERMS {
        if weakened {
            return Ok(if other.len() < one.len() { other } else { one });
        }
        return Err(Error::invalid_argument(format!(
            "the filter is too complex: as alternatives of conjunctions it has {terms} comparisons or more, and \
             {MOST_TERMS} are the most; use fewer `or` within `and`, or filter the rows of a simpler query"
        )));
    }
    Ok(one.iter().flat_map(|mine| other.iter().map(|theirs| merged(mine, theirs))).collect())
}

fn merged(one: &[Term], other: &[Term]) -> Vec<Term> {
    let new = other.iter().filter(|term| !one.contains(term));
    one.iter().chain(new).cloned().collect()
}
