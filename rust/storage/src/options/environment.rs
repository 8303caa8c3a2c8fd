//! The environment of a process: its variables, and the files that they name.

use std::collections::BTreeMap;
use std::fmt;

/// The environment variables of a process. Tests use custom ones.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Returns the variables of this process whose names and values are Unicode.
    #[must_use]
    pub fn from_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }

    /// Returns the value of a variable; `None` if it is not set or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns all variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns a path in the user's home folder.
    #[must_use]
    pub fn in_home(&self, path: &str) -> Option<String> {
        self.get("HOME").map(|home| format!("{home}/{path}"))
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

/// Prints the names only: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
