//! Patterns of SQL's `like`: `%` stands for any characters, `_` for one, `\` makes the next character an ordinary one,
//! as in Spark.

/// A pattern.
#[derive(Debug)]
pub(super) enum Pattern {
    /// The whole string.
    Equals(String),
    /// Its beginning.
    Begins(String),
    /// Its end.
    Ends(String),
    /// A part of it.
    Contains(String),
    /// Any other pattern.
    Tokens(Vec<Token>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Character(char),
    AnyOne,
    AnyMany,
}

impl Pattern {
    /// Parses a pattern. A `\` at the end stands for itself.
    pub(super) fn new(text: &str) -> Self {
        let mut tokens = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '%' if tokens.last() == Some(&Token::AnyMany) => {}
                '%' => tokens.push(Token::AnyMany),
                '_' => tokens.push(Token::AnyOne),
                '\\' => tokens.push(Token::Character(characters.next().unwrap_or('\\'))),
                other => tokens.push(Token::Character(other)),
            }
        }
        match tokens.as_slice() {
            [Token::AnyMany, middle @ .., Token::AnyMany] => plain(middle).map(Self::Contains),
            [first @ .., Token::AnyMany] => plain(first).map(Self::Begins),
            [Token::AnyMany, last @ ..] => plain(last).map(Self::Ends),
            all => plain(all).map(Self::Equals),
        }
        .unwrap_or(Self::Tokens(tokens))
    }

    /// The pattern of all strings that begin with this one.
    pub(super) fn of_prefix(prefix: &str) -> String {
        let mut pattern = String::with_capacity(prefix.len().saturating_add(1));
        for character in prefix.chars() {
            if matches!(character, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push('%');
        pattern
    }

    /// What all strings of this form begin with, if nothing else is asked of them.
    pub(super) fn into_prefix(self) -> Option<String> {
        if let Self::Begins(prefix) = self { Some(prefix) } else { None }
    }

    /// Returns true if the whole string is of this form.
    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Equals(whole) => text == whole,
            Self::Begins(start) => text.starts_with(start.as_str()),
            Self::Ends(end) => text.ends_with(end.as_str()),
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Tokens(tokens) => matches_tokens(tokens, text),
        }
    }
}

/// The characters of tokens that have no wildcard among them.
fn plain(tokens: &[Token]) -> Option<String> {
    tokens.iter().map(|token| if let Token::Character(character) = token { Some(*character) } else { None }).collect()
}

/// Matches greedily: of several `%`, only the last one has to be tried again.
fn matches_tokens(mut tokens: &[Token], text: &str) -> bool {
    let mut rest = text.chars();
    // What follows the last `%`, and the string from which it was last tried.
    let mut retry: Option<(&[Token], std::str::Chars<'_>)> = None;
    loop {
        if let Some((Token::AnyMany, after)) = tokens.split_first() {
            tokens = after;
            retry = Some((after, rest.clone()));
            continue;
        }
        let mut ahead = rest.clone();
        let is_match = match (tokens.split_first(), ahead.next()) {
            (None, None) => return true,
            (Some((Token::AnyOne, after)), Some(_)) => Some(after),
            (Some((Token::Character(wanted), after)), Some(found)) if *wanted == found => Some(after),
            _ => None,
        };
        if let Some(after) = is_match {
            (tokens, rest) = (after, ahead);
            continue;
        }
        let Some((after, mut from)) = retry.take() else { return false };
        if from.next().is_none() {
            return false;
        }
        (tokens, rest) = (after, from.clone());
        retry = Some((after, from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition, without any shortcut.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|from| naive(rest, &text[from..])),
            Some((first, rest)) => {
                text.split_first().is_some_and(|(found, text)| (*first == '_' || first == found) && naive(rest, text))
            }
        }
    }

    fn strings(alphabet: &[char], longest: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..longest {
            last = last.iter().flat_map(|text| alphabet.iter().map(move |next| format!("{text}{next}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn all_short_patterns_match_as_defined() {
        let values = strings(&['a', 'é'], 4);
        for pattern in strings(&['a', 'é', '_', '%'], 4) {
            let (parsed, characters) = (Pattern::new(&pattern), pattern.chars().collect::<Vec<_>>());
            for text in &values {
                let expected = naive(&characters, &text.chars().collect::<Vec<_>>());
                assert_eq!(parsed.matches(text), expected, "{text:?} like {pattern:?}");
            }
        }
    }

    #[test]
    fn a_backslash_escapes() {
        let matches = |pattern: &str, text: &str| Pattern::new(pattern).matches(text);
        assert!(matches(r"100\%", "100%") && !matches(r"100\%", "1000"));
        assert!(matches(r"a\_%b", "a_xb") && !matches(r"a\_%b", "axxb"));
        assert!(matches(r"a\\", r"a\") && matches("a\\", r"a\"));
    }
}
