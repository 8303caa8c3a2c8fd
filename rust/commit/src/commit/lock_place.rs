//! Where locks of other services than the table's storage are: by names that all writers derive from the table.

use twox_hash::XxHash64;

/// The seed (`HashID`): an `int` in Hudi, sign-extended to a `long`.
const SEED: u64 = 0xffff_ffff_daba_daba;

/// The table that is locked.
#[derive(Debug, Clone, Copy)]
pub struct LockedTable<'a> {
    /// `hoodie.table.name`.
    pub name: &'a str,
    /// The base path, as the user has written it.
    pub uri: &'a str,
}

impl LockedTable<'_> {
    /// The hash of the base path (`HashID.generateXXHashAsString`), which two of Hudi's lock providers have instead of
    /// a name. `s3a://` is `s3://` there.
    pub(super) fn hashed_uri(&self) -> String {
        let uri = self.uri.trim_end_matches('/');
        let is_s3a = uri.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("s3a://"));
        let uri = match uri.get(6..) {
            Some(rest) if is_s3a => format!("s3://{rest}"),
            _ => uri.to_owned(),
        };
        format!("{:016X}", XxHash64::oneshot(SEED, uri.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_paths_are_hashed_as_hudi_does() {
        let hash = |uri| LockedTable { name: "t", uri }.hashed_uri();
        // The hash of `ts`, measured on a table that Hudi wrote.
        assert_eq!(hash("ts"), "A324E3BE2287BA12");
        assert_eq!(hash("S3A://bucket/t/"), hash("s3://bucket/t"));
        assert_ne!(hash("s3://bucket/t"), hash("s3://bucket/u"));
    }
}
