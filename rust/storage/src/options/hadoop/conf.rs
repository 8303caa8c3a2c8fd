//! A Hadoop configuration, read like Hadoop's `Configuration`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::options::client_settings::parse_duration;
use mortice_base::error::{Error, Result};

/// Options of a table converted from Hadoop settings, by their names in `storage_options`.
pub(crate) type Options = BTreeMap<&'static str, String>;

const KEYSTORES: [&str; 2] = ["hadoop.security.credential.provider.path", "fs.s3a.security.credential.provider.path"];

/// Settings by name.
#[derive(Clone, Copy)]
pub(crate) struct HadoopConf<'a> {
    settings: &'a BTreeMap<String, String>,
}

impl<'a> HadoopConf<'a> {
    /// A view of settings.
    #[must_use]
    pub(crate) fn new(settings: &'a BTreeMap<String, String>) -> Self {
        Self { settings }
    }

    /// Returns the trimmed value of a setting; `None` if it is missing or empty.
    #[must_use]
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.settings.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns the names of the settings, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.settings.iter().filter(|(_, value)| !value.trim().is_empty()).map(|(name, _)| name.as_str())
    }

    /// Parses a bool like Hadoop: strings other than `true` and `false` are the default.
    #[must_use]
    pub(crate) fn get_bool(&self, name: &str, default: bool) -> bool {
        match self.get(name).map(str::to_ascii_lowercase).as_deref() {
            Some("true") => true,
            Some("false") => false,
            _ => default,
        }
    }

    /// Returns an error for a setting of a credentials location that only Hadoop can read.
    pub(crate) fn refuse_keystore(&self) -> Result<()> {
        match KEYSTORES.into_iter().find(|name| self.get(name).is_some()) {
            Some(name) => {
                Err(refused(name, "credentials in a Hadoop keystore cannot be read", "give them as storage options"))
            }
            None => Ok(()),
        }
    }
}

/// Returns the error for an unsupported setting: what is wrong, the setting, what to do.
#[must_use]
pub(crate) fn refused(name: &str, what: &str, remedy: &str) -> Error {
    Error::unsupported(format!("unsupported Hadoop setting {name}: {what}; {remedy}"))
}

/// Returns the error for a setting with an invalid value.
#[must_use]
pub(crate) fn invalid(name: &str, expected: &str, got: &str) -> Error {
    Error::invalid_argument(format!("Hadoop setting {name} must be {expected}, got {got:?}"))
}

/// Converts a duration of Hadoop to an option's value. A number without a unit is in milliseconds.
pub(crate) fn millis(name: &str, value: &str) -> Result<String> {
    parse_duration(value, Duration::from_millis(1))
        .map(|duration| format!("{}ms", duration.as_millis()))
        .ok_or_else(|| invalid(name, "a duration such as 500ms, 30s or 2m", value))
}

/// Returns the URL of a proxy. User name and password are percent-encoded.
#[must_use]
pub(crate) fn proxy_url(is_tls: bool, host: &str, port: Option<&str>, user: Option<(&str, &str)>) -> String {
    let scheme = if is_tls { "https" } else { "http" };
    let user = user.map_or(String::new(), |(name, password)| format!("{}:{}@", encoded(name), encoded(password)));
    let port = port.map_or(String::new(), |port| format!(":{port}"));
    format!("{scheme}://{user}{host}{port}")
}

/// Percent-encodes all characters except letters, digits and `-._~`.
#[must_use]
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_trimmed_and_empty_ones_are_missing() {
        let settings = BTreeMap::from([("a".to_owned(), " x ".to_owned()), ("b".to_owned(), "  ".to_owned())]);
        let conf = HadoopConf::new(&settings);
        assert_eq!((conf.get("a"), conf.get("b"), conf.get("c")), (Some("x"), None, None));
        assert_eq!(conf.names().collect::<Vec<_>>(), ["a"]);
        assert!(conf.get_bool("a", true) && !conf.get_bool("a", false));
    }

    #[test]
    fn a_proxy_has_its_password_encoded() {
        assert_eq!(proxy_url(true, "p", Some("3128"), Some(("me", "a:b@c"))), "https://me:a%3Ab%40c@p:3128");
        assert_eq!(proxy_url(false, "p", None, None), "http://p");
    }
}
