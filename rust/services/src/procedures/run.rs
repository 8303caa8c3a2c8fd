//! What computes the rows of each procedure.

use std::collections::BTreeMap;

use super::arguments::Arguments;
use super::call::Call;
use super::catalogue::{Procedure, ProcedureKind};
use super::help;
use super::value::{ProcedureRow, ProcedureValue};
use mortice_base::error::{Error, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::ReadOptions;

/// Returns the rows of a procedure that is not a table service.
///
/// # Arguments
/// * `location` - The table; the path, of a procedure without a table.
/// * `name` - The procedure.
/// * `given` - The arguments that were given.
///
/// # Errors
/// `InvalidArgument` for other arguments than the procedure has, `Unsupported` for a procedure that is refused; errors
/// of reading the table.
pub fn run_procedure(
    location: &TableLocation,
    name: &str,
    given: BTreeMap<String, ProcedureValue>,
) -> Result<Vec<ProcedureRow>> {
    let procedure = Procedure::named(name)?;
    if procedure.kind == ProcedureKind::Refused {
        let message = format!("unsupported procedure {}: {}", procedure.name, procedure.text);
        return Err(Error::unsupported(message));
    }
    let arguments = Arguments::new(procedure, given)?;
    match procedure.name {
        "help" => return help::help(&arguments),
        _ => {}
    }
    let table = location.open_table(ReadOptions::default())?;
    let call = Call { location, arguments: &arguments, table };
    let run = computed_by(procedure.name)
        .ok_or_else(|| Error::internal(format_args!("nothing computes the rows of {}", procedure.name)))?;
    run(&call)
}

type Run = fn(&Call<'_>) -> Result<Vec<ProcedureRow>>;

/// What computes the rows of a procedure.
fn computed_by(name: &str) -> Option<Run> {
    Some(match name {
        "show_table_properties" => help::properties,
        _ => return None,
    })
}
