//! Creates the client of a store from a URI and its options, and counts its requests.

use std::future::Future;
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use object_store::aws::{
    AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, AwsCredentialProvider, resolve_bucket_region,
};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, HeaderValue, ObjectStore, RetryConfig};

use super::assume_role::AssumeRole;
use super::limit::RequestLimit;
use super::supplied_credentials::{OfAzure, OfGcs, OfS3, SuppliedCredentials};
use crate::RequestCounters;
use crate::fetch::failure::StoreFailure;
use crate::options::object_options::ObjectOptions;
use crate::options::object_uri::{ObjectStoreType, ObjectUri};
use mortice_base::error::{Error, Result};

tokio::task_local! {
    static EXCHANGE: Arc<Exchange>;
}

/// The requests of an operation: they are counted, and the status of the last response is stored.
struct Exchange {
    requests: Arc<RequestCounters>,
    /// 0 if there was none.
    status: AtomicU16,
}

/// Runs an operation of a store. Its requests are counted in `requests`, including retries and pages of listings.
pub(crate) async fn counting<T>(
    requests: Arc<RequestCounters>,
    operation: impl Future<Output = object_store::Result<T>>,
) -> std::result::Result<T, StoreFailure> {
    let exchange = Arc::new(Exchange { requests, status: AtomicU16::new(0) });
    let outcome = EXCHANGE.scope(Arc::clone(&exchange), operation).await;
    let status = Some(exchange.status.load(Ordering::Relaxed)).filter(|status| *status > 0);
    outcome.map_err(|error| StoreFailure::from_store(&error, status))
}

/// The number of attempts for a response whose body is incomplete.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats an operation if the store responded, and the body of the response was incomplete. The store's client does so
/// for files, but not for listings. Must be called within [`counting`].
pub(crate) async fn with_whole_answer<T, F>(operation: impl Fn() -> F) -> object_store::Result<T>
where
    F: Future<Output = object_store::Result<T>>,
{
    let mut tries = 1;
    loop {
        let outcome = operation().await;
        let status = EXCHANGE.try_with(|exchange| exchange.status.load(Ordering::Relaxed)).unwrap_or_default();
        if outcome.is_ok() || tries == TRIES || !(200..300).contains(&status) {
            return outcome;
        }
        tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
        tries += 1;
    }
}

/// The timeout for looking up a bucket's region.
const REGION_DEADLINE: Duration = Duration::from_secs(10);

/// Looks up the region of an S3 bucket with one request without credentials. `None` if AWS does not return it in time;
/// a client then uses the default region.
pub(crate) async fn region_of(bucket: String, options: ObjectOptions) -> Option<String> {
    install_tls();
    let client = own_client_options(&options).ok()?;
    tokio::time::timeout(REGION_DEADLINE, resolve_bucket_region(&bucket, &client)).await.ok()?.ok()
}

/// The TLS library has several cipher implementations; this one needs no C compiler.
pub(super) fn install_tls() {
    static RING: Once = Once::new();
    RING.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// The input of a client besides the options: the region of an S3 bucket if the options have none, the request limit,
/// and supplied credentials.
#[derive(Clone)]
pub(crate) struct ClientParts {
    pub(crate) region: Option<String>,
    pub(crate) limit: Arc<RequestLimit>,
    pub(crate) supplied: Option<Arc<SuppliedCredentials>>,
}

impl ClientParts {
    fn connector(&self) -> CountingConnector {
        CountingConnector { limit: Arc::clone(&self.limit) }
    }
}

/// Creates the client of the store of `uri`.
pub(crate) fn client(uri: &ObjectUri, options: &ObjectOptions, parts: ClientParts) -> Result<Arc<dyn ObjectStore>> {
    install_tls();
    match uri.service {
        ObjectStoreType::S3 => Ok(Arc::new(s3(uri, options, parts)?)),
        ObjectStoreType::Gcs => gcs(uri, options, parts),
        ObjectStoreType::Azure => azure(uri, options, parts),
        ObjectStoreType::Http => http(uri, options, &parts),
    }
}

fn s3(uri: &ObjectUri, options: &ObjectOptions, parts: ClientParts) -> Result<AmazonS3> {
    let builder = AmazonS3Builder::new().with_client_options(client_options(options)?);
    let set = |builder: AmazonS3Builder, key: AmazonS3ConfigKey, value: &str| builder.with_config(key, value);
    let mut builder = with_settings(builder, options, set)?.with_http_connector(parts.connector());
    if let Some(role) = options.role() {
        let setting = |wanted| options.settings().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned());
        let keys = AwsCredential {
            key_id: setting("access_key_id").unwrap_or_default(),
            secret_key: setting("secret_access_key").unwrap_or_default(),
            token: setting("session_token"),
        };
        let is_plain = role.endpoint.to_ascii_lowercase().starts_with("http://");
        let client = own_client_options(options)?.with_allow_http(is_plain);
        let client = parts.connector().connect(&client).map_err(|error| refused(error, uri))?;
        builder = builder.with_credentials(Arc::new(AssumeRole::new(role.clone(), keys, client)));
    }
    if let Some(region) = parts.region {
        builder = builder.with_region(region);
    }
    if let Some(supplied) = parts.supplied {
        builder = builder.with_credentials(Arc::new(OfS3(supplied)));
    }
    let built = builder.with_bucket_name(&uri.bucket).with_retry(retry(options)).build();
    built.map_err(|error| refused(error, uri))
}

/// Returns the credentials of a bucket, and a client for another server than the store, which may be reached without
/// TLS if it `is_plain`.
pub(crate) fn s3_identity(
    uri: &ObjectUri,
    options: &ObjectOptions,
    supplied: Option<Arc<SuppliedCredentials>>,
    is_plain: bool,
) -> Result<(AwsCredentialProvider, HttpClient)> {
    install_tls();
    let parts = ClientParts { region: None, limit: RequestLimit::new(1), supplied };
    let client = own_client_options(options)?.with_allow_http(is_plain);
    let client = parts.connector().connect(&client).map_err(|error| refused(error, uri))?;
    let store = s3(uri, options, parts)?;
    Ok((Arc::clone(store.credentials()), client))
}

fn gcs(uri: &ObjectUri, options: &ObjectOptions, parts: ClientParts) -> Result<Arc<dyn ObjectStore>> {
    let builder = GoogleCloudStorageBuilder::new().with_client_options(client_options(options)?);
    let set = |builder: GoogleCloudStorageBuilder, key: GoogleConfigKey, value: &str| builder.with_config(key, value);
    let mut builder = with_settings(builder, options, set)?.with_http_connector(parts.connector());
    if let Some(supplied) = parts.supplied {
        builder = builder.with_credentials(Arc::new(OfGcs(supplied)));
    }
    let built = builder.with_bucket_name(&uri.bucket).with_retry(retry(options)).build();
    Ok(Arc::new(built.map_err(|error| refused(error, uri))?))
}

fn azure(uri: &ObjectUri, options: &ObjectOptions, parts: ClientParts) -> Result<Arc<dyn ObjectStore>> {
    let builder = account_builder(uri).with_client_options(client_options(options)?);
    let set = |builder: MicrosoftAzureBuilder, key: AzureConfigKey, value: &str| builder.with_config(key, value);
    let mut builder = with_settings(builder, options, set)?.with_http_connector(parts.connector());
    if let Some(supplied) = parts.supplied {
        builder = builder.with_credentials(Arc::new(OfAzure(supplied)));
    }
    let built = builder.with_container_name(&uri.bucket).with_retry(retry(options)).build();
    Ok(Arc::new(built.map_err(|error| refused(error, uri))?))
}

fn http(uri: &ObjectUri, options: &ObjectOptions, parts: &ClientParts) -> Result<Arc<dyn ObjectStore>> {
    let client = client_options(options)?.with_allow_http(uri.scheme == "http");
    let builder = HttpBuilder::new().with_url(&uri.bucket).with_client_options(client);
    let set = |builder: HttpBuilder, key: ClientConfigKey, value: &str| builder.with_config(key, value);
    let builder = with_settings(builder, options, set)?.with_http_connector(parts.connector());
    Ok(Arc::new(builder.with_retry(retry(options)).build().map_err(|error| refused(error, uri))?))
}

/// Uses the account of the URI. Azure's two endpoints of an account have the same objects; this client uses the Blob
/// endpoint.
fn account_builder(uri: &ObjectUri) -> MicrosoftAzureBuilder {
    let builder = MicrosoftAzureBuilder::new();
    let Some((account, domain)) = &uri.account else { return builder };
    let builder = builder.with_account(account);
    match domain.strip_prefix("dfs.").or(domain.strip_prefix("blob.")) {
        None | Some("core.windows.net" | "fabric.microsoft.com") => builder,
        Some(cloud) => builder.with_endpoint(format!("https://{account}.blob.{cloud}")),
    }
}

fn with_settings<B, K: FromStr>(mut builder: B, options: &ObjectOptions, set: impl Fn(B, K, &str) -> B) -> Result<B> {
    for (name, value) in options.settings() {
        let Ok(key) = name.parse() else {
            return Err(Error::invalid_argument(format!("unknown storage option {name:?} for this store")));
        };
        builder = set(builder, key, value);
    }
    Ok(builder)
}

/// Returns the options of a client for another server than the store: those of the HTTP client, such as its proxy.
fn own_client_options(options: &ObjectOptions) -> Result<ClientOptions> {
    let mut client = client_options(options)?;
    for (name, value) in options.settings() {
        if let Ok(key) = name.parse::<ClientConfigKey>() {
            client = client.with_config(key, value);
        }
    }
    Ok(client)
}

fn client_options(options: &ObjectOptions) -> Result<ClientOptions> {
    let client = options.client();
    let agent = HeaderValue::from_static(concat!("mortice/", env!("CARGO_PKG_VERSION")));
    // An endpoint with `http://` needs no further option to allow it.
    let is_plain = options.settings().any(|(name, value)| {
        (name.contains("endpoint") || name.ends_with("base_url")) && value.to_ascii_lowercase().starts_with("http://")
    });
    Ok(ClientOptions::new()
        .with_user_agent(agent)
        .with_allow_http(is_plain)
        .with_connect_timeout(client.connect_timeout)
        .with_read_timeout(client.read_timeout)
        .with_timeout(client.timeout)
        .with_pool_idle_timeout(client.pool_idle_timeout))
}

fn retry(options: &ObjectOptions) -> RetryConfig {
    let client = options.client();
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: client.max_retries,
        retry_timeout: client.retry_timeout,
    }
}

fn refused(error: object_store::Error, uri: &ObjectUri) -> Error {
    let StoreFailure { message, .. } = StoreFailure::from_store(&error, None);
    Error::invalid_argument(format!(
        "no client for {} can be created from these storage options: {message}",
        uri.scheme
    ))
}

/// Creates HTTP clients that count their requests, and lower the request limit when the store throttles.
#[derive(Debug)]
struct CountingConnector {
    limit: Arc<RequestLimit>,
}

impl HttpConnector for CountingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(CountingService { client, limit: Arc::clone(&self.limit) }))
    }
}

#[derive(Debug)]
struct CountingService {
    client: HttpClient,
    limit: Arc<RequestLimit>,
}

#[async_trait]
impl HttpService for CountingService {
    async fn call(&self, request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let noted = |status| {
            let _ = EXCHANGE.try_with(|exchange| exchange.status.store(status, Ordering::Relaxed));
        };
        let _ = EXCHANGE.try_with(|exchange| count(&exchange.requests, &request));
        noted(0);
        let response = self.client.execute(request).await?;
        noted(response.status().as_u16());
        if matches!(response.status().as_u16(), 429 | 503) {
            self.limit.throttled(Instant::now());
        }
        Ok(response)
    }
}

fn count(requests: &RequestCounters, request: &HttpRequest) {
    let query = request.uri().query().unwrap_or_default();
    match request.method().as_str() {
        "GET" if query.contains("list-type=2") || query.contains("comp=list") => requests.count_list(),
        "PROPFIND" => requests.count_list(),
        "GET" => requests.count_read(),
        "HEAD" => requests.count_open(),
        _ => {}
    }
}
