//! Credentials of a store from a function of the application (see `supplier`). They are requested again when they are
//! about to expire, and when the store has rejected them as expired.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use object_store::azure::{AzureAccessKey, AzureCredential, split_sas};
use object_store::gcp::GcpCredential;

use crate::fetch::runtime::locked;
use crate::options::hadoop::conf::Options;
use crate::options::object_options::own_options;
use crate::options::object_uri::ObjectStoreType;
use crate::options::supplier::{CredentialValues, supply};
use mortice_base::error::{Error, Result};

/// Credentials of one store. `Debug` prints none.
pub(crate) struct SuppliedCredentials {
    name: String,
    service: ObjectStoreType,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: Option<CurrentCredentials>,
    /// The version that the store has rejected.
    rejected: Option<u64>,
}

#[derive(Clone)]
struct CurrentCredentials {
    options: Arc<Options>,
    refresh_at: Option<SystemTime>,
    version: u64,
}

impl SuppliedCredentials {
    /// Returns the credentials of a named function, which is not called yet.
    pub(crate) fn new(name: &str, service: ObjectStoreType) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), service, state: Mutex::default() })
    }

    /// Returns the version with which requests are signed now.
    pub(crate) fn version(&self) -> Option<u64> {
        locked(&self.state).known.as_ref().map(|known| known.version)
    }

    /// Records that the store has rejected a request with a version: the next request gets new credentials.
    pub(crate) fn reject(&self, version: Option<u64>) {
        let mut state = locked(&self.state);
        // Another request may have renewed them meanwhile.
        if let Some(known) = state.known.take_if(|known| version.is_none_or(|version| version == known.version)) {
            state.rejected = Some(known.version);
        }
    }

    fn known(&self) -> Option<Arc<Options>> {
        let state = locked(&self.state);
        let is_due = |known: &&CurrentCredentials| known.refresh_at.is_some_and(|at| at <= SystemTime::now());
        state.known.as_ref().filter(|known| !is_due(known)).map(|known| Arc::clone(&known.options))
    }

    async fn options(&self) -> Result<Arc<Options>> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let (name, rejected) = (self.name.clone(), locked(&self.state).rejected);
        // The function may block, and the I/O thread has other requests.
        let asked = tokio::task::spawn_blocking(move || supply(&name, rejected)).await;
        let ended = |error| Error::internal("a thread that asked for credentials has ended").caused_by(error);
        let CredentialValues { options, refresh_at, version } = asked.map_err(ended)??;
        let options = Arc::new(own_options(self.service, &options)?);
        let mut state = locked(&self.state);
        // A response may arrive after that of a newer version.
        if state.known.as_ref().is_none_or(|known| known.version <= version) {
            state.known = Some(CurrentCredentials { options: Arc::clone(&options), refresh_at, version });
        }
        Ok(options)
    }

    fn missing(&self, names: &str) -> Error {
        Error::invalid_argument(format!(
            "the function in the storage option credentials has returned no {names}, which it did when it was called first"
        ))
    }
}

impl fmt::Debug for SuppliedCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuppliedCredentials").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Wraps the error of a function for the store's client.
fn passed_on(error: Error) -> object_store::Error {
    object_store::Error::Generic { store: "credentials", source: Box::new(error) }
}

/// The provider of S3.
#[derive(Debug)]
pub(crate) struct OfS3(pub(crate) Arc<SuppliedCredentials>);

#[async_trait]
impl CredentialProvider for OfS3 {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let options = self.0.options().await.map_err(passed_on)?;
        let (Some(key), Some(secret)) = (options.get("access_key_id"), options.get("secret_access_key")) else {
            return Err(passed_on(self.0.missing("access_key_id and secret_access_key")));
        };
        let token = options.get("session_token").cloned();
        Ok(Arc::new(AwsCredential { key_id: key.clone(), secret_key: secret.clone(), token }))
    }
}

/// The provider of Google Cloud Storage.
#[derive(Debug)]
pub(crate) struct OfGcs(pub(crate) Arc<SuppliedCredentials>);

#[async_trait]
impl CredentialProvider for OfGcs {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        let options = self.0.options().await.map_err(passed_on)?;
        let token = options.get("bearer_token").ok_or_else(|| passed_on(self.0.missing("bearer_token")))?;
        Ok(Arc::new(GcpCredential { bearer: token.clone() }))
    }
}

/// The provider of Azure.
#[derive(Debug)]
pub(crate) struct OfAzure(pub(crate) Arc<SuppliedCredentials>);

#[async_trait]
impl CredentialProvider for OfAzure {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        let options = self.0.options().await.map_err(passed_on)?;
        // The original messages may contain a part of the value.
        let wrong = |name: &str| passed_on(Error::invalid_argument(format!("storage option {name} cannot be read")));
        let credential = if let Some(token) = options.get("bearer_token") {
            AzureCredential::BearerToken(token.clone())
        } else if let Some(token) = options.get("sas_token") {
            let pairs = split_sas(token.trim_start_matches('?')).map_err(|_| wrong("sas_token"))?;
            AzureCredential::SASToken(pairs)
        } else if let Some(key) = options.get("account_key") {
            AzureCredential::AccessKey(AzureAccessKey::try_new(key).map_err(|_| wrong("account_key"))?)
        } else {
            return Err(passed_on(self.0.missing("bearer_token, sas_token or account_key")));
        };
        Ok(Arc::new(credential))
    }
}
