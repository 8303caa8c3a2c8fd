//! How statements are divided, as Spark's lexer and grammar do it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod any_text;
mod clauses;
mod tables;
mod tokens;

use super::Statement;
use super::cursor::Cursor;
use super::parsed::TextSpan;
use super::tokens::Tokens;

fn statement(text: &str) -> Statement {
    Statement::parse(text, Vec::new()).unwrap()
}

fn part(text: &str, (start, end): TextSpan) -> String {
    text.chars().skip(start).take(end - start).collect()
}

/// The first line of an error, and where it points to in the text of one line.
fn refusal<T>(found: mortice_base::Result<T>) -> (String, usize) {
    let message = found.err().unwrap().to_string();
    let first = message.lines().next().unwrap().split(" (line").next().unwrap();
    let first = first.split("] ").last().unwrap().to_owned();
    (first, message.lines().last().unwrap().len() - 1)
}

fn with_cursor<T>(text: &str, read: impl FnOnce(&mut Cursor<'_>) -> T) -> T {
    let tokens = Tokens::of_text(text).unwrap();
    read(&mut Cursor::new(&tokens, 0))
}
