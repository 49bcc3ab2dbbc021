//! Folders of strangers: no command follows a link in a results folder, waits for a pipe, or signs what it did not verify.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assay_testkit::{Assay, example};

use crate::verify::{CARTPOLE, assay, verify};

/// The content of the user's own files, which no command may change or show.
const SECRET: &str = "the user's own line 7f3a9c51";
/// Time for a program that waits for nothing.
const LIMIT: Duration = Duration::from_secs(120);

/// Records one episode of the reference policy with its evidence in `out`.
pub(super) fn recorded(assay: &Assay) {
    let run = verify(assay, &example(CARTPOLE, "reference"), &["--episodes", "1", "--out", "out", "--record", "none"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

pub(super) fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

/// Replaces whatever is at `path`.
pub(super) fn replace(path: &Path, put: impl FnOnce(&Path)) {
    if path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        fs::remove_dir_all(path).unwrap();
    } else if path.symlink_metadata().is_ok() {
        fs::remove_file(path).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    put(path);
}

pub(super) fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// Files of the user, to which links in a results folder lead.
struct Victim {
    folder: PathBuf,
}

impl Victim {
    fn new(assay: &Assay) -> Self {
        for name in ["authorized_keys", "bashrc", "folder/file"] {
            assay.write(&format!("victim/{name}"), SECRET);
        }
        Self { folder: assay.path("victim") }
    }

    #[track_caller]
    fn assert_untouched(&self, what: &str) {
        for name in ["authorized_keys", "bashrc", "folder/file"] {
            assert_eq!(fs::read_to_string(self.folder.join(name)).unwrap(), SECRET, "{what}: {name}");
        }
        let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
        assert_eq!((names(&self.folder), names(&self.folder.join("folder"))), (3, 1), "{what}: a file was added");
    }
}

/// Names that `assay render` writes, and names that it once wrote on the way to them. The first one was seen.
const WRITTEN: [&str; 10] = [
    "log.mcap",
    "log.intoto.json",
    ".log.intoto.json.partial",
    "video.mp4",
    "video.intoto.json",
    ".video.intoto.json.partial",
    "images.mcap",
    "still.png",
    "clip.mp4",
    ".video.mp4.partial",
];

#[test]
fn rendering_writes_through_no_link_of_a_strangers_folder() {
    let assay = assay();
    recorded(&assay);
    let victim = Victim::new(&assay);
    let episode = assay.path("out/episodes/000");
    for (number, name) in WRITTEN.iter().enumerate() {
        let target = ["../../../victim/authorized_keys", "../../../victim/new"][number % 2];
        symlink(target, episode.join(name)).unwrap();
    }
    let run = assay.run(&["render", "out", "--record", "all"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    victim.assert_untouched("render");
    for name in ["log.mcap", "log.intoto.json", "video.mp4", "video.intoto.json", "images.mcap"] {
        assert!(episode.join(name).symlink_metadata().unwrap().is_file(), "{name} is still a link");
    }
    // Folders that are links.
    for place in ["out/episodes/000", "out/episodes"] {
        let moved = assay.path("victim-folder");
        fs::rename(assay.path(place), &moved).unwrap();
        symlink(&moved, assay.path(place)).unwrap();
        let before = fs::read_dir(&moved).unwrap().count();
        let run = assay.run(&["render", "out", "--record", "all"]);
        assert_ne!(run.code, 0, "{place}: {}", run.stdout);
        assert_eq!(fs::read_dir(&moved).unwrap().count(), before);
        fs::remove_file(assay.path(place)).unwrap();
        fs::rename(&moved, assay.path(place)).unwrap();
    }
}

#[test]
fn nothing_is_signed_that_refers_to_an_unverified_statement() {
    let assay = assay();
    recorded(&assay);
    let keys = assay.run(&["attest", "keys", "--json"]).stdout;
    assay.write("keys.json", &keys);
    let id = keys.split('"').find(|text| text.len() == 64).unwrap();
    type Change<'a> = &'a dyn Fn(&Path);
    let changes: [(&str, Change<'_>); 5] = [
        ("was changed", &|out| edit(&out.join("report.json"), |text| text.replacen("\"seed\": 0", "\"seed\":  0", 1))),
        ("is missing", &|out| fs::remove_file(out.join("report.intoto.json")).unwrap()),
        ("not a DSSE envelope", &|out| fs::write(out.join("report.intoto.json"), "{}").unwrap()),
        ("is not valid", &|out| {
            edit(&out.join("report.intoto.json"), |text| text.replacen("\"sig\": \"", "\"sig\": \"AAAA", 1));
        }),
        ("is a link", &|out| {
            fs::rename(out.join("report.intoto.json"), out.join("elsewhere")).unwrap();
            symlink("elsewhere", out.join("report.intoto.json")).unwrap();
        }),
    ];
    for (words, change) in changes {
        let hostile = assay.path("hostile");
        copy(&assay.path("out"), &hostile);
        change(&hostile);
        let run = assay.run(&["render", "hostile", "--record", "all"]);
        assert_eq!(run.code, 2, "{words}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
        assert_eq!(fs::read_dir(hostile.join("episodes/000")).unwrap().count(), 6, "{words}: something was rendered");
        fs::remove_dir_all(&hostile).unwrap();
    }
    // Another machine, which does not know the signer.
    fs::remove_dir_all(assay.path("user")).unwrap();
    let run = assay.run(&["render", "out", "--record", "all"]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(
        run.stderr.contains(&format!("signed by key {id}")) && run.stderr.contains("--keys FILE"),
        "{}",
        run.stderr
    );
    let run = assay.run(&["render", "out", "--record", "all", "--keys", "keys.json"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

pub(super) fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).unwrap();
    let changed = change(text.clone());
    assert_ne!(text, changed);
    fs::write(path, changed).unwrap();
}

/// Commands that take a results folder, with their arguments for the folder `hostile`.
const ON_RESULTS: [(&str, &[&str]); 5] = [
    ("report", &["report", "hostile", "--html"]),
    ("render", &["render", "hostile", "--record", "all"]),
    ("replay", &["replay", "hostile"]),
    ("attest verify", &["attest", "verify", "hostile"]),
    ("dataset", &["dataset", "--from", "hostile", "--format", "parquet", "--out", "data.parquet"]),
];
/// Commands that take none, or write only into one that they have created or that holds nothing else. `fetch`, which
/// needs a service, meets links in its folder in `serve::fetching`.
const ON_NONE: [&str; 39] = [
    "attest keys",
    "attest rotate",
    "backup",
    "check",
    "completions",
    "connect",
    "demo",
    "doctor",
    "fetch",
    "init",
    "keys create",
    "keys list",
    "keys revoke",
    "migrate",
    "model list",
    "model remove",
    "model upload",
    "restore",
    "runtime add",
    "runtime check",
    "runtime list",
    "runtime remove",
    "runtime show",
    "scenario check",
    "scenario list",
    "scenario render",
    "scenario schema",
    "scenario show",
    "season close",
    "season list",
    "season open",
    "serve",
    "stl",
    "verify",
    "worker",
    "workers create",
    "workers drain",
    "workers list",
    "workers revoke",
];

/// Returns the commands, as the help lists them.
fn commands(assay: &Assay, before: &[&str]) -> BTreeSet<String> {
    let help = assay.run(&[before, &["--help"]].concat()).stdout;
    let Some((_, list)) = help.split_once("Commands:\n") else { return BTreeSet::from([before.join(" ")]) };
    let names = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then_some(name)
    });
    names.flat_map(|name| commands(assay, &[before, &[name]].concat())).collect()
}

#[test]
fn every_command_is_known_to_take_a_results_folder_or_not() {
    let assay = assay();
    let known = ON_RESULTS.iter().map(|(name, _)| *name).chain(ON_NONE);
    let known: BTreeSet<String> = known.map(str::to_owned).collect();
    let unknown: Vec<_> = commands(&assay, &[]).difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "say of each whether it takes a results folder: {unknown:?}");
}

/// Set for links to folders in the place of files, and links to files and pipes in the place of folders, too.
const ALL_PLACES: &str = "ASSAY_HOSTILE_PLACES";
/// A place in a results folder that a stranger prepares.
const PLACES: [&str; 12] = [
    "report.json",
    "report.intoto.json",
    "policy",
    "policy.py",
    "policy.zip",
    "scenario",
    "scenario/scenario.toml",
    "robots",
    "episodes",
    "episodes/000",
    "episodes/000/trace.parquet",
    "episodes/000/plots.json",
];

#[test]
fn no_command_follows_a_link_or_waits_for_a_pipe_in_a_results_folder() {
    // Some commands draw: as little as possible.
    let assay = assay().with_variable("ASSAY_VIDEO", "160x90@5");
    recorded(&assay);
    let victim = Victim::new(&assay);
    let all = std::env::var_os(ALL_PLACES).is_some();
    for place in PLACES {
        let is_file = place.contains('.');
        for (what, put) in [
            ("link", &(|path: &Path| symlink(assay.path("victim/authorized_keys"), path).unwrap()) as &dyn Fn(&Path)),
            ("link to a folder", &|path: &Path| symlink(assay.path("victim/folder"), path).unwrap()),
            ("pipe", &|path: &Path| pipe(path)),
        ] {
            if !all && is_file != (what != "link to a folder") {
                continue;
            }
            let hostile = assay.path("hostile");
            copy(&assay.path("out"), &hostile);
            replace(&hostile.join(place), put);
            if place == "policy.py" || place == "policy.zip" {
                fs::remove_dir_all(hostile.join("policy")).unwrap();
            }
            for (name, arguments) in ON_RESULTS {
                let run = assay.start(arguments).wait(LIMIT);
                let about = format!("{name}, {what} at {place}: {}{}", run.stdout, run.stderr);
                assert!((0..=3).contains(&run.code), "{about}");
                assert!(!about.contains(SECRET), "{about}");
                victim.assert_untouched(&about);
            }
            fs::remove_dir_all(&hostile).unwrap();
        }
    }
}
