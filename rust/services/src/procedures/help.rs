//! `help`, and `show_table_properties`.

use super::arguments::Arguments;
use super::call::Call;
use super::catalogue::{Procedure, ProcedureKind, procedures};
use super::value::{ProcedureRow, row};
use mortice_base::error::Result;

/// `help`: all procedures, or the arguments and columns of one, laid out as Hudi does.
pub(super) fn help(arguments: &Arguments) -> Result<Vec<ProcedureRow>> {
    let text = match arguments.text("cmd") {
        Some(name) => of_procedure(Procedure::named(name.trim())?),
        None => of_all(),
    };
    Ok(vec![row![text]])
}

fn of_all() -> String {
    let mut text =
        "synopsis\n\tcall [command]([key1]=>[value1],[key2]=>[value2])\ncommands and description\n".to_owned();
    for one in procedures().iter().filter(|one| one.kind != ProcedureKind::Function) {
        text.push_str(&format!("\t{}\t{}\n", one.name, one.text));
    }
    text.push_str("You can use 'call help(cmd=>[command])' to view the detailed parameters of the command\n");
    text
}

fn of_procedure(procedure: &Procedure) -> String {
    let line = |fields: [&str; 4]| {
        let fields: Vec<_> = fields.iter().map(|field| format!("{field:<30}")).collect();
        format!("\t{}\n", fields.join("\t"))
    };
    let mut text = "parameters:\n".to_owned();
    text.push_str(&line(["param", "type_name", "default_value", "required"]));
    for one in &procedure.parameters {
        let required = one.is_required.to_string();
        text.push_str(&line([one.name, type_name(one.kind.name()), one.default.unwrap_or("null"), &required]));
    }
    text.push_str("outputType:\n");
    text.push_str(&line(["name", "type_name", "nullable", "metadata"]));
    for (name, kind) in &procedure.columns {
        text.push_str(&line([name, type_name(kind.name()), "true", "{}"]));
    }
    text
}

/// Spark's long name of a type.
fn type_name(name: &str) -> &str {
    match name {
        "int" => "integer",
        "bigint" => "long",
        name => name,
    }
}

/// `show_table_properties`, by name.
pub(super) fn properties(call: &Call<'_>) -> Result<Vec<ProcedureRow>> {
    let properties = call.table.config.properties.iter();
    Ok(properties.take(call.arguments.limit()).map(|(name, value)| row![name, value]).collect())
}
