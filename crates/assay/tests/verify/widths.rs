//! The output of commands fits terminals of 50 and 80 columns, without broken words.

use std::collections::BTreeSet;
use std::path::Path;

use assay_testkit::{Assay, example};

use crate::verify::{CARTPOLE, assay};

const SCENARIO: &str = "tabletop_reach";
/// Words of tables that lists omit: the names of first columns, and those of the report.
const TABLES_ONLY: [&str; 17] = [
    "id",
    "clause",
    "name",
    "number",
    "key",
    "scenario",
    "setting",
    "observation",
    "action",
    "stage",
    "ended",
    "level",
    "no",
    "sim",
    "standard",
    "status",
    "when",
];
/// A width that needs no wrapping.
const WIDE: &str = "400";

/// Commands with output for people, on the files of [`prepare`].
const COMMANDS: &[&[&str]] = &[
    &["scenario", "list"],
    &["scenario", "show", SCENARIO],
    &["scenario", "show", "shared_workspace"],
    &["scenario", "check", CARTPOLE],
    &["scenario", "check", "mine/cart"],
    &["check", "policy", "--scenario", CARTPOLE],
    &["check", "torch.py", "--scenario", CARTPOLE],
    &["report", "out/report.json"],
    &["replay", "out/report.json"],
    &["attest", "verify", "out/report.intoto.json"],
    &["attest", "keys"],
    &["keys", "list", "--data", "data"],
    &["season", "list", "--data", "data"],
    &["backup", "--check", "kept"],
    &["serve", "--check", "--data", "data"],
    &["stl", "--formula", "always (speed <= 0.25)", "--trace", "run.csv"],
    &["doctor"],
    &["doctor", "--jail", "--only", "fences"],
];

/// Creates a report, its keys, a data folder with keys and a season, a backup of it, and a trace.
fn prepare(assay: &Assay) {
    let policy = example(CARTPOLE, "reckless");
    std::fs::create_dir(assay.path("policy")).unwrap();
    std::fs::copy(policy.join("policy.py"), assay.path("policy/policy.py")).unwrap();
    assay.write("torch.py", "import torch\n");
    assay.write("run.csv", "time,speed\n0,0.1\n0.1,0.2\n0.2,0.3\n");
    let right = assay.copy_scenario(CARTPOLE, "mine", |_, text| text);
    std::fs::rename(right, assay.path("mine/cart")).unwrap();
    std::fs::create_dir(assay.path("data")).unwrap();
    let out = ["--episodes", "2", "--record", "none", "--out", "out"];
    let verify = [&["verify", "policy", "--scenario", CARTPOLE][..], &out].concat();
    for (arguments, code) in [
        (&verify[..], 1),
        (&["keys", "create", "--data", "data", "--scopes", "read,verify,submit,publish,review,admin"], 0),
        (&["season", "open", CARTPOLE, "--data", "data"], 0),
        (&["backup", "kept", "--data", "data"], 0),
    ] {
        let run = assay.run(arguments);
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
    }
}

fn printed(assay: &Assay, arguments: &[&str], columns: &str) -> String {
    let run = assay.start_in(arguments, &[("COLUMNS", Path::new(columns))]).wait(assay_testkit::PATIENCE);
    assert!(!run.stdout.is_empty() && run.code != 4, "{arguments:?}: {}", run.stderr);
    run.stdout
}

/// Returns the words that depend neither on the layout nor on the time.
fn words(text: &str) -> BTreeSet<&str> {
    let trimmed = text.split_whitespace().map(|word| word.trim_matches([':', ';', ',', '(', ')']));
    let is_word = |word: &&str| word.chars().any(char::is_alphabetic) && !word.chars().any(|c| c.is_ascii_digit());
    trimmed.filter(is_word).collect()
}

/// Returns true if a line may be longer: it is a command to copy, or has a word that leaves no space for others.
fn is_unbreakable(line: &str, width: usize) -> bool {
    let is_command = line.contains(" --scenario ") || line.trim_start().starts_with("assay ");
    let longest = line.split_whitespace().map(|word| word.chars().count()).max().unwrap_or_default();
    is_command || longest > width / 2
}

#[test]
fn nothing_is_wider_than_the_terminal_and_no_word_is_broken() {
    let assay = assay();
    prepare(&assay);
    for arguments in COMMANDS {
        let wide = printed(&assay, arguments, WIDE);
        for width in ["50", "80"] {
            let text = printed(&assay, arguments, width);
            let most = width.parse().unwrap();
            for line in text.lines().filter(|line| line.chars().count() > most) {
                assert!(is_unbreakable(line, most), "{arguments:?}: {line:?} in {width} columns:\n{text}");
            }
            let (whole, found) = (words(&wide), words(&text));
            let broken: Vec<_> = whole.difference(&found).filter(|word| !TABLES_ONLY.contains(word)).collect();
            assert!(broken.is_empty(), "{arguments:?}: {broken:?} broken in {width} columns:\n{text}");
        }
    }
}

#[test]
fn a_scenario_is_shown_without_markdown_syntax() {
    let assay = assay();
    let show = ["scenario", "show", SCENARIO];
    let coloured = assay.in_terminal(80, &show, &[]);
    assert!(coloured.contains("\u{1b}[1m") && !coloured.contains("]("), "{coloured}");
    let plain = assay.in_terminal(80, &show, &[("NO_COLOR", "1")]);
    let piped = printed(&assay, &show, "80");
    assert_eq!(plain, piped, "the outputs to a terminal and a file differ only in colours");
    for text in [&coloured, &plain] {
        let marks = ["\n#", "**", "`", "|", "<!--", "!["].map(|mark| text.contains(mark));
        assert_eq!(marks, [false; 6], "{text}");
        assert!(text.lines().all(|line| console_width(line) <= 80), "{text}");
    }
}

/// Returns the number of columns of a line without its colours.
fn console_width(line: &str) -> usize {
    assay_model::sanitise(line, usize::MAX).chars().count()
}
