//! The item that is the lock.

use std::time::Duration;

use serde_json::{Value, json};

use mortice_base::error::{Error, Result};

/// The name of the partition key, which Hudi gives the table.
pub(super) const KEY: &str = "key";
pub(super) const OWNER: &str = "ownerName";
pub(super) const LEASE: &str = "leaseDuration";
pub(super) const VERSION: &str = "recordVersionNumber";
pub(super) const RELEASED: &str = "isReleased";

/// A lock that somebody has, or has given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LockItem {
    pub(super) owner: String,
    pub(super) lease: Duration,
    pub(super) version: String,
    pub(super) is_released: bool,
}

impl LockItem {
    /// Reads the attributes of an item.
    pub(super) fn parse(attributes: &Value) -> Result<Self> {
        let text = |name: &str| attributes.get(name).and_then(|value| value.get("S")).and_then(Value::as_str);
        let millis = text(LEASE).and_then(|lease| lease.parse().ok());
        let (Some(version), Some(millis)) = (text(VERSION), millis) else {
            return Err(Error::invalid_table(format!(
                "the lock of the table cannot be read: it has no {VERSION} or {LEASE}; remove the item if no writer is running"
            )));
        };
        Ok(Self {
            owner: text(OWNER).unwrap_or_default().to_owned(),
            lease: Duration::from_millis(millis),
            version: version.to_owned(),
            is_released: attributes.get(RELEASED).is_some(),
        })
    }

    /// The attributes of a lock that is held.
    pub(super) fn attributes(&self, key: &str) -> Value {
        json!({
            KEY: {"S": key},
            OWNER: {"S": self.owner},
            LEASE: {"S": self.lease.as_millis().to_string()},
            VERSION: {"S": self.version},
        })
    }
}
