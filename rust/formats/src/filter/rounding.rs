//! Order comparisons with numbers that the type of a column does not hold: `seats > 1.5` of integers is `seats > 1`.
//!
//! A number between two values of the type is replaced by the lower one, a number beyond all values by the nearest one,
//! with the operator that selects the same rows. Equality is not replaced: such a literal is a mistake.

use arrow_schema::DataType;

use super::expr::{Literal, Operator};
use super::literal::{digits_of, float32_of};

/// The comparison that selects the same rows with a literal that `kind` holds; none if the literal is one, cannot be
/// compared, or the operator is not one of order.
pub(super) fn rounded(operator: Operator, literals: &[Literal], kind: &DataType) -> Option<(Operator, Literal)> {
    let is_less = matches!(operator, Operator::Lt | Operator::LtEq);
    if !is_less && !matches!(operator, Operator::Gt | Operator::GtEq) {
        return None;
    }
    let [literal] = literals else { return None };
    let (scale, least, greatest) = match kind {
        DataType::Int32 => (0, i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (0, i64::MIN.into(), i64::MAX.into()),
        DataType::Decimal128(precision, scale) => {
            let limit = 10_i128.checked_pow(u32::from(*precision))? - 1;
            (*scale, -limit, limit)
        }
        DataType::Float32 => return rounded_float(is_less, literal),
        _ => return None,
    };
    let replaced = |operator, unscaled| {
        // A decimal of scale 0 is an integer.
        Some((operator, if scale == 0 { Literal::Int(unscaled) } else { Literal::Decimal { unscaled, scale } }))
    };
    match floor(literal, scale)? {
        Floor::Exact(value) if (least..=greatest).contains(&value) => None,
        Floor::Exact(value) | Floor::Below(value) if value > greatest => {
            replaced(if is_less { Operator::LtEq } else { Operator::Gt }, greatest)
        }
        Floor::Exact(value) | Floor::Below(value) if value < least => {
            replaced(if is_less { Operator::Lt } else { Operator::GtEq }, least)
        }
        Floor::Exact(value) | Floor::Below(value) => {
            replaced(if is_less { Operator::LtEq } else { Operator::Gt }, value)
        }
    }
}

/// The greatest number with some digits after the point that is not above a literal, without the point.
enum Floor {
    /// The literal itself.
    Exact(i128),
    /// One below it.
    Below(i128),
}

fn floor(literal: &Literal, scale: i8) -> Option<Floor> {
    let beyond = |is_negative: bool| Floor::Below(if is_negative { i128::MIN } else { i128::MAX });
    let (unscaled, from) = match literal {
        Literal::Int(value) => (*value, 0),
        Literal::Decimal { unscaled, scale } => (*unscaled, *scale),
        Literal::Float(value) if value.is_nan() => return None,
        Literal::Float(value) => match digits_of(*value) {
            Some(digits) => digits,
            None if value.abs() > 1.0 => return Some(beyond(*value < 0.0)),
            // More digits after the point than can be counted: next to zero.
            None => return Some(Floor::Below(if *value < 0.0 { -1 } else { 0 })),
        },
        _ => return None,
    };
    let factor = 10_i128.checked_pow(u32::from(from.abs_diff(scale)));
    if scale >= from {
        let value = factor.and_then(|factor| unscaled.checked_mul(factor));
        return Some(value.map_or_else(|| beyond(unscaled < 0), Floor::Exact));
    }
    let value = factor.map_or(if unscaled < 0 { -1 } else { 0 }, |factor| unscaled.div_euclid(factor));
    let is_exact = factor.is_some_and(|factor| unscaled % factor == 0) || unscaled == 0;
    Some(if is_exact { Floor::Exact(value) } else { Floor::Below(value) })
}

/// Of floats, a double between two of them.
#[allow(clippy::cast_possible_truncation)]
fn rounded_float(is_less: bool, literal: &Literal) -> Option<(Operator, Literal)> {
    let Literal::Float(value) = literal else { return None };
    if float32_of(literal).is_some() {
        return None;
    }
    let nearest = f64::from(*value as f32);
    let operator = match (nearest < *value, is_less) {
        (true, true) => Operator::LtEq,
        (true, false) => Operator::Gt,
        (false, true) => Operator::Lt,
        (false, false) => Operator::GtEq,
    };
    Some((operator, Literal::Float(nearest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(operator: Operator, literal: Literal, kind: &DataType) -> Option<String> {
        rounded(operator, &[literal], kind).map(|(operator, literal)| format!("{} {literal}", operator.text()))
    }

    #[test]
    fn numbers_between_values_and_beyond_them() {
        use Operator::{Eq, Gt, GtEq, Lt, LtEq};
        let of = |operator, value: f64| shown(operator, Literal::Float(value), &DataType::Int32);
        assert_eq!([of(Lt, 2.0), of(Eq, 1.5), of(Gt, f64::NAN)], [None, None, None]);
        assert_eq!([of(Lt, 1.5), of(LtEq, 1.5)].map(Option::unwrap), ["<= 1", "<= 1"]);
        assert_eq!([of(Gt, -1.5), of(GtEq, -1.5)].map(Option::unwrap), ["> -2", "> -2"]);
        assert_eq!([of(Lt, 3e9), of(GtEq, 1e300)].map(Option::unwrap), ["<= 2147483647", "> 2147483647"]);
        assert_eq!(
            [of(LtEq, -3e9), of(Gt, f64::NEG_INFINITY)].map(Option::unwrap),
            ["< -2147483648", ">= -2147483648"]
        );
        assert_eq!([of(Gt, 1e-300), of(Gt, -1e-300)].map(Option::unwrap), ["> 0", "> -1"]);
        let decimal = DataType::Decimal128(5, 2);
        let of = |unscaled, scale| shown(Gt, Literal::Decimal { unscaled, scale }, &decimal);
        assert_eq!(of(1250, 3), None);
        assert_eq!([of(1255, 3), of(-1255, 3)].map(Option::unwrap), ["> 125e-2", "> -126e-2"]);
        assert_eq!(of(100_000, 0).unwrap(), "> 99999e-2");
        let third = || Literal::Float(1.0 / 3.0);
        assert_eq!(shown(Gt, third(), &DataType::Float32).unwrap(), ">= 0.3333333432674408");
        assert_eq!(shown(Gt, Literal::Float(0.1), &DataType::Float32), None);
    }
}
