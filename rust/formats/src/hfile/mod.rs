//! HFile v3, as Hudi uses it: sorted keys, each with a value, in blocks under an index.
//!
//! Metadata tables have HFiles as base files, and log blocks of type HFile hold whole ones. A value is a record in
//! Avro, its schema is under `schema` in the file info (files before 0.10 have none), and the record's key field is
//! blank: the key belongs in there.
//!
//! ```text
//! data block* · with leaf index blocks in between · meta block* · intermediate index block*
//! load-on-open section: root index · meta index · file info
//! trailer, the last 4096 bytes
//! ```
//! | file | job |
//! |---|---|
//! | `codec` | what a block's payload unpacks with |
//! | `trailer` | where things are, how many, in which codec |
//! | `block` | the header of a block, its payload decompressed |
//! | `checksums` | compares the checksums of blocks |
//! | `file_info` | keys and values about the file |
//! | `index` | entries of an index block, of each level |
//! | `cell` | keys and values of a data block |
//! | `key_order` | compares keys |
//! | `search_keys` | all keys, some, or those with a prefix |
//! | `fetch` | ranges of the file; the last window is kept |
//! | `descend` | from the root index to the data blocks that can hold what is wanted |
//! | `data_blocks` | where the data blocks lie, what is in one |
//! | `reader` | the entry point: [`HFile`] |
//! | `scan`, `seek` | its two ways of reading |
//! | `writer/` | new HFiles |
//!
//! Both kinds of writers are read: HBase's (Hudi up to 1.0) and Hudi's own (since 1.1), compressed with gzip or not at
//! all, under an index of any depth. Hudi's own reader stops a few bytes before the end of each decompressed block and
//! loses records there; this one does not. Readers compare no checksums, as Hudi does not either: gzip has its own, and
//! every length, order and count is checked. The verification of a table compares them. Bloom filters and other meta
//! blocks are not read.
//!
//! Layout: HBase's `FixedFileTrailer`, `HFileBlock`, `HFileBlockIndex`, `HFileWriterImpl`; Hudi's
//! `org.apache.hudi.io.hfile`.

mod block;
mod cell;
mod checksums;
mod codec;
mod data_blocks;
mod descend;
mod fetch;
mod file_info;
mod index;
mod key_order;
mod reader;
mod scan;
mod search_keys;
mod seek;
mod trailer;
mod writer;

pub use cell::{Cell, Cells};
pub use checksums::check_blocks;
pub use index::BlockIndexEntry;
pub use reader::HFile;
pub use scan::HFileScan;
pub use seek::HFileSeek;
pub use writer::HFileWriter;
