//! Imports go one way, from formats up to the table: Cargo holds the crates to it, this test the modules.
//!
//! Modules are listed lowest first, each with the modules that it may import; every module may import `error` and
//! `batch_limit`. An import of anything else, a module that is not listed, or a cycle within a module fails with its
//! file and line.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates with the modules, lowest first. `avro` and `storage` are one module each, whose files are in the crate's
/// root.
const CRATES: &[&str] = &[
    "base", "storage", "avro", "formats", "expr", "merge", "table", "catalog", "write", "commit", "services", "client",
];

/// Crates that are one module.
const ONE_MODULE: &[&str] = &["storage", "avro", "expr", "catalog", "services", "client"];

const MODULES: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("batch_limit", &[]),
    ("row_number", &[]),
    ("panics", &["error"]),
    ("cursor", &[]),
    ("gzip", &[]),
    ("progress", &[]),
    ("property", &[]),
    ("time", &[]),
    ("trusted", &[]),
    ("zone_rules", &[]),
    ("protobuf", &["cursor"]),
    ("bloom", &["cursor"]),
    ("names", &[]),
    ("storage", &["time"]),
    ("spill", &["storage"]),
    ("filter", &["names"]),
    ("avro", &["cursor", "trusted", "names"]),
    ("expr", &["names", "filter"]),
    ("avro_parquet", &["avro", "gzip"]),
    ("hfile", &["cursor", "gzip", "protobuf", "storage"]),
    ("orc", &["cursor", "zone_rules", "protobuf", "storage"]),
    ("config", &["names", "storage"]),
    (
        "base_file",
        &[
            "cursor",
            "gzip",
            "panics",
            "zone_rules",
            "names",
            "avro",
            "avro_parquet",
            "hfile",
            "orc",
            "storage",
            "filter",
        ],
    ),
    ("merge", &["trusted", "names", "spill", "filter"]),
    ("log", &["cursor", "trusted", "names", "storage", "filter", "avro", "avro_parquet", "hfile", "base_file"]),
    ("timeline", &["names", "config", "storage", "avro", "base_file", "log"]),
    ("schema", &["names", "config", "storage", "avro", "timeline"]),
    ("file_group", &["names", "config", "storage", "timeline"]),
    ("keys", &["zone_rules", "names", "config", "filter", "avro", "merge", "log"]),
    ("merge_plan", &["names", "config", "filter", "avro", "merge", "keys"]),
    ("bootstrap", &["names", "config", "storage", "avro", "hfile", "keys", "file_group"]),
    ("split", &["names", "config", "storage", "filter", "avro", "merge", "timeline", "schema", "file_group"]),
    (
        "read",
        &[
            "names",
            "config",
            "storage",
            "spill",
            "filter",
            "avro",
            "base_file",
            "log",
            "merge",
            "timeline",
            "schema",
            "file_group",
            "keys",
            "merge_plan",
            "bootstrap",
            "split",
        ],
    ),
    ("metadata_table", &["names", "storage", "filter", "bloom", "avro", "timeline", "file_group"]),
    (
        "plan",
        &[
            "names",
            "config",
            "storage",
            "filter",
            "avro",
            "bootstrap",
            "timeline",
            "schema",
            "file_group",
            "keys",
            "split",
            "read",
            "metadata_table",
        ],
    ),
    (
        "write",
        &[
            "row_number",
            "names",
            "config",
            "storage",
            "spill",
            "filter",
            "avro",
            "avro_parquet",
            "bloom",
            "merge",
            "log",
            "timeline",
            "file_group",
            "keys",
            "merge_plan",
            "split",
            "read",
            "plan",
        ],
    ),
    ("row_set", &["row_number", "spill", "keys"]),
    (
        "index",
        &[
            "row_number",
            "names",
            "storage",
            "spill",
            "filter",
            "avro",
            "bloom",
            "config",
            "base_file",
            "log",
            "timeline",
            "file_group",
            "keys",
            "merge",
            "read",
            "metadata_table",
            "plan",
            "write",
            "row_set",
        ],
    ),
    (
        "assign",
        &["row_number", "names", "config", "timeline", "file_group", "keys", "plan", "write", "row_set", "index"],
    ),
    (
        "rows",
        &[
            "trusted",
            "row_number",
            "names",
            "storage",
            "spill",
            "filter",
            "avro",
            "avro_parquet",
            "config",
            "timeline",
            "schema",
            "keys",
            "read",
            "plan",
            "write",
            "row_set",
            "index",
        ],
    ),
    ("settings", &["config", "keys", "write", "index", "assign", "rows"]),
    ("commit", &["time", "names", "storage", "avro", "config", "timeline", "keys", "plan"]),
    (
        "metadata_upkeep",
        &[
            "row_number",
            "progress",
            "names",
            "storage",
            "spill",
            "filter",
            "avro",
            "bloom",
            "hfile",
            "config",
            "base_file",
            "log",
            "timeline",
            "file_group",
            "metadata_table",
            "plan",
            "read",
            "write",
            "commit",
        ],
    ),
    (
        "writable_table",
        &[
            "progress",
            "time",
            "names",
            "storage",
            "config",
            "timeline",
            "keys",
            "plan",
            "settings",
            "commit",
            "metadata_upkeep",
        ],
    ),
    (
        "services",
        &[
            "progress",
            "time",
            "names",
            "storage",
            "spill",
            "filter",
            "avro",
            "avro_parquet",
            "hfile",
            "config",
            "base_file",
            "log",
            "timeline",
            "schema",
            "file_group",
            "bootstrap",
            "keys",
            "merge",
            "split",
            "read",
            "metadata_table",
            "plan",
            "write",
            "index",
            "assign",
            "rows",
            "settings",
            "commit",
            "metadata_upkeep",
            "writable_table",
        ],
    ),
    (
        "client",
        &[
            "row_number",
            "time",
            "panics",
            "names",
            "storage",
            "spill",
            "filter",
            "avro",
            "base_file",
            "bootstrap",
            "expr",
            "config",
            "log",
            "timeline",
            "schema",
            "file_group",
            "keys",
            "read",
            "metadata_table",
            "plan",
            "write",
            "row_set",
            "index",
            "assign",
            "rows",
            "settings",
            "commit",
            "metadata_upkeep",
            "writable_table",
            "services",
        ],
    ),
    ("table", &["names", "config", "storage", "filter", "timeline", "file_group", "plan"]),
    ("catalog", &["names", "config", "filter", "timeline", "plan"]),
];

/// An import: where it stands, the module (and file) it is in, and what it names.
struct Import {
    place: String,
    from: Vec<String>,
    to: Vec<String>,
}

/// A source file of a crate.
struct SourceFile {
    /// The crate, a name of [`CRATES`].
    home: &'static str,
    /// The path from the module on: `log/block.rs`, `storage/open.rs`.
    path: PathBuf,
    text: String,
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn source_root(home: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(home).join("src")
}

fn source_files() -> Vec<SourceFile> {
    let mut files = Vec::new();
    for home in CRATES {
        let root = source_root(home);
        for file in files_below(&root) {
            let below = file.strip_prefix(&root).unwrap();
            let path = if ONE_MODULE.contains(home) { Path::new(home).join(below) } else { below.to_owned() };
            files.push(SourceFile { home, path, text: std::fs::read_to_string(&file).unwrap() });
        }
    }
    files
}

/// Code without comments that take whole lines.
fn code_of(text: &str) -> String {
    text.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line }).collect::<Vec<_>>().join("\n")
}

/// The paths in a text that begin with `crate::` or with a crate of ours, each as a path of modules up to the end of
/// its identifiers; groups in braces are taken apart.
fn module_paths(text: &str, home: &str) -> Vec<(usize, Vec<String>)> {
    let code = code_of(text);
    let mut found = paths_after(&code, "crate::", home);
    for other in CRATES {
        found.extend(paths_after(&code, &format!("mortice_{other}::"), other));
        if ONE_MODULE.contains(other) {
            found.extend(paths_after(&code, &format!("mortice_{other} as "), other));
        }
    }
    found
}

/// The paths after each occurrence of `prefix`, in which `home` is the crate.
fn paths_after(code: &str, prefix: &str, home: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        if code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '$') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + prefix.len()..];
        let in_module = |path: Vec<String>| match ONE_MODULE.contains(&home) {
            true => std::iter::once(home.to_owned()).chain(path).collect(),
            false => path,
        };
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0_usize;
            let end = group
                .char_indices()
                .find(|(_, c)| {
                    depth += usize::from(*c == '{');
                    let closes = *c == '}' && depth == 0;
                    depth -= usize::from(*c == '}' && depth > 0);
                    closes
                })
                .map_or(group.len(), |(at, _)| at);
            found.extend(group[..end].split(',').map(|part| (line, in_module(identifiers(part.trim())))));
        } else {
            found.push((line, in_module(identifiers(rest))));
        }
    }
    found
}

fn identifiers(path: &str) -> Vec<String> {
    let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(path.len());
    path[..end].split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The first names of a path, or of each path of a group in braces.
fn heads(path: &str) -> Vec<String> {
    let group = path.strip_prefix('{').map(|group| group.split('}').next().unwrap_or_default());
    let paths = group.map_or_else(|| vec![path], |group| group.split(',').collect());
    paths.into_iter().filter_map(|path| identifiers(path.trim()).first().cloned()).collect()
}

/// The imports of a file, without those of its tests.
fn imports_of(file: &SourceFile) -> Vec<Import> {
    let without_ending = file.path.with_extension("");
    let from: Vec<String> =
        without_ending.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if file.path.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs"))) {
        return Vec::new();
    }
    let tests = file.text.find("#[cfg(test)]").unwrap_or(file.text.len());
    module_paths(&file.text[..tests], file.home)
        .into_iter()
        .map(|(line, to)| Import { place: format!("{}:{line}", file.path.display()), from: from.clone(), to })
        .collect()
}

/// What is wrong with an import, if anything.
fn verdict(import: &Import) -> Option<String> {
    let (from, to) = (import.from.first()?.as_str(), import.to.first()?.as_str());
    let is_module = |name: &str| MODULES.iter().any(|(module, _)| *module == name);
    if !is_module(to) {
        let at_root = ["Result", "Error", "ErrorKind"].contains(&to);
        return (!at_root).then(|| format!("{}: {from} imports {to} from a crate's root", import.place));
    }
    if from == to || to == "error" || to == "batch_limit" || from == "lib" {
        return None;
    }
    let Some((_, allowed)) = MODULES.iter().find(|(module, _)| *module == from) else {
        return Some(format!("{}: the module {from} is not listed", import.place));
    };
    (!allowed.contains(&to)).then(|| format!("{}: {from} may not import {to}", import.place))
}

#[test]
fn modules_import_downwards_only() {
    let (mut wrong, mut imports) = (Vec::new(), 0);
    for file in source_files() {
        let found = imports_of(&file);
        imports += found.len();
        wrong.extend(found.iter().filter_map(verdict));
    }
    assert!(imports > 50, "only {imports} imports were found: the search is broken");
    assert!(wrong.is_empty(), "imports that go upwards:\n{}", wrong.join("\n"));
}

#[test]
fn the_list_itself_goes_downwards() {
    for (index, (module, allowed)) in MODULES.iter().enumerate() {
        for below in *allowed {
            assert!(MODULES[..index].iter().any(|(name, _)| name == below), "{module} is listed before {below}");
        }
    }
}

#[test]
fn every_module_is_listed() {
    let listed: BTreeSet<&str> = MODULES.iter().map(|(module, _)| *module).collect();
    for file in source_files() {
        let module = file.path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let module = module.trim_end_matches(".rs");
        assert!(module == "lib" || listed.contains(module), "{module} is not listed");
    }
}

/// Files of a module import each other in one direction: `super::file` paths of a module have no cycle.
#[test]
fn files_within_a_module_have_no_cycle() {
    let files = source_files();
    let known: BTreeSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        let name = file.path.with_extension("").to_string_lossy().into_owned();
        if name.ends_with("mod") || name.ends_with("lib") {
            continue;
        }
        let folder = file.path.parent().unwrap();
        let text = &file.text;
        let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
        for (at, _) in text[..tests].match_indices("super::") {
            if text[..at].ends_with("super::") {
                continue;
            }
            for to in heads(&text[at + "super::".len()..tests]) {
                if known.contains(folder.join(&to).with_extension("rs").as_path()) {
                    arrows.entry(name.clone()).or_default().insert(folder.join(to).to_string_lossy().into_owned());
                }
            }
        }
    }
    assert!(arrows.len() > 50, "only {} files import another one: the search is broken", arrows.len());
    assert_no_cycle(&arrows);
}

/// Folders of a module import each other in one direction: `crate::module::folder` paths have no cycle. A folder within
/// another one is a folder of its own.
#[test]
fn folders_within_a_module_have_no_cycle() {
    let files = source_files();
    let folders: BTreeSet<PathBuf> = files.iter().filter_map(|file| file.path.parent()).map(Path::to_owned).collect();
    let folder_of = |path: &[String]| -> Option<String> {
        let prefixes = (2..=path.len()).rev().map(|length| path[..length].iter().collect::<PathBuf>());
        prefixes.into_iter().find(|path| folders.contains(path)).map(|path| path.to_string_lossy().into_owned())
    };
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        for import in imports_of(file) {
            let (from, to) = (folder_of(&import.from), folder_of(&import.to));
            if let (Some(from), Some(to)) = (from, to)
                && import.from.first() == import.to.first()
                && from != to
            {
                arrows.entry(from).or_default().insert(to);
            }
        }
    }
    assert!(arrows.contains_key("read/slice"), "no import between folders was found: the search is broken");
    assert!(arrows.contains_key("services/compaction"), "no import of a folder within a folder was found");
    assert_no_cycle(&arrows);
}

fn assert_no_cycle(arrows: &BTreeMap<String, BTreeSet<String>>) {
    for start in arrows.keys() {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(file) = open.pop() {
            for next in arrows.get(&file).into_iter().flatten() {
                assert_ne!(next, start, "{start} and {file} import each other, perhaps through others");
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
    }
}

#[test]
fn a_planted_import_is_found() {
    let planted = |home: &'static str, path: &str, text: &str| -> Vec<String> {
        let file = SourceFile { home, path: path.into(), text: text.to_owned() };
        imports_of(&file).iter().filter_map(verdict).collect()
    };
    let text = "use mortice_base::error::Error;\n\nuse mortice_base::{cursor::Cursor, names::X};\nfn f() { crate::filter::x() }\n";
    assert_eq!(
        planted("formats", "orc/x.rs", text),
        ["orc/x.rs:4: orc may not import filter", "orc/x.rs:3: orc may not import names"]
    );
    assert_eq!(
        planted("avro", "avro/x.rs", "use crate::Y;\nuse mortice_storage as storage;"),
        ["avro/x.rs:2: avro may not import storage"]
    );
    assert!(planted("formats", "helpers/x.rs", "use crate::log::Block;")[0].contains("not listed"));
    assert!(planted("table", "plan/x.rs", "use crate::Table;")[0].contains("root"));
}
