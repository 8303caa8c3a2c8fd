//! Panics as errors: a defect ends one call, which undoes what it has begun, and not the process.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind, Result};

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
    let text = panic_message(panic);
    out_of_memory(what, text).unwrap_or_else(|| Error::internal(format!("{what} has panicked: {text}")))
}

/// The message of a panic.
#[must_use]
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// The error of a panic that means that memory could not be allocated, as libdeflate reports it; `None` for
/// other panics.
#[must_use]
pub fn out_of_memory(what: &str, message: &str) -> Option<Error> {
    let is_memory = message.contains("out of memory");
    let text = format!("{what} could not allocate memory: {message}; give the process more memory (`ulimit -v`)");
    is_memory.then(|| Error::new(ErrorKind::MemoryLimit, text))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let error = caught::<()>("a write", || panic!("libdeflate_alloc_compressor returned NULL: out of memory"));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::MemoryLimit);
    }
}
