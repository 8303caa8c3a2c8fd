//! Storage: reads files, lists folders and writes files on local and remote file systems.
//!
//! | file | contents |
//! |---|---|
//! | `source` | the trait of an open file: its size, bytes of a range |
//! | `listing` | entries of a folder listing |
//! | `storage` | the trait of a storage, rooted at a table |
//! | `parallel` | parallel requests |
//! | `subfolder` | a subfolder as a storage of its own |
//! | `wrapper` | a store around another one |
//! | `requests` | counts of storage requests, by kind |
//! | `prefix` | the part of a file that a plan has seen |
//! | `fetch_budget` | bytes that were fetched and are held, within a limit |
//! | `section` | a stretch of a file, as a file of its own |
//! | `failing_store` | for tests: a store that stops working |
//! | `memory` | a file whose bytes are in memory already |
//! | `mmap` | a memory-mapped file: ranges are slices of the mapping |
//! | `create` | the writing side: files made exclusively, appended to, made durable |
//! | `local_create` | the same on the local file system |
//! | `put` | the traits of whole files: created, replaced conditionally, removed, written in parts |
//! | `local_put` | the same on the local file system, crash-safe |
//! | `object_create` | files created exclusively and written in parts, on object stores |
//! | `object_put` | whole files on object stores |
//! | `local` | the local file system; windowed reads if mapping fails |
//! | `cancel` | ends blocking waits on signals, and when a stream is closed |
//! | `object` | a folder of an object store |
//! | `object_source` | a file of an object store: plans and caches its requests |
//! | `fetch` | fetches ranges of a remote file |
//! | `shared_sources` | open remote files, shared by their readers |
//! | `object_ranges` | merges and splits ranges of a file into requests |
//! | `object_handle` | the client and the I/O thread of a store, shared by all storages in it |
//! | `object_client` | creates the client from URI and options; counts its requests |
//! | `object_runtime` | the I/O thread, and pending results |
//! | `object_limit` | limits concurrent requests |
//! | `object_error` | errors of object stores, by kind, without secrets |
//! | `open` | opens the storage of a URI |
//! | `hdfs` | a folder of HDFS |
//! | `hdfs_file` | a file of HDFS: blocks looked up, ranges read |
//! | `hdfs_create` | files of HDFS that are created exclusively and appended to |
//! | `hdfs_put` | whole files written to HDFS |
//! | `hdfs_handle` | the client and the I/O thread of a cluster; forks |
//! | `hdfs_error` | errors of HDFS, by kind |
//! | `hdfs_uri`, `hdfs_options` | URIs of HDFS, its options and Hadoop settings |
//! | `object_uri` | URIs of object stores |
//! | `object_keys` | the names of their options |
//! | `object_options` | their options: explicit, from Hadoop settings, from the environment |
//! | `role_settings`, `object_assume_role` | roles of AWS for which keys are exchanged |
//! | `client_settings` | timeouts and retries |
//! | `hadoop_options`, `hadoop/` | converts Hadoop settings to options |
//! | `environment` | environment variables |
//! | `supplier`, `supplied_credentials` | credentials that a function of the application supplies |
//! | `secret` | values that are not printed |
// Budgets and counts of fetched bytes serve remote storages only.
#![cfg_attr(not(feature = "object"), allow(dead_code))]

mod cancel;
mod client_settings;
mod create;
mod environment;
#[cfg(any(test, feature = "testing"))]
pub mod failing_store;
#[cfg(feature = "object")]
mod fetch;
mod fetch_budget;
#[cfg(feature = "object")]
mod fork_gate;
#[cfg(feature = "object")]
mod forks;
mod hadoop;
mod hadoop_options;
#[cfg(feature = "object")]
mod handle_registry;
#[cfg(feature = "hdfs")]
mod hdfs;
#[cfg(feature = "hdfs")]
mod hdfs_create;
#[cfg(feature = "hdfs")]
mod hdfs_error;
#[cfg(feature = "hdfs")]
mod hdfs_file;
#[cfg(feature = "hdfs")]
mod hdfs_handle;
mod hdfs_options;
#[cfg(feature = "hdfs")]
mod hdfs_put;
mod hdfs_uri;
mod listing;
mod local;
mod local_create;
mod local_put;
mod memory;
mod mmap;
#[cfg(feature = "object")]
mod object;
#[cfg(feature = "object")]
mod object_assume_role;
#[cfg(feature = "object")]
mod object_client;
#[cfg(feature = "object")]
mod object_create;
#[cfg(feature = "object")]
mod object_error;
#[cfg(feature = "object")]
mod object_handle;
mod object_keys;
#[cfg(feature = "object")]
mod object_limit;
pub mod object_options;
#[cfg(feature = "object")]
mod object_put;
#[cfg(feature = "object")]
mod object_ranges;
#[cfg(feature = "object")]
mod object_runtime;
#[cfg(feature = "object")]
mod object_source;
mod object_uri;
mod open;
pub mod parallel;
mod prefix;
mod put;
mod requests;
mod role_settings;
mod secret;
mod section;
#[cfg(feature = "object")]
mod shared_sources;
mod source;
mod storage;
mod subfolder;
#[cfg(feature = "object")]
mod supplied_credentials;
mod supplier;
mod wrapper;

pub use cancel::{CancelToken, POLL, check_cancelled, set_interrupt_check};
pub use client_settings::ClientSettings;
pub use create::{Appendable, FileSink, WritableStorage};
pub use fetch_budget::{FetchBudget, ReservedBytes};
#[cfg(feature = "object")]
pub use fork_gate::{after_fork_in_child, after_fork_in_parent};
#[cfg(feature = "object")]
pub use forks::before_fork;
#[cfg(feature = "hdfs")]
pub use hdfs::HdfsStorage;
pub use hdfs_options::HdfsOptions;
pub use hdfs_uri::HdfsUri;
pub use listing::{FileStatus, FolderEntry, KnownFile};
pub use local::{LocalFile, LocalStorage};
pub use local_create::LocalSink;
pub use memory::MemoryFile;
pub use mmap::MappedFile;
#[cfg(feature = "object")]
pub use object::ObjectStorage;
pub use object_options::{ObjectOptions, needed_options};
pub use open::{StorageOptions, open, open_beside, open_counted, open_file, open_file_store, open_writable};
pub use prefix::PrefixSource;
pub use put::{FileStore, FileVersion, PutOutcome, RenameOutcome, StoreUpload};
pub use requests::{RequestCounters, RequestCounts, counted};
pub use section::SectionSource;
pub use source::{FileSource, ReadFrom};
pub use storage::Storage;
pub use subfolder::SubfolderStorage;
pub use supplier::{CREDENTIALS, CredentialValues, CredentialsSupplier, set_credentials_supplier};
pub use wrapper::StoreWrapper;
