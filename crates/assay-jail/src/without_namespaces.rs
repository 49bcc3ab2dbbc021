//! Starts a jail without namespaces: Landlock if the tier has it, filters and limits, applied between fork and exec.
//!
//! Nothing is mounted, so a path in the jail has another name on the host: [`PathView`] translates the program, its
//! arguments and its environment. The program is started through the dynamic loader, because the loader that its file
//! names does not exist at that path.

#![expect(unsafe_code, reason = "Landlock and filters are applied between fork and exec")]

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_model::Isolation;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::child_setup::{ChildSetup, connect};
use crate::filter::{FilterProgram, check};
use crate::orphans::own_name;
use crate::output::OutputDrain;
use crate::priority::prefer_oom_kill;
use crate::program::LOADER;
use crate::spawn_error::io;
use crate::spec::SEAL_VARIABLE;
use crate::{Bind, Child, Jail, JailSpec, SpawnError, ruleset};

/// Folder of the libraries of a runtime that is the jail's whole root.
const ROOT_LIBRARIES: &str = "/lib/x86_64-linux-gnu";
/// The environment variable with a program's own libraries, which precede those of the root.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// Starts the program without bubblewrap.
pub(crate) fn spawn(jail: &Jail, spec: JailSpec) -> Result<Child, SpawnError> {
    let view = PathView::of(&spec.binds, jail.links_in()).map_err(io("create a view of the jail"))?;
    let loader = view.outside(Path::new(LOADER));
    let is_landlocked = jail.isolation() == Isolation::Landlock;
    let landlock = |made: std::io::Result<Option<OwnedFd>>| made.map_err(io("create a Landlock ruleset"));
    let (start, seal) = match is_landlocked {
        true => (
            landlock(ruleset::starting(&spec, &loader))?,
            if spec.seals_itself { landlock(ruleset::running(&spec))? } else { None },
        ),
        false => (None, None),
    };
    if is_landlocked && start.is_none() {
        return Err(SpawnError::NoLandlock);
    }
    let seal_fd = seal.as_ref().map(AsRawFd::as_raw_fd);
    let (log_reader, log_writer) = std::io::pipe().map_err(io("create a pipe"))?;
    let mut command = Command::new(&loader);
    command.arg0(own_name()).args(arguments(&spec, &view)).env_clear().current_dir("/");
    command.envs(environment(&spec, &view)).envs(seal_fd.map(|fd| (SEAL_VARIABLE, fd.to_string())));
    die_with(&mut command, std::process::id());
    // Without a separate pid namespace, no call may act on a process.
    let filters = jail.filters().stack(spec.profile, false).map(FilterProgram::of);
    ChildSetup::of(&spec, [seal_fd, None, None, None])?.add_to(&mut command);
    restrict(&mut command, start.as_ref().map(AsRawFd::as_raw_fd), filters);
    connect(&mut command, (spec.stdin, spec.stdout), log_writer).map_err(io("duplicate a descriptor"))?;
    let child = command.spawn().map_err(io("start the program"))?;
    drop((command, start, seal));

    let raw = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = raw.ok_or(SpawnError::Bubblewrap { message: "the program has no pid".to_owned() })?;
    // The child has not been reaped, so its pid cannot have been reused.
    let open = || pidfd_open(pid, PidfdFlags::empty()).map_err(|error| io("open a process handle")(error.into()));
    let (monitor, program, watched) = (open()?, open()?, open()?);
    prefer_oom_kill(pid);
    let output = OutputDrain::drain(log_reader, Some(watched)).map_err(io("start the log thread"))?;
    Ok(Child::new((pid, monitor), (pid, Some(program)), output).with_links(view.folder))
}

/// Returns the loader's arguments: the folder of libraries, the program, its arguments.
fn arguments(spec: &JailSpec, view: &PathView<'_>) -> Vec<OsString> {
    let own = spec.env.iter().find(|(name, _)| name == LIBRARIES).map(|(_, place)| place.as_str());
    let libraries = view.outside(Path::new(own.unwrap_or(ROOT_LIBRARIES)));
    let mut words = vec!["--library-path".into(), libraries.into_os_string()];
    words.extend(spec.argv.iter().map(|word| view.word(word)));
    words
}

fn environment(spec: &JailSpec, view: &PathView<'_>) -> Vec<(String, OsString)> {
    let others = spec.env.iter().filter(|(name, _)| name != LIBRARIES);
    others.map(|(name, value)| (name.clone(), view.word(value.as_ref()))).collect()
}

/// Makes the child die with this process, or more exactly with the thread that spawned it, and gives it a session.
fn die_with(command: &mut Command, owner: u32) {
    let prepare = move || {
        rustix::process::setsid()?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the call.
        if parent_id() == owner { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: `prepare` makes system calls on plain data only: no allocation, no lock.
    unsafe { command.pre_exec(prepare) };
}

/// Applies the last restrictions before exec: no new privileges, Landlock, the filters.
fn restrict(command: &mut Command, ruleset: Option<RawFd>, filters: [FilterProgram; 2]) {
    let prepare = move || {
        rustix::thread::set_no_new_privs(true)?;
        if let Some(ruleset) = ruleset {
            // SAFETY: the call takes a descriptor that the parent holds across the fork, and no flags.
            check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0_u32) })?;
        }
        filters.iter().try_for_each(FilterProgram::load)
    };
    // SAFETY: `prepare` makes system calls on plain data only: no allocation, no lock.
    unsafe { command.pre_exec(prepare) };
}

/// Translates the jail's paths to those of the host.
#[derive(Debug)]
struct PathView<'a> {
    binds: &'a [Bind],
    /// Links for folders of the jail that contain binds but are not binds themselves.
    folder: Option<tempfile::TempDir>,
}

impl<'a> PathView<'a> {
    fn of(binds: &'a [Bind], links_in: &Path) -> std::io::Result<Self> {
        let is_whole = binds.iter().any(|bind| bind.inside == Path::new("/"));
        let files = binds.iter().filter(|bind| bind.host.is_file());
        let folder = match is_whole {
            true => None,
            false => Some(tempfile::tempdir_in(links_in)?),
        };
        if let Some(folder) = &folder {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
            for bind in files {
                let link = folder.path().join(bind.inside.strip_prefix("/").unwrap_or(&bind.inside));
                std::fs::create_dir_all(link.parent().unwrap_or(folder.path()))?;
                symlink(&bind.host, link)?;
            }
        }
        Ok(Self { binds, folder })
    }

    /// Returns the host's path of `inside`.
    fn outside(&self, inside: &Path) -> PathBuf {
        let under = self.binds.iter().filter_map(|bind| Some((bind, inside.strip_prefix(&bind.inside).ok()?)));
        let nearest = under.min_by_key(|(_, rest)| rest.components().count());
        match (nearest, &self.folder) {
            (Some((bind, rest)), _) if rest.as_os_str().is_empty() => bind.host.clone(),
            (Some((bind, rest)), _) => bind.host.join(rest),
            (None, Some(folder)) => {
                let link = folder.path().join(inside.strip_prefix("/").unwrap_or(inside));
                if link.exists() { link } else { inside.to_owned() }
            }
            (None, None) => inside.to_owned(),
        }
    }

    /// Translates an argument or a value if it is a path of the jail.
    fn word(&self, word: &std::ffi::OsStr) -> OsString {
        let path = Path::new(word);
        if path.is_absolute() { self.outside(path).into_os_string() } else { word.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn paths_of_the_jail_are_translated_to_paths_of_the_host() {
        let binds =
            [Bind::read_only("/srv/python", "/"), Bind::read_only("/srv/p", "/policy"), Bind::read_only("/r", "/run")];
        let view = PathView::of(&binds, &std::env::temp_dir()).unwrap();
        for (inside, outside) in [
            ("/py/bin/python3", "/srv/python/py/bin/python3"),
            ("/policy", "/srv/p"),
            ("/policy/policy.py", "/srv/p/policy.py"),
            ("/", "/srv/python"),
        ] {
            assert_eq!(view.outside(Path::new(inside)), Path::new(outside));
        }
        assert_eq!(view.word("-B".as_ref()), "-B");
    }

    #[test]
    fn a_folder_of_bound_files_is_a_folder_of_links() {
        let binds = [Bind::read_only("/bin/true", "/assay/lib/a"), Bind::read_only("/bin/sh", "/assay/lib/b")];
        let view = PathView::of(&binds, &std::env::temp_dir()).unwrap();
        assert_eq!(view.outside(Path::new("/assay/lib/a")), Path::new("/bin/true"));
        let folder = view.outside(Path::new("/assay/lib"));
        assert_eq!(std::fs::read_link(folder.join("b")).unwrap(), Path::new("/bin/sh"));
    }
}
