//! Arrow columns as Hudi's Avro writer stores them in parquet (parquet-avro): in base files, and in parquet blocks of
//! logs.
//!
//! | file | job |
//! |---|---|
//! | `lists` | the two structures of lists |
//! | `schema` | the parquet schema of an Avro schema |
//! | `direct` | columns converted to an Avro type's Arrow type where no value can be refused |
//! | `avro_rows` | the other columns, through the records' Avro form |
//! | `stored` | decimals, vectors and lists in the form in which that schema stores them |
//! | `converter` | batches, column by column |
//! | `codec` | compression |
//! | `dictionary` | which columns have dictionaries |
//! | `file_writer` | a file of such columns, row group by row group |
//! | `footer_checksum` | a checksum of its footer |
//! | `page_store` | its pages, with checksums, those of gzip compressed by libdeflate |
//! | `page_header` | the header of a page that the parquet crate has made, with a checksum |

mod avro_rows;
mod codec;
mod converter;
mod dictionary;
mod direct;
mod file_writer;
mod footer_checksum;
mod lists;
mod page_header;
mod page_store;
mod schema;
mod stored;

pub use codec::ParquetCodec;
pub use converter::ParquetColumns;
pub use dictionary::Dictionaries;
pub use file_writer::{ParquetWriter, ROW_GROUP_BYTES};
pub use footer_checksum::check_footer;
pub use lists::ListStructure;
pub use schema::parquet_schema;
