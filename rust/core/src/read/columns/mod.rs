//! Columns: which a read delivers, which it decodes for that, and which are constant in a slice.
//!
//! | file | job |
//! |---|---|
//! | `projection` | which columns are delivered, carried and probed |
//! | `path_values` | partition values as they stand in the path |
//! | `constant_columns` | columns with one value in all rows of a slice, inserted where rows are delivered |

pub(in crate::read) mod constant_columns;
pub(in crate::read) mod path_values;
pub(in crate::read) mod projection;
