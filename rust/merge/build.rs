//! Generates a typed constant for each write option in `values.tsv`. A misspelled option then does not compile, nor
//! does one that is read as another kind than it has.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const VALUES: &str = "src/config/write_options/values.tsv";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={VALUES}");
    let folder = env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?;
    let values = fs::read_to_string(Path::new(&folder).join(VALUES))?;
    let (mut constants, mut reads) = (String::new(), String::new());
    for line in values.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, kind, _, default, _] = cells.as_slice() else {
            return Err(format!("{VALUES}: 5 cells expected: {line}").into());
        };
        let constant = name
            .trim_start_matches("hoodie.")
            .trim_start_matches("mortice.")
            .replace(['.', '-'], "_")
            .to_ascii_uppercase();
        let kind = marker(kind, default);
        writeln!(constants, "/// `{name}`.")?;
        writeln!(constants, "pub const {constant}: WriteOption<{kind}> = WriteOption::new(\"{name}\");")?;
        if let Some(accessor) = accessor(kind) {
            writeln!(reads, "    |options| options.{accessor}({constant}).map(drop),")?;
        }
    }
    let folder = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    fs::write(Path::new(&folder).join("option_names.rs"), constants)?;
    fs::write(Path::new(&folder).join("option_reads.rs"), format!("&[\n{reads}]"))?;
    Ok(())
}

/// The type of `option_names` for a kind of `values.tsv`. Options without a default are read as an `Option`.
fn marker(kind: &str, default: &str) -> &'static str {
    match (kind, default.is_empty()) {
        ("boolean", false) => "Boolean",
        ("boolean", true) => "OptionalBoolean",
        ("integer", _) => "Integer",
        ("number" | "share", _) => "Number",
        (_, false) => "Word",
        (_, true) => "Text",
    }
}

/// The function that reads an option of a type, if it can fail.
fn accessor(kind: &str) -> Option<&'static str> {
    match kind {
        "Boolean" => Some("boolean"),
        "OptionalBoolean" => Some("given_boolean"),
        "Integer" => Some("integer::<i64>"),
        "Number" => Some("number"),
        "Word" => Some("word"),
        _ => None,
    }
}
