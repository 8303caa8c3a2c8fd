//! HFiles: real ones, ones built here in every form, and damaged ones.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, unreachable_pub)]

mod base_file;
pub mod builder;
mod damage;
mod properties;
mod real;
mod seeks;
mod source;
mod written;
