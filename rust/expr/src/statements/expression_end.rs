//! Where an expression of a statement ends, which Spark evaluates as it is written.
//!
//! Spark allows almost all of its keywords as names of columns, `end` and `when` among them. So a keyword is one only
//! where an operator can stand, behind a complete operand; where an operand has to stand, it is a name.

use super::parsed::TextSpan;
use super::tokens::{Tokens, is_closing, is_name, is_opening};
use crate::lexer::TokenKind;

/// Words behind an operand that need another one.
const OPERATORS: &[&str] = &[
    "AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "DIV", "ESCAPE", "DISTINCT", "FROM",
    "COLLATE",
];
const OF_CASE: &[&str] = &["WHEN", "THEN", "ELSE"];
const UNITS: &[&str] =
    &["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"];

/// Returns the token behind an expression.
///
/// `range` has its first token, and the one behind the part of the statement; it ends at the words and signs of
/// `stops`, and, with `ends_before_names`, at a name behind an operand, such as an alias.
pub(super) fn expression_end(tokens: &Tokens, range: TextSpan, stops: &[&str], ends_before_names: bool) -> usize {
    Reader { tokens, end: range.1, stops, ends_before_names, cases: 0, needs_operand: true }.end_from(range.0)
}

struct Reader<'a> {
    tokens: &'a Tokens,
    end: usize,
    stops: &'a [&'a str],
    ends_before_names: bool,
    /// How many CASE have no END yet.
    cases: usize,
    needs_operand: bool,
}

impl Reader<'_> {
    fn end_from(&mut self, begin: usize) -> usize {
        let mut at = begin;
        while at < self.end {
            let Some(token) = self.tokens.get(at) else { break };
            if is_closing(token) {
                break;
            }
            if is_opening(token) {
                at = self.tokens.closing(at).saturating_add(1);
                self.needs_operand = false;
                continue;
            }
            if token.kind == TokenKind::Symbol {
                if self.cases == 0 && self.is_stop(at) {
                    break;
                }
                self.needs_operand = true;
            } else if self.tokens.is_field(at) && token.kind != TokenKind::Text {
                self.needs_operand = false;
            } else if self.needs_operand {
                if self.is_keyword(at) {
                    break;
                }
                self.operand(at);
            } else if self.ends_behind_operand(at) {
                break;
            }
            at += 1;
        }
        at.min(self.end)
    }

    fn word(&self, at: usize) -> &str {
        if at < self.end { self.tokens.word(at) } else { "" }
    }

    fn is_stop(&self, at: usize) -> bool {
        let word = self.word(at);
        !word.is_empty() && self.stops.contains(&word)
    }

    fn is_operator(&self, at: usize) -> bool {
        OPERATORS.contains(&self.word(at))
    }

    fn operand(&mut self, at: usize) {
        let word = self.word(at);
        if word == "NOT" && !self.is_followed_by_operator(at) {
            return;
        }
        if word == "CASE" && self.is_case(at) {
            self.cases += 1;
            return;
        }
        let is_of_case = self.cases > 0 && OF_CASE.contains(&word);
        if is_of_case && (self.is_behind_case(at) || !self.is_followed_by_operator(at)) {
            return;
        }
        self.needs_operand = false;
    }

    /// Whether WHEN is the first one of a CASE, and not what is compared with them.
    fn is_behind_case(&self, at: usize) -> bool {
        self.word(at.saturating_sub(1)) == "CASE" && self.word(at + 1) != "WHEN"
    }

    /// Takes a word behind an operand. Returns whether the expression ends before it.
    fn ends_behind_operand(&mut self, at: usize) -> bool {
        let word = self.word(at);
        if self.cases > 0 {
            let ends_case = word == "END";
            self.needs_operand = OF_CASE.contains(&word) || self.is_operator(at);
            self.cases -= usize::from(ends_case);
            return false;
        }
        if self.is_stop(at) {
            return true;
        }
        if self.is_operator(at) {
            self.needs_operand = true;
            return false;
        }
        let is_unit = UNITS.iter().any(|unit| word.starts_with(unit));
        self.ends_before_names && self.tokens.get(at).is_some_and(is_name) && !is_unit
    }

    /// Whether a word that can end the expression does so, as nothing follows it that can follow a name.
    fn is_keyword(&self, at: usize) -> bool {
        self.cases == 0 && self.is_stop(at) && !self.is_followed_by_operator(at)
    }

    /// Whether the token behind one can only follow an operand.
    fn is_followed_by_operator(&self, at: usize) -> bool {
        let following = at + 1;
        let Some(token) = self.tokens.get(following).filter(|_| following < self.end) else { return true };
        if token.kind == TokenKind::Symbol {
            return !is_opening(token);
        }
        let word = token.word.as_str();
        let is_of_case = self.cases > 0 && (OF_CASE.contains(&word) || word == "END");
        is_of_case || self.is_stop(following) || (self.is_operator(following) && word != "NOT")
    }

    /// Whether CASE begins an expression, and is not the name of a column.
    fn is_case(&self, at: usize) -> bool {
        let following = at + 1;
        let Some(token) = self.tokens.get(following).filter(|_| following < self.end) else { return false };
        if !self.tokens.has_case_end(at) {
            return false;
        }
        let word = token.word.as_str();
        if token.kind == TokenKind::Symbol {
            return matches!(word, "(" | "-" | "+" | "~" | "[" | "!" | "{");
        }
        let is_name = matches!(word, "THEN" | "ELSE" | "END") || (self.is_stop(following) && word != "WHEN");
        !is_name && (!self.is_operator(following) || word == "NOT")
    }
}
