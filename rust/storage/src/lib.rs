//! Storage: reads files, lists folders and writes files on local and remote file systems.
//!
//! | file | contents |
//! |---|---|
//! | `source` | the trait of an open file: its size, bytes of a range |
//! | `listing` | entries of a folder listing |
//! | `storage` | the trait of a storage, rooted at a table |
//! | `create` | the traits of files that are created exclusively and appended to |
//! | `put` | the traits of whole files: created, replaced conditionally, removed, written in parts |
//! | `open` | opens the storage of a URI |
//! | `options/` | URIs and options of storages, also from Hadoop settings |
//! | `local/` | the local file system |
//! | `fetch/` | fetches ranges of remote files, and keeps what was fetched |
//! | `object/` | object stores |
//! | `hdfs/` | HDFS |
//! | `http_post` | requests that report what was done to a table |
//! | `json_service` | services of AWS beside S3 |
//! | `zookeeper/` | a client of ZooKeeper |
//! | `fetch_budget` | bytes that were fetched and are held, within a limit |
//! | `requests` | counts of storage requests, by kind |
//! | `parallel` | parallel requests |
//! | `cancel` | ends blocking waits on signals, and when a stream is closed |
//! | `fork_gate`, `forks` | what happens before and after a fork |
//! | `memory`, `prefix`, `section` | a file in memory, the part of a file that a plan has seen, a stretch of a file |
//! | `subfolder`, `wrapper` | a subfolder as a storage of its own, a store around another one |
//! | `overlay` | a storage with other files in one folder |
//! | `failing_store` | for tests: a store that stops working |
//! | `interrupted_store` | for tests: a store that lets something else happen |

// Budgets and counts of fetched bytes serve remote storages only.
#![cfg_attr(not(feature = "object"), allow(dead_code))]

mod cancel;
mod create;
#[cfg(any(test, feature = "testing"))]
pub mod failing_store;
#[cfg(feature = "object")]
mod fetch;
mod fetch_budget;
#[cfg(feature = "object")]
mod fork_gate;
#[cfg(feature = "object")]
mod forks;
#[cfg(feature = "hdfs")]
mod hdfs;
mod http_post;
#[cfg(any(test, feature = "testing"))]
pub mod interrupted_store;
mod json_service;
mod listing;
mod local;
mod memory;
#[cfg(feature = "object")]
mod object;
mod open;
mod options;
mod overlay;
pub mod parallel;
mod prefix;
mod put;
mod requests;
mod section;
mod source;
mod storage;
mod subfolder;
mod wrapper;
pub mod zookeeper;

pub use cancel::{CancelToken, POLL, check_cancelled, set_interrupt_check};
pub use create::{Appendable, FileSink, WritableStorage};
pub use fetch_budget::{FetchBudget, ReservedBytes};
#[cfg(feature = "object")]
pub use fork_gate::{after_fork_in_child, after_fork_in_parent};
#[cfg(feature = "object")]
pub use forks::before_fork;
#[cfg(feature = "hdfs")]
pub use hdfs::storage::HdfsStorage;
pub use http_post::HttpPost;
pub use json_service::{JsonAnswer, JsonService, JsonServiceAddress, open_json_service, region_of_environment};
pub use listing::{FileStatus, FolderEntry, KnownFile};
pub use local::create::LocalSink;
pub use local::mmap::{MappedFile, MappedPages};
pub use local::storage::{LocalFile, LocalStorage};
pub use memory::MemoryFile;
#[cfg(feature = "object")]
pub use object::storage::ObjectStorage;
pub use open::{StorageOptions, open, open_beside, open_counted, open_file, open_file_store, open_writable};
pub use options::client_settings::ClientSettings;
pub use options::hdfs_options::HdfsOptions;
pub use options::hdfs_uri::HdfsUri;
pub use options::object_options::{ObjectOptions, needed_options};
pub use options::supplier::{CREDENTIALS, CredentialValues, CredentialsSupplier, set_credentials_supplier};
pub use overlay::OverlaidFolder;
pub use prefix::PrefixSource;
pub use put::{FileStore, FileVersion, PutOutcome, RenameOutcome, RootLock, StoreUpload};
pub use requests::{RequestCounters, RequestCounts, counted};
pub use section::SectionSource;
pub use source::{FileSource, ReadFrom};
pub use storage::Storage;
pub use subfolder::SubfolderStorage;
pub use wrapper::StoreWrapper;
