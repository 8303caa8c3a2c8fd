//! The part of Kryo that delete blocks of Hudi 0.9 to 0.13 use: Kryo 4, classes not registered, references on.
//!
//! | file | contents |
//! |---|---|
//! | `input` | numbers, strings, classes and references |
//! | `delete_records` | arrays of keys and of delete records |
//! | `ordering` | ordering values, by their Java class |

mod delete_records;
mod input;
mod ordering;

pub(super) use delete_records::{delete_records, keys};
