//! Base files: the rows of a file slice before its log.
//!
//! | file | job |
//! |---|---|
//! | `reader` | the trait of an open base file |
//! | `parquet` | parquet, streamed by row groups |
//! | `hfile` | HFiles, streamed by data blocks |
//! | `conform` | columns as a file has them, brought to the table's types |
//! | `statistics` | what a footer says of a column's values |
//! | `renamed` | columns that have had other names |
//! | `open` | the choice by the file's name |

mod conform;
mod hfile;
mod open;
mod parquet;
mod reader;
mod renamed;
mod statistics;

pub use open::{open, open_parquet};
pub use reader::{BaseFile, Batches};
pub use renamed::renamed;
