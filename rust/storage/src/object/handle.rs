//! The handle of a store: its client and its I/O thread, created on first use. A forked child creates its own.
//!
//! All storages of one bucket with the same options share a handle while one of them is in use, and with it
//! connections, credentials and the request limit.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use object_store::ObjectStore;

use super::client::{ClientParts, client, counting, region_of};
use super::limit::RequestLimit;
use super::supplied_credentials::SuppliedCredentials;
use crate::RequestCounters;
use crate::fetch::failure::StoreFailure;
use crate::fetch::fetcher::SharedResult;
use crate::fetch::handle_registry::HandleRegistry;
use crate::fetch::runtime::{IoThread, PendingResult, locked};
use crate::fetch::shared_sources::SharedSources;
use crate::fork_gate;
use crate::options::object_options::ObjectOptions;
use crate::options::object_uri::ObjectUri;
use mortice_base::error::{Error, ErrorKind, Result};

/// The timeout of an operation, including retries.
const DEADLINE: Duration = Duration::from_secs(180);

/// The handle of a store.
pub(crate) struct ObjectHandle {
    /// Its key identifies no object.
    uri: ObjectUri,
    options: ObjectOptions,
    live: Mutex<Option<Arc<ProcessState>>>,
    opened: SharedSources,
}

/// The state of one process.
struct ProcessState {
    client: Arc<dyn ObjectStore>,
    limit: Arc<RequestLimit>,
    supplied: Option<Arc<SuppliedCredentials>>,
    io: IoThread,
}

static HANDLES: HandleRegistry<ObjectHandle> = HandleRegistry::new();

impl ObjectHandle {
    /// Returns the handle of the store of `uri`. No request is sent.
    pub(crate) fn for_store(uri: &ObjectUri, options: ObjectOptions) -> Result<Arc<Self>> {
        let uri = ObjectUri { key: String::new(), ..uri.clone() };
        // Invalid options are reported when a table is opened, not by its first request.
        let _gate = fork_gate::enter();
        client(&uri, &options, ClientParts { region: None, limit: RequestLimit::new(1), supplied: None })?;
        let is_same = |handle: &Self| handle.uri == uri && handle.options == options;
        let create = || Self {
            uri: uri.clone(),
            options: options.clone(),
            live: Mutex::default(),
            opened: SharedSources::default(),
        };
        Ok(HANDLES.get_or_create(is_same, create).0)
    }

    /// Returns a handle with this client.
    #[cfg(test)]
    pub(crate) fn with_client(uri: &ObjectUri, options: ObjectOptions, client: Arc<dyn ObjectStore>) -> Arc<Self> {
        let live = ProcessState { client, limit: RequestLimit::new(4), supplied: None, io: IoThread::start().unwrap() };
        let live = Mutex::new(Some(Arc::new(live)));
        Arc::new(Self { uri: uri.clone(), options, live, opened: SharedSources::default() })
    }

    /// Returns the URI of the store.
    pub(crate) fn uri(&self) -> &ObjectUri {
        &self.uri
    }

    /// Returns the useful number of concurrent requests.
    pub(crate) fn max_requests(&self) -> usize {
        self.options.client().max_requests
    }

    /// Returns the state of this process if it was created.
    fn known(&self) -> Option<Arc<ProcessState>> {
        let mut live = locked(&self.live);
        if live.as_ref().is_some_and(|known| !known.io.is_here()) {
            // Its thread runs in the parent process, and its sockets belong to that process.
            std::mem::forget(live.take());
        }
        live.clone()
    }

    fn live(&self) -> Result<Arc<ProcessState>> {
        let gate = fork_gate::enter();
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let io = IoThread::start()?;
        // This sends requests, for which no fork waits.
        drop(gate);
        let region = if self.options.needs_region() {
            io.spawn(region_of(self.uri.bucket.clone(), self.options.clone())).wait()?
        } else {
            None
        };
        let _gate = fork_gate::enter();
        let limit = RequestLimit::new(self.max_requests());
        let supplied = self.options.supplier().map(|name| SuppliedCredentials::new(name, self.uri.service));
        let parts = ClientParts { region, limit: Arc::clone(&limit), supplied: supplied.clone() };
        let client = client(&self.uri, &self.options, parts)?;
        let created = Arc::new(ProcessState { client, limit, supplied, io });
        // Another thread may have been faster. What it created is the one in use.
        Ok(Arc::clone(locked(&self.live).get_or_insert(created)))
    }

    /// Starts an operation of the store; its requests are counted in `requests`. It is repeated once if supplied
    /// credentials have expired.
    pub(crate) fn start<T, F>(
        &self,
        requests: &Arc<RequestCounters>,
        operation: impl FnOnce(Arc<dyn ObjectStore>) -> F + Clone + Send + 'static,
    ) -> Result<PendingResult<SharedResult<T>>>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let live = self.live()?;
        let Some(supplied) = live.supplied.clone() else { return self.start_once(requests, operation) };
        let (client, limit, requests) = (Arc::clone(&live.client), Arc::clone(&live.limit), Arc::clone(requests));
        Ok(live.io.spawn(within_deadline(async move {
            let _permit = limit.acquire().await;
            let version = supplied.version();
            let first = counting(Arc::clone(&requests), operation.clone()(Arc::clone(&client))).await;
            if !first.as_ref().is_err_and(|failure| failure.is_expired) {
                return first;
            }
            supplied.reject(version);
            counting(requests, operation(client)).await
        })))
    }

    /// Starts an operation of the store that cannot be repeated.
    pub(crate) fn start_once<T, F>(
        &self,
        requests: &Arc<RequestCounters>,
        operation: impl FnOnce(Arc<dyn ObjectStore>) -> F + Send + 'static,
    ) -> Result<PendingResult<SharedResult<T>>>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let live = self.live()?;
        let (client, limit, requests) = (Arc::clone(&live.client), Arc::clone(&live.limit), Arc::clone(requests));
        Ok(live.io.spawn(within_deadline(async move {
            let _permit = limit.acquire().await;
            counting(requests, operation(client)).await
        })))
    }

    /// Runs an operation of the store and waits for it. `path` is for messages.
    pub(crate) fn run<T, F>(
        &self,
        requests: &Arc<RequestCounters>,
        path: &str,
        operation: impl FnOnce(Arc<dyn ObjectStore>) -> F + Clone + Send + 'static,
    ) -> Result<T>
    where
        T: Clone + Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let outcome = self.start(requests, operation).and_then(|pending| pending.wait());
        outcome.map_err(|error| error.in_file(path))?.map_err(|failure| failure.at(path))
    }

    /// Returns the open files.
    pub(crate) fn opened(&self) -> &SharedSources {
        &self.opened
    }
}

/// Runs an operation with a timeout.
async fn within_deadline<T>(operation: impl Future<Output = SharedResult<T>>) -> SharedResult<T> {
    tokio::time::timeout(DEADLINE, operation).await.unwrap_or_else(|_| {
        let message = format!("the storage did not answer within {} s, retries included", DEADLINE.as_secs());
        Err(StoreFailure::new(ErrorKind::Unreachable, message))
    })
}

/// Converts a key to the path type of the client.
pub(crate) fn location(key: &str) -> Result<object_store::path::Path> {
    object_store::path::Path::parse(key)
        .map_err(|error| Error::invalid_argument("not a key of an object store").caused_by(error).in_file(key))
}
