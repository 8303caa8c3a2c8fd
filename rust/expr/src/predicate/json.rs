//! JSON with the text of each of its parts.
//!
//! The parts of an expression go back to polars, which must find its numbers as it has written them: `serde_json` has
//! integers of 64 bits, polars of 128. And its limit of levels is below those of a chain of conditions.

/// Levels of objects and lists within each other, which each thread's stack has room for.
const MOST_LEVELS: usize = 1000;

/// A part of JSON.
#[derive(Debug)]
pub(super) struct Json<'t> {
    /// As it is written.
    pub(super) text: &'t str,
    pub(super) value: JsonValue<'t>,
}

#[derive(Debug)]
pub(super) enum JsonValue<'t> {
    Object(Vec<(String, Json<'t>)>),
    List(Vec<Json<'t>>),
    String(String),
    Bool(bool),
    /// A number or null.
    Other,
}

impl<'t> Json<'t> {
    /// Parses a text. None if it is no JSON, or nested too deeply.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let mut parser = Parser { text, at: 0 };
        let parsed = parser.part(0)?;
        parser.skip_space();
        (parser.at == text.len()).then_some(parsed)
    }

    /// Returns a member of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match &self.value {
            JsonValue::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, part)| part),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        if let JsonValue::List(items) = &self.value { Some(items) } else { None }
    }

    pub(super) fn string(&self) -> Option<&str> {
        if let JsonValue::String(text) = &self.value { Some(text) } else { None }
    }

    /// Returns the name and the content of an object with one member; of a string itself, without content.
    pub(super) fn variant(&self) -> Option<(&str, Option<&Self>)> {
        match &self.value {
            JsonValue::Object(members) => members.first().map(|(name, part)| (name.as_str(), Some(part))),
            JsonValue::String(name) => Some((name, None)),
            _ => None,
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn part(&mut self, level: usize) -> Option<Json<'t>> {
        if level > MOST_LEVELS {
            return None;
        }
        self.skip_space();
        let start = self.at;
        let value = match self.rest().chars().next()? {
            '{' => JsonValue::Object(self.items('}', |parser| {
                parser.skip_space();
                let name = parser.string()?;
                parser.take(':')?;
                Some((name, parser.part(level + 1)?))
            })?),
            '[' => JsonValue::List(self.items(']', |parser| parser.part(level + 1))?),
            '"' => JsonValue::String(self.string()?),
            _ => match self.word() {
                "" => return None,
                "true" => JsonValue::Bool(true),
                "false" => JsonValue::Bool(false),
                _ => JsonValue::Other,
            },
        };
        Some(Json { text: self.text.get(start..self.at)?, value })
    }

    /// Parses what is between brackets, with commas between the items.
    fn items<T>(&mut self, end: char, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(end).is_some() {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(end).is_some() {
                return Some(items);
            }
            self.take(',')?;
        }
    }

    fn string(&mut self) -> Option<String> {
        let rest = self.rest();
        let mut is_escaped = false;
        let is_end = |&(at, character): &(usize, char)| {
            let found = at > 0 && character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            found
        };
        let (end, _) = rest.char_indices().find(is_end)?;
        self.at = self.at.checked_add(end)?.checked_add(1)?;
        serde_json::from_str(rest.get(..=end)?).ok()
    }

    /// Takes a number, `true`, `false` or `null`.
    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let is_of_it = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.');
        let length = rest.find(|character| !is_of_it(character)).unwrap_or(rest.len());
        self.at = self.at.saturating_add(length);
        rest.get(..length).unwrap_or_default()
    }

    fn take(&mut self, character: char) -> Option<()> {
        self.skip_space();
        self.rest().starts_with(character).then(|| self.at += character.len_utf8())
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', '\r', '\t']).len();
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_text() {
        let parsed =
            Json::parse(r#" {"a": [1, 170141183460469231731687303715884105727, "\"\u00e9}"], "b": null}"#).unwrap();
        let items = parsed.get("a").unwrap().list().unwrap();
        assert_eq!(items[1].text, "170141183460469231731687303715884105727");
        assert_eq!(items[2].string(), Some("\"é}"));
        assert!(matches!(parsed.get("b").unwrap().value, JsonValue::Other));
        assert!(matches!(Json::parse("{}").unwrap().value, JsonValue::Object(members) if members.is_empty()));
        for text in ["", "[1", "{\"a\" 1}", "[1] 2", "[1,]", "{\"a\"}", "\"\\\"", "}"] {
            assert!(Json::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Json::parse(&nested(MOST_LEVELS)).is_some());
        assert!(Json::parse(&nested(MOST_LEVELS + 1)).is_none());
        assert!(Json::parse(&nested(1_000_000)).is_none());
    }
}
