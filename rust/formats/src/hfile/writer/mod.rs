//! Writing HFiles as Hudi 1.2 does (`HFileWriterImpl`): gzipped blocks with room for checksums, which are not computed,
//! under a root index of one level.
//!
//! | file | job |
//! |---|---|
//! | `block` | compresses a payload and frames it |
//! | `data_block` | cells of a data block |
//! | `protobuf_fields` | fields of protobuf messages |
//! | `hfile_writer` | the entry point: blocks, indexes, file info, trailer |
//!
//! A data block has at most 64 KiB before it is compressed, where Hudi fills 1 MiB. Hudi's reader deducts the bytes of
//! checksums from the end of a decompressed block, 4 for each 16 KiB on disk, though Hudi writes no checksums
//! (`HFileDataBlock`); a last cell that is smaller is lost to it. The smallest cell has 22 bytes, and a block of 64 KiB
//! at most 20 bytes of checksums.

mod block;
mod data_block;
mod hfile_writer;
mod protobuf_fields;

pub use hfile_writer::HFileWriter;
