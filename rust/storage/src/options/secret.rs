//! A value that may be a secret: keys, tokens, passwords.

use std::fmt;

/// A string whose `Debug` and `Display` print `***`. [`Secret::reveal`] returns the value for requests.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub(crate) fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value. Never put it into a message.
    #[must_use]
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("wJalrXUtnFEMI");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.reveal(), "wJalrXUtnFEMI");
    }
}
