//! English names in patterns of Joda-Time.

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Monday on.
pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

pub(super) const HALVES: [&str; 2] = ["AM", "PM"];

/// Letters of a short name.
pub(super) const SHORT: usize = 3;

/// Returns the number of the name at the beginning of a text, and the rest: the name or its short form, as it is or in
/// upper or lower case.
pub(super) fn find_name<'a>(names: &[&str], text: &'a str) -> Option<(u32, &'a str)> {
    let forms = |name: &str| [name.to_owned(), name.get(..SHORT).unwrap_or(name).to_owned()];
    let in_any_case = |form: String| [form.to_lowercase(), form.to_uppercase(), form];
    for length in 0..2 {
        for (name, number) in names.iter().zip(0..) {
            let form = forms(name).into_iter().nth(length)?;
            let rest = in_any_case(form).into_iter().find_map(|form| text.strip_prefix(form.as_str()));
            if let Some(rest) = rest {
                return Some((number, rest));
            }
        }
    }
    None
}
