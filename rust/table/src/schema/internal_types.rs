//! The words for types without fields in schemas of schema on read (`Types.*.toString`, `SerDeHelper`):
//!
//! | word | type |
//! |---|---|
//! | `boolean`, `int`, `long`, `float`, `double`, `string`, `date`, `uuid` | of that name |
//! | `binary` | bytes |
//! | `time`, `timestamp` | in microseconds |
//! | `time-millis`, `timestamp-millis`, `local-timestamp-millis`, `local-timestamp-micros` | of that name; since 1.1 |
//! | `fixed[n]` | as many bytes |
//! | `vector[n, e, FIXED_BYTES]` | vector of n elements of the type e (FLOAT, DOUBLE, INT8); since 1.2 |
//! | `decimal(p, s)`, `decimal_bytes(p, s)`, `decimal_fixed(p, s)[n]` | decimal; the last two since 1.1 |

use mortice_avro::{Decimal, Fixed, Type, Vector, VectorElement, VectorShape};
use mortice_base::error::{Error, Result};

/// The type that a word names. `path` is the field's, for its fixed types and for messages.
pub(super) fn leaf(word: &str, path: &str) -> Result<Type> {
    let lower = word.to_ascii_lowercase();
    Ok(match lower.as_str() {
        "boolean" => Type::Boolean,
        "int" => Type::Int,
        "long" => Type::Long,
        "float" => Type::Float,
        "double" => Type::Double,
        "string" => Type::String,
        "uuid" => Type::Uuid,
        "binary" => Type::Bytes,
        "date" => Type::Date,
        "time" => Type::TimeMicros,
        "time-millis" => Type::TimeMillis,
        "timestamp" => Type::TimestampMicros,
        "timestamp-millis" => Type::TimestampMillis,
        "local-timestamp-micros" => Type::LocalTimestampMicros,
        "local-timestamp-millis" => Type::LocalTimestampMillis,
        other => return measured(other, path).ok_or_else(|| unknown(word, path)),
    })
}

/// A word with numbers behind it.
fn measured(word: &str, path: &str) -> Option<Type> {
    let fixed = |size: usize| std::sync::Arc::new(Fixed { name: path.to_owned(), size });
    if let Some(size) = word.strip_prefix("fixed[").and_then(|rest| rest.strip_suffix(']')) {
        return Some(Type::Fixed(fixed(size.parse().ok()?)));
    }
    if let Some(rest) = word.strip_prefix("vector[").and_then(|rest| rest.strip_suffix(']')) {
        return vector(rest).map(|shape| Type::Vector(Vector { fixed: fixed(shape.size()), shape }));
    }
    let (kind, rest) = word.split_once('(')?;
    let (digits, size) = rest.split_once(')')?;
    let (precision, scale) = digits.split_once(',')?;
    let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    let stored = match (kind, size) {
        ("decimal" | "decimal_bytes", "") => None,
        ("decimal_fixed", size) => Some(fixed(size.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?)),
        _ => return None,
    };
    (precision >= 1 && scale <= precision).then_some(Type::Decimal(Decimal { precision, scale, fixed: stored }))
}

/// `dimension, element type, storage`, the words in lower case.
fn vector(measures: &str) -> Option<VectorShape> {
    let mut measures = measures.split(',').map(str::trim);
    let (dimension, element, storage) = (measures.next()?, measures.next()?, measures.next()?);
    let is_known = storage == "fixed_bytes" && measures.next().is_none();
    VectorShape::new(dimension.parse().ok()?, VectorElement::parse(element)?).filter(|_| is_known)
}

fn unknown(word: &str, path: &str) -> Error {
    Error::unsupported(format!("field {path} is of the type {word:?} in the schema of schema on read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_types() {
        for (word, type_) in [
            ("int", "int"),
            ("BINARY", "bytes"),
            ("timestamp", "timestamp-micros (long)"),
            ("local-timestamp-millis", "local-timestamp-millis (long)"),
            ("fixed[4]", "fixed(4) p"),
            ("vector[3, FLOAT, FIXED_BYTES]", "VECTOR(3) (fixed(12))"),
            ("vector[2, DOUBLE, FIXED_BYTES]", "VECTOR(2, DOUBLE) (fixed(16))"),
            ("decimal(10, 2)", "decimal(10,2) (bytes)"),
            ("decimal_bytes(10,2)", "decimal(10,2) (bytes)"),
            ("decimal_fixed(10, 2)[5]", "decimal(10,2) (fixed(5))"),
        ] {
            assert_eq!(leaf(word, "p").unwrap().describe(), type_, "{word}");
        }
        for word in ["vector[3, float, fixed]", "decimal(2, 3)", "decimal(0, 0)", "decimal(x, 1)", "fixed[]", ""] {
            let error = leaf(word, "a.b").unwrap_err();
            assert!(error.to_string().contains("a.b"), "{error}");
        }
    }
}
