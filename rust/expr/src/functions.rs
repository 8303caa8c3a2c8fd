//! The functions that an expression can call.

/// A function and how many arguments it takes.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) least: usize,
    pub(crate) most: usize,
}

const MANY: usize = 1_000;

/// The functions, by name.
const FUNCTIONS: &[(&str, usize, usize)] = &[
    ("abs", 1, 1),
    ("ceil", 1, 1),
    ("ceiling", 1, 1),
    ("coalesce", 1, MANY),
    ("concat", 1, MANY),
    ("contains", 2, 2),
    ("current_date", 0, 0),
    ("current_timestamp", 0, 0),
    ("day", 1, 1),
    ("endswith", 2, 2),
    ("floor", 1, 1),
    ("greatest", 2, MANY),
    ("hour", 1, 1),
    ("if", 3, 3),
    ("ifnull", 2, 2),
    ("least", 2, MANY),
    ("length", 1, 1),
    ("lower", 1, 1),
    ("ltrim", 1, 1),
    ("minute", 1, 1),
    ("month", 1, 1),
    ("nullif", 2, 2),
    ("replace", 3, 3),
    ("round", 1, 2),
    ("rtrim", 1, 1),
    ("second", 1, 1),
    ("startswith", 2, 2),
    ("substr", 2, 3),
    ("substring", 2, 3),
    ("trim", 1, 1),
    ("upper", 1, 1),
    ("year", 1, 1),
];

/// Returns the function of a name.
pub(crate) fn find(name: &str) -> Option<Function> {
    let &(name, least, most) = FUNCTIONS.iter().find(|(known, ..)| *known == name)?;
    Some(Function { name, least, most })
}

/// The names of all functions, for messages.
pub(crate) fn names() -> String {
    let names: Vec<_> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
    names.join(", ")
}

impl Function {
    /// The number of arguments, for messages.
    pub(crate) fn counts(&self) -> String {
        match (self.least, self.most) {
            (least, MANY) => format!("{least} or more"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        }
    }
}
