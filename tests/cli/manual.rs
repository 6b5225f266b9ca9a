//! `tinytrain completions` and `tinytrain man`.

use std::collections::BTreeSet;

use crate::program::Workplace;

/// Returns all commands that `--help` lists.
fn commands(place: &Workplace) -> BTreeSet<String> {
    let help = place.succeed(&["--help"]).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // Continuation lines are indented further.
    let names =
        lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let place = Workplace::new();
    let commands = commands(&place);
    assert!(commands.contains("train") && commands.contains("export"));
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = place.succeed(&["completions", shell]).stdout;
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
        assert!(script.contains("validation-fraction"), "{shell}");
    }
    let outcome = place.run(&["completions", "csh"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.error().contains("invalid value 'csh'"), "{}", outcome.stderr);
}

#[test]
fn every_command_has_a_page() {
    let place = Workplace::new();
    place.succeed(&["man", "pages/man1"]);
    let found: BTreeSet<_> = place.entries().into_iter().filter(|path| path.is_file()).collect();
    let pages = commands(&place).into_iter().map(|command| format!("tinytrain-{command}.1"));
    let pages = pages.chain(["tinytrain.1".to_owned()]).map(|page| place.path("pages/man1").join(page));
    assert_eq!(found, pages.collect());
    let page = std::fs::read_to_string(place.path("pages/man1/tinytrain-export.1")).unwrap();
    assert!(page.contains(".TH tinytrain-export 1"), "{page}");
    assert!(page.contains(".SH OPTIONS") && page.contains("onnx"), "{page}");
    place.write("file", "");
    let outcome = place.run(&["man", "file"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.error().starts_with("error: cannot write file/tinytrain.1: "), "{}", outcome.stderr);
}
