//! A position in the tokens of a statement. Errors show the place in the text that was given.

use mortice_base::{Error, Result};

use super::expression_end::expression_end;
use super::parsed::{Name, TextSpan};
use super::tokens::{Tokens, is_name};
use crate::lexer::{Token, TokenKind};

/// A position in the tokens of a statement, or of a part of it.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) tokens: &'a Tokens,
    pub(super) at: usize,
    /// The token behind the part.
    pub(super) end: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(tokens: &'a Tokens, at: usize) -> Self {
        Self { tokens, at, end: tokens.len() }
    }

    pub(super) fn token(&self) -> Option<&'a Token> {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, by: usize) -> Option<&'a Token> {
        let at = self.at.saturating_add(by);
        if at < self.end { self.tokens.get(at) } else { None }
    }

    pub(super) fn word(&self) -> &'a str {
        self.token().map_or("", |token| &token.word)
    }

    /// Returns whether these are the next words.
    pub(super) fn is_at(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(by, word)| self.ahead(by).is_some_and(|token| token.word == *word))
    }

    /// Consumes these words if they are the next ones.
    pub(super) fn take(&mut self, words: &[&str]) -> bool {
        let is_here = self.is_at(words);
        if is_here {
            self.at = self.at.saturating_add(words.len());
        }
        is_here
    }

    /// Consumes the next word if it is one of these.
    pub(super) fn take_one(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.take(&[word]))
    }

    pub(super) fn require(&mut self, words: &[&str]) -> Result<()> {
        if self.take(words) { Ok(()) } else { Err(self.error(&format!("{} is expected here", words.join(" ")))) }
    }

    pub(super) fn require_end(&self) -> Result<()> {
        if self.token().is_none() { Ok(()) } else { Err(self.error("the statement should end here")) }
    }

    /// Consumes a name of one or more parts.
    pub(super) fn name(&mut self) -> Result<Name> {
        let at = self.place();
        let mut parts = vec![self.part()?];
        while self.take(&["."]) {
            parts.push(self.part()?);
        }
        Ok(Name { parts, at, behind: self.place() })
    }

    /// Consumes a name of one part.
    pub(super) fn part(&mut self) -> Result<String> {
        let Some(token) = self.token().filter(|token| is_name(token)) else {
            return Err(self.error("a name is expected here"));
        };
        self.at += 1;
        Ok(token.text.clone())
    }

    pub(super) fn string(&mut self) -> Result<String> {
        let Some(token) = self.token().filter(|token| token.kind == TokenKind::Text) else {
            return Err(self.error("a string is expected here"));
        };
        self.at += 1;
        Ok(token.text.clone())
    }

    /// Consumes an alias, if there is one; these words are none.
    pub(super) fn alias(&mut self, stops: &[&str]) -> Result<Option<String>> {
        if self.take(&["AS"]) {
            return self.part().map(Some);
        }
        let is_alias = |token: &&Token| is_name(token) && !stops.contains(&token.word.as_str());
        if self.token().is_some_and(|token| is_alias(&token)) { self.part().map(Some) } else { Ok(None) }
    }

    /// Consumes an expression up to one of these words, or the end; columns may have such names.
    pub(super) fn until(&mut self, stops: &[&str]) -> Result<TextSpan> {
        self.until_name(stops, false)
    }

    /// Does what `until` does; a name behind an operand, such as an alias, may end the expression, too.
    pub(super) fn until_name(&mut self, stops: &[&str], ends_before_names: bool) -> Result<TextSpan> {
        let begin = self.at;
        self.at = expression_end(self.tokens, (begin, self.end), stops, ends_before_names);
        if self.at == begin {
            return Err(self.error("an expression is expected here"));
        }
        Ok(self.span(begin))
    }

    /// Returns the part of the text from a token up to the next one.
    pub(super) fn span(&self, begin: usize) -> TextSpan {
        let start = self.tokens.get(begin).map_or(self.tokens.text.chars.len(), |token| token.at);
        (start, self.end_before().max(start))
    }

    /// Returns where the token before this one ends.
    pub(super) fn end_before(&self) -> usize {
        self.at.checked_sub(1).and_then(|before| self.tokens.get(before)).map_or(0, |token| token.end)
    }

    /// Returns where the next token begins, or the end.
    pub(super) fn place(&self) -> usize {
        if let Some(token) = self.token() {
            return token.at;
        }
        if self.end < self.tokens.len() {
            return self.tokens.get(self.end.saturating_sub(1)).map_or(0, |token| token.end);
        }
        let chars = &self.tokens.text.chars;
        chars.iter().rposition(|c| !c.is_whitespace()).map_or(0, |last| last + 1)
    }

    /// Returns an error that shows the line of the next token, and where it is.
    pub(super) fn error(&self, message: &str) -> Error {
        self.error_at(self.place(), message)
    }

    pub(super) fn error_at(&self, at: usize, message: &str) -> Error {
        self.tokens.text.refused(at, message)
    }
}
