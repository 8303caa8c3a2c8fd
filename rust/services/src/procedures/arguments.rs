//! The arguments of a call, checked.

use std::collections::BTreeMap;

use super::catalogue::{ArgumentType, Parameter, Procedure};
use super::value::ProcedureValue;
use mortice_base::error::{Error, Result};

/// The arguments of a call by name, with the defaults of those that are not given.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    procedure: &'static Procedure,
    given: BTreeMap<String, ProcedureValue>,
}

impl Arguments {
    /// Checks the arguments of a call. The table is not among them: the caller has it.
    ///
    /// # Errors
    /// `InvalidArgument` if the procedure does not have an argument, one that it requires is missing, or one is of
    /// another type.
    pub fn new(procedure: &'static Procedure, given: BTreeMap<String, ProcedureValue>) -> Result<Self> {
        for (name, value) in &given {
            let parameter = procedure.parameters.iter().find(|one| one.name == name);
            let parameter = parameter.ok_or_else(|| {
                let known: Vec<_> = procedure.parameters.iter().map(|one| one.name).collect();
                let known = known.join(", ");
                Error::invalid_argument(format!(
                    "the procedure {} has no argument {name}; its arguments are {known}",
                    procedure.name
                ))
            })?;
            if *value != ProcedureValue::Null && converted(parameter.kind, value).is_none() {
                let kind = parameter.kind.name();
                return Err(Error::invalid_argument(format!(
                    "the argument {name} must be of the type {kind}, got {value:?}"
                )));
            }
        }
        let arguments = Self { procedure, given };
        let is_missing = |one: &&Parameter| {
            let is_place = matches!(one.name, "table" | "path");
            one.is_required && !is_place && arguments.value(one.name).is_none_or(|value| value == ProcedureValue::Null)
        };
        match procedure.parameters.iter().find(is_missing) {
            Some(missing) => Err(Error::invalid_argument(format!("the argument {} is missing", missing.name))),
            None => Ok(arguments),
        }
    }

    /// The procedure.
    #[must_use]
    pub fn procedure(&self) -> &'static Procedure {
        self.procedure
    }

    /// Returns true if an argument was given.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.given.get(name).is_some_and(|value| *value != ProcedureValue::Null)
    }

    /// Returns a string; `None` if it is empty, null, or neither given nor a default.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            ProcedureValue::Text(text) => Some(text).filter(|text| !text.is_empty()),
            ProcedureValue::Integer(number) => Some(number.to_string()),
            ProcedureValue::Boolean(_) | ProcedureValue::Double(_) | ProcedureValue::Null => None,
        }
    }

    /// Returns a string that is required.
    ///
    /// # Errors
    /// `InvalidArgument` if it is missing or empty.
    pub fn required(&self, name: &str) -> Result<String> {
        self.text(name).ok_or_else(|| Error::invalid_argument(format!("the argument {name} is missing")))
    }

    /// Returns the parts of a string between commas.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// Returns a boolean, false if there is none.
    #[must_use]
    pub fn boolean(&self, name: &str) -> bool {
        self.value(name) == Some(ProcedureValue::Boolean(true))
    }

    /// Returns an integer, 0 if there is none.
    #[must_use]
    pub fn integer(&self, name: &str) -> i64 {
        match self.value(name) {
            Some(ProcedureValue::Integer(number)) => number,
            _ => 0,
        }
    }

    /// Returns the most rows that are wanted.
    #[must_use]
    pub fn limit(&self) -> usize {
        usize::try_from(self.integer("limit")).unwrap_or(0)
    }

    fn value(&self, name: &str) -> Option<ProcedureValue> {
        let parameter = self.procedure.parameters.iter().find(|one| one.name == name)?;
        match self.given.get(name) {
            Some(ProcedureValue::Null) | None => converted(parameter.kind, &ProcedureValue::from(parameter.default?)),
            Some(given) => converted(parameter.kind, given),
        }
    }
}

/// Returns a value in the type of an argument; `None` if it has no such value.
fn converted(kind: ArgumentType, value: &ProcedureValue) -> Option<ProcedureValue> {
    use ProcedureValue::{Boolean, Double, Integer, Null, Text};
    match (kind, value) {
        (_, Null) => None,
        (ArgumentType::Boolean, Boolean(_))
        | (ArgumentType::Int | ArgumentType::Long, Integer(_))
        | (ArgumentType::Double, Double(_))
        | (ArgumentType::Text, Text(_)) => Some(value.clone()),
        (ArgumentType::Text, Integer(number)) => Some(Text(number.to_string())),
        (ArgumentType::Boolean, Text(text)) => text.trim().to_ascii_lowercase().parse().ok().map(Boolean),
        (ArgumentType::Int | ArgumentType::Long, Text(text)) => text.trim().parse().ok().map(Integer),
        (ArgumentType::Boolean, Integer(_) | Double(_))
        | (ArgumentType::Int | ArgumentType::Long, Boolean(_) | Double(_))
        | (ArgumentType::Double, Boolean(_) | Integer(_) | Text(_))
        | (ArgumentType::Text, Boolean(_) | Double(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(name: &str, given: &[(&str, ProcedureValue)]) -> Result<Arguments> {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Arguments::new(Procedure::named(name)?, given)
    }

    #[test]
    fn arguments_are_converted_and_have_defaults() {
        let found =
            arguments("show_fsview_latest", &[("limit", "3".into()), ("max_instant", 2024_i64.into())]).unwrap();
        assert_eq!((found.limit(), found.text("max_instant").as_deref()), (3, Some("2024")));
        assert!(found.boolean("merge") && !found.boolean("include_max") && !found.is_given("merge"));
        assert_eq!((found.text("filter"), found.text("path_regex").as_deref()), (None, Some("ALL_PARTITIONS")));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for (given, message) in [
            (("tabel", ProcedureValue::from("t")), "no argument tabel; its arguments are table, limit, instant_time"),
            (("limit", "many".into()), "limit must be of the type int"),
            (("limit", 1_i64.into()), "the argument instant_time is missing"),
        ] {
            let error = arguments("show_commit_files", &[given]).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
