//! The handle of an HDFS cluster: its client and its I/O thread, created on first use. A forked child creates its own.
//!
//! The client library keeps idle connections to `DataNode`s for 3 s in a list of the process, not of a client. A forked
//! child must not use those of its parent. A connection whose runtime has ended returns an error for every use, and the
//! library connects again; so [`end_clients`] ends the clients of the process before it is forked. If that was not
//! possible, HDFS returns an error in the child.

use std::future::Future;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hdfs_native::{Client, ClientBuilder, HdfsError};
use tokio::sync::Semaphore;

use super::error::{failure, timed_out};
use crate::fetch::fetcher::SharedResult;
use crate::fetch::handle_registry::HandleRegistry;
use crate::fetch::runtime::{IoThread, PendingResult, locked};
use crate::fetch::shared_sources::SharedSources;
use crate::fork_gate;
use crate::options::hdfs_options::HdfsOptions;
use crate::options::hdfs_uri::HdfsUri;
use mortice_base::error::{Error, ErrorKind, Result};

/// The port of a `NameNode` if the URI has none and does not name a name service, as in Hadoop.
const PORT: u16 = 8020;
/// Attempts to connect to a single `NameNode`. Hadoop's default is for clusters with failover.
const ATTEMPTS: (&str, &str) = ("dfs.client.failover.max.attempts", "3");
/// How long a fork waits for running operations.
const FORK_PATIENCE: Duration = Duration::from_secs(10);

/// The handle of a cluster.
pub(crate) struct HdfsHandle {
    /// Its path identifies no file.
    uri: HdfsUri,
    options: HdfsOptions,
    live: Mutex<Option<Arc<ProcessState>>>,
    opened: SharedSources,
}

/// The state of one process.
struct ProcessState {
    client: Client,
    limit: Arc<Semaphore>,
    /// Held by every operation that is running.
    running: Arc<()>,
    generation: u64,
    io: IoThread,
}

static HANDLES: HandleRegistry<HdfsHandle> = HandleRegistry::new();
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// The process whose clients were still in use when it was forked; 0 if there is none.
static FORKED_IN_USE: AtomicU32 = AtomicU32::new(0);

/// Keeps a client from being ended at a fork.
pub(crate) struct InUse {
    _running: Arc<()>,
}

impl HdfsHandle {
    /// Returns the handle of the cluster of `uri`. No request is sent.
    pub(crate) fn new(uri: &HdfsUri, options: HdfsOptions) -> Result<Arc<Self>> {
        let uri = HdfsUri { path: String::new(), ..uri.clone() };
        let is_same = |handle: &Self| handle.uri == uri && handle.options == options;
        let create = || Self {
            uri: uri.clone(),
            options: options.clone(),
            live: Mutex::default(),
            opened: SharedSources::default(),
        };
        let (handle, is_known) = HANDLES.get_or_create(is_same, create);
        if !is_known {
            // Invalid options and files are reported when a table is opened, not by its first request.
            handle.live()?;
        }
        Ok(handle)
    }

    /// Returns the useful number of concurrent requests.
    pub(crate) fn max_requests(&self) -> usize {
        self.options.max_requests
    }

    /// Returns the open files.
    pub(crate) fn opened(&self) -> &SharedSources {
        &self.opened
    }

    fn live(&self) -> Result<Arc<ProcessState>> {
        let _gate = fork_gate::enter();
        let mut live = locked(&self.live);
        match live.as_ref() {
            Some(known) if known.io.is_here() => return Ok(Arc::clone(known)),
            Some(_) => {
                // Its thread runs in the parent process, and its sockets belong to that process.
                std::mem::forget(live.take());
                FORKED_IN_USE.store(u32::MAX, Ordering::SeqCst);
            }
            None => {}
        }
        let forked = FORKED_IN_USE.load(Ordering::SeqCst);
        if (forked != 0 && forked != std::process::id()) || self.is_another_inherited() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this process was forked while its parent used HDFS in another thread; read from HDFS after the fork \
                 alone, or start processes with spawn or forkserver",
            ));
        }
        let io = IoThread::start()?;
        let client = self.client(&io)?;
        let limit = Arc::new(Semaphore::new(self.options.max_requests));
        let generation = GENERATION.fetch_add(1, Ordering::SeqCst);
        let made = Arc::new(ProcessState { client, limit, running: Arc::default(), generation, io });
        *live = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Returns true if another handle has a client of the parent process.
    fn is_another_inherited(&self) -> bool {
        let handles = HANDLES.all();
        // The lock of this handle is held; that of another one may be held by a thread that creates its client.
        let others = handles.iter().filter(|handle| !std::ptr::eq(handle.as_ref(), self));
        others
            .filter_map(|handle| handle.live.try_lock().ok())
            .any(|live| live.as_ref().is_some_and(|known| !known.io.is_here()))
    }

    /// Creates the client. A host without an entry in a configuration file is a `NameNode`, with the default port.
    fn client(&self, io: &IoThread) -> Result<Client> {
        let HdfsUri { scheme, authority, .. } = &self.uri;
        let build = |authority: Option<&str>, is_single: bool| {
            let attempts = is_single.then_some((ATTEMPTS.0.to_owned(), ATTEMPTS.1.to_owned()));
            let given = self.options.settings.iter().map(|(name, value)| (name.clone(), value.clone()));
            let mut builder =
                ClientBuilder::new().with_io_runtime(io.handle()).with_config(attempts.into_iter().chain(given));
            if let Some(authority) = authority {
                builder = builder.with_url(format!("{scheme}://{authority}/"));
            }
            if let Some(folder) = &self.options.conf_dir {
                builder = builder.with_config_dir(folder);
            }
            if let Some(user) = &self.options.user {
                builder = builder.with_user(user);
            }
            builder.build()
        };
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let made = match build(Some(authority).filter(|name| !name.is_empty()).map(String::as_str), has_port) {
            Err(HdfsError::InvalidArgument(why)) if why.contains("No NameNode hosts") && !authority.is_empty() => {
                build(Some(&format!("{authority}:{PORT}")), true)
            }
            made => made,
        };
        made.map_err(|error| {
            let why = failure(&error).message;
            let files = "Hadoop's configuration is read from HADOOP_CONF_DIR, or the storage option conf_dir";
            Error::invalid_argument(format!("no client for {scheme}://{authority}: {why} ({files})"))
        })
    }

    /// Returns a number that identifies the client of this process, before or after a fork.
    pub(crate) fn generation(&self) -> Result<u64> {
        Ok(self.live()?.generation)
    }

    /// Keeps the client from being ended at a fork until the result is dropped.
    pub(crate) fn in_use(&self) -> Result<InUse> {
        Ok(InUse { _running: Arc::clone(&self.live()?.running) })
    }

    /// Starts an operation.
    pub(crate) fn start<T, F>(
        &self,
        operation: impl FnOnce(Client) -> F + Send + 'static,
    ) -> Result<PendingResult<SharedResult<T>>>
    where
        T: Send + 'static,
        F: Future<Output = hdfs_native::Result<T>> + Send + 'static,
    {
        let live = self.live()?;
        let (client, limit, running) = (live.client.clone(), Arc::clone(&live.limit), Arc::clone(&live.running));
        let timeout = self.options.timeout;
        Ok(live.io.spawn(async move {
            let _running = running;
            let run = async {
                let _permit = limit.acquire_owned().await;
                operation(client).await.map_err(|error| failure(&error))
            };
            tokio::time::timeout(timeout, run).await.unwrap_or_else(|_| Err(timed_out(timeout)))
        }))
    }

    /// Runs an operation and waits for it. `path` is for messages.
    pub(crate) fn run<T, F>(&self, path: &str, operation: impl FnOnce(Client) -> F + Send + 'static) -> Result<T>
    where
        T: Clone + Send + 'static,
        F: Future<Output = hdfs_native::Result<T>> + Send + 'static,
    {
        let outcome = self.start(operation).and_then(|pending| pending.wait());
        outcome.map_err(|error| error.in_file(path))?.map_err(|failure| failure.at(path))
    }

    /// Ends the client after its operations have ended. Returns false if they did not end before `deadline`.
    fn end(&self, deadline: Instant) -> bool {
        loop {
            let mut live = locked(&self.live);
            let is_idle = live.as_ref().is_none_or(|known| {
                !known.io.is_here() || (Arc::strong_count(known) == 1 && Arc::strong_count(&known.running) == 1)
            });
            if is_idle {
                if live.as_ref().is_some_and(|known| known.io.is_here()) {
                    drop(live.take());
                }
                return true;
            }
            drop(live);
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Ends the HDFS clients of this process, which is about to be forked; they are created again on their next use. Waits
/// up to 10 s for running operations.
pub(crate) fn end_clients() {
    let deadline = Instant::now() + FORK_PATIENCE;
    let mut are_idle = true;
    for handle in HANDLES.all() {
        are_idle &= handle.end(deadline);
    }
    let process = std::process::id();
    if !are_idle {
        FORKED_IN_USE.store(process, Ordering::SeqCst);
    } else if FORKED_IN_USE.load(Ordering::SeqCst) == process {
        FORKED_IN_USE.store(0, Ordering::SeqCst);
    }
}
