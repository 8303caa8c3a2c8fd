//! Labels of metrics (`hoodie.metrics.pushgateway.report.labels`): `env:dev,team:trips`.

use mortice_base::error::{Error, Result};

/// Names and values, in the order in which they are given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Labels(Vec<(String, String)>);

impl Labels {
    /// Parses `name:value,name:value`.
    ///
    /// # Errors
    /// `InvalidArgument` for a part that is not of this form.
    pub(super) fn parse(given: &str) -> Result<Self> {
        let parts = given.split(',').map(str::trim).filter(|part| !part.is_empty());
        let parsed = parts.map(|part| match part.split_once(':') {
            Some((name, value)) if is_name(name) => Ok((name.to_owned(), value.to_owned())),
            _ => Err(Error::invalid_argument(format!(
                "option hoodie.metrics.pushgateway.report.labels must be name:value,name:value, got {part:?}"
            ))),
        });
        parsed.collect::<Result<_>>().map(Self)
    }

    /// `{name="value",…}`; nothing without labels.
    pub(super) fn in_braces(&self) -> String {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
    }

    /// `/name/value…`, as the path of a Pushgateway has them. A value with a slash is in Base64.
    pub(super) fn as_path(&self) -> String {
        self.0.iter().map(|(name, value)| path_part(name, value)).collect()
    }
}

/// One label of the path of a Pushgateway.
pub(super) fn path_part(name: &str, value: &str) -> String {
    if !value.is_empty() && !value.contains('/') {
        return format!("/{name}/{}", percent_encoded(value));
    }
    // An empty value is a `=`.
    format!("/{name}@base64/{}", base64_of_path(value.as_bytes()))
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_letter) && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Base64 with the letters of URLs, without padding but for nothing.
fn base64_of_path(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if bytes.is_empty() {
        return "=".to_owned();
    }
    let mut encoded = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| (bits << 8) | u32::from(chunk.get(at).copied().unwrap_or_default()));
        let letters = (0..=chunk.len()).map(|at| (bits >> (18 - 6 * at)) & 63);
        encoded.extend(letters.filter_map(|letter| LETTERS.get(letter as usize)).map(|byte| char::from(*byte)));
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_pushgateway() {
        let labels = Labels::parse("env:dev, team:a b,path:x/y").unwrap();
        assert_eq!(labels.as_path(), "/env/dev/team/a%20b/path@base64/eC95");
        assert_eq!(labels.in_braces(), r#"{env="dev",team="a b",path="x/y"}"#);
        assert_eq!(Labels::parse(" ").unwrap().in_braces(), "");
        assert_eq!(path_part("job", ""), "/job@base64/=");
        for wrong in ["env", "1a:b", ":x"] {
            assert!(Labels::parse(wrong).is_err(), "{wrong}");
        }
    }
}
