//! What the lexer of Spark's statements has beyond that of expressions (`SqlBaseLexer.g4`): comments, escapes in
//! strings, suffixes of numbers, names that begin with digits, and all signs.

use mortice_base::Result;

use super::{TokenKind, digits, is_word};
use crate::text::ExpressionText;

const SIGNS: [&str; 12] = ["=>", "->", "==", "<=>", "<>", "!=", "<=", ">=", "||", "|>", "::", ":="];
const NO_END: &str = "this string has no end";

/// Returns where the comment at a place ends; `None` if there is none. Comments in brackets are nested; hints are read
/// as comments, as they change no rows.
pub(super) fn comment_end(text: &ExpressionText, at: usize) -> Result<Option<usize>> {
    if is_at(&text.chars, at, "--") {
        return Ok(Some(line_end(&text.chars, at)));
    }
    if !is_at(&text.chars, at, "/*") {
        return Ok(None);
    }
    let (mut depth, mut place) = (0_usize, at);
    while place < text.chars.len() {
        if is_at(&text.chars, place, "/*") && (depth == 0 || !is_at(&text.chars, place, "/*+")) {
            depth += 1;
            place += 2;
        } else if is_at(&text.chars, place, "*/") {
            depth -= 1;
            place += 2;
            if depth == 0 {
                return Ok(Some(place));
            }
        } else {
            place += 1;
        }
    }
    Err(text.refused(at, "this comment has no end"))
}

fn line_end(chars: &[char], at: usize) -> usize {
    let mut place = at;
    while let Some(&character) = chars.get(place) {
        if is_at(chars, place, "\\\n") {
            place += 2;
        } else if matches!(character, '\r' | '\n') {
            break;
        } else {
            place += 1;
        }
    }
    place
}

fn is_at(chars: &[char], at: usize, sign: &str) -> bool {
    sign.chars().enumerate().all(|(i, c)| chars.get(at.saturating_add(i)) == Some(&c))
}

/// Returns the kind of the token at a place, and where it ends.
pub(super) fn next(text: &ExpressionText, at: usize, first: char) -> Result<(TokenKind, usize)> {
    let chars = &text.chars;
    if matches!(first, 'r' | 'R')
        && let Some(&quote) = chars.get(at + 1).filter(|c| matches!(c, '\'' | '"'))
    {
        let length = chars.iter().skip(at + 2).position(|c| *c == quote);
        let length = length.ok_or_else(|| text.refused(at, NO_END))?;
        return Ok((TokenKind::Text, at + 3 + length));
    }
    if matches!(first, '\'' | '"') {
        let end = quote_end(chars, at, first, true).ok_or_else(|| text.refused(at, NO_END))?;
        return Ok((TokenKind::Text, end));
    }
    if first == '`' {
        let end = quote_end(chars, at, first, false).ok_or_else(|| text.refused(at, "this name has no end"))?;
        return Ok((TokenKind::Quoted, end));
    }
    if let Some(end) = number_end(chars, at) {
        return Ok((TokenKind::Number, end));
    }
    if is_word(first) {
        let length = chars.iter().skip(at).take_while(|c| is_word(**c)).count();
        return Ok((TokenKind::Name, at.saturating_add(length)));
    }
    let length = SIGNS.iter().find(|sign| is_at(chars, at, sign)).map_or(1, |sign| sign.len());
    Ok((TokenKind::Symbol, at.saturating_add(length)))
}

/// Returns where a string or a name ends: a doubled quote is part of it, and what follows a backslash in a string.
fn quote_end(chars: &[char], at: usize, quote: char, has_escapes: bool) -> Option<usize> {
    let mut place = at + 1;
    loop {
        let character = *chars.get(place)?;
        if character == quote && chars.get(place + 1) != Some(&quote) {
            return Some(place + 1);
        }
        place += if character == quote || (has_escapes && character == '\\') { 2 } else { 1 };
    }
}

/// Returns where a number ends, with its suffix; `None` if it is a name, or what follows makes it one.
fn number_end(chars: &[char], at: usize) -> Option<usize> {
    let whole = digits(chars, at);
    let has_point = chars.get(whole) == Some(&'.');
    let with_fraction = has_point.then(|| digits(chars, whole + 1)).filter(|end| whole > at || *end > whole + 1);
    let without = (whole > at).then_some(whole);
    with_fraction.into_iter().chain(without).find_map(|end| suffix_end(chars, end))
}

fn suffix_end(chars: &[char], mantissa: usize) -> Option<usize> {
    let exponent = matches!(chars.get(mantissa), Some('e' | 'E')).then(|| {
        let sign = usize::from(matches!(chars.get(mantissa + 1), Some('+' | '-')));
        (mantissa + 1 + sign, digits(chars, mantissa + 1 + sign))
    });
    let exponent = exponent.filter(|(begin, end)| end > begin).map(|(_, end)| end);
    exponent.into_iter().chain([mantissa]).find_map(|end| {
        let suffix = match (chars.get(end), chars.get(end + 1)) {
            (Some('b' | 'B'), Some('d' | 'D')) => 2,
            (Some(c), _) if "lLsSyYfFdD".contains(*c) => 1,
            _ => 0,
        };
        [end + suffix, end].into_iter().find(|place| !chars.get(*place).is_some_and(|c| is_word(*c)))
    })
}

/// Returns the value of a string, which may be raw (`r'…'`).
pub(super) fn string_value(written: &str) -> String {
    if let Some(raw) = written.strip_prefix(['r', 'R']) {
        return inner(raw).to_owned();
    }
    let chars: Vec<char> = inner(written).chars().collect();
    let quote = written.chars().next().unwrap_or('\'');
    let mut value = String::with_capacity(written.len());
    let mut at = 0;
    while let Some(&character) = chars.get(at) {
        if character == '\\' {
            let (length, escaped) = escape(&chars, at + 1);
            value.push_str(&escaped);
            at += 1 + length;
        } else {
            value.push(character);
            at += if character == quote { 2 } else { 1 };
        }
    }
    value
}

fn inner(quoted: &str) -> &str {
    let mut chars = quoted.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

/// Returns how many characters an escape has behind its backslash, and what it stands for.
fn escape(chars: &[char], at: usize) -> (usize, String) {
    let code = |from: usize, length: usize, radix: u32| {
        let digits: String = chars.iter().skip(from).take(length).collect();
        let is_complete = digits.len() == length && digits.chars().all(|c| c.is_digit(radix));
        is_complete.then(|| u32::from_str_radix(&digits, radix).ok()).flatten()
    };
    let character = |code: u32| char::from_u32(code).unwrap_or('?').to_string();
    let Some(&first) = chars.get(at) else { return (0, String::from('\\')) };
    let found = match first {
        'u' => code(at + 1, 4, 16).map(|code| (5, code)),
        'U' => code(at + 1, 8, 16).map(|code| (9, code)),
        '0' | '1' => code(at, 3, 8).map(|code| (3, code)),
        _ => None,
    };
    if let Some((length, code)) = found {
        return (length, character(code));
    }
    let stands_for = match first {
        '0' => String::from('\0'),
        'b' => String::from('\u{8}'),
        'n' => String::from('\n'),
        'r' => String::from('\r'),
        't' => String::from('\t'),
        'Z' => String::from('\u{1a}'),
        '%' | '_' => format!("\\{first}"),
        other => String::from(other),
    };
    (1, stands_for)
}
