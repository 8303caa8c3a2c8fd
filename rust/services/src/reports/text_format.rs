//! Metrics in the text format of Prometheus, as Hudi's names appear in it (`DropwizardExports`).

use super::gauges::Gauges;
use super::labels::Labels;

/// The type of its content.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the values of one table. Labels are given where the receiver does not have them by its path.
pub(super) fn text_of(gauges: &Gauges, labels: &Labels) -> String {
    let labels = labels.in_braces();
    let lines = gauges.iter().map(|(name, value)| {
        let name = exported_name(name);
        format!("# TYPE {name} gauge\n{name}{labels} {value}\n")
    });
    lines.collect()
}

/// A name of letters, digits, `_` and `:` that does not begin with a digit.
fn exported_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let plain: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    if plain.starts_with(|first: char| first.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_hudis_exporter() {
        let gauges = Gauges::from([("trips.commit.duration".to_owned(), 5), ("1-a.clean.duration".to_owned(), -1)]);
        assert_eq!(
            text_of(&gauges, &Labels::parse("env:dev").unwrap()),
            "# TYPE _1_a_clean_duration gauge\n_1_a_clean_duration{env=\"dev\"} -1\n\
             # TYPE trips_commit_duration gauge\ntrips_commit_duration{env=\"dev\"} 5\n"
        );
    }
}
