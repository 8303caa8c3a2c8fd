//! The application's function for credentials, by its name in the option `credentials`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;
use std::time::SystemTime;

use mortice_base::error::{Error, Result};

/// The storage option that names a function.
pub const CREDENTIALS: &str = "credentials";

/// The result of a function. `Debug` prints no value.
#[derive(Clone)]
pub struct CredentialValues {
    /// Storage options, including keys and tokens.
    pub options: BTreeMap<String, String>,
    /// When to call the function again; `None` if the expiry is unknown.
    pub refresh_at: Option<SystemTime>,
    /// A number that differs between credentials of the same name.
    pub version: u64,
}

impl fmt::Debug for CredentialValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.options.keys().collect();
        f.debug_struct("CredentialValues")
            .field("options", &names)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Calls a named function. It returns cached credentials, unless they are about to expire or have the version
/// `rejected`, which the store has rejected. It may be called by any thread, and may block.
pub type CredentialsSupplier = fn(name: &str, rejected: Option<u64>) -> Result<CredentialValues>;

static SUPPLIER: OnceLock<CredentialsSupplier> = OnceLock::new();

/// Registers the process's functions. Only the first registration counts.
pub fn set_credentials_supplier(supplier: CredentialsSupplier) {
    let _ = SUPPLIER.set(supplier);
}

/// Returns the result of a named function.
pub(crate) fn supply(name: &str, rejected: Option<u64>) -> Result<CredentialValues> {
    let Some(supplier) = SUPPLIER.get() else {
        return Err(Error::invalid_argument(
            "the storage option credentials is a function, which cannot be called here",
        ));
    };
    supplier(name, rejected)
}
