//! The procedures by name (`HoodieProcedures` of Hudi 1.2, and our own), from `catalogue.tsv`.

use std::sync::LazyLock;

use mortice_base::error::{Error, Result};

static PROCEDURES: LazyLock<Vec<Procedure>> = LazyLock::new(|| {
    let lines = include_str!("catalogue.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(Procedure::parse).collect()
});

/// Returns all procedures, sorted by name.
#[must_use]
pub fn procedures() -> &'static [Procedure] {
    &PROCEDURES
}

/// A procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Procedure {
    /// The name.
    pub name: &'static str,
    /// What computes its rows.
    pub kind: ProcedureKind,
    /// The arguments, in the order that they have without names.
    pub parameters: Vec<Parameter>,
    /// The columns; none where they follow from the result.
    pub columns: Vec<(&'static str, ArgumentType)>,
    /// What it does; of a refused one, what to use instead.
    pub text: &'static str,
}

/// What computes the rows of a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcedureKind {
    /// [`super::run_procedure`].
    Rows,
    /// [`super::run_service`].
    Run,
    /// A table service that an engine has a part in, which the caller runs.
    Service,
    /// Nothing: it is refused.
    Refused,
    /// [`super::run_procedure`], for a table function of SQL.
    Function,
}

impl ProcedureKind {
    const ALL: [Self; 5] = [Self::Rows, Self::Run, Self::Service, Self::Refused, Self::Function];

    /// Returns the name in the catalogue.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Run => "run",
            Self::Service => "service",
            Self::Refused => "refused",
            Self::Function => "function",
        }
    }
}

/// An argument of a procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub kind: ArgumentType,
    /// Whether it must be given.
    pub is_required: bool,
    /// Its value where it is not given, as a string.
    pub default: Option<&'static str>,
    /// The option of writes or services that it stands for.
    pub option: Option<&'static str>,
}

/// A type of an argument or a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    /// `boolean`.
    Boolean,
    /// `int`.
    Int,
    /// `bigint`.
    Long,
    /// `double`.
    Double,
    /// `string`.
    Text,
}

impl ArgumentType {
    const ALL: [Self; 5] = [Self::Boolean, Self::Int, Self::Long, Self::Double, Self::Text];

    /// Returns Spark's name of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "bigint",
            Self::Double => "double",
            Self::Text => "string",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Procedure {
    /// Returns the procedure of a name; case is ignored, as Hudi does.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none.
    pub fn named(name: &str) -> Result<&'static Self> {
        let found = procedures().iter().find(|one| one.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::invalid_argument(format!("there is no procedure {name:?}")))
    }

    fn parse(line: &'static str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (name, kind) = (fields.next()?, fields.next()?);
        let kind = ProcedureKind::ALL.into_iter().find(|one| one.name() == kind)?;
        let parameters = fields.next()?.split(' ').filter(|text| !text.is_empty());
        let parameters = parameters.map(Parameter::parse).collect::<Option<_>>()?;
        let column = |text: &'static str| {
            let (name, kind) = text.rsplit_once(':')?;
            Some((name, ArgumentType::parse(kind)?))
        };
        let columns = fields.next()?.split('|').filter(|text| !text.is_empty()).map(column).collect::<Option<_>>()?;
        Some(Self { name, kind, parameters, columns, text: fields.next()? })
    }
}

impl Parameter {
    fn parse(text: &'static str) -> Option<Self> {
        let (text, option) = text.split_once('@').map_or((text, None), |(text, option)| (text, Some(option)));
        let (name, rest) = text.split_once(':')?;
        let (kind, default) = rest.split_once('=').map_or((rest, None), |(kind, default)| (kind, Some(default)));
        let kind_name = kind.strip_suffix('!').unwrap_or(kind);
        Some(Self { name, kind: ArgumentType::parse(kind_name)?, is_required: kind.ends_with('!'), default, option })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_catalogue_is_a_procedure() {
        let lines = include_str!("catalogue.tsv").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(procedures().len(), lines);
        assert!(procedures().is_sorted_by_key(|one| one.name));
    }

    #[test]
    fn arguments_have_types_defaults_and_may_be_required() {
        let found = Procedure::named("Show_Commit_Files").unwrap();
        let shown = found.parameters.iter().map(|one| (one.name, one.kind, one.is_required, one.default));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("table", ArgumentType::Text, true, None),
                ("limit", ArgumentType::Int, false, Some("10")),
                ("instant_time", ArgumentType::Text, true, None),
            ]
        );
        assert!(Procedure::named("show_nothing").is_err());
        let [_, path, min_commits, ..] = Procedure::named("archive_commits").unwrap().parameters.as_slice() else {
            panic!("archive_commits has arguments");
        };
        assert_eq!((path.option, min_commits.option), (None, Some("hoodie.keep.min.commits")));
        assert_eq!(min_commits.default, Some("20"));
    }
}
