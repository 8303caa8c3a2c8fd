//! Parameters of a statement, `:name` and `?`, and their values in the place of them.

use mortice_base::Result;

use super::tokens::{Tokens, is_name};
use crate::lexer::{Token, TokenKind};

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Where it begins.
    pub at: usize,
    /// Where it ends, exclusive.
    pub end: usize,
    /// Its name; none of `?`.
    pub name: Option<String>,
}

/// The value of a parameter, as far as the grammar sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterValue {
    /// A string.
    Text(String),
    /// An integer.
    Number(String),
    /// A boolean.
    Word(String),
    /// Another value, as Spark reads it.
    Literal(String),
}

/// Returns the parameters of a statement, in order. `InvalidArgument` for a string, a name or a comment without an end.
pub fn statement_parameters(text: &str) -> Result<Vec<Parameter>> {
    Ok(parameters(&Tokens::of_text(text)?))
}

/// The parameters of tokens, in order.
fn parameters(tokens: &Tokens) -> Vec<Parameter> {
    let mut found = Vec::new();
    // For each `<` that is open, whether it is that of a struct.
    let mut structs: Vec<bool> = Vec::new();
    let mut word_before = "";
    for (at, token) in tokens.tokens.iter().enumerate() {
        let following = tokens.get(at + 1).filter(|name| is_name(name) && name.at == token.end);
        match (token.word.as_str(), following) {
            ("<", _) => structs.push(word_before == "STRUCT"),
            (">", _) => {
                structs.pop();
            }
            ("?", _) => found.push(Parameter { at: token.at, end: token.end, name: None }),
            (":", Some(name)) if structs.last() != Some(&true) => {
                found.push(Parameter { at: token.at, end: name.end, name: Some(name.text.clone()) });
            }
            _ => {}
        }
        if !matches!(token.word.as_str(), "<" | ">") {
            word_before = &token.word;
        }
    }
    found
}

/// Returns tokens with values in the place of parameters, which are in order.
pub(super) fn bound(tokens: Tokens, values: Vec<(usize, usize, ParameterValue)>) -> Tokens {
    if values.is_empty() {
        return tokens;
    }
    let mut values = values.into_iter().peekable();
    let mut made = Vec::with_capacity(tokens.tokens.len());
    let mut done = 0;
    for token in tokens.tokens {
        if token.at < done {
            continue;
        }
        if let Some((at, end, value)) = values.next_if(|(at, ..)| *at == token.at) {
            made.push(value_token(at, end, value));
            done = end;
        } else {
            made.push(token);
        }
    }
    Tokens::of_tokens(tokens.text, made)
}

fn value_token(at: usize, end: usize, value: ParameterValue) -> Token {
    let (kind, text) = match value {
        ParameterValue::Text(text) => (TokenKind::Text, text),
        ParameterValue::Number(text) => (TokenKind::Number, text),
        ParameterValue::Word(text) => (TokenKind::Name, text),
        ParameterValue::Literal(text) => (TokenKind::Value, text),
    };
    let word = if kind == TokenKind::Name { text.to_uppercase() } else { String::new() };
    Token { kind, text, at, end, word }
}
