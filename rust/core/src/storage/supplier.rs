//! The application's function for credentials, by the name that stands for it in the option `credentials`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::error::{Error, Result};

/// The storage option that names a function.
pub const CREDENTIALS: &str = "credentials";

/// What a function supplied. `Debug` prints no value.
#[derive(Clone)]
pub struct Supplied {
    /// Storage options, keys and tokens among them.
    pub options: BTreeMap<String, String>,
    /// When to ask again; never if nothing is known of their end.
    pub refresh_at: Option<SystemTime>,
    /// A number that is another one for other credentials of the same name.
    pub version: u64,
}

impl fmt::Debug for Supplied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.options.keys().collect();
        f.debug_struct("Supplied").field("options", &names).field("version", &self.version).finish_non_exhaustive()
    }
}

/// Asks the function of a name. It answers with what it knows, unless that is about to expire or has the version `rejected`, which
/// the store has refused. It may be called by any thread, and may block.
pub type Supplier = fn(name: &str, rejected: Option<u64>) -> Result<Supplied>;

static SUPPLIER: OnceLock<Supplier> = OnceLock::new();

/// Registers the process's functions. Only the first registration counts.
pub fn set_credentials_supplier(supplier: Supplier) {
    let _ = SUPPLIER.set(supplier);
}

/// What the function of a name supplies.
///
/// # Errors
/// Those of the function; `InvalidArgument` if nobody has registered functions.
pub(super) fn supply(name: &str, rejected: Option<u64>) -> Result<Supplied> {
    let Some(supplier) = SUPPLIER.get() else {
        return Err(Error::invalid_argument(
            "the storage option credentials is a function, which cannot be called here",
        ));
    };
    supplier(name, rejected)
}
