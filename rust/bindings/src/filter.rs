//! Filters of all forms as the core evaluates them.

use std::cell::OnceCell;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use mortice::Error;
use mortice::expr::predicate::{
    Misuse, Predicate, condition, conjunction, of_terms, operator, polars_predicate, pyarrow_columns, pyarrow_predicate,
};
use mortice::filter::{Filter as Core, Operator, Term};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};

use crate::arrow_in::type_in;
use crate::errors::raised;
use crate::expression::one_batch;
use crate::literals::{literal, python_value, shown, string, type_name};

/// Values up to which a message shows them.
const LONGEST_SHOWN: usize = 80;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Filter>()?;
    module.add_function(wrap_pyfunction!(check_filter_text, module)?)?;
    module.add_function(wrap_pyfunction!(referenced_columns, module)?)
}

/// Terms in disjunctive normal form. A filter that selects all rows is `None` in Python.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Filter(Core);

impl Filter {
    /// Returns a filter; none if it selects all rows.
    pub(crate) fn from_core(filter: Core) -> Option<Self> {
        (!filter.is_empty()).then_some(Self(filter))
    }
}

/// A filter as an argument of other functions.
pub(crate) type FilterArgument<'py> = Option<Bound<'py, Filter>>;

/// Returns the filter of an argument; an empty one selects all rows.
pub(crate) fn filter(argument: FilterArgument<'_>) -> Core {
    argument.map(|filter| filter.get().0.clone()).unwrap_or_default()
}

#[pymethods]
impl Filter {
    #[staticmethod]
    #[pyo3(signature = (filters, schema, serialised))]
    fn parse(
        filters: &Bound<'_, PyAny>,
        schema: Option<Bound<'_, PyAny>>,
        serialised: Bound<'_, PyAny>,
    ) -> PyResult<Option<Self>> {
        let py = filters.py();
        if let Ok(filter) = filters.cast::<Self>() {
            return Ok(Self::from_core(filter.get().0.clone()));
        }
        let parser = Parser { py, schema, columns: OnceCell::new(), serialised };
        parser.filter(filters).map(Self::from_core)
    }

    #[staticmethod]
    fn superset(
        expression: &Bound<'_, PyAny>,
        schema: &Bound<'_, PyAny>,
        serialised: Bound<'_, PyAny>,
    ) -> PyResult<Option<Self>> {
        let py = expression.py();
        let columns = schema_in(schema)?;
        let parser = Parser { py, schema: None, columns: OnceCell::new(), serialised };
        let predicate = parser.predicate(expression, parser.serialised_of(expression)?, Some(&columns))?;
        predicate.superset(&columns).map(Self::from_core).map_err(|error| raised(py, &error))
    }

    fn both(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        conjunction(&self.0, &other.0).map(Self).map_err(|error| raised(py, &error))
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.lists().iter().flatten().map(|term| path(term).join(".")).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    #[getter]
    fn terms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let lists = self.0.lists().iter().map(|terms| {
            let terms = terms.iter().map(|term| term_tuple(py, term)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, terms)
        });
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let shown = self.terms(py).and_then(|terms| Ok(terms.repr()?.to_string_lossy().into_owned()));
        // Python has no values for some literals, such as dates after the year 9999.
        shown.unwrap_or_else(|_| self.0.to_string())
    }

    /// Restores a filter from a pickle.
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        Core::from_bytes(data).map(Self).map_err(|error| raised(py, &error))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyBytes>,))> {
        let bytes = self.0.to_bytes().map_err(|error| raised(py, &error))?;
        Ok((py.get_type::<Self>(), (PyBytes::new(py, &bytes),)))
    }
}

fn path(term: &Term) -> Vec<&str> {
    std::iter::once(term.column()).chain(term.fields().iter().map(String::as_str)).collect()
}

fn term_tuple<'py>(py: Python<'py>, term: &Term) -> PyResult<Bound<'py, PyTuple>> {
    let column = match path(term).as_slice() {
        [name] => PyString::new(py, name).into_any(),
        names => PyTuple::new(py, names)?.into_any(),
    };
    let literals = term.literals().iter().map(|one| python_value(py, one)).collect::<PyResult<Vec<_>>>()?;
    let literal = match (term.operator(), literals.as_slice()) {
        (Operator::In | Operator::NotIn, literals) => PyList::new(py, literals)?.into_any(),
        (_, [one]) => one.clone(),
        _ => py.None().into_bound(py),
    };
    (column, term.operator().text(), literal).into_pyobject(py)
}

/// An expression of another library, as that serialises it.
#[derive(FromPyObject)]
enum Serialised<'py> {
    /// Of pyarrow.
    Pyarrow(Bound<'py, PyBytes>),
    /// Of polars, and a function that evaluates one without columns.
    Polars(String, Bound<'py, PyAny>),
}

struct Parser<'py> {
    py: Python<'py>,
    /// Returns the columns that the filter is about. It is called only if the form of the filter needs them.
    schema: Option<Bound<'py, PyAny>>,
    /// What it has returned.
    columns: OnceCell<Schema>,
    /// Returns a value as `Serialised`; None if it is no expression.
    serialised: Bound<'py, PyAny>,
}

impl<'py> Parser<'py> {
    fn filter(&self, filters: &Bound<'py, PyAny>) -> PyResult<Core> {
        if let Some(predicate) = self.predicate_of(filters)? {
            return self.of_predicate(&predicate);
        }
        let Some(items) = list(filters)? else {
            let text = shown(Ok(filters.clone()));
            let value = if text.chars().count() <= LONGEST_SHOWN { format!(" {text}") } else { String::new() };
            return Err(self.misuse(Misuse::NoFilters(&format!("{}{value}", type_name(filters))), filters));
        };
        if items.is_empty() {
            return Ok(Core::default());
        }
        if is_single_term(filters, &items) {
            return self.of_terms(vec![vec![self.term(filters)?]]);
        }
        let conditions = items.iter().map(|item| self.predicate_of(item)).collect::<PyResult<Vec<_>>>()?;
        if conditions.iter().any(Option::is_some) {
            let parts = items.iter().zip(conditions).map(|(item, condition)| match condition {
                Some(condition) => Ok(condition),
                None => self.term(item).map(Predicate::Term),
            });
            return self.of_predicate(&Predicate::AllOf(parts.collect::<PyResult<_>>()?));
        }
        let looks = items.iter().map(looks_like_term).collect::<PyResult<Vec<_>>>()?;
        if looks.iter().all(|is_term| *is_term) {
            return self.of_terms(vec![items.iter().map(|item| self.term(item)).collect::<PyResult<_>>()?]);
        }
        self.of_terms(items.iter().map(|item| self.conjunction(item)).collect::<PyResult<_>>()?)
    }

    fn conjunction(&self, item: &Bound<'py, PyAny>) -> PyResult<Vec<Term>> {
        let Some(terms) = list(item)? else { return Err(self.misuse(Misuse::NoList, item)) };
        if looks_like_term(item)? {
            return Err(self.misuse(Misuse::TermNextToLists, item));
        }
        if terms.is_empty() {
            return Err(self.misuse(Misuse::EmptyList, item));
        }
        terms.iter().map(|term| self.term(term)).collect()
    }

    fn term(&self, term: &Bound<'py, PyAny>) -> PyResult<Term> {
        let no_term = || self.misuse(Misuse::NoTerm, term);
        let parts = list(term)?.filter(|parts| matches!(parts.len(), 2 | 3)).ok_or_else(no_term)?;
        let [column, name, literals @ ..] = parts.as_slice() else { return Err(no_term()) };
        if !column.is_instance_of::<PyString>() || !name.is_instance_of::<PyString>() {
            return Err(no_term());
        }
        let column = string(column, || "the column of a filter".to_owned())?;
        let name: String = name.str()?.to_string_lossy().into_owned();
        let operator = operator(&name).ok_or_else(|| self.misuse(Misuse::Operator(&name), term))?;
        let literals = match (operator, literals.first()) {
            (Operator::IsNull | Operator::IsNotNull, Some(literal)) if !literal.is_none() => {
                return Err(self.misuse(Misuse::Literal(operator), term));
            }
            (Operator::IsNull | Operator::IsNotNull, _) => Vec::new(),
            (_, None) => return Err(self.misuse(Misuse::NoLiteral, term)),
            (Operator::In | Operator::NotIn, Some(values)) => self.literals(values, term, &name)?,
            (Operator::Like | Operator::NotLike, Some(pattern)) if !pattern.is_instance_of::<PyString>() => {
                return Err(self.misuse(Misuse::NoPattern(operator), term));
            }
            (_, Some(value)) => vec![literal(value, term)?],
        };
        Term::new(column, operator, literals).map_err(|error| raised(self.py, &error))
    }

    fn literals(
        &self,
        values: &Bound<'py, PyAny>,
        term: &Bound<'py, PyAny>,
        name: &str,
    ) -> PyResult<Vec<mortice::filter::Literal>> {
        let is_scalar = values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>();
        let is_iterable = values.hasattr("__iter__")? && !is_scalar && !values.is_instance_of::<PyDict>();
        if !is_iterable {
            return Err(self.misuse(Misuse::NoLiteralList(name), term));
        }
        values.try_iter()?.map(|value| literal(&value?, term)).collect()
    }

    /// Returns the predicate of text or an expression. None for another value.
    fn predicate_of(&self, value: &Bound<'py, PyAny>) -> PyResult<Option<Predicate>> {
        if list(value)?.is_some() {
            return Ok(None);
        }
        // Columns are needed for conditions alone.
        let serialised = if value.is_instance_of::<PyString>() { None } else { self.serialised_of(value)? };
        if value.is_instance_of::<PyString>() || serialised.is_some() {
            return self.predicate(value, serialised, self.columns()?).map(Some);
        }
        Ok(None)
    }

    fn serialised_of(&self, value: &Bound<'py, PyAny>) -> PyResult<Option<Serialised<'py>>> {
        self.serialised.call1((value,))?.extract()
    }

    /// Returns the predicate of an expression that was serialised, or of text.
    fn predicate(
        &self,
        value: &Bound<'py, PyAny>,
        serialised: Option<Serialised<'py>>,
        columns: Option<&Schema>,
    ) -> PyResult<Predicate> {
        let failed = |error: Error| raised(self.py, &error);
        let text = || value.str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
        match serialised {
            None => condition(&string(value, || "the filter".to_owned())?, columns).map_err(failed),
            Some(Serialised::Pyarrow(data)) => pyarrow_predicate(data.as_bytes(), columns, text).map_err(failed),
            Some(Serialised::Polars(json, evaluate)) => {
                let evaluate = |part: &str| evaluated(&evaluate, part);
                Ok(polars_predicate(&json, columns, &evaluate, text))
            }
        }
    }

    fn of_predicate(&self, predicate: &Predicate) -> PyResult<Core> {
        predicate.filter(self.columns()?).map_err(|error| raised(self.py, &error))
    }

    fn of_terms(&self, lists: Vec<Vec<Term>>) -> PyResult<Core> {
        let is_dotted = lists.iter().flatten().any(|term| term.column().contains('.'));
        let columns = if is_dotted { self.columns()? } else { None };
        of_terms(lists, columns).map_err(|error| raised(self.py, &error))
    }

    fn columns(&self) -> PyResult<Option<&Schema>> {
        let Some(schema) = &self.schema else { return Ok(None) };
        if self.columns.get().is_none() {
            let columns = schema_in(&schema.call0()?)?;
            return Ok(Some(self.columns.get_or_init(|| columns)));
        }
        Ok(self.columns.get())
    }

    fn misuse(&self, misuse: Misuse<'_>, item: &Bound<'py, PyAny>) -> PyErr {
        raised(self.py, &misuse.error(&shown(Ok(item.clone()))))
    }
}

/// Returns the value of an expression of polars without columns, as an array of one value.
fn evaluated(evaluate: &Bound<'_, PyAny>, part: &str) -> Option<ArrayRef> {
    let batch = one_batch(&evaluate.call1((part,)).ok()?).ok()?;
    batch.columns().first().filter(|values| !values.is_empty()).cloned()
}

fn schema_in(schema: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let kind = type_in(&schema.call_method0("__arrow_c_schema__")?)?;
    match kind {
        Ok(DataType::Struct(fields)) => Ok(Schema::new(fields)),
        Ok(kind) => Err(raised(schema.py(), &Error::internal(format_args!("the columns are of type {kind}")))),
        Err(error) => {
            let message = "the columns that a filter is about have types that cannot be read";
            Err(raised(schema.py(), &Error::invalid_argument(message).caused_by(error)))
        }
    }
}

/// Returns the items of a list or a tuple. None for another value.
fn list<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if !value.is_instance_of::<PyList>() && !value.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    value.try_iter()?.collect::<PyResult<_>>().map(Some)
}

/// Whether a list is a term. A list of strings is none, unless the second is an operator.
fn is_single_term(filters: &Bound<'_, PyAny>, items: &[Bound<'_, PyAny>]) -> bool {
    let is_string = |item: &Bound<'_, PyAny>| item.is_instance_of::<PyString>();
    if !matches!(items.len(), 2 | 3) || !items.iter().take(2).all(is_string) {
        return false;
    }
    if filters.is_instance_of::<PyTuple>() || !items.iter().all(is_string) {
        return true;
    }
    items.get(1).and_then(|name| name.extract::<String>().ok()).is_some_and(|name| operator(&name).is_some())
}

fn looks_like_term(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    let first = list(item)?.and_then(|items| items.into_iter().next());
    Ok(first.is_some_and(|first| first.is_instance_of::<PyString>()))
}

/// Parses the text of a filter, whose columns are not known.
#[pyfunction]
fn check_filter_text(py: Python<'_>, text: &str) -> PyResult<()> {
    condition(text, None).map(|_| ()).map_err(|error| raised(py, &error))
}

/// Returns the columns that a serialised expression of pyarrow refers to.
#[pyfunction]
fn referenced_columns(serialised: &[u8]) -> Option<Vec<String>> {
    pyarrow_columns(serialised).map(|names| names.into_iter().collect())
}
