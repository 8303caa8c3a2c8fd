//! The changes that a commit made to a file group (change data capture).
//!
//! | file | contents |
//! |---|---|
//! | `change_reader` | reads the changes of a commit |
//! | `change_logs` | reads change logs |
//! | `change_batch` | changes as rows |
//! | `changed_rows` | the rows that logs change, before and after |
//! | `log_changes` | the changes that the logs of a commit make to the rows of a slice |
//! | `image_text` | rows as JSON: the images of changed rows |

pub(in crate::read) mod change_batch;
pub(in crate::read) mod change_logs;
pub(in crate::read) mod change_reader;
pub(in crate::read) mod changed_rows;
pub(in crate::read) mod image_text;
pub(in crate::read) mod log_changes;
