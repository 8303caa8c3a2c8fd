//! Results: frozen classes that are the public ones, with what dataclasses have.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// Declares a class of results.
///
/// After the name comes the signature of its constructor, then the fields, in this order. `repr` is a function that
/// returns what `repr()` shows; further methods follow.
macro_rules! result_class {
    (
        $(#[$attribute:meta])*
        $name:ident ($($signature:tt)*) { $($field:ident: $type:ty,)* }
        repr = $repr:expr;
        $($methods:tt)*
    ) => {
        $(#[$attribute])*
        #[pyo3::pyclass(frozen, get_all, eq, hash, from_py_object, module = "mortice")]
        #[derive(Clone, PartialEq, Eq, Hash)]
        pub(crate) struct $name {
            $(pub(crate) $field: $type,)*
        }

        impl $name {
            /// The names of the fields.
            pub(crate) const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
        }

        #[pyo3::pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = ($($signature)*))]
            #[allow(clippy::too_many_arguments)]
            fn new($($field: $type),*) -> Self {
                Self { $($field),* }
            }

            #[classattr]
            fn __match_args__(py: pyo3::Python<'_>) -> pyo3::PyResult<pyo3::Bound<'_, pyo3::types::PyTuple>> {
                pyo3::types::PyTuple::new(py, Self::FIELDS)
            }

            #[classattr]
            fn __dataclass_fields__(py: pyo3::Python<'_>) -> pyo3::PyResult<pyo3::Bound<'_, pyo3::types::PyDict>> {
                crate::results::dataclass_fields(py, Self::FIELDS)
            }

            fn __repr__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> {
                let repr: fn(&pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> = $repr;
                repr(slf)
            }

            fn __reduce__<'py>(
                slf: &pyo3::Bound<'py, Self>,
            ) -> pyo3::PyResult<(pyo3::Bound<'py, pyo3::types::PyType>, pyo3::Bound<'py, pyo3::types::PyTuple>)> {
                Ok((slf.get_type(), crate::results::values(slf.as_any(), Self::FIELDS)?))
            }

            #[pyo3(signature = (**changes))]
            fn __replace__<'py>(
                slf: &pyo3::Bound<'py, Self>,
                changes: Option<&pyo3::Bound<'py, pyo3::types::PyDict>>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                crate::results::replaced(slf.as_any(), Self::FIELDS, changes)
            }

            fn to_dict<'py>(
                slf: &pyo3::Bound<'py, Self>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyDict>> {
                crate::results::to_dict(slf.as_any(), Self::FIELDS)
            }

            $($methods)*
        }
    };
}

pub(crate) use result_class;

/// Returns the class and the fields, as the `repr()` of a dataclass.
pub(crate) fn fields_repr<T>(result: &Bound<'_, T>, fields: &[&str]) -> PyResult<String> {
    let result = result.as_any();
    let mut shown = Vec::with_capacity(fields.len());
    for field in fields {
        shown.push(format!("{field}={}", result.getattr(*field)?.repr()?.to_str()?));
    }
    Ok(format!("{}({})", result.get_type().name()?.to_str()?, shown.join(", ")))
}

/// Returns the values of the fields, which are the arguments of the constructor.
pub(crate) fn values<'py>(result: &Bound<'py, PyAny>, fields: &[&str]) -> PyResult<Bound<'py, PyTuple>> {
    let values = fields.iter().map(|field| result.getattr(*field)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(result.py(), values)
}

/// Returns a copy with other values of some fields.
pub(crate) fn replaced<'py>(
    result: &Bound<'py, PyAny>,
    fields: &[&str],
    changes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(result.py());
    for field in fields {
        named.set_item(field, result.getattr(*field)?)?;
    }
    if let Some(changes) = changes {
        named.update(changes.as_mapping())?;
    }
    result.get_type().call((), Some(&named))
}

/// Returns what `dataclasses` looks at, so that `asdict`, `replace` and `fields` take results as they take dataclasses.
pub(crate) fn dataclass_fields<'py>(py: Python<'py>, fields: &[&str]) -> PyResult<Bound<'py, PyDict>> {
    let dataclasses = py.import("dataclasses")?;
    let named = PyDict::new(py);
    for name in fields {
        let field = dataclasses.call_method0("field")?;
        field.setattr("name", name)?;
        field.setattr("type", py.get_type::<PyAny>())?;
        field.setattr("_field_type", dataclasses.getattr("_FIELD")?)?;
        named.set_item(name, field)?;
    }
    Ok(named)
}

/// Returns the fields as a dict; results within them, and in lists and tuples of them, are dicts,
/// too.
pub(crate) fn to_dict<'py>(result: &Bound<'py, PyAny>, fields: &[&str]) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(result.py());
    for field in fields {
        named.set_item(field, plain(result.getattr(*field)?)?)?;
    }
    Ok(named)
}

fn plain(value: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    if let Ok(list) = value.cast::<PyList>() {
        let plain = list.iter().map(plain).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(value.py(), plain)?.into_any());
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        let plain = tuple.iter().map(plain).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyTuple::new(value.py(), plain)?.into_any());
    }
    if value.hasattr("to_dict")? { value.call_method0("to_dict") } else { Ok(value) }
}

/// Warns, at the line that called mortice, of options that have no effect, in the sentences of the core.
pub(crate) fn warn(py: Python<'_>, sentences: &[String]) -> PyResult<()> {
    if !sentences.is_empty() {
        py.import("mortice.writing.writes")?.call_method1("warn_of", (sentences,))?;
    }
    Ok(())
}

/// Returns text as it may be shown: names in a table are input of strangers (`mortice.visible_text`).
pub(crate) fn visible(py: Python<'_>, text: &str) -> PyResult<String> {
    py.import("mortice.values.visible_text")?.call_method1("visible_text", (text,))?.extract()
}
