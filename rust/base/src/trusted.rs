//! What the compiler has to take our word for: the one place of its kind, beside the mapping of files (`storage`). Each
//! function states what makes it sound; all of them are tested under Miri (`make miri`).

#![allow(unsafe_code)]

use arrow_array::{Array, LargeStringArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

/// A string array over bytes that have been seen to be UTF-8 between any two neighbouring ends. None where the ends do
/// not begin with 0, do not ascend or pass the bytes, or the nulls are not as many as the values.
///
/// # Safety
/// What lies between two neighbours in `ends` is UTF-8.
pub unsafe fn strings(ends: ScalarBuffer<i32>, bytes: Buffer, nulls: Option<NullBuffer>) -> Option<StringArray> {
    let fits = usize::try_from(*ends.last()?).is_ok_and(|last| last <= bytes.len());
    let as_many = nulls.as_ref().is_none_or(|nulls| nulls.len() + 1 == ends.len());
    if *ends.first()? != 0 || !fits || !as_many || !ascend(&ends) {
        return None;
    }
    // SAFETY: there is an end at least, the first is 0, and they ascend.
    let ends = unsafe { OffsetBuffer::new_unchecked(ends) };
    // SAFETY: the last end is within the bytes, the nulls are as many as the values, and the values are UTF-8: the
    // caller's duty.
    Some(unsafe { StringArray::new_unchecked(ends, bytes, nulls) })
}

/// Strings with shorter offsets, over the same bytes. None if they have 2 GiB or more.
pub fn with_short_offsets(strings: &LargeStringArray) -> Option<StringArray> {
    let (first, last) = (strings.offsets().first(), strings.offsets().last());
    let ends = strings.offsets().iter().map(|end| i32::try_from(end - first).ok()).collect::<Option<Vec<i32>>>()?;
    let bytes = strings.values().slice_with_length(usize::try_from(first).ok()?, usize::try_from(last - first).ok()?);
    // SAFETY: the ends are those of the strings, which are UTF-8.
    unsafe { self::strings(ends.into(), bytes, strings.nulls().cloned()) }
}

/// Without a way out of the loop, so that several are compared at once.
fn ascend(ends: &[i32]) -> bool {
    ends.iter().zip(ends.iter().skip(1)).fold(true, |ascend, (one, next)| ascend & (one <= next))
}

/// Asks the processor to fetch the cache line in which a value begins, which it does while other work goes on.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, and it changes nothing but what is cached.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(ends: &[i32], bytes: &[u8], nulls: Option<&[bool]>) -> Option<StringArray> {
        let (ends, bytes) = (ScalarBuffer::from(ends.to_vec()), Buffer::from(bytes.to_vec()));
        // SAFETY: the bytes of each test are UTF-8 between its ends.
        unsafe { strings(ends, bytes, nulls.map(|nulls| NullBuffer::from(nulls.to_vec()))) }
    }

    #[test]
    fn ends_make_strings() {
        let made = made(&[0, 1, 1, 4], "aß?!".as_bytes(), Some(&[true, false, true])).unwrap();
        assert_eq!(made.iter().collect::<Vec<_>>(), [Some("a"), None, Some("ß?")]);
    }

    #[test]
    fn ends_that_cannot_be_make_none() {
        assert!(made(&[], b"", None).is_none());
        for ends in [[1, 1, 2], [0, 2, 1], [0, 1, 3], [-1, 0, 1], [0, -1, 1]] {
            assert!(made(&ends, b"ab", None).is_none(), "{ends:?}");
        }
        assert!(made(&[0, 1, 2], b"ab", Some(&[true])).is_none());
    }

    #[test]
    fn slices_get_shorter_offsets() {
        let strings = LargeStringArray::from(vec![Some("a"), None, Some("ß?"), Some("")]);
        for (start, len) in [(0, 4), (1, 2), (2, 2), (3, 1), (4, 0)] {
            let slice = strings.slice(start, len);
            let expected: StringArray = slice.iter().collect();
            assert_eq!(with_short_offsets(&slice).unwrap(), expected);
        }
    }

    #[test]
    fn any_byte_may_be_asked_for() {
        b"bytes".iter().for_each(prefetch);
    }
}
