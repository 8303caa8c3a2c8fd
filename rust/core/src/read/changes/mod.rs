//! The changes that a commit made to a file group (change data capture).
//!
//! | file | contents |
//! |---|---|
//! | `change_reader` | reads the changes of a commit |
//! | `change_logs` | reads change logs |
//! | `change_batch` | changes as rows |
//! | `log_changes` | the changes that logs make to the rows of a slice |
//! | `image_text` | rows as JSON: the images of changed rows |

pub(in crate::read) mod change_batch;
pub(in crate::read) mod change_logs;
pub(in crate::read) mod change_reader;
pub(in crate::read) mod image_text;
pub(in crate::read) mod log_changes;
