//! Bootstrapped tables: which file of the source the skeleton of a file group goes with.
//!
//! A metadata-only bootstrap (instant `00000000000001`) leaves the rows where they were: beside each source file stands
//! a skeleton of its meta columns, and an index records which belong together. Updates go to logs upon the skeleton; a
//! compaction, or a write of a copy-on-write table, puts a whole file in its place. A full bootstrap (`00000000000002`)
//! writes ordinary files.
//!
//! | file | job |
//! |---|---|
//! | `index` | the index: HFiles in `.hoodie/.aux/.bootstrap` |
//! | `new_index` | the files of a new index |
//! | `attach` | adds source files to slices |

mod attach;
mod index;
mod new_index;

pub use attach::attach;
pub use index::BootstrapIndex;
pub use new_index::{NewIndexEntry, index_files};
