//! A client of a service of AWS that takes JSON: requests are signed with the credentials of S3.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use object_store::HeaderValue;
use object_store::aws::{AwsAuthorizer, AwsCredentialProvider};
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};

use super::client::s3_identity;
use super::supplied_credentials::SuppliedCredentials;
use crate::StorageOptions;
use crate::fetch::failure::StoreFailure;
use crate::fetch::runtime::{IoThread, locked};
use crate::fork_gate;
use crate::json_service::{JsonAnswer, JsonService, JsonServiceAddress};
use crate::options::object_options::ObjectOptions;
use crate::options::object_uri::{ObjectStoreType, ObjectUri};
use mortice_base::error::{Error, ErrorKind, Result};

/// The number of attempts for a request that fails for other reasons than what it asks for.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);
/// The time limit of an operation, with all attempts. Locks are renewed in less than they are valid.
const DEADLINE: Duration = Duration::from_secs(20);
/// A table that is not on S3 has no credentials of AWS: those of the environment are used, as for this bucket.
const ENVIRONMENT: &str = "s3://environment";

/// Errors of the request rather than of the operation.
const FORBIDDEN: [&str; 8] = [
    "AccessDeniedException",
    "ExpiredTokenException",
    "IncompleteSignatureException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "UnrecognizedClientException",
];
const THROTTLED: [&str; 3] = ["ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"];

/// A client, whose state is created with its first request, and in a forked child again.
pub(crate) struct AwsService {
    uri: ObjectUri,
    options: ObjectOptions,
    address: JsonServiceAddress,
    live: Mutex<Option<Arc<ProcessState>>>,
}

/// The state of one process.
struct ProcessState {
    requester: Arc<Requester>,
    supplied: Option<Arc<SuppliedCredentials>>,
    io: IoThread,
}

struct Requester {
    client: HttpClient,
    credentials: AwsCredentialProvider,
    address: JsonServiceAddress,
}

impl AwsService {
    pub(crate) fn new(uri: &str, options: &StorageOptions, address: JsonServiceAddress) -> Result<Self> {
        let own = ObjectUri::parse(uri)?.filter(|uri| uri.service == ObjectStoreType::S3);
        let (uri, options) = match own {
            Some(own) => (own, ObjectOptions::parse(uri, options)?),
            None => {
                let none = ObjectUri::parse(ENVIRONMENT)?;
                let uri = none.ok_or_else(|| Error::internal("the URI of an S3 bucket cannot be parsed"))?;
                (uri, ObjectOptions::parse(ENVIRONMENT, &StorageOptions::new())?)
            }
        };
        Ok(Self { uri, options, address, live: Mutex::default() })
    }

    fn live(&self) -> Result<Arc<ProcessState>> {
        let _gate = fork_gate::enter();
        let mut live = locked(&self.live);
        if live.as_ref().is_some_and(|known| !known.io.is_here()) {
            // Its thread runs in the parent process, and its sockets belong to that process.
            std::mem::forget(live.take());
        }
        if let Some(known) = live.as_ref() {
            return Ok(Arc::clone(known));
        }
        let supplied = self.options.supplier().map(|name| SuppliedCredentials::new(name, self.uri.service));
        let is_plain = self.address.url().to_ascii_lowercase().starts_with("http://");
        let (credentials, client) = s3_identity(&self.uri, &self.options, supplied.clone(), is_plain)?;
        let requester = Arc::new(Requester { client, credentials, address: self.address.clone() });
        let created = Arc::new(ProcessState { requester, supplied, io: IoThread::start()? });
        Ok(Arc::clone(live.insert(created)))
    }

    fn call_once(&self, live: &ProcessState, operation: &str, body: &Bytes) -> Result<Answered> {
        let (requester, operation, body) = (Arc::clone(&live.requester), operation.to_owned(), body.clone());
        let pending = live.io.spawn(async move {
            let asked = tokio::time::timeout(DEADLINE, requester.ask(&operation, &body)).await;
            asked.unwrap_or_else(|_| Err(StoreFailure::new(ErrorKind::Unreachable, "no answer in time")))
        });
        pending.wait()?.map_err(|failure| failure.at(&self.address.url()))
    }
}

impl JsonService for AwsService {
    fn call(&self, operation: &str, body: Bytes) -> Result<JsonAnswer> {
        let live = self.live()?;
        let version = live.supplied.as_ref().and_then(|supplied| supplied.version());
        let mut answered = self.call_once(&live, operation, &body)?;
        if let (Some(supplied), true) = (&live.supplied, answered.is_forbidden()) {
            supplied.reject(version);
            answered = self.call_once(&live, operation, &body)?;
        }
        let Answered { status, body } = answered;
        if status == 200 {
            return Ok(JsonAnswer::Done(body));
        }
        let (code, message) = error_of(&body);
        let failed = |kind, what: &str| {
            let message = format!("{what} (HTTP {status} {code}: {message})");
            Err(Error::new(kind, message).in_file(self.address.url()))
        };
        match status {
            400..500 if FORBIDDEN.contains(&code.as_str()) => {
                failed(ErrorKind::Forbidden, "the service refused access; check the credentials and their permissions")
            }
            400..500 if THROTTLED.contains(&code.as_str()) => {
                failed(ErrorKind::Throttled, "the service throttles requests, and rejected all retries")
            }
            400..500 => Ok(JsonAnswer::Refused { code, message }),
            _ => failed(ErrorKind::Io, "the request of the service failed"),
        }
    }
}

/// A response.
#[derive(Debug, Clone)]
struct Answered {
    status: u16,
    body: Bytes,
}

impl Answered {
    fn is_forbidden(&self) -> bool {
        (400..500).contains(&self.status) && FORBIDDEN.contains(&error_of(&self.body).0.as_str())
    }

    fn is_to_be_repeated(&self) -> bool {
        self.status >= 500 || (self.status >= 400 && THROTTLED.contains(&error_of(&self.body).0.as_str()))
    }
}

impl Requester {
    async fn request(&self, operation: &str, body: &Bytes) -> object_store::Result<HttpRequest> {
        let JsonServiceAddress { name, target, region, .. } = &self.address;
        let credential = self.credentials.get_credential().await?;
        let mut request = HttpRequest::new(HttpRequestBody::from(body.clone()));
        *request.method_mut() = "POST".parse().map_err(failed)?;
        *request.uri_mut() = format!("{}/", self.address.url()).parse().map_err(failed)?;
        let headers = request.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/x-amz-json-1.0"));
        headers.insert("x-amz-target", format!("{target}.{operation}").parse().map_err(failed)?);
        AwsAuthorizer::new(&credential, name, region).try_authorize(&mut request, None)?;
        Ok(request)
    }

    async fn ask(&self, operation: &str, body: &Bytes) -> std::result::Result<Answered, StoreFailure> {
        let mut tries = 1;
        loop {
            let request = self.request(operation, body).await;
            let request = request.map_err(|error| StoreFailure::from_store(&error, None))?;
            let answered = match self.client.execute(request).await {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    answer.into_body().bytes().await.map(|body| Answered { status, body })
                }
                Err(error) => Err(error),
            };
            match answered {
                Ok(answered) if tries == TRIES || !answered.is_to_be_repeated() => return Ok(answered),
                Err(error) if tries == TRIES => return Err(StoreFailure::from_store(&failed(error), None)),
                Ok(_) | Err(_) => {}
            }
            tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
            tries += 1;
        }
    }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> object_store::Error {
    object_store::Error::Generic { store: "AWS", source: error.into() }
}

/// Returns the type and the message of an error. Lines after the first may repeat the request, with its token.
fn error_of(body: &Bytes) -> (String, String) {
    let parsed: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |names: &[&str]| names.iter().find_map(|name| parsed.get(name)?.as_str()).unwrap_or_default().to_owned();
    let code = text(&["__type", "code"]);
    let message = text(&["message", "Message"]);
    let code = code.rsplit('#').next().unwrap_or_default().chars().take(100).collect();
    (code, message.lines().next().unwrap_or_default().chars().take(300).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_type_and_one_line() {
        let body = br#"{"__type":"com.amazonaws.dynamodb.v20120810#InvalidSignatureException","message":"no match\nx-amz-security-token:hunter2"}"#;
        let body = Bytes::from_static(body);
        assert_eq!(error_of(&body), ("InvalidSignatureException".to_owned(), "no match".to_owned()));
        assert!(Answered { status: 400, body }.is_forbidden());
        assert_eq!(error_of(&Bytes::from_static(b"<html>")), (String::new(), String::new()));
        let throttled = Bytes::from_static(br#"{"__type":"a#ThrottlingException"}"#);
        assert!(Answered { status: 400, body: throttled }.is_to_be_repeated());
    }
}
