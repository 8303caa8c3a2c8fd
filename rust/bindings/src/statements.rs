//! Statements of Spark's SQL: what they are, and their clauses as frozen values. Places are numbers of characters.

use mortice::Error;
use mortice::expr::statements as core;
use mortice::expr::statements::{Options, ParameterValue, Partition, TextSpan};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

use crate::errors::{raised, released};

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Statement>()?;
    module.add_class::<StatementName>()?;
    module.add_class::<StatementRelation>()?;
    module.add_class::<StatementColumn>()?;
    module.add_class::<StatementAssignment>()?;
    module.add_class::<MergeStatementClause>()?;
    module.add_class::<MergeStatement>()?;
    module.add_class::<RowChangeStatement>()?;
    module.add_class::<InsertStatement>()?;
    module.add_class::<CreateTableStatement>()?;
    module.add_class::<AlterTableStatement>()?;
    module.add_class::<CallArgument>()?;
    module.add_function(wrap_pyfunction!(statement_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(statement_error, module)?)?;
    module.add_function(wrap_pyfunction!(table_name, module)?)
}

/// Declares a class of the fields that a struct of the core has; the items of `lists` are such classes, too.
macro_rules! clause_class {
    ($name:ident from $core:path { $($field:ident: $type:ty,)* } lists { $($list:ident: $item:ty,)* }) => {
        #[pyclass(frozen, get_all, module = "mortice._mortice")]
        #[derive(Clone)]
        pub(crate) struct $name {
            $($field: $type,)*
            $($list: Vec<$item>,)*
        }

        impl From<$core> for $name {
            fn from(clause: $core) -> Self {
                Self {
                    $($field: clause.$field,)*
                    $($list: clause.$list.into_iter().map(Into::into).collect(),)*
                }
            }
        }
    };
}

clause_class!(StatementName from core::Name { parts: Vec<String>, at: usize, behind: usize, } lists {});
clause_class!(StatementRelation from core::Relation {
    parts: Vec<String>,
    at: usize,
    end: usize,
    as_of: Option<String>,
    as_of_expression: Option<TextSpan>,
    arguments: Option<Vec<String>>,
    takes_alias: bool,
    alias_at: Option<usize>,
} lists {});
clause_class!(StatementColumn from core::Column {
    path: Vec<String>,
    at: usize,
    new_name: Option<String>,
    kind: Option<String>,
    kind_at: usize,
    is_nullable: bool,
    drops_not_null: bool,
    comment: Option<String>,
    after: Option<String>,
    after_at: usize,
    is_first: bool,
} lists {});
clause_class!(StatementAssignment from core::Assignment {
    parts: Vec<String>,
    at: usize,
    value: Option<TextSpan>,
} lists {});
clause_class!(MergeStatementClause from core::MergeClause {
    kind: &'static str,
    side: &'static str,
    condition: Option<TextSpan>,
    star_at: Option<usize>,
} lists { assignments: StatementAssignment, });
clause_class!(MergeStatement from core::Merge {
    alias: Option<String>,
    source: TextSpan,
    source_alias: Option<String>,
    source_parts: Vec<String>,
    on: TextSpan,
} lists { clauses: MergeStatementClause, });
clause_class!(RowChangeStatement from core::RowChange {
    alias: Option<String>,
    condition: Option<TextSpan>,
} lists { assignments: StatementAssignment, });
clause_class!(InsertStatement from core::Insert {
    overwrites: bool,
    partition_at: usize,
    partition: Partition,
    rows_at: usize,
    by_name: bool,
    columns: Option<Vec<String>>,
    query: TextSpan,
    defaults: Vec<TextSpan>,
    before: Option<TextSpan>,
} lists {});
clause_class!(CreateTableStatement from core::CreateTable {
    parts: Vec<String>,
    if_not_exists: bool,
    is_external: bool,
    provider: String,
    partitions: Vec<String>,
    options: Options,
    properties: Options,
    location: Option<String>,
    comment: Option<String>,
    query: Option<TextSpan>,
} lists { columns: StatementColumn, });
clause_class!(AlterTableStatement from core::AlterTable {
    kind: &'static str,
    if_exists: bool,
    properties: Vec<(String, Option<String>)>,
    properties_at: usize,
    partitions: Vec<Partition>,
    to: Option<Vec<String>>,
    to_at: usize,
} lists { columns: StatementColumn, dropped: StatementName, });
clause_class!(CallArgument from core::Argument {
    name: Option<String>,
    at: usize,
    text: Option<String>,
    value: TextSpan,
} lists {});

/// A statement.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Statement {
    statement: core::Statement,
    #[pyo3(get)]
    kind: &'static str,
    #[pyo3(get)]
    names: Vec<StatementName>,
    #[pyo3(get)]
    end: usize,
    #[pyo3(get)]
    view_options: Option<Options>,
    #[pyo3(get)]
    is_query: bool,
    #[pyo3(get)]
    is_cache: bool,
    #[pyo3(get)]
    is_temporary: bool,
    #[pyo3(get)]
    is_extended: bool,
    #[pyo3(get)]
    if_exists: bool,
    #[pyo3(get)]
    purges: bool,
    #[pyo3(get)]
    names_table: bool,
}

#[pymethods]
impl Statement {
    /// Parses a statement with the values of parameters: their places, kinds, and what they are for the grammar.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, values: Vec<(usize, usize, String, String)>) -> PyResult<Self> {
        let statement = released(py, || {
            let values = values.into_iter().map(|(at, end, kind, text)| Ok((at, end, parameter(&kind, text)?)));
            core::Statement::parse(text, values.collect::<mortice::Result<_>>()?)
        })?;
        Ok(Self {
            kind: statement.head.kind.name(),
            names: statement.head.names.iter().cloned().map(Into::into).collect(),
            end: statement.end(),
            view_options: statement.head.view_options.clone(),
            is_query: statement.head.flags.is_query,
            is_cache: statement.head.flags.is_cache,
            is_temporary: statement.head.flags.is_temporary,
            is_extended: statement.head.flags.is_extended,
            if_exists: statement.head.flags.if_exists,
            purges: statement.head.flags.purges,
            names_table: statement.head.flags.names_table,
            statement,
        })
    }

    fn relations(&self, py: Python<'_>) -> PyResult<Vec<StatementRelation>> {
        self.lists(py, core::Statement::relations)
    }

    fn with_relations(&self) -> (Option<TextSpan>, Vec<StatementRelation>) {
        let (clause, relations) = self.statement.with_relations();
        (clause, relations.into_iter().map(Into::into).collect())
    }

    fn words(&self) -> (Vec<String>, Vec<String>) {
        let (first, others) = self.statement.words();
        (first.into_iter().collect(), others.into_iter().collect())
    }

    fn qualified(&self, parts: Vec<String>) -> Vec<TextSpan> {
        self.statement.qualified(&parts)
    }

    fn merge(&self, py: Python<'_>) -> PyResult<MergeStatement> {
        self.clauses(py, core::Statement::merge)
    }

    fn row_change(&self, py: Python<'_>) -> PyResult<RowChangeStatement> {
        self.clauses(py, core::Statement::row_change)
    }

    fn inserts(&self, py: Python<'_>) -> PyResult<Vec<InsertStatement>> {
        self.lists(py, core::Statement::inserts)
    }

    fn partition(&self, py: Python<'_>) -> PyResult<Option<Partition>> {
        self.clauses(py, core::Statement::partition)
    }

    fn create_table(&self, py: Python<'_>) -> PyResult<CreateTableStatement> {
        self.clauses(py, core::Statement::create_table)
    }

    fn alter_table(&self, py: Python<'_>) -> PyResult<AlterTableStatement> {
        self.clauses(py, core::Statement::alter_table)
    }

    fn arguments(&self, py: Python<'_>) -> PyResult<Vec<CallArgument>> {
        self.lists(py, core::Statement::arguments)
    }

    fn property(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.clauses(py, core::Statement::property)
    }

    /// What a statement about indexes does, the partition of the metadata table, whether IF (NOT) EXISTS is given, and
    /// the type of a new index.
    fn index(&self, py: Python<'_>) -> PyResult<(&'static str, String, bool, Option<String>)> {
        let found = released(py, || self.statement.index())?;
        Ok((found.change.name(), found.name, found.is_lenient, found.kind))
    }

    fn refusal(&self, py: Python<'_>) -> Option<Py<PyBaseException>> {
        self.statement.refusal().map(|error| raised(py, &error).into_value(py))
    }
}

impl Statement {
    fn clauses<T: Send, P: From<T>>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&core::Statement) -> mortice::Result<T> + Send,
    ) -> PyResult<P> {
        released(py, || read(&self.statement)).map(Into::into)
    }

    fn lists<T: Send, P: From<T>>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&core::Statement) -> mortice::Result<Vec<T>> + Send,
    ) -> PyResult<Vec<P>> {
        let found = released(py, || read(&self.statement))?;
        Ok(found.into_iter().map(Into::into).collect())
    }
}

fn parameter(kind: &str, text: String) -> mortice::Result<ParameterValue> {
    match kind {
        "string" => Ok(ParameterValue::Text(text)),
        "number" => Ok(ParameterValue::Number(text)),
        "word" => Ok(ParameterValue::Word(text)),
        "literal" => Ok(ParameterValue::Literal(text)),
        _ => Err(Error::internal(format!("{kind} is not a kind of values of parameters"))),
    }
}

/// Returns where the parameters of a statement are, and their names.
#[pyfunction]
fn statement_parameters(py: Python<'_>, text: &str) -> PyResult<Vec<(usize, usize, Option<String>)>> {
    let found = released(py, || core::statement_parameters(text))?;
    Ok(found.into_iter().map(|one| (one.at, one.end, one.name)).collect())
}

/// Returns the error for a statement, which shows the line of a place.
#[pyfunction]
fn statement_error(py: Python<'_>, text: &str, at: usize, message: &str) -> Py<PyBaseException> {
    raised(py, &core::statement_error(text, at, message)).into_value(py)
}

/// Returns the parts of the name of a table.
#[pyfunction]
fn table_name(py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
    released(py, || core::table_name(text))
}
