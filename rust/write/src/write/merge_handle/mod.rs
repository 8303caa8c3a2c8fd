//! A base file that is rewritten with the records of a commit (`HoodieMergeHandle`, `FileGroupReaderBasedMergeHandle`,
//! `HoodieConcatHandle`).
//!
//! | file | job |
//! |---|---|
//! | `target` | which base file is replaced |
//! | `incoming` | the records of the commit, with the columns of the file |
//! | `merged_rows` | base rows and records merged, or one after the other |
//! | `new_meta` | meta columns of rows that the commit wrote |
//! | `handle` | from the base file to the new one |

mod handle;
mod incoming;
mod merged_rows;
mod new_meta;
mod target;
#[cfg(test)]
mod tests;

pub use handle::MergeHandle;
pub(crate) use merged_rows::several_rows;
pub use target::MergeTarget;
