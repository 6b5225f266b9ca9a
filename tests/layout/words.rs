//! Texts for users (README, pages, help and messages) contain no phrases that needed explanation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Phrases and their replacements. A blank matches any white space.
const PHRASES: [(&str, &str); 14] = [
    ("is found out", "is detected"),
    ("is told", "is printed, or is read from"),
    ("for another one", "misclassified, or different"),
    ("another one in nearly", "different in nearly"),
    (" of its own", "separate"),
    ("so many", "the number itself, or at most N"),
    ("goes with", "needs, or belongs to"),
    (" is no ", "is not a"),
    ("beside it", "with it, or next to it"),
    ("taken for", "treated as"),
    ("takes for", "treats as"),
    ("says which", "names"),
    ("goes on bit for bit", "continues with the same result"),
    ("mend what", "correct"),
];

/// Habits that plain English avoids, and their maximum number in pages and in comments of the code: these
/// numbers only decrease.
const HABITS: [(&[&str], [usize; 2]); 9] = [
    (&["told", "tells", "says", "said"], [0, 2]),
    (&["those that", "those of", "that of"], [2, 3]),
    (&["behind", "beside"], [0, 3]),
    (&["stand", "stands", "stood"], [0, 2]),
    (&["as many", "so many"], [1, 2]),
    (&["alone", "but for"], [0, 2]),
    (&["go on", "goes on", "anew"], [0, 1]),
    (&["of its own", "in the place of", "nobody", "without a word", "rows that validate"], [0, 1]),
    (&["is what", "are what", "of what", "what it", "what is", "what a", "what the"], [0, 2]),
];

/// Ordinary English that contains such a phrase.
const ORDINARY: [&str; 3] = ["there is no ", "is no longer", "is no better"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the phrases in a text, with some words around them.
fn found(text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ").to_lowercase();
    let mut found = Vec::new();
    for (phrase, better) in PHRASES {
        for (at, _) in text.match_indices(phrase) {
            let around = |before: usize, behind: usize| {
                let (start, end) = (at.saturating_sub(before), (at + phrase.len() + behind).min(text.len()));
                let (start, end) = (text.floor_char_boundary(start), text.ceil_char_boundary(end));
                &text[start..end]
            };
            let near = around(8, 8);
            if !ORDINARY.iter().any(|ordinary| near.contains(ordinary)) {
                found.push(format!("{phrase:?} in {:?}: write {better:?}", around(30, 20)));
            }
        }
    }
    found
}

/// Returns all files below a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path, ending));
        } else if path.extension().is_some_and(|it| it == ending) {
            files.push(path);
        }
    }
    files
}

/// Returns the string literals of Rust code before its tests, with line breaks joined.
fn literals(code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut literals, mut rest) = (Vec::new(), code);
    while let Some(at) = rest.find(['"', '\'', '/', 'r']) {
        let (before, from) = rest.split_at(at);
        let is_word = before.ends_with(|it: char| it.is_alphanumeric() || it == '_');
        let marks = from[1..].len() - from[1..].trim_start_matches('#').len();
        let skipped = if from.starts_with("//") {
            from.find('\n').unwrap_or(from.len())
        } else if from.starts_with('r') && !is_word && from[1 + marks..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(marks));
            let text = &from[marks + 2..];
            let length = text.find(&end).expect("a raw string ends");
            literals.push(text[..length].to_owned());
            marks + 2 + length + end.len()
        } else if let Some(text) = from.strip_prefix('"') {
            let mut escaped = false;
            let ends = |letter: char| {
                let is_end = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                is_end
            };
            let length = text.find(ends).expect("a string ends");
            literals.push(text[..length].replace("\\\n", " "));
            length + 2
        } else if let Some(text) = from.strip_prefix('\'') {
            // A character, or a lifetime.
            let mut letters = text.char_indices();
            match (letters.next(), letters.next(), letters.next()) {
                (Some((_, '\\')), Some(_), _) => 3 + from[3..].find('\'').expect("a character ends") + 1,
                (Some(_), Some((end, '\'')), _) => end + 2,
                _ => 1,
            }
        } else {
            1
        };
        rest = &from[skipped..];
    }
    literals
}

#[test]
fn pages_are_in_plain_words() {
    let mut wrong = Vec::new();
    let mut pages = files(&root().join("docs"), "md");
    pages.push(root().join("README.md"));
    assert!(pages.len() > 15);
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        wrong.extend(found(&text).into_iter().map(|found| format!("{}: {found}", page.display())));
    }
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let newest = changes.split("\n## ").nth(1).unwrap();
    assert!(newest.len() > 1000);
    wrong.extend(found(newest).into_iter().map(|found| format!("CHANGELOG.md: {found}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Counts these phrases in a text, as whole words.
fn count(text: &str, phrases: &[&str]) -> usize {
    let text = text.to_lowercase();
    let words: Vec<&str> =
        text.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let of_phrase = |phrase: &&str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).filter(|found| *found == phrase).count()
    };
    phrases.iter().map(of_phrase).sum()
}

#[test]
fn habits_of_language_fade() {
    let read = |file: PathBuf| fs::read_to_string(file).unwrap();
    let pages = files(&root().join("docs"), "md").into_iter().chain([root().join("README.md")]);
    let pages: String = pages.map(read).collect();
    let code: String = files(&root().join("src"), "rs").into_iter().map(read).collect();
    let comments = code.lines().filter(|line| line.trim_start().starts_with("//"));
    let comments: String = comments.map(|line| format!("{line}\n")).collect();
    assert!(pages.len() > 100_000 && comments.len() > 500_000);
    let mut wrong = Vec::new();
    for (phrases, [in_pages, in_comments]) in HABITS {
        let (found, found_in_comments) = (count(&pages, phrases), count(&comments, phrases));
        if found > in_pages || found_in_comments > in_comments {
            wrong.push(format!("{phrases:?}: {found} in pages, {found_in_comments} in comments"));
        }
    }
    assert!(wrong.is_empty(), "more than before:\n{}", wrong.join("\n"));
    assert_eq!(count("Told, untold: as many, as\nmany", &["told", "as many"]), 3);
}

#[test]
fn help_is_in_plain_words() {
    let help = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tinytrain")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = help(&["--help"]);
    let lines =
        all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert!(commands.contains(&"train") && commands.contains(&"report"), "{commands:?}");
    let mut wrong = found(&all);
    for command in commands.into_iter().filter(|name| !name.is_empty() && *name != "help") {
        let text = help(&[command, "--help"]);
        wrong.extend(found(&text).into_iter().map(|found| format!("{command} --help: {found}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn messages_are_in_plain_words() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in files(&root().join("src"), "rs") {
        let is_test = |name: &str| name == "tests" || name.ends_with("tests.rs");
        if file.iter().any(|part| part.to_str().is_some_and(is_test)) {
            continue;
        }
        let literals = literals(&fs::read_to_string(&file).unwrap());
        count += literals.len();
        let found = literals.iter().flat_map(|literal| found(literal));
        wrong.extend(found.map(|found| format!("{}: {found}", file.display())));
    }
    assert!(count > 3000, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn phrases_and_literals_are_found() {
    let found = |text: &str| self::found(text).len();
    assert_eq!(
        [found("It is\nno input."), found("There is no file."), found("This is no longer so.")],
        [1, 0, 0]
    );
    assert_eq!([found("Samples TAKEN for 3."), found("with another one"), found("what it takes")], [1, 0, 0]);
    let code = r##"fn f<'a>(x: &'a str) { g("one \
        two", '"', '\'', "a\"b", r#"raw "three""#); } // "four"
        const FOR: &str = "five";
#[cfg(test)]
mod tests {
    const S: &str = "six";
}"##;
    let expected = ["one          two", "a\\\"b", "raw \"three\"", "five"].map(str::to_owned);
    assert_eq!(literals(code), expected);
}
