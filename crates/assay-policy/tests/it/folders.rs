//! Folders as users have them: with links, virtual environments, caches and outputs.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use assay_policy::{Intake, IntakeError, IntakeLimits, intake};

/// A folder in a temporary one.
struct Home {
    folder: tempfile::TempDir,
    count: std::cell::Cell<u32>,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), count: 0.into() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("# {name}\n")).unwrap();
        self
    }

    fn link(&self, target: &str, name: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    fn take(&self, name: &str) -> (Result<Intake, IntakeError>, PathBuf) {
        self.count.set(self.count.get() + 1);
        let dest = self.path(&format!("dest{}", self.count.get()));
        (intake(&self.path(name), &dest, &IntakeLimits::default()), dest)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let (mut names, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => names.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    names.sort();
    names
}

#[test]
fn files_that_no_policy_needs_are_left_out_and_named_in_warnings() {
    let home = Home::new();
    for name in ["policy.py", "net/a.py", ".git/config", ".env", "__pycache__/a.pyc", "net/__pycache__/a.pyc"] {
        home.file(&format!("p/{name}"));
    }
    for name in ["venv/pyvenv.cfg", "venv/lib/python3.11/numpy/__init__.py", "node_modules/x/index.js", "__MACOSX/._p"]
    {
        home.file(&format!("p/{name}"));
    }
    home.link("lib", "p/venv/lib64").link("/usr/bin/python3", "p/venv/bin/python");
    home.file("p/tools/env/pyvenv.cfg").file("p/tools/env/bin/activate").file("p/tools/t.py");
    let (taken, dest) = home.take("p");
    let told = [".env", ".git", "__MACOSX", "__pycache__", "net/__pycache__", "node_modules", "tools/env", "venv"];
    assert_eq!(taken.unwrap().left_out, told);
    assert_eq!(names(&dest), ["net/a.py", "policy.py", "tools/t.py"]);

    // The same of an archive, whose entries also begin with the folder's name.
    let zip = home.path("p.zip");
    let bytes = {
        use std::io::Write;
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for name in ["p/policy.py", "p/.env", "p/venv/pyvenv.cfg", "p/venv/x/y.py", "p/node_modules/z.js"] {
            writer.start_file(name, options).unwrap();
            writer.write_all(b"x").unwrap();
        }
        writer.add_symlink("p/venv/lib64", "lib", options).unwrap();
        writer.finish().unwrap().into_inner()
    };
    std::fs::write(&zip, bytes).unwrap();
    let (taken, dest) = home.take("p.zip");
    assert_eq!(taken.unwrap().left_out, ["p/.env", "p/node_modules", "p/venv"]);
    assert_eq!(names(&dest), ["policy.py"]);

    // A policy in the folder of an environment stays.
    home.file("own/pyvenv.cfg").file("own/policy.py");
    assert_eq!(
        names(&{
            let (taken, dest) = home.take("own");
            taken.unwrap();
            dest
        }),
        ["policy.py", "pyvenv.cfg"]
    );
    home.file("many/policy.py");
    for number in 0..25 {
        home.file(&format!("many/.hidden{number:02}"));
    }
    assert_eq!(home.take("many").0.unwrap().left_out[19..], [".hidden19", "5 more"]);
}

#[test]
fn outputs_are_named_when_there_are_too_many() {
    let home = Home::new();
    home.file("p/policy.py");
    for number in 0..520 {
        home.file(&format!("p/outputs/run/{number}.txt"));
    }
    let error = home.take("p").0.unwrap_err().to_string();
    assert!(error.contains("at most 512 are allowed; most are in 'outputs/run': move it out of the folder"), "{error}");
    home.file("w/policy.py").file("w/wandb/run-1/files/config.yaml");
    assert_eq!(
        names(&{
            let (taken, dest) = home.take("w");
            taken.unwrap();
            dest
        })
        .len(),
        2,
        "never dropped"
    );
}

#[test]
fn links_within_the_folder_or_its_download_are_followed() {
    let home = Home::new();
    home.file("p/policy.py").file("p/data/w.npz").file("secret.txt");
    home.link("../data/w.npz", "p/net/w.npz").link("run-1", "p/wandb/latest").file("p/wandb/run-1/config.yaml");
    let (taken, dest) = home.take("p");
    taken.unwrap();
    let expected = ["data/w.npz", "net/w.npz", "policy.py", "wandb/latest/config.yaml", "wandb/run-1/config.yaml"];
    assert_eq!(names(&dest), expected);
    assert_eq!(std::fs::read_to_string(dest.join("net/w.npz")).unwrap(), "# p/data/w.npz\n");

    // Snapshots of a download of the Hugging Face Hub are links to its blobs.
    home.file("hub/models--me--net/blobs/abc").file("hub/models--you--net/blobs/def").file("hub/token");
    let snapshot = "hub/models--me--net/snapshots/1";
    home.link("../../blobs/abc", &format!("{snapshot}/policy.py"));
    let (taken, dest) = home.take(snapshot);
    taken.unwrap();
    assert_eq!(std::fs::read_to_string(dest.join("policy.py")).unwrap(), "# hub/models--me--net/blobs/abc\n");
    // The folder itself may be given by a link.
    home.link("p", "given");
    assert!(home.take("given").0.is_ok());
    for (target, part) in [
        ("../../../models--you--net/blobs/def", "a link to a file outside of the folder"),
        ("../../../token", "cp -rL FOLDER COPY"),
        ("nothing", "a link to a file that does not exist; remove it"),
    ] {
        let name = format!("{snapshot}/other");
        home.link(target, &name);
        let error = home.take(snapshot).0.unwrap_err().to_string();
        assert!(error.contains(part), "{target}: {error}");
        std::fs::remove_file(home.path(&name)).unwrap();
    }
    for (target, part) in [
        ("/etc/passwd", "outside of the folder"),
        ("../secret.txt", "outside of the folder"),
        ("/dev/null", "outside of the folder"),
        ("..", "outside of the folder"),
        (".", "a link to a folder that it is in"),
        ("p2", "does not exist"),
        ("link", "does not exist"),
    ] {
        home.link(target, "p/link");
        let error = home.take("p").0.unwrap_err();
        assert!(!error.is_internal() && error.to_string().contains(part), "{target}: {error}");
        std::fs::remove_file(home.path("p/link")).unwrap();
    }
}
