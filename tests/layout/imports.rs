//! Dependencies between files of `src/` by their `use` lines: no two files use each other, and a folder uses
//! only folders below it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Folders and files of `src/`, users before used ones: the table of docs/ARCHITECTURE.md in its order.
const ORDER: [&str; 31] = [
    "cli",
    "report",
    "trainer",
    "profile",
    "check",
    "sweep",
    "runs",
    "evaluate",
    "prediction_lines",
    "settings",
    "train",
    "engine",
    "schedule",
    "kernels",
    "gpu",
    "reference",
    "export",
    "tensorboard",
    "model",
    "data",
    "step",
    "named",
    "printable",
    "input",
    "output",
    "timing",
    "threads",
    "memory",
    "clock",
    "vectors",
    "random",
];

/// A file: its code without comments and tests, and its `use` lines, public or not.
struct File {
    code: String,
    uses: Vec<(bool, Vec<String>)>,
}

/// Files by their names below `src/`, the folder or file of each module, and re-exports.
struct Sources {
    files: BTreeMap<String, File>,
    modules: BTreeMap<Vec<String>, String>,
}

fn words(path: &str) -> Vec<String> {
    path.split("::").map(|word| word.trim().to_owned()).collect()
}

/// Returns the module of a file.
fn module(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// Returns the paths of a tree such as `a::{b, c::{d as e}}`, with new names after ` as `.
fn expanded(tree: &str) -> Vec<String> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (place, letter) in tree.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    let paths = parts.flat_map(|part| match part.split_once('{') {
        Some((before, inner)) => {
            let inner = expanded(inner.trim_end().trim_end_matches('}'));
            inner.into_iter().map(|path| format!("{before}{path}")).collect()
        }
        None => vec![part.to_owned()],
    });
    paths.collect()
}

impl File {
    fn new(text: &str) -> Self {
        let is_tests = |line: &str| line.ends_with("mod tests {");
        let text: Vec<&str> = text.lines().take_while(|line| !is_tests(line)).collect();
        let line = |line: &str| line.split("//").next().unwrap().to_owned() + "\n";
        let code: String = text.into_iter().map(line).collect();
        let mut uses = Vec::new();
        for statement in code.split_inclusive(';') {
            let start = statement.lines().map(str::trim_start).position(|line| {
                line.starts_with("use ") || line.starts_with("pub") && line.contains(" use ")
            });
            let Some(start) = start else { continue };
            let statement = statement.lines().skip(start).collect::<Vec<_>>().join(" ");
            let (before, tree) = statement.split_once("use ").unwrap();
            let paths = expanded(tree.trim_end_matches(';'));
            uses.extend(paths.iter().map(|path| (before.contains("pub"), words(path))));
        }
        Self { code, uses }
    }
}

impl Sources {
    fn read() -> Self {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        let (mut folders, mut files) = (vec![root.to_owned()], BTreeMap::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                if path.is_dir() {
                    folders.push(path);
                } else if name.ends_with(".rs") && !name.contains("tests") && name != "main.rs" {
                    files.insert(name, File::new(&fs::read_to_string(&path).unwrap()));
                }
            }
        }
        let modules = files.keys().map(|file| (module(file), file.clone())).collect();
        Self { files, modules }
    }

    /// Returns the module at the start of a path, as seen from a module, and the rest of the path.
    fn place(&self, from: &[String], path: &[String]) -> Option<(&str, Vec<String>)> {
        let above = path.iter().take_while(|word| *word == "super").count();
        let (mut at, path) = match path[0].as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.to_vec(), &path[1..]),
            "super" => (from[..from.len() - above].to_vec(), &path[above..]),
            _ => (from.to_vec(), path),
        };
        let start = at.len();
        for word in path {
            at.push(word.clone());
            if !self.modules.contains_key(&at) {
                at.pop();
                break;
            }
        }
        let rest = path[at.len() - start..].to_vec();
        // A name that is not a module is from another crate, or from the file itself.
        if at == from { None } else { Some((self.modules.get(&at)?.as_str(), rest)) }
    }

    /// Returns the file that defines the item of a path, through all re-exports, and the item's name there.
    fn defined(&self, from: &[String], path: &[String]) -> Option<(&str, Option<String>)> {
        let (mut file, mut rest) = self.place(from, path)?;
        for _ in 0..8 {
            let Some(name) = rest.first().map(|name| name.split(" as ").next().unwrap().to_owned()) else {
                return Some((file, None));
            };
            let exported = self.files[file].uses.iter().find(|(is_public, path)| {
                let last = path.last().unwrap();
                *is_public && last.rsplit(" as ").next() == Some(&name)
            });
            let next = exported.and_then(|(_, path)| self.place(&module(file), path));
            match next {
                Some((next, behind)) => (file, rest) = (next, [behind, rest[1..].to_vec()].concat()),
                None => return Some((file, Some(name))),
            }
        }
        panic!("{path:?} is exported in a ring")
    }

    /// Returns the files that each file uses. Re-exports of a folder's `mod.rs` count as uses of the defining
    /// file; a file in the folder of a type may be a part of it, with a separate `impl`.
    fn edges(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut edges = BTreeMap::<&str, BTreeSet<&str>>::new();
        for (name, file) in &self.files {
            let from = module(name);
            let is_part = |to: &str, item: &Option<String>| {
                let is_impl = |line: &str| {
                    let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                    line.starts_with("impl") && item.as_deref().is_some_and(|item| words.any(|it| it == item))
                };
                from.starts_with(&module(to)) && file.code.lines().any(is_impl)
            };
            for (is_public, path) in &file.uses {
                let Some((to, item)) = self.defined(&from, path) else { continue };
                let hands_on = *is_public && module(to).starts_with(&from);
                if to != name && to != "lib.rs" && !hands_on && !is_part(to, &item) {
                    edges.entry(name).or_default().insert(to);
                }
            }
        }
        edges
    }
}

/// Returns all files that can be reached from a file.
fn reached<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut all, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(edges.get(file).into_iter().flatten().filter(|to| all.insert(**to)));
    }
    all
}

#[test]
fn no_two_files_use_each_other() {
    let sources = Sources::read();
    let edges = sources.edges();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|file| (*file, reached(&edges, file))).collect();
    let ring = |file: &&str| {
        let back = |other: &&&str| reached.get(**other).is_some_and(|all| all.contains(*file));
        reached[*file].iter().filter(back).copied().collect::<BTreeSet<&str>>()
    };
    let rings: BTreeSet<BTreeSet<&str>> = edges.keys().map(ring).filter(|it| !it.is_empty()).collect();
    assert!(rings.is_empty(), "these use each other: {rings:?}");
}

#[test]
fn a_folder_uses_only_folders_below_it() {
    let place = |file: &str| {
        let folder = file.split('/').next().unwrap().trim_end_matches(".rs");
        ORDER.iter().position(|name| *name == folder)
    };
    let sources = Sources::read();
    for (file, uses) in sources.edges() {
        if ["lib.rs", "error.rs", "allocator.rs"].contains(&file) {
            continue;
        }
        let from = place(file).unwrap_or_else(|| panic!("{file} is not in the order"));
        for used in uses.into_iter().filter(|used| *used != "error.rs") {
            let to = place(used).unwrap_or_else(|| panic!("{used} is not in the order"));
            assert!(from <= to, "{file} uses {used}, which stands above it");
        }
    }
}

/// The re-export of `crate::error` is for users of the library.
#[test]
fn errors_are_named_where_they_are_defined() {
    for (name, file) in &Sources::read().files {
        let named = file.code.contains("crate::Error") || file.code.contains("crate::Result");
        assert!(!named || name == "lib.rs", "{name} uses crate::Error or crate::Result, not crate::error");
    }
}

/// A type has its methods in the file that defines it, or in a folder of the file's name. The layers allow a
/// single exception: methods of models for arrays are above training.
#[test]
fn a_type_has_its_methods_in_one_place() {
    const EXCEPTIONS: [(&str, &str); 1] = [("Model", "trainer/fitted.rs")];
    let sources = Sources::read();
    let named = |line: &str, keywords: &[&str]| {
        let visible =
            line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(")?.split_once(") ")?.1.into());
        let rest = visible.unwrap_or(line);
        let rest = keywords.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
        // After the parameters of an `impl`, and without the type's parameters.
        let rest = if rest.starts_with('<') { rest.split_once("> ")?.1 } else { rest.trim_start() };
        let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        let is_method = !line.contains(" for ") && !name.is_empty();
        is_method.then_some(name)
    };
    let mut definitions = BTreeMap::<String, Vec<&str>>::new();
    for (file, source) in &sources.files {
        for line in source.code.lines() {
            if let Some(name) = named(line, &["struct ", "enum ", "trait "]) {
                definitions.entry(name).or_default().push(file);
            }
        }
    }
    let mut checked = 0;
    for (file, source) in &sources.files {
        for line in source.code.lines() {
            let Some(name) = named(line, &["impl"]) else { continue };
            let Some(defined) = definitions.get(&name) else { continue };
            let is_near = |at: &&str| *at == file || module(file).starts_with(&module(at)) && *at != "lib.rs";
            let is_allowed = EXCEPTIONS.contains(&(&name, file));
            assert!(is_allowed || defined.iter().any(is_near), "{file} has methods of {name}: {defined:?}");
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}

/// The graph has known contents.
#[test]
fn uses_are_found() {
    assert_eq!(expanded("a::{b, c::{d as e, f}}, g"), ["a::b", "a::c::d as e", "a::c::f", "g"]);
    let sources = Sources::read();
    let edges = sources.edges();
    assert!(edges["engine/gpu/pack/mod.rs"].contains("engine/gpu/rows.rs"), "super::rows");
    assert!(
        edges["sweep/worker.rs"].contains("train/run.rs"),
        "crate::train::Run, which train/mod.rs hands on"
    );
    assert!(edges["engine/gpu/mod.rs"].contains("engine/gpu/bound.rs"), "use bound::BoundSchedule");
    assert!(!edges.contains_key("train/mod.rs"), "it only hands on");
    let count: usize = edges.values().map(BTreeSet::len).sum();
    assert!(count > 1000, "{count}");
}
