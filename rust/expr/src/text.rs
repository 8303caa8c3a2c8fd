//! An expression or a filter as it was written, for errors that show the place.

use mortice_base::Error;

const MOST_SHOWN: usize = 200;
const EXAMPLE: &str = "; an example: fare > 80 and city in ('oslo', 'lima')";

/// What is parsed: an expression, or a filter, which has dates without quotes and compares columns with literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// An expression.
    Expression,
    /// The text of a filter.
    Filter,
    /// A statement of Spark's SQL.
    Statement,
}

/// The text of an expression.
#[derive(Debug, Clone)]
pub(crate) struct ExpressionText {
    pub(crate) chars: Vec<char>,
    pub(crate) grammar: Grammar,
}

impl ExpressionText {
    /// The text that is parsed by a grammar.
    pub(crate) fn new(text: &str, grammar: Grammar) -> Self {
        Self { chars: text.chars().collect(), grammar }
    }

    /// Returns the error for the text: what is wrong, at which place, counted from 0 and shown from 1.
    pub(crate) fn refused(&self, at: usize, what: &str) -> Error {
        if self.grammar == Grammar::Statement {
            return self.refused_line(at, what);
        }
        let mut shown: String = self.chars.iter().take(MOST_SHOWN).collect();
        if self.chars.len() > MOST_SHOWN {
            shown.push('…');
        }
        let (kind, example) = match self.grammar {
            Grammar::Expression => ("expression", ""),
            Grammar::Filter | Grammar::Statement => ("filter", EXAMPLE),
        };
        let place = at.saturating_add(1);
        Error::invalid_argument(format!("the {kind} {} {what} at character {place}{example}", quoted(&shown)))
    }

    /// Returns the error for a statement, which shows the line of a place.
    fn refused_line(&self, at: usize, what: &str) -> Error {
        let (before, behind) = self.chars.split_at(at.min(self.chars.len()));
        let column = before.iter().rev().take_while(|c| **c != '\n').count();
        let number = before.iter().filter(|c| **c == '\n').count().saturating_add(1);
        let line = before.iter().skip(before.len().saturating_sub(column));
        let line: String = line.chain(behind.iter().take_while(|c| **c != '\n')).collect();
        let (shown, pointer) = (column.saturating_add(1), " ".repeat(column));
        Error::invalid_argument(format!("{what} (line {number}, column {shown})\n{line}\n{pointer}^"))
    }

    /// The text between two places.
    pub(crate) fn between(&self, start: usize, end: usize) -> String {
        self.chars.iter().skip(start).take(end.saturating_sub(start)).collect()
    }
}

/// Returns a string in quotes, as Python shows it.
#[must_use]
pub fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut shown = String::from(quote);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            '\\' => shown.push_str("\\\\"),
            other if other == quote => shown.extend(['\\', other]),
            other if other.is_control() => shown.extend(other.escape_default()),
            other => shown.push(other),
        }
    }
    shown.push(quote);
    shown
}
