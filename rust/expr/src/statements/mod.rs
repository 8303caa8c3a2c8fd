//! Statements of Spark's SQL, as far as mortice runs them: their clauses, and the tables that they name.
//!
//! Expressions and queries are not parsed, but taken from the text as they are, for Spark to evaluate; only their ends
//! are found (`expression_end.rs`). The grammar is Spark's (`SqlBaseParser.g4`), with the statements of Hudi's SQL.

mod changes;
mod clauses;
mod cursor;
mod expression_end;
mod head;
mod indexes;
mod parameters;
mod parsed;
mod relations;
mod statement;
mod tables;
#[cfg(test)]
mod tests;
mod tokens;

pub use head::{Flags, Head, StatementKind};
pub use parameters::{Parameter, ParameterValue, statement_parameters};
pub use parsed::{
    AlterTable, Argument, Assignment, Column, CreateTable, IndexChange, IndexStatement, Insert, Merge, MergeClause,
    Name, Options, Partition, Relation, RowChange, TextSpan,
};
pub use statement::{Statement, statement_error, table_name};
