//! HFile, version 3, as Hudi uses it: sorted keys and values in compressed blocks, an index of blocks, a trailer. All integers are
//! big-endian.
//!
//! ```text
//! data blocks · leaf and intermediate index blocks · [load on open: root index, meta index, file info] · trailer (4096 bytes)
//! ```
//!
//! | file | job |
//! |---|---|
//! | `protobuf` | the little of protocol buffers that trailer and file info need |
//! | `trailer` | where everything is |
//! | `block` | one block, unpacked |
//! | `key` | lengths of rows, and Hadoop's numbers |
//! | `index` | the data blocks, from an index of any number of levels |
//! | `cell` | the keys and values of a data block |
//! | `file_info` | the file's own key-value pairs |
//! | `reader` | an open file: scans and seeks |
//!
//! Files of HBase's writer (up to Hudi 1.0) and of Hudi's own (from 1.1) differ in checksums and in the keys of the index. Hudi's
//! own reader ends a data block too early, by the size of its checksums, and so loses records of large uncompressed blocks;
//! this one does not.

mod block;
mod cell;
mod file_info;
mod index;
mod key;
mod protobuf;
mod reader;
mod trailer;

pub use cell::{Cell, Cells};
pub use index::BlockPlace;
pub use reader::HFile;
