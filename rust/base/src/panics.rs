//! Panics as errors: a defect ends one call, which undoes what it has begun, and not the process.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Returns the result of `work`, or an internal error if it panics. `what` says what it does.
///
/// # Errors
/// Those of `work`; `Internal` with the message of the panic.
pub fn caught<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(what, panic.as_ref())))
}

/// The error of a panic, as a thread that is joined returns it.
#[must_use]
pub fn panicked(what: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message");
    Error::internal(format!("{what} has panicked: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_panic_is_an_internal_error() {
        let number = 7;
        for (result, message) in [
            (caught("a write", || panic!("row {number}")), "a write has panicked: row 7"),
            (caught("a write", || panic!("plain")), "plain"),
            (caught("a write", || std::panic::panic_any(7)), "without a message"),
        ] {
            let error: Error = Result::<()>::unwrap_err(result);
            assert_eq!(error.kind(), ErrorKind::Internal);
            assert!(error.to_string().contains(message), "{error}");
        }
        assert_eq!(caught("a write", || Ok(1)).ok(), Some(1));
    }
}
