//! What a commit changed in a file group (change data capture).
//!
//! | file | job |
//! |---|---|
//! | `change_reader` | what a commit changed, read |
//! | `change_logs` | what change logs tell |
//! | `change_batch` | changes as rows |
//! | `log_changes` | what logs change in the rows of a slice |
//! | `image_text` | rows as JSON, the images of changed rows |

pub(in crate::read) mod change_batch;
pub(in crate::read) mod change_logs;
pub(in crate::read) mod change_reader;
pub(in crate::read) mod image_text;
pub(in crate::read) mod log_changes;
