//! Imports go one way: formats → timeline → file groups → keys → merge plan → split → read → metadata_table → plan → write → table.
//!
//! Modules are listed lowest first, each with the modules that it may import; every module may import `error`. An import of
//! anything else, a module that is not listed, or a cycle within a module fails with its file and line.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const MODULES: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("edit_distance", &[]),
    ("cursor", &[]),
    ("gzip", &[]),
    ("progress", &[]),
    ("trusted", &[]),
    ("zone_rules", &["cursor"]),
    ("protobuf", &["cursor"]),
    ("bloom", &["cursor"]),
    ("names", &[]),
    ("storage", &["edit_distance"]),
    ("spill", &["storage"]),
    ("filter", &[]),
    ("avro", &["cursor", "trusted"]),
    ("avro_parquet", &["avro", "gzip"]),
    ("hfile", &["cursor", "gzip", "protobuf", "storage"]),
    ("orc", &["cursor", "zone_rules", "protobuf", "storage"]),
    ("config", &["edit_distance", "names", "storage"]),
    ("base_file", &["gzip", "names", "avro", "hfile", "orc", "storage", "filter"]),
    ("merge", &["trusted", "names", "filter"]),
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
            "split",
        ],
    ),
    ("metadata_table", &["names", "filter", "avro", "timeline", "file_group"]),
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
    ("commit", &["names", "storage", "avro", "config", "timeline"]),
    (
        "metadata_upkeep",
        &[
            "progress",
            "spill",
            "names",
            "storage",
            "avro",
            "bloom",
            "config",
            "base_file",
            "log",
            "timeline",
            "file_group",
            "metadata_table",
            "plan",
            "write",
            "commit",
            "hfile",
            "filter",
        ],
    ),
    (
        "index",
        &[
            "log",
            "names",
            "config",
            "storage",
            "spill",
            "bloom",
            "base_file",
            "file_group",
            "merge",
            "keys",
            "plan",
            "filter",
            "read",
            "metadata_table",
            "avro",
        ],
    ),
    ("assign", &["names", "config", "file_group", "timeline", "keys", "plan", "write", "index"]),
    (
        "services",
        &[
            "progress",
            "names",
            "config",
            "storage",
            "plan",
            "avro_parquet",
            "avro",
            "hfile",
            "log",
            "timeline",
            "file_group",
            "write",
            "commit",
            "metadata_upkeep",
        ],
    ),
    (
        "client",
        &[
            "progress",
            "trusted",
            "spill",
            "names",
            "config",
            "storage",
            "avro",
            "log",
            "timeline",
            "schema",
            "file_group",
            "keys",
            "read",
            "plan",
            "write",
            "commit",
            "metadata_upkeep",
            "index",
            "assign",
            "services",
            "filter",
            "spill",
            "avro_parquet",
        ],
    ),
    ("table", &["names", "config", "storage", "filter", "timeline", "file_group", "plan"]),
];

/// An import: where it stands, the module (and file) it is in, and what it names.
struct Import {
    place: String,
    from: Vec<String>,
    to: Vec<String>,
}

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(source_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// `crate::…` paths of a text, each to the end of its identifiers; groups in braces are taken apart.
fn crate_paths(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let code: String = text
        .lines()
        .map(|line| if line.trim_start().starts_with("//") { "" } else { line })
        .collect::<Vec<_>>()
        .join("\n");
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '$') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + "crate::".len()..];
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
            found.extend(group[..end].split(',').map(|part| (line, identifiers(part.trim()))));
        } else {
            found.push((line, identifiers(rest)));
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

/// The imports of one file, which lies at `relative` below `src`.
fn imports_of(relative: &Path, text: &str) -> Vec<Import> {
    let from: Vec<String> =
        relative.with_extension("").components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
    crate_paths(&text[..tests])
        .into_iter()
        .map(|(line, to)| Import { place: format!("{}:{line}", relative.display()), from: from.clone(), to })
        .collect()
}

/// What is wrong with an import, if anything.
fn verdict(import: &Import) -> Option<String> {
    let (from, to) = (import.from.first()?.as_str(), import.to.first()?.as_str());
    let is_module = |name: &str| MODULES.iter().any(|(module, _)| *module == name);
    // Macros and types that lib.rs exports at the root are the crate's interface, not a module's.
    if !is_module(to) {
        let at_root = ["Result", "Error", "ErrorKind"].contains(&to);
        return (!at_root).then(|| format!("{}: {from} imports {to} from the crate's root", import.place));
    }
    if from == to || to == "error" || from == "lib" {
        return None;
    }
    let Some((_, allowed)) = MODULES.iter().find(|(module, _)| *module == from) else {
        return Some(format!("{}: the module {from} is not listed", import.place));
    };
    (!allowed.contains(&to)).then(|| format!("{}: {from} may not import {to}", import.place))
}

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn modules_import_downwards_only() {
    let root = source_root();
    let mut wrong = Vec::new();
    let mut imports = 0;
    for path in source_files(&root) {
        let relative = path.strip_prefix(&root).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let found = imports_of(relative, &text);
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
    let root = source_root();
    let listed: BTreeSet<&str> = MODULES.iter().map(|(module, _)| *module).collect();
    for entry in std::fs::read_dir(&root).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        assert!(name == "lib" || listed.contains(name.as_str()), "{name} is not listed");
    }
}

/// Files of a module import each other in one direction: `super::file` paths of a module have no cycle.
#[test]
fn files_within_a_module_have_no_cycle() {
    let root = source_root();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in source_files(&root) {
        let relative = path.strip_prefix(&root).unwrap().with_extension("");
        let name = relative.to_string_lossy().into_owned();
        if name.ends_with("mod") || name == "lib" {
            continue;
        }
        let folder = relative.parent().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
        for (at, _) in text[..tests].match_indices("super::") {
            if text[..at].ends_with("super::") {
                continue;
            }
            for to in heads(&text[at + "super::".len()..tests]) {
                if root.join(folder).join(&to).with_extension("rs").is_file() {
                    arrows.entry(name.clone()).or_default().insert(folder.join(to).to_string_lossy().into_owned());
                }
            }
        }
    }
    assert_no_cycle(&arrows);
}

/// Folders of a module import each other in one direction: `crate::module::folder` paths have no cycle.
#[test]
fn folders_within_a_module_have_no_cycle() {
    let root = source_root();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in source_files(&root) {
        let text = std::fs::read_to_string(&path).unwrap();
        for import in imports_of(path.strip_prefix(&root).unwrap(), &text) {
            let ([module, folder, _, ..], [to_module, to_folder, ..]) = (&import.from[..], &import.to[..]) else {
                continue;
            };
            if module == to_module && folder != to_folder && root.join(module).join(to_folder).is_dir() {
                let name = |folder: &str| format!("{module}/{folder}");
                arrows.entry(name(folder)).or_default().insert(name(to_folder));
            }
        }
    }
    assert!(arrows.contains_key("read/slice"), "no import between folders was found: the search is broken");
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
    let planted =
        "use crate::error::Error;\n\nuse crate::{cursor::Cursor, table::Table};\nfn f() { crate::read::x() }\n";
    let wrong: Vec<String> = imports_of(Path::new("log/block.rs"), planted).iter().filter_map(verdict).collect();
    assert_eq!(wrong, ["log/block.rs:3: log may not import table", "log/block.rs:4: log may not import read"]);
    let unlisted = imports_of(Path::new("helpers/x.rs"), "use crate::log::Block;");
    assert!(verdict(&unlisted[0]).unwrap().contains("not listed"));
    let root = imports_of(Path::new("log/block.rs"), "use crate::Table;");
    assert!(verdict(&root[0]).unwrap().contains("root"));
}
