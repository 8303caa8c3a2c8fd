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
//! | `section` | a stretch of a file, as a file of its own |
//! | `memory` | a file whose bytes are in memory already |
//! | `mmap` | a memory-mapped file: ranges are slices of the mapping |
//! | `create` | the writing side: files made exclusively, appended to, made durable |
//! | `local_create` | the same on the local file system |
//! | `local` | the local file system; windowed reads where mapping fails |
//! | `open` | the choice of a place for a URI |
//! | `object_uri` | URIs of object stores |
//! | `object_keys` | the names of their options |
//! | `object_options` | their options: given, of Hadoop settings, of the environment |
//! | `client_settings` | timeouts and retries |
//! | `hadoop_options`, `hadoop/` | Hadoop settings to options |
//! | `environment` | environment variables |
//! | `secret` | values that are not printed |

mod below;
mod client_settings;
mod create;
mod environment;
mod hadoop;
mod hadoop_options;
mod listing;
mod local;
mod local_create;
mod memory;
mod mmap;
mod object_keys;
pub mod object_options;
mod object_uri;
mod open;
pub mod parallel;
mod place;
mod prefix;
mod requests;
mod secret;
mod section;
mod source;

pub use below::Below;
pub use client_settings::ClientSettings;
pub use create::{Appendable, Sink, WritablePlace};
pub use listing::{Entry, FileStatus};
pub use local::{LocalFile, LocalPlace};
pub use local_create::LocalSink;
pub use memory::MemoryFile;
pub use mmap::MappedFile;
pub use object_options::{ObjectOptions, needed_options};
pub use open::{StorageOptions, is_mapped, open, open_beside, open_counted, open_writable};
pub use place::Place;
pub use prefix::Prefix;
pub use requests::{RequestCounts, Requests, counted};
pub use section::Section;
pub use source::Source;
