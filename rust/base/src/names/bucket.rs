//! The bucket that a file id names (`BucketIdentifier.bucketIdFromFileId`).

/// Returns the bucket that a file id begins with: eight digits.
#[must_use]
pub fn bucket_in(file_id: &str) -> Option<u32> {
    let digits = file_id.split('-').next().filter(|digits| digits.len() == 8)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_eight_digits() {
        assert_eq!(bucket_in("00000012-aaaa-0"), Some(12));
        for other in ["0000001a-aaaa-0", "0000012-aaaa", "00000012a-b", ""] {
            assert_eq!(bucket_in(other), None, "{other}");
        }
    }
}
