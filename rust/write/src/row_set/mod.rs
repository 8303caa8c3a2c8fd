//! The rows of a write between what a user hands over and the files: rows, their keys and what becomes of them.
//!
//! | module | content |
//! |---|---|
//! | `keys` | keys of some rows, and of several sets |
//! | `mark` | what a row does to its key: a closed set |
//! | `marks` | the marks of many rows, as Arrow columns too |
//! | `write_rows` | rows with their keys and marks: some of them, two sets one behind the other, sorted by key |

mod keys;
mod mark;
mod marks;
mod write_rows;

pub use keys::{join_keys, select_keys, select_strings, strings};
pub use mark::RowMark;
pub use marks::RowMarks;
pub use write_rows::WriteRows;
