//! Options of the lock (`DynamoDbBasedLockConfig`).

use std::time::Duration;

use mortice_base::error::{Error, Result};
use mortice_merge::config::{WriteOptions, option_names};
use mortice_storage::{JsonServiceAddress, region_of_environment};

/// A lock that is valid for a shorter time would be lost between two requests.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

/// Where the lock is, and how long it is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct DynamoDbSettings {
    pub(super) table: String,
    pub(super) key: String,
    pub(super) lease: Duration,
    /// Reads and writes per second of a table that is created with `PROVISIONED` capacity.
    pub(super) capacity: Option<(u64, u64)>,
    pub(super) creation_timeout: Duration,
}

impl DynamoDbSettings {
    /// Of the lock with this key, unless an option names another one.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for a lock that would be valid for less than a second.
    pub(in super::super) fn resolve(options: &WriteOptions, key: String) -> Result<Self> {
        let lease: u64 = options.integer(option_names::WRITE_LOCK_WAIT_TIME_MS)?;
        let lease = Duration::from_millis(lease);
        if lease < SHORTEST_LEASE {
            return Err(Error::invalid_argument(format!(
                "option {} must be at least {} with a DynamoDB lock, got {}: a lock is valid for that time, too",
                option_names::WRITE_LOCK_WAIT_TIME_MS,
                SHORTEST_LEASE.as_millis(),
                lease.as_millis()
            )));
        }
        let is_provisioned =
            options.word(option_names::WRITE_LOCK_DYNAMODB_BILLING_MODE)?.eq_ignore_ascii_case("PROVISIONED");
        let capacity = (
            options.integer(option_names::WRITE_LOCK_DYNAMODB_READ_CAPACITY)?,
            options.integer(option_names::WRITE_LOCK_DYNAMODB_WRITE_CAPACITY)?,
        );
        let timeout: u64 = options.integer(option_names::WRITE_LOCK_DYNAMODB_TABLE_CREATION_TIMEOUT)?;
        Ok(Self {
            table: options.word(option_names::WRITE_LOCK_DYNAMODB_TABLE)?.to_owned(),
            key,
            lease,
            capacity: is_provisioned.then_some(capacity),
            creation_timeout: Duration::from_millis(timeout),
        })
    }

    /// The address of DynamoDB.
    pub(in super::super) fn address(options: &WriteOptions) -> JsonServiceAddress {
        let region = options.text(option_names::WRITE_LOCK_DYNAMODB_REGION).map(str::to_owned);
        JsonServiceAddress {
            name: "dynamodb",
            target: "DynamoDB_20120810",
            region: region.unwrap_or_else(region_of_environment),
            endpoint: options.text(option_names::WRITE_LOCK_DYNAMODB_ENDPOINT_URL).map(str::to_owned),
        }
    }
}
