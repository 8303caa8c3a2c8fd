//! Rules of the records of the metadata table, compared with what they say of rows, files and keys.
//!
//! | file | compares |
//! |---|---|
//! | `unknown_statistics` | statistics of files whose footers say less |

mod unknown_statistics;
