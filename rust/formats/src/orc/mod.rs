//! ORC files, as base files and as the sources of bootstrapped tables: stripes, each a run of rows, decoded into Arrow
//! columns.
//!
//! ```text
//! "ORC" · stripe* · metadata (statistics of stripes) · footer (types, places of stripes) · postscript · its length, one byte
//! stripe: index streams · data streams · stripe footer (what each stream is)
//! ```
//! | file | job |
//! |---|---|
//! | `compression` | chunks of a stream, decompressed |
//! | `stream` | the decompressed bytes of a stream, read on from where the last read ended |
//! | `byte_runs` | bytes and bits in runs |
//! | `bit_packing` | numbers of some bits each, side by side |
//! | `int_runs`, `int_runs_v1`, `int_runs_v2` | whole numbers in runs, of both versions |
//! | `types` | the tree of types, and their Arrow types |
//! | `statistics` | what is said of a column's values |
//! | `tail` | postscript, footer and metadata |
//! | `zone` | the time zone of a writer |
//! | `stripe` | the streams of one stripe |
//! | `column/` | columns, one file for each kind of values |
//! | `file` | the entry point: [`OrcFile`] |
//!
//! Everything that Hudi writes and Spark writes for it to bootstrap from is read, of any release of the format: both
//! run lengths, dictionaries, and the codecs ZLIB, SNAPPY, LZ4 and ZSTD. LZO, unions and encrypted columns are refused
//! by name. Row indexes and bloom filters are not read: what is passed over is a stripe as a whole.
//!
//! Layout: the ORC specification (v0 and v1); rules of times: `TreeReaderFactory.TimestampTreeReader`.

mod bit_packing;
mod byte_runs;
mod column;
mod compression;
mod file;
mod int_runs;
mod int_runs_v1;
mod int_runs_v2;
mod statistics;
mod stream;
mod stripe;
mod tail;
mod types;
mod zone;

pub use file::{OrcFile, OrcRows};
pub use statistics::{ColumnStatistics, StatisticsRange};
