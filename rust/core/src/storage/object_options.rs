//! The options of an object store: the names that `object_store` knows, and limits of time.

use std::fmt;
use std::time::Duration;

use super::StorageOptions;
use crate::error::{Error, Result};

/// Environment variables that are options, in lower case.
const OF_ENVIRONMENT: [&str; 20] = [
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_region",
    "aws_default_region",
    "aws_endpoint_url",
    "aws_endpoint_url_s3",
    "aws_web_identity_token_file",
    "aws_role_arn",
    "aws_role_session_name",
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
    "google_application_credentials",
    "google_service_account",
    "azure_storage_account_name",
    "azure_storage_account_key",
    "azure_storage_sas_token",
    "azure_client_id",
    "azure_client_secret",
    "azure_tenant_id",
];

/// Options of one store, checked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectOptions {
    settings: Vec<(String, String)>,
    client: ClientSettings,
}

/// Time limits of a store's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientSettings {
    /// For connecting.
    pub connect_timeout: Duration,
    /// Between two reads from a connection.
    pub read_timeout: Duration,
    /// For one request with its body.
    pub timeout: Duration,
    /// How long a connection is kept unused.
    pub pool_idle_timeout: Duration,
    /// Retries of one request.
    pub max_retries: usize,
    /// The time after which a request is not retried any more.
    pub retry_timeout: Duration,
    /// Requests at once.
    pub max_requests: usize,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            pool_idle_timeout: Duration::from_secs(15),
            max_retries: 8,
            retry_timeout: Duration::from_secs(60),
            max_requests: 32,
        }
    }
}

impl ObjectOptions {
    /// Reads the options of the table at `uri`. The environment supplies what they leave out.
    ///
    /// # Errors
    /// `InvalidArgument` for values that cannot be parsed.
    pub fn parse(uri: &str, options: &StorageOptions) -> Result<Self> {
        let prefix = match uri.split_once("://").map_or("", |(scheme, _)| scheme) {
            "s3" | "s3a" | "s3n" => "aws_",
            "gs" => "google_",
            "http" | "https" => "http_",
            _ => "azure_",
        };
        let mut client = ClientSettings::default();
        let mut settings = Vec::new();
        for (name, value) in std::env::vars() {
            let name = name.to_ascii_lowercase();
            if name.starts_with(prefix) && OF_ENVIRONMENT.contains(&name.as_str()) {
                settings.push((name, value));
            }
        }
        settings.sort();
        // An option of local files.
        for (name, value) in options.iter().filter(|(name, _)| *name != "mmap") {
            let name = name.to_ascii_lowercase();
            let number = || {
                value.parse().map_err(|_| Error::invalid_argument(format!("storage option {name} must be a number")))
            };
            match name.as_str() {
                "max_retries" => client.max_retries = number()?,
                "retry_timeout" => client.retry_timeout = Duration::from_secs(number()? as u64),
                "max_requests" => client.max_requests = number()?,
                _ => settings.push((name, value.clone())),
            }
        }
        Ok(Self { settings, client })
    }

    /// Names as `object_store` has them, in lower case, and their values. A later one overrides an earlier one.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The time limits.
    #[must_use]
    pub const fn client(&self) -> &ClientSettings {
        &self.client
    }
}

impl fmt::Debug for ObjectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.settings.iter().map(|(name, _)| name)).finish()
    }
}
