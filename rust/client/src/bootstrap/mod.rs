//! Bootstraps: a table that is made of a folder of Parquet files (`SparkBootstrapCommitActionExecutor`).
//!
//! | mode | what is written |
//! |---|---|
//! | metadata only | a skeleton with the meta columns beside each source file, and the bootstrap index, at the instant `00000000000001`; the rows stay where they are |
//! | full record | all rows, by a bulk insert: an ordinary table, which does not need its source any more |
//!
//! | file | job |
//! |---|---|
//! | `options` | what Hudi's options of bootstraps ask for |
//! | `source` | the files of the source, their columns, their rows |
//! | `partitions` | the partition of each folder of the source |
//! | `skeletons` | skeletons of source files |
//! | `run` | from the options to the commit |

mod options;
mod partitions;
mod run;
mod skeletons;
mod source;

pub use run::bootstrap;
