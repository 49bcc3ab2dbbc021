//! The program `assay` in a private folder.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::own_namespaces::ordinary_user;
use crate::{PATIENCE, jailed, wait_for};

/// Videos of tests, in a ninth of the usual pixels: software renders them, and takes time in proportion.
const SMALL_VIDEO: &str = "320x180@20";
/// Time for the kernel to remove killed processes, on a busy machine. Shorter than [`PATIENCE`], because a process that
/// ends by itself much later was left too.
const GONE_LIMIT: Duration = Duration::from_secs(60);

/// The program, with a private folder for temporary files and the files of a test. Everything is removed when dropped.
#[derive(Debug)]
pub struct Assay {
    program: PathBuf,
    /// The folder of the installation that it uses.
    home: PathBuf,
    /// The command that starts it, with arguments; empty if it is started directly.
    starter: Vec<String>,
    /// Additional environment variables.
    environment: Vec<(String, String)>,
    folder: tempfile::TempDir,
    draws_seeds: bool,
    started: Mutex<Vec<u32>>,
    runs: AtomicU32,
}

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    /// Exit code; 128 + signal for a killed process.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A run that has not ended. Dropping it kills it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// Gives a file, which is not changed, a second name: programs of tests have hundreds of megabytes. Copies it to
/// another file system.
///
/// # Panics
/// Panics if neither is possible.
pub fn share_file(from: &Path, to: &Path) {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop)).unwrap();
}

/// Returns the folder of the source tree.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Makes a folder of the installation available at `to` for every user: as a link, or if root runs the tests and other
/// users cannot enter the original, as a copy.
///
/// # Panics
/// Panics if it cannot be linked or copied.
pub fn link_or_copy(from: &Path, to: &Path) {
    let from = from.canonicalize().unwrap();
    let is_open = |folder: &Path| folder.metadata().unwrap().permissions().mode() & 0o005 == 0o005;
    if !rustix::process::getuid().is_root() || from.ancestors().all(is_open) {
        return std::os::unix::fs::symlink(from, to).unwrap();
    }
    let copied = Command::new("cp").arg("-a").args([&from, to]).status().unwrap();
    let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(to).status().unwrap();
    assert!(copied.success() && opened.success(), "{} was not copied to {}", from.display(), to.display());
}

impl Assay {
    /// Creates a private folder for `program`, which is `env!("CARGO_BIN_EXE_assay")`.
    ///
    /// # Panics
    /// Panics if the lane program is not next to it: cargo builds it only with the whole workspace.
    #[must_use]
    pub fn new(program: &str) -> Self {
        let program = PathBuf::from(program);
        let lane = program.with_file_name("assay-lane");
        assert!(lane.is_file(), "{} is missing: run `cargo build --workspace` first", lane.display());
        let folder = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
        let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        open(folder.path());
        fs::create_dir(folder.path().join("tmp")).unwrap();
        // Jails of root run as another user, who must be able to enter the folder.
        open(&folder.path().join("tmp"));
        let (starter, environment) = (Vec::new(), Vec::new());
        Self {
            program,
            home: home(),
            starter,
            environment,
            folder,
            draws_seeds: false,
            started: Mutex::default(),
            runs: AtomicU32::new(0),
        }
    }

    /// Adds a variable to its environment.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Lets `assay verify` draw a seed if the arguments contain none. Otherwise seed 0 is added to them, so that a
    /// test's worlds are the same in every run.
    #[must_use]
    pub fn drawing_seeds(mut self) -> Self {
        self.draws_seeds = true;
        self
    }

    /// Starts the program with the command `starter`, which may switch to another user: program, installation and
    /// folder are copied to a place that all users can reach.
    #[must_use]
    pub fn started_by(mut self, starter: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        open(self.folder.path());
        open(&self.path("tmp"));
        for name in ["assay", "assay-lane"] {
            share_file(&self.program.with_file_name(name), &self.path(name));
        }
        let installed = self.path("home");
        for name in ["scenarios", "robots", "vendor/mujoco", "vendor/runtimes"] {
            let link = installed.join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            link_or_copy(&home().join(name), &link);
        }
        self.program = self.path("assay");
        (self.home, self.starter) = (installed, starter.into_iter().map(Into::into).collect());
        self
    }

    /// Returns a path in the private folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file (and the folders above it) in the private folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Copies the built-in scenario `id` to a folder below `place` that has the scenario's name, as required; `edit`
    /// receives the name and text of each file except for pictures.
    pub fn copy_scenario(&self, id: &str, place: &str, edit: impl Fn(&str, String) -> String) -> PathBuf {
        for name in ["README.md", "scene.xml", "scenario.toml"] {
            let text = fs::read_to_string(home().join("scenarios").join(id).join(name)).unwrap();
            self.write(&format!("{place}/{id}/{name}"), edit(name, text));
        }
        self.path(place).join(id)
    }

    /// Starts the program. Its environment is the caller's without settings of assay. The private folder is the current
    /// folder and that for temporary files.
    pub fn start<A: AsRef<Path>>(&self, arguments: &[A]) -> Running {
        self.start_in(arguments, &[])
    }

    /// Like [`Self::start`], with additional environment variables.
    pub fn start_in<A: AsRef<Path>>(&self, arguments: &[A], environment: &[(&str, &Path)]) -> Running {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let (stdout, stderr) = (self.path(&format!("{number}.out")), self.path(&format!("{number}.err")));
        let starter = ordinary_user().iter().copied().chain(self.starter.iter().map(String::as_str));
        let words: Vec<&OsStr> = starter.map(OsStr::new).chain([self.program.as_os_str()]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ASSAY_")) {
            command.env_remove(name);
        }
        command.args(arguments.iter().map(AsRef::as_ref));
        let is = |argument: &A, word: &str| argument.as_ref() == Path::new(word);
        let names_seed = arguments.iter().any(|argument| is(argument, "--seed"));
        if arguments.first().is_some_and(|first| is(first, "verify")) && !names_seed && !self.draws_seeds {
            command.args(["--seed", "0"]);
        }
        command
            .env_remove("COLUMNS")
            .envs(self.environment())
            .envs(environment.iter().copied())
            .current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        // A separate process group, like that of a shell: see `Running::interrupt`.
        let child = command.process_group(0).spawn().unwrap();
        self.started.lock().unwrap().push(child.id());
        Running { child, stdout, stderr }
    }

    /// Returns the program's file.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the variables of its environment.
    pub(crate) fn environment(&self) -> Vec<(String, PathBuf)> {
        let own = self.environment.iter().map(|(name, value)| (name.clone(), PathBuf::from(value)));
        let places =
            [("ASSAY_HOME", self.home.clone()), ("TMPDIR", self.path("tmp")), ("XDG_DATA_HOME", self.path("user"))];
        let small = ("ASSAY_VIDEO", PathBuf::from(SMALL_VIDEO));
        places.into_iter().chain([small]).map(|(name, path)| (name.to_owned(), path)).chain(own).collect()
    }

    /// Runs the program to its end.
    pub fn run<A: AsRef<Path>>(&self, arguments: &[A]) -> Run {
        self.start(arguments).wait(PATIENCE)
    }

    /// Returns the jailed processes of this folder's runs.
    #[must_use]
    pub fn jailed(&self) -> Vec<crate::Jailed> {
        jailed(self.folder.path(), &self.started.lock().unwrap())
    }

    /// Asserts that no process and no temporary folder is left.
    ///
    /// # Panics
    /// Panics with the list of leftovers.
    #[track_caller]
    pub fn assert_clean(&self) {
        wait_for("the end of all jailed processes", GONE_LIMIT, || {
            let left = self.jailed();
            if !left.is_empty() {
                eprintln!("left: {left:?}");
            }
            left.is_empty().then_some(())
        });
        let names = fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = names.collect();
        assert!(left.is_empty(), "temporary folders were left: {left:?}");
    }
}

impl Drop for Assay {
    fn drop(&mut self) {
        // A failed test must not leave its jails running.
        self.jailed().iter().for_each(crate::Jailed::kill);
    }
}

impl Running {
    /// Returns the id of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends SIGINT to every process of the group, as a terminal does for Ctrl-C.
    pub fn interrupt(&self) {
        kill_process_group(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Returns its standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stderr).unwrap()).into_owned()
    }

    /// Returns true if it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// Panics after `limit`.
    #[must_use]
    #[track_caller]
    pub fn wait(mut self, limit: Duration) -> Run {
        let status: ExitStatus = wait_for("the end of the program", limit, || self.child.try_wait().unwrap());
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        Run { code, stdout: read(&self.stdout), stderr: read(&self.stderr) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
