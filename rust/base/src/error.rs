//! The one error of the crate: what went wrong, where, and what to do about it.
//!
//! The lowest module knows an offset, the next adds the block, the next the file, the next the instant. Each adds what
//! it knows; what an inner module has said is never overwritten. This file imports no other module.

use std::error::Error as StdError;
use std::fmt;

/// A result with the crate's own error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error. There is one for each exception class of the Python package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no Hudi table, or no file, at the path.
    NotFound,
    /// Bytes of a log file cannot be what they claim to be.
    CorruptLog,
    /// The table or query needs something that this release does not have.
    Unsupported,
    /// The table contradicts itself or the format.
    InvalidTable,
    /// A file that the query needs has been cleaned away.
    FileCleaned,
    /// The caller asked for something that cannot be.
    InvalidArgument,
    /// The merge would need more memory than allowed.
    MemoryLimit,
    /// The storage failed.
    Io,
    /// The storage refused the credentials, or they do not permit the request.
    Forbidden,
    /// The storage asked for fewer requests, and went on asking after all retries.
    Throttled,
    /// The storage did not answer within the time limits, or could not be connected to.
    Unreachable,
    /// A file is not the one that was planned: its etag or its length is another.
    FileChanged,
    /// A file that was to be created is there already.
    AlreadyExists,
    /// Another writer wrote to the same file groups at the same time, and was first.
    WriteConflict,
    /// The write is part of the table, and a table service after it failed.
    TableService,
    /// A signal, or the end of the stream that waited.
    Interrupted,
    /// An invariant of mortice itself does not hold: a defect of this library, never of the data or the caller.
    Internal,
}

impl ErrorKind {
    /// A stable code, for logs and for messages that lose their type on the way (Spark).
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotFound => "MORTICE-NOT-FOUND",
            Self::CorruptLog => "MORTICE-CORRUPT-LOG",
            Self::Unsupported => "MORTICE-UNSUPPORTED",
            Self::InvalidTable => "MORTICE-INVALID-TABLE",
            Self::FileCleaned => "MORTICE-FILE-CLEANED",
            Self::InvalidArgument => "MORTICE-INVALID-ARGUMENT",
            Self::MemoryLimit => "MORTICE-MEMORY-LIMIT",
            Self::Io => "MORTICE-IO",
            Self::Forbidden => "MORTICE-FORBIDDEN",
            Self::Throttled => "MORTICE-THROTTLED",
            Self::Unreachable => "MORTICE-UNREACHABLE",
            Self::FileChanged => "MORTICE-FILE-CHANGED",
            Self::AlreadyExists => "MORTICE-ALREADY-EXISTS",
            Self::WriteConflict => "MORTICE-WRITE-CONFLICT",
            Self::TableService => "MORTICE-TABLE-SERVICE",
            Self::Interrupted => "MORTICE-INTERRUPTED",
            Self::Internal => "MORTICE-INTERNAL",
        }
    }
}

/// Where an error occurred, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorLocation {
    /// The file (or table) path.
    pub path: Option<String>,
    /// Byte offset in that file.
    pub offset: Option<u64>,
    /// Ordinal of the log block in that file, from 0.
    pub block: Option<u64>,
    /// The instant in question.
    pub instant: Option<String>,
}

/// The error of every fallible function here. One word wide.
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    location: ErrorLocation,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of a kind; `message` says what was expected and what was found, and, where there is one, the way out.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), location: ErrorLocation::default(), source: None }))
    }

    /// [`ErrorKind::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// [`ErrorKind::CorruptLog`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::CorruptLog, message)
    }

    /// [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// [`ErrorKind::InvalidTable`].
    pub fn invalid_table(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidTable, message)
    }

    /// [`ErrorKind::InvalidArgument`].
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// [`ErrorKind::Internal`]. `invariant` says what does not hold; the message asks the user to report it.
    ///
    /// Where a row, a block or a key would otherwise be lost, code returns this error instead of skipping it.
    #[cold]
    pub fn internal(invariant: impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::Internal,
            format!("{invariant}; this is a defect of mortice, please report it with this message"),
        )
    }

    /// Returns what makes [`ErrorKind::Internal`] of the error of a library, for `map_err`. `invariant` is as for
    /// [`Self::internal`].
    pub fn internal_by<E: Into<Box<dyn StdError + Send + Sync>>>(invariant: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::internal(invariant).caused_by(source)
    }

    /// [`ErrorKind::Io`], with its cause.
    pub fn io(message: impl Into<String>, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, message).caused_by(source)
    }

    /// Adds the cause, shown after the message.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Adds the file, unless an inner module named one.
    #[must_use]
    pub fn in_file(mut self, path: impl Into<String>) -> Self {
        self.0.location.path.get_or_insert_with(|| path.into());
        self
    }

    /// Adds the byte offset, unless an inner module knew it.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.0.location.offset.get_or_insert(offset);
        self
    }

    /// Replaces the kind of the error: what is a corrupt table to one module is a corrupt log to another.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Replaces the offset of the error: an inner module knew only offsets in decompressed bytes.
    #[must_use]
    pub fn moved_to(mut self, offset: u64) -> Self {
        self.0.location.offset = Some(offset);
        self
    }

    /// Adds `base`, the offset of a part, to an offset within this part.
    #[must_use]
    pub fn offset_from(mut self, base: u64) -> Self {
        let within = self.0.location.offset.unwrap_or(0);
        self.0.location.offset = Some(base.saturating_add(within));
        self
    }

    /// Moves the offset into the message: it is one within something that is not part of the file, such as a
    /// decompressed block. Another offset can be added then.
    #[must_use]
    pub fn with_offset_in(mut self, whole: &str) -> Self {
        if let Some(offset) = self.0.location.offset.take() {
            self.0.message = format!("{} (at byte {offset} of {whole})", self.0.message);
        }
        self
    }

    /// Adds the ordinal of the log block, unless known.
    #[must_use]
    pub fn in_block(mut self, block: u64) -> Self {
        self.0.location.block.get_or_insert(block);
        self
    }

    /// Adds the instant, unless known.
    #[must_use]
    pub fn at_instant(mut self, instant: impl Into<String>) -> Self {
        self.0.location.instant.get_or_insert_with(|| instant.into());
        self
    }

    /// What went wrong, coarsely.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was expected and what was found, the cause included; without code and location.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.0.source {
            Some(source) => format!("{}: {source}", self.0.message),
            None => self.0.message.clone(),
        }
    }

    /// Where it went wrong.
    #[must_use]
    pub fn location(&self) -> &ErrorLocation {
        &self.0.location
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `[CODE] message: cause (file …, offset …, block …, instant …)`.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.0.kind.code(), self.text())?;
        let location = &self.0.location;
        let known: Vec<String> = [
            location.path.as_ref().map(|path| format!("file {path}")),
            location.offset.map(|offset| format!("offset {offset}")),
            location.block.map(|block| format!("block {block}")),
            location.instant.as_ref().map(|instant| format!("instant {instant}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        if known.is_empty() { Ok(()) } else { write!(f, " ({})", known.join(", ")) }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_adds_what_it_knows() {
        let error = Error::corrupt("unexpected end of data: string has 9 bytes, only 3 remain").at_offset(7);
        let error = error.offset_from(100).in_block(2).in_file("a.log").in_file("b.log").at_instant("001");
        assert_eq!(
            error.to_string(),
            "[MORTICE-CORRUPT-LOG] unexpected end of data: string has 9 bytes, only 3 remain (file a.log, offset 107, block 2, instant 001)"
        );
    }

    #[test]
    fn an_offset_outside_of_the_file_becomes_words() {
        let error = Error::corrupt("invalid cell: type 7").at_offset(12).with_offset_in("the payload").at_offset(300);
        assert_eq!(
            error.to_string(),
            "[MORTICE-CORRUPT-LOG] invalid cell: type 7 (at byte 12 of the payload) (offset 300)"
        );
    }

    #[test]
    fn is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
