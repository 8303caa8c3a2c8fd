//! The tokens of a statement.

use mortice_base::Result;

use crate::lexer::{Token, TokenKind, tokens};
use crate::text::{ExpressionText, Grammar};

/// The tokens of a statement.
pub(super) struct Tokens {
    pub(super) text: ExpressionText,
    pub(super) tokens: Vec<Token>,
    /// For each bracket that opens, the token that closes it; the number of tokens if none does.
    closing: Vec<usize>,
    /// The last WHEN and the last END.
    last_when: usize,
    last_end: usize,
    /// How often tokens were read, which tests compare with their number.
    #[cfg(test)]
    pub(super) reads: std::cell::Cell<usize>,
}

impl Tokens {
    /// Returns the tokens of a text. `InvalidArgument` for a string, a name or a comment that has no end.
    pub(super) fn of_text(text: &str) -> Result<Self> {
        let text = ExpressionText::new(text, Grammar::Statement);
        let mut found = tokens(&text)?;
        found.pop();
        while found.last().is_some_and(|last| last.word == ";") {
            found.pop();
        }
        Ok(Self::of_tokens(text, found))
    }

    /// Returns tokens of which some were replaced.
    pub(super) fn of_tokens(text: ExpressionText, tokens: Vec<Token>) -> Self {
        let mut closing = vec![tokens.len(); tokens.len()];
        let mut opened = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if is_opening(token) {
                opened.push(at);
            } else if is_closing(token)
                && let Some(place) = opened.pop().and_then(|open| closing.get_mut(open))
            {
                *place = at;
            }
        }
        let last = |word: &str| tokens.iter().rposition(|token| token.word == word).unwrap_or(0);
        let (last_when, last_end) = (last("WHEN"), last("END"));
        Self {
            text,
            tokens,
            closing,
            last_when,
            last_end,
            #[cfg(test)]
            reads: std::cell::Cell::default(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<&Token> {
        #[cfg(test)]
        self.reads.set(self.reads.get() + 1);
        self.tokens.get(at)
    }

    pub(super) fn word(&self, at: usize) -> &str {
        self.get(at).map_or("", |token| &token.word)
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the token that closes the bracket at a token.
    pub(super) fn closing(&self, at: usize) -> usize {
        self.closing.get(at).copied().unwrap_or(self.tokens.len())
    }

    /// Returns whether WHEN and END follow a token.
    pub(super) fn has_case_end(&self, at: usize) -> bool {
        self.last_when > at && self.last_end > at
    }

    /// Returns whether a token is behind a point, and so part of a longer name.
    pub(super) fn is_field(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|before| self.word(before) == ".")
    }
}

pub(super) fn is_opening(token: &Token) -> bool {
    matches!(token.word.as_str(), "(" | "[" | "{")
}

pub(super) fn is_closing(token: &Token) -> bool {
    matches!(token.word.as_str(), ")" | "]" | "}")
}

pub(super) fn is_name(token: &Token) -> bool {
    matches!(token.kind, TokenKind::Name | TokenKind::Quoted)
}
