//! Storage: bytes of files and listings of folders, wherever they lie.
//!
//! | file | job |
//! |---|---|
//! | `source` | the trait of an open file: its length, bytes of a range |
//! | `listing` | what a folder holds |
//! | `place` | the trait of a place that files lie in, rooted at a table |
//! | `parallel` | requests side by side |
//! | `below` | a folder of a place, as a place of its own |
//! | `requests` | counts of storage requests, by kind |
//! | `prefix` | the part of a file that a plan has seen |
//! | `fetch_budget` | bytes that were fetched and are held, within a limit |
//! | `section` | a stretch of a file, as a file of its own |
//! | `failing_store` | for tests: a store that stops working |
//! | `memory` | a file whose bytes are in memory already |
//! | `mmap` | a memory-mapped file: ranges are slices of the mapping |
//! | `create` | the writing side: files made exclusively, appended to, made durable |
//! | `local_create` | the same on the local file system |
//! | `put` | whole files: created, replaced under conditions, removed, written in parts |
//! | `local_put` | the same on the local file system, crash-safe |
//! | `object_create` | files made exclusively and written in parts, on object stores |
//! | `object_put` | whole files on object stores |
//! | `local` | the local file system; windowed reads where mapping fails |
//! | `cancel` | ends blocking waits on signals, and when a stream is closed |
//! | `object` | a folder of an object store |
//! | `object_source` | a file of an object store: what is fetched of it, and when |
//! | `fetch` | how ranges of a remote file are fetched |
//! | `shared_sources` | remote files that are open, shared by their readers |
//! | `object_ranges` | which requests are made for ranges of a file |
//! | `object_handle` | the client and the I/O thread of a store, shared by all places in it |
//! | `object_client` | makes the client from URI and options; counts its requests |
//! | `object_runtime` | the I/O thread, and results that are waited for |
//! | `object_limit` | how many requests are made at once |
//! | `object_error` | errors of object stores, by kind, without secrets |
//! | `open` | the choice of a place for a URI |
//! | `hdfs` | a folder of HDFS |
//! | `hdfs_file` | a file of HDFS: blocks looked up, ranges read |
//! | `hdfs_put` | whole files written to HDFS |
//! | `hdfs_handle` | the client and the I/O thread of a cluster; forks |
//! | `hdfs_error` | errors of HDFS, by kind |
//! | `hdfs_uri`, `hdfs_options` | URIs of HDFS, its options and Hadoop settings |
//! | `object_uri` | URIs of object stores |
//! | `object_keys` | the names of their options |
//! | `object_options` | their options: given, of Hadoop settings, of the environment |
//! | `role_settings`, `object_assume_role` | roles of AWS that keys are exchanged for |
//! | `client_settings` | timeouts and retries |
//! | `hadoop_options`, `hadoop/` | Hadoop settings to options |
//! | `environment` | environment variables |
//! | `supplier`, `supplied_credentials` | credentials that a function of the application's supplies |
//! | `secret` | values that are not printed |

mod below;
mod cancel;
mod client_settings;
mod create;
mod environment;
#[cfg(test)]
pub(crate) mod failing_store;
#[cfg(feature = "object")]
mod fetch;
mod fetch_budget;
mod hadoop;
mod hadoop_options;
#[cfg(feature = "hdfs")]
mod hdfs;
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
mod place;
mod prefix;
mod put;
mod requests;
mod role_settings;
mod secret;
mod section;
#[cfg(feature = "object")]
mod shared_sources;
mod source;
#[cfg(feature = "object")]
mod supplied_credentials;
mod supplier;

pub use below::Below;
pub use cancel::{CancelToken, POLL, check_cancelled, set_interrupt_check};
pub use client_settings::ClientSettings;
pub use create::{Appendable, Sink, WritablePlace};
pub use fetch_budget::{FetchBudget, Reserved};
#[cfg(feature = "hdfs")]
pub use hdfs::HdfsPlace;
#[cfg(feature = "hdfs")]
pub use hdfs_handle::before_fork;
pub use hdfs_options::HdfsOptions;
pub use hdfs_uri::HdfsUri;
pub use listing::{Entry, FileStatus, KnownFile};
pub use local::{LocalFile, LocalPlace};
pub use local_create::LocalSink;
pub use memory::MemoryFile;
pub use mmap::MappedFile;
#[cfg(feature = "object")]
pub use object::ObjectPlace;
pub use object_options::{ObjectOptions, needed_options};
pub use open::{StorageOptions, open, open_beside, open_counted, open_file, open_file_store, open_writable};
pub use place::Place;
pub use prefix::Prefix;
pub use put::{FileStore, FileVersion, Put, Renamed, Upload};
pub use requests::{RequestCounts, Requests, counted};
pub use section::Section;
pub use source::{ReadFrom, Source};
pub use supplier::{CREDENTIALS, Supplied, Supplier, set_credentials_supplier};
