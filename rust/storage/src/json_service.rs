//! Services of AWS beside S3 that take and return JSON, such as DynamoDB, which has locks of tables.

use std::sync::Arc;

use bytes::Bytes;

use super::StorageOptions;
use super::options::environment::Environment;
#[cfg(not(feature = "object"))]
use mortice_base::error::Error;
use mortice_base::error::Result;

/// A service, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonServiceAddress {
    /// The name with which requests are signed: `dynamodb`.
    pub name: &'static str,
    /// The prefix of operations: `DynamoDB_20120810`.
    pub target: &'static str,
    /// The region with which requests are signed; see [`region_of_environment`].
    pub region: String,
    /// The URL; that of AWS in the region if there is none.
    pub endpoint: Option<String>,
}

impl JsonServiceAddress {
    /// The URL of the service.
    #[must_use]
    pub fn url(&self) -> String {
        let Self { name, region, endpoint, .. } = self;
        match endpoint.as_deref().map(|endpoint| endpoint.trim_end_matches('/')) {
            Some(endpoint) if endpoint.contains("://") => endpoint.to_owned(),
            Some(endpoint) => format!("https://{endpoint}"),
            None if region.starts_with("cn-") => format!("https://{name}.{region}.amazonaws.com.cn"),
            None => format!("https://{name}.{region}.amazonaws.com"),
        }
    }
}

/// The region that `AWS_REGION` names, or else the first of AWS, as the AWS clients of Hudi have it.
#[must_use]
pub fn region_of_environment() -> String {
    Environment::from_process().get("AWS_REGION").unwrap_or("us-east-1").to_owned()
}

/// What a service has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonAnswer {
    /// The operation is done.
    Done(Bytes),
    /// It is refused, for a reason that the operation can have, such as a condition that does not hold.
    Refused {
        /// The type of the error: `ConditionalCheckFailedException`.
        code: String,
        /// The first line of its message.
        message: String,
    },
}

/// A client of a service.
pub trait JsonService: Send + Sync {
    /// Runs an operation, and again after failures of the network and the service. So it may have been done before an
    /// attempt that is answered.
    ///
    /// # Errors
    /// `Forbidden`, `Throttled`, `Unreachable` or `Io`, if there is no answer to the operation itself.
    fn call(&self, operation: &str, body: Bytes) -> Result<JsonAnswer>;
}

/// Returns a client of a service, which has the credentials of the table at `uri` if that is on S3, and those of the
/// environment otherwise. No request is sent.
///
/// # Errors
/// `InvalidArgument` for options that the storage does not support; `Unsupported` in a build without object stores.
pub fn open_json_service(
    uri: &str,
    options: &StorageOptions,
    address: JsonServiceAddress,
) -> Result<Arc<dyn JsonService>> {
    #[cfg(feature = "object")]
    return Ok(Arc::new(super::object::aws_service::AwsService::new(uri, options, address)?));
    #[cfg(not(feature = "object"))]
    {
        let _ = (uri, options);
        Err(Error::unsupported(format!("this build of mortice has no client of {}", address.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_have_urls() {
        for (region, endpoint, url) in [
            ("eu-west-1", None, "https://dynamodb.eu-west-1.amazonaws.com"),
            ("cn-north-1", None, "https://dynamodb.cn-north-1.amazonaws.com.cn"),
            ("us-east-1", Some("http://127.0.0.1:8000/"), "http://127.0.0.1:8000"),
            ("us-east-1", Some("dynamodb.example.org"), "https://dynamodb.example.org"),
        ] {
            let endpoint = endpoint.map(str::to_owned);
            let address = JsonServiceAddress { name: "dynamodb", target: "", region: region.to_owned(), endpoint };
            assert_eq!(address.url(), url);
        }
    }
}
