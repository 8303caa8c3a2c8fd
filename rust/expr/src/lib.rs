//! Expressions over the columns of rows: SQL's filters, assignments and join conditions, and filters of all forms; the
//! clauses of statements that Spark's SQL has for tables (`statements`).
//!
//! The grammar (docs/updating.md has all of it):
//!
//! ```text
//! or       := and ("OR" and)*
//! and      := not ("AND" not)*
//! not      := "NOT" not | test
//! test     := sum [ ("=" | "==" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "<=>") sum
//!                 | "IS" ["NOT"] ("NULL" | "TRUE" | "FALSE")
//!                 | ["NOT"] ("IN" "(" or ("," or)* ")" | "BETWEEN" sum "AND" sum | "LIKE" sum) ]
//! sum      := product (("+" | "-" | "||") product)*
//! product  := unary (("*" | "/" | "%") unary)*
//! unary    := ("-" | "+") unary | primary
//! primary  := literal | column | "CAST" "(" or "AS" type ")" | "CASE" … "END" | name "(" [or ("," or)*] ")"
//!           | "(" or ")"
//! ```
//!
//! Null is SQL's: a comparison with null is null, and a condition selects the rows for which it is true. Arithmetic
//! that overflows, a division by zero and a cast of a value that the type does not hold are errors. Arrow's kernels
//! compute.

mod assign;
mod columns;
mod decimals;
mod evaluate;
mod expression;
mod functions;
mod kinds;
mod lexer;
mod literals;
mod moments;
mod parse;
pub mod predicate;
mod pushdown;
pub mod statements;
#[cfg(test)]
mod tests;
mod text;
mod tree;

pub use columns::Sides;
pub use evaluate::Batches;
pub use expression::Expression;
pub use text::quoted;
