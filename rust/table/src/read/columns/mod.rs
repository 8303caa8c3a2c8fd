//! Columns of a read: projected, decoded for the merge, and constant in a slice.
//!
//! | file | contents |
//! |---|---|
//! | `projection` | the columns of the output, the filter and the merge |
//! | `path_values` | partition values from the path |
//! | `constant_columns` | columns with one value in all rows of a slice, inserted into the output |

pub(in crate::read) mod constant_columns;
pub(in crate::read) mod path_values;
pub(in crate::read) mod projection;
