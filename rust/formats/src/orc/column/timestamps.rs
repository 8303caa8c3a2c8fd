//! Times: whole seconds from the beginning of 2015, on the writer's clock or in UTC; and nanoseconds.
//!
//! Writers cut seconds off towards 1970, and not downwards: before it a time with a fraction is a second earlier than
//! it says. They do so only for fractions of a millisecond and more, and that is how Java's reader takes it back.

use std::sync::Arc;

use arrow_array::{ArrayRef, TimestampMicrosecondArray};

use super::values::ValueReader;
use crate::orc::int_runs::IntRuns;
use crate::orc::stripe::{Stripe, kind};
use crate::orc::types::{OrcKind, OrcType};
use crate::orc::zone;
use mortice_base::error::{Error, Result};

/// Times in microseconds from 1970 in UTC.
pub(super) struct TimestampValues {
    seconds: IntRuns,
    nanos: IntRuns,
    /// What seconds count from.
    epoch: i64,
}

impl TimestampValues {
    pub(super) fn open(stripe: &Stripe, of: &OrcType) -> Result<Self> {
        Ok(Self {
            seconds: stripe.ints(of.column, kind::DATA, true)?,
            nanos: stripe.ints(of.column, kind::SECONDARY, false)?,
            epoch: if of.kind == OrcKind::Moment { zone::epoch_of("UTC")? } else { stripe.epoch()? },
        })
    }
}

impl ValueReader for TimestampValues {
    fn read(&mut self, count: usize) -> Result<ArrayRef> {
        let (seconds, nanos) = (self.seconds.read(count)?, self.nanos.read(count)?);
        let times = seconds.iter().zip(&nanos).map(|(seconds, nanos)| {
            micros(*seconds, *nanos, self.epoch)
                .ok_or_else(|| Error::invalid_table("invalid ORC timestamp: it does not fit in 64 bits as µs"))
        });
        Ok(Arc::new(TimestampMicrosecondArray::from(times.collect::<Result<Vec<_>>>()?)))
    }
}

fn micros(seconds: i64, stored_nanos: i64, epoch: i64) -> Option<i64> {
    let nanos = nanos(stored_nanos);
    let seconds = seconds.checked_add(epoch)?;
    let seconds = if seconds < 0 && nanos > 999_999 { seconds.checked_sub(1)? } else { seconds };
    seconds.checked_mul(1_000_000)?.checked_add(i64::from(nanos).div_euclid(1000))
}

/// Nanoseconds without their trailing zeros, of which the three lowest bits tell how many there were, if more than one.
fn nanos(stored: i64) -> i32 {
    let stored = stored.cast_unsigned();
    // As Java's cast: Hudi's writer stores negative ones.
    let digits = (stored >> 3) as i32;
    match stored & 7 {
        0 => digits,
        zeros => (0..=zeros).fold(digits, |nanos, _| nanos.wrapping_mul(10)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_after_1970() {
        let half = 5 << 3 | 7;
        assert_eq!(micros(0, 0, 1_420_070_400), Some(1_420_070_400_000_000));
        assert_eq!(micros(1, half, 0), Some(1_500_000));
        assert_eq!(micros(-1, half, 0), Some(-1_500_000), "cut off towards 1970");
        assert_eq!(micros(-1, 5 << 3, 0), Some(-1_000_000));
        assert_eq!(micros(i64::MAX, 0, 1), None);
        assert_eq!(nanos(1000 << 3), 1000);
        assert_eq!(nanos(1 << 3 | 2), 1000);
    }
}
