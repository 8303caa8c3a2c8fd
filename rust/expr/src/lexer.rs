//! The tokens of an expression, of a filter, and of a statement of Spark.

mod spark;

use mortice_base::Result;

use crate::text::{ExpressionText, Grammar, quoted};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Number,
    Text,
    Quoted,
    Name,
    Symbol,
    /// A date without quotes, in a filter.
    Date,
    /// The value of a parameter of a statement that is neither a string nor a number.
    Value,
    End,
}

/// A token: its value without quotes, its place in the text, and the keyword or symbol that it may be.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) text: String,
    pub(crate) at: usize,
    /// Where it ends, exclusive.
    pub(crate) end: usize,
    /// In upper case; empty for a token that is neither name nor symbol.
    pub(crate) word: String,
}

const SYMBOLS: [&str; 19] =
    ["<=>", "<>", "!=", "<=", ">=", "==", "||", "-", "+", "*", "/", "%", "=", "<", ">", "(", ")", ",", "."];

/// Returns the tokens, and one of the kind `End`. `InvalidArgument` for other characters.
pub(crate) fn tokens(text: &ExpressionText) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&first) = text.chars.get(at) {
        if first.is_whitespace() {
            at += 1;
            continue;
        }
        if text.grammar == Grammar::Statement
            && let Some(end) = spark::comment_end(text, at)?
        {
            at = end;
            continue;
        }
        let (kind, end) = next(text, at, first)?;
        let written = text.between(at, end);
        let value = match kind {
            TokenKind::Text if text.grammar == Grammar::Statement => spark::string_value(&written),
            TokenKind::Text | TokenKind::Quoted => unquoted(&written, first),
            _ => written,
        };
        let word = match kind {
            TokenKind::Name => value.to_uppercase(),
            TokenKind::Symbol => value.clone(),
            _ => String::new(),
        };
        tokens.push(Token { kind, text: value, at, end, word });
        at = end;
    }
    let end = text.chars.len();
    tokens.push(Token { kind: TokenKind::End, text: String::new(), at: end, end, word: String::new() });
    Ok(tokens)
}

fn next(text: &ExpressionText, at: usize, first: char) -> Result<(TokenKind, usize)> {
    let chars = &text.chars;
    if text.grammar == Grammar::Statement {
        return spark::next(text, at, first);
    }
    if text.grammar == Grammar::Filter
        && let Some(end) = date_end(chars, at)
    {
        return Ok((TokenKind::Date, end));
    }
    if let Some(end) = number_end(chars, at) {
        return Ok((TokenKind::Number, end));
    }
    if matches!(first, '\'' | '"' | '`') {
        let end = quote_end(chars, at, first).ok_or_else(|| text.refused(at, "has a string that does not end"))?;
        return Ok((if first == '\'' { TokenKind::Text } else { TokenKind::Quoted }, end));
    }
    if first == '_' || first.is_alphabetic() {
        let length = chars.iter().skip(at).take_while(|&&c| is_word(c)).count();
        return Ok((TokenKind::Name, at.saturating_add(length)));
    }
    let is_here = |symbol: &str| symbol.chars().enumerate().all(|(i, c)| chars.get(at.saturating_add(i)) == Some(&c));
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| is_here(symbol)) {
        return Ok((TokenKind::Symbol, at.saturating_add(symbol.len())));
    }
    let meant = match first {
        '&' => " (and is the word for it)",
        '|' => " (or is the word for it)",
        '!' => " (not is the word for it)",
        _ => "",
    };
    Err(text.refused(at, &format!("has the sign {}{meant}", quoted(&first.to_string()))))
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn digits(chars: &[char], at: usize) -> usize {
    at.saturating_add(chars.iter().skip(at).take_while(|c| c.is_ascii_digit()).count())
}

fn number_end(chars: &[char], at: usize) -> Option<usize> {
    let mut end = digits(chars, at);
    let has_whole = end > at;
    if chars.get(end) == Some(&'.') {
        let fraction = digits(chars, end + 1);
        if !has_whole && fraction == end + 1 {
            return None;
        }
        end = fraction;
    } else if !has_whole {
        return None;
    }
    if matches!(chars.get(end), Some('e' | 'E')) {
        let sign = usize::from(matches!(chars.get(end + 1), Some('+' | '-')));
        let exponent = digits(chars, end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    Some(end)
}

/// Where a string or a quoted name ends: a doubled quote is part of it. A quoted name is not empty.
fn quote_end(chars: &[char], at: usize, quote: char) -> Option<usize> {
    let mut place = at + 1;
    loop {
        if *chars.get(place)? != quote {
            place += 1;
        } else if chars.get(place + 1) == Some(&quote) {
            place += 2;
        } else {
            let is_empty_name = quote != '\'' && place == at + 1;
            return (!is_empty_name).then_some(place + 1);
        }
    }
}

fn unquoted(written: &str, quote: char) -> String {
    let inner = written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).unwrap_or(written);
    inner.replace(&format!("{quote}{quote}"), &quote.to_string())
}

/// Where a date, with or without a time, ends.
fn date_end(chars: &[char], at: usize) -> Option<usize> {
    let mut end = matched(chars, at, "dddd-dd-dd")?;
    if let Some(minutes) = matched(chars, end, "Tdd:dd") {
        end = minutes;
        if let Some(seconds) = matched(chars, end, ":dd") {
            end = seconds;
            if chars.get(end) == Some(&'.') && digits(chars, end + 1) > end + 1 {
                end = digits(chars, end + 1);
            }
        }
        let zone = matched(chars, end, "Z").or_else(|| matched(chars, end, "+dd:dd"));
        end = zone.or_else(|| matched(chars, end, "-dd:dd")).unwrap_or(end);
    }
    let follows = chars.get(end).is_some_and(|&c| c == '.' || is_word(c));
    (!follows).then_some(end)
}

/// Where a pattern ends, in which `d` is a digit.
fn matched(chars: &[char], at: usize, pattern: &str) -> Option<usize> {
    let fits = |(place, expected): (usize, char)| {
        chars
            .get(at.saturating_add(place))
            .is_some_and(|c| if expected == 'd' { c.is_ascii_digit() } else { *c == expected })
    };
    pattern.chars().enumerate().all(fits).then_some(at.saturating_add(pattern.len()))
}
