//! A PostgreSQL server for tests: in a folder of its own, on a free port, gone with the test program; or one that the
//! runner of all tests has started for all of them.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::own_namespaces::ordinary_user;
use crate::shared_server::unique;
use crate::{PATIENCE, wait_for};

/// The user of the databases, who needs no password.
const USER: &str = "assay";
/// A user whose password is [`Postgres::PASSWORD`].
const LOCKED_USER: &str = "locked";
/// Number of attempts at a free port, since another program may take it first.
const PORT_ATTEMPTS: u32 = 5;
/// Settings of every server: small, and without anything that works in the background for long.
const SETTINGS: &str = "unix_socket_directories = ''\nmax_connections = 200\n\
                        shared_buffers = 64MB\nlog_min_messages = warning\nlog_min_error_statement = panic\n";
/// Ends the server of the folder `$1` and removes the folder once the test program has ended, however it ends: its
/// end of standard input is closed then.
const KEEPER: &str = "cat > /dev/null; pid=$(head -n 1 \"$1/data/postmaster.pid\" 2> /dev/null) && kill -QUIT \"$pid\"
    for i in $(seq 200); do kill -0 \"$pid\" 2> /dev/null || break; sleep 0.05; done; rm -rf \"$1\"";

/// A running PostgreSQL server. Dropping it stops it and removes its files.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    /// Removed by the keeper.
    folder: PathBuf,
    address: Ipv4Addr,
    port: u16,
    databases: AtomicU32,
    /// Ends the server; `None` if another process has started it.
    keeper: Option<Child>,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Some(keeper) = &mut self.keeper else { return };
        drop(keeper.stdin.take());
        // Waits, so that the port and the folder are free.
        let _ = keeper.wait();
    }
}

impl Postgres {
    /// The password of the user in [`Self::locked_url`].
    pub const PASSWORD: &'static str = "open sesame";

    /// Environment variable with the address of the server that the tests of all processes share: `HOST:PORT`.
    pub const VARIABLE: &'static str = "ASSAY_TEST_POSTGRES";

    /// Returns the server that tests share: that of all processes, or one for this process if there is none.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var(Self::VARIABLE) {
            Ok(place) => Self::of_all(&place),
            Err(_) => Self::start_shared(),
        })
    }

    /// Starts a server for [`Self::shared`]. It does not flush, since nothing there must survive.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_shared() -> Self {
        Self::start(&[("fsync", "off")])
    }

    /// The server that runs at `HOST:PORT`.
    fn of_all(place: &str) -> Self {
        let place: SocketAddrV4 = place.parse().unwrap_or_else(|_| panic!("{} is {place:?}", Self::VARIABLE));
        let (programs, folder, databases) = (programs(), std::env::temp_dir(), AtomicU32::new(0));
        Self { programs, folder, address: *place.ip(), port: place.port(), databases, keeper: None }
    }

    /// Starts a server with these settings.
    ///
    /// # Panics
    /// Panics if PostgreSQL is not installed or does not start.
    #[must_use]
    pub fn start(settings: &[(&str, &str)]) -> Self {
        Self::start_in(&std::env::temp_dir(), settings)
    }

    /// Like [`Self::start`], at this address of the host; its neighbours may connect.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_at(address: Ipv4Addr, settings: &[(&str, &str)]) -> Self {
        Self::start_with(&std::env::temp_dir(), address, settings)
    }

    /// Like [`Self::start`], with its files in a new folder in `parent`, which all users can enter.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_in(parent: &Path, settings: &[(&str, &str)]) -> Self {
        Self::start_with(parent, Ipv4Addr::LOCALHOST, settings)
    }

    fn start_with(parent: &Path, address: Ipv4Addr, settings: &[(&str, &str)]) -> Self {
        let programs = programs();
        let folder = TempDir::with_prefix_in("assay-postgres-", parent).unwrap().keep();
        if let Some((user, group)) = unprivileged() {
            chown(&folder, Some(user), Some(group)).unwrap();
        }
        let keeper = Command::new("sh").args(["-c", KEEPER, "keeper"]).arg(&folder).stdin(Stdio::piped()).spawn();
        let (databases, keeper) = (AtomicU32::new(0), Some(keeper.unwrap()));
        let mut server = Self { programs, folder, address, port: 0, databases, keeper };
        let data = server.data();
        server.run("initdb", &["-D", &data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync"]);
        let mut text = format!("listen_addresses = '{address}'\n{SETTINGS}");
        for (name, value) in settings {
            text.push_str(&format!("{name} = '{value}'\n"));
        }
        server.append("postgresql.conf", &text);
        let users = fs::read_to_string(server.folder.join("data/pg_hba.conf")).unwrap();
        let locked = format!("host all {LOCKED_USER} samenet scram-sha-256\n{users}host all all samenet trust\n");
        fs::write(server.folder.join("data/pg_hba.conf"), locked).unwrap();
        for attempt in 1.. {
            server.port = TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().port();
            server.append("postgresql.conf", &format!("port = {}\n", server.port));
            match server.try_start() {
                Ok(()) => break,
                Err(log) => assert!(attempt < PORT_ATTEMPTS, "PostgreSQL did not start: {log}"),
            }
        }
        server.sql("postgres", &format!("CREATE ROLE {LOCKED_USER} LOGIN PASSWORD '{}'", Self::PASSWORD));
        server
    }

    /// Creates an empty database and returns its address.
    pub fn database(&self) -> String {
        let name = match &self.keeper {
            Some(_) => format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed)),
            // Other processes use it at the same time.
            None => format!("test{}", unique(&self.databases)),
        };
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Returns the address of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}:{}/{database}", self.address, self.port)
    }

    /// Returns the address of a database for a user who needs a password and has no rights.
    #[must_use]
    pub fn locked_url(&self, database: &str) -> String {
        format!("postgres://{LOCKED_USER}@{}:{}/{database}", self.address, self.port)
    }

    /// Returns its address and port, for [`Self::VARIABLE`].
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.address, self.port)
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs a statement in a database and returns its output, without headers.
    ///
    /// # Panics
    /// Panics if it fails.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let url = self.url(database);
        self.run("psql", &["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c", sql])
    }

    /// Stops the server as a power cut would, except that the system keeps what it has.
    pub fn stop_immediately(&self) {
        assert!(self.keeper.is_some(), "others use this server");
        self.run("pg_ctl", &["stop", "-D", &self.data(), "-m", "immediate", "-w"]);
    }

    /// Kills all processes of the server.
    pub fn kill(&self) {
        assert!(self.keeper.is_some(), "others use this server");
        let lock = self.folder.join("data/postmaster.pid");
        let pid = fs::read_to_string(&lock).unwrap();
        let pid: i32 = pid.lines().next().unwrap().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        // Its children notice that it is gone, and end.
        wait_for("the end of the server's processes", PATIENCE, || self.processes().is_empty().then_some(()));
        // The server would refuse to start as long as the exit code of its dead process has not been collected.
        fs::remove_file(lock).unwrap();
    }

    /// Starts the server again after [`Self::stop_immediately`] or [`Self::kill`].
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn start_again(&self) {
        if let Err(log) = self.try_start() {
            panic!("PostgreSQL did not start again: {log}");
        }
    }

    fn processes(&self) -> Vec<u32> {
        let data = self.folder.join("data");
        let of_server = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == data);
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(of_server).collect()
    }

    fn try_start(&self) -> Result<(), String> {
        let log = self.folder.join("log");
        let limit = PATIENCE.as_secs().to_string();
        let mut start = self.command("pg_ctl");
        start.args(["start", "-D", &self.data(), "-w", "-t", &limit, "-l"]).arg(&log);
        // The server inherits its output, which would keep a pipe open.
        let status = start.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        if status.success() { Ok(()) } else { Err(fs::read_to_string(log).unwrap_or_default()) }
    }

    fn data(&self) -> String {
        self.folder.join("data").to_str().unwrap().to_owned()
    }

    fn append(&self, file: &str, text: &str) {
        use std::io::Write;
        let file = fs::OpenOptions::new().append(true).open(self.folder.join("data").join(file));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let words: Vec<&OsStr> = ordinary_user().iter().map(OsStr::new).chain([program.as_os_str()]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.current_dir(&self.folder).stdin(Stdio::null()).env_remove("PGPASSWORD");
        if let Some((user, group)) = unprivileged() {
            command.uid(user).gid(group);
        }
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let done = self.command(program).args(arguments).output().unwrap();
        let (output, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{program} {arguments:?} failed: {output}{errors}");
        output.trim().to_owned()
    }
}

/// Returns the folder of the newest installed server.
fn programs() -> PathBuf {
    let version = |path: &Path| path.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = installed.map(|entry| entry.path().join("bin")).filter(|path| path.join("initdb").exists());
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&on_path).find(|path| path.join("initdb").exists());
    debian
        .max_by_key(|path| version(path))
        .or(on_path)
        .unwrap_or_else(|| panic!("PostgreSQL is not installed: run tools/setup --dev, or install postgresql"))
}

/// Returns the user and group as which the server runs if this process is root, as which it refuses to run.
fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::getuid().is_root() || !ordinary_user().is_empty() {
        return None;
    }
    let users = BufReader::new(fs::File::open("/etc/passwd").unwrap());
    let found = users.lines().map_while(Result::ok).find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.first() == Some(&"postgres"))
            .then(|| Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?)))?
    });
    Some(found.unwrap_or_else(|| panic!("there is no user postgres: install Debian's package postgresql")))
}
