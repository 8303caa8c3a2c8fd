//! Base files: the rows of a file slice before its log.
//!
//! | file | job |
//! |---|---|
//! | `reader` | the trait of an open base file |
//! | `batches` | an iterator of batches from a function that reads the next one |
//! | `parquet` | parquet, streamed by row groups |
//! | `parquet_batches` | its batches |
//! | `page_sizes` | bytes that the rows of a column chunk take in memory |
//! | `batch_plan` | how many rows a batch has |
//! | `page_header` | the headers of pages |
//! | `source_bytes` | a file as the parquet crate reads it, and its errors |
//! | `footer` | the footer of a Parquet file, its checksum compared |
//! | `page_checksums` | compares the checksums of all pages |
//! | `bounds_check` | compares the statistics of footers with values |
//! | `plain_parquet` | whether other Parquet readers return the rows of the table |
//! | `pages` | the pages of Parquet column chunks, gzip inflated |
//! | `checked_pages` | pages that are compared with the footer as they are read |
//! | `footer_schema` | the schema in a Parquet footer, changed before the file is read |
//! | `legacy_calendar` | dates and times that Spark wrote in the hybrid calendar |
//! | `list_of_maps` | lists of maps, brought to a form that the parquet crate reads |
//! | `mislabelled` | timestamps that a file declares under another type than the table has |
//! | `orc` | ORC, streamed by stripes |
//! | `orc_longs` | longs of an ORC file that are local timestamps in the table |
//! | `hfile` | HFiles, streamed by data blocks |
//! | `conform` | columns as a file has them, brought to the table's types |
//! | `statistics` | what a footer says of a column's values |
//! | `renamed` | columns that have had other names |
//! | `any_case` | columns whose names differ from the table's in case |
//! | `row_ranges` | rows of a file that are read |
//! | `stitched` | a skeleton and the file that it was made of, in step |
//! | `open` | the choice by the file's name |

mod any_case;
mod batch_plan;
mod batches;
mod bounds_check;
mod checked_pages;
mod conform;
#[cfg(test)]
mod flipped_bits;
mod footer;
mod footer_schema;
mod hfile;
mod legacy_calendar;
mod list_of_maps;
mod mislabelled;
mod open;
mod orc;
mod orc_longs;
mod page_checksums;
mod page_header;
mod page_sizes;
mod pages;
mod parquet;
mod parquet_batches;
mod plain_parquet;
mod reader;
mod renamed;
mod row_ranges;
mod source_bytes;
mod statistics;
mod stitched;

pub use batches::batches_until_end;
pub use bounds_check::check_bounds;
pub use open::{open, open_parquet, open_source, read_as};
pub use page_checksums::check_pages;
pub use plain_parquet::{PlainParquet, plain_parquet};
pub use reader::{BaseBatches, BaseFile};
pub use stitched::{repeated, stitched};
