//! Starts the program of a fork server in namespaces of its own, in which it may create further ones for its children.
//!
//! bubblewrap is not used: a child would be a child of bubblewrap's monitor, which would take its exit. The root of the
//! program is its runtime. On `/policy`, which is empty there, lies a small file system with the root of its children
//! (`jail`: the runtime and the two devices), the folders of their policies (`slots`), and further files of theirs
//! (`files`, by number).

#![expect(unsafe_code, reason = "namespaces are entered between fork and exec")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, parent_id};
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags, mkdirat, openat, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, mount_remount, unmount,
};
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal, pidfd_open};
use rustix::thread::UnshareFlags;

use crate::bwrap::DEVICES;
use crate::child_setup::{ChildSetup, connect};
use crate::filter::{FilterProgram, check};
use crate::output::OutputDrain;
use crate::priority::prefer_oom_kill;
use crate::spawn_error::io as failed;
use crate::{Bind, Child, Jail, JailSpec, SpawnError, jail_uid, ruleset};

/// User and group inside: the user `nobody`, as in every jail.
const INSIDE_ID: u32 = 65534;
/// The highest capability that a kernel may know.
const LAST_CAPABILITY: u64 = 63;
/// Options of the small file system.
const SMALL: &std::ffi::CStr = c"mode=0755,size=16k,nr_inodes=64";
const FOLDER_MODE: u32 = 0o755;

/// Opens the host's `/proc` as a place only: the children look up their own files in it before they leave it.
pub(super) fn proc_folder() -> io::Result<OwnedFd> {
    Ok(openat(CWD, c"/proc", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Starts the program. `kept` are the descriptors that it inherits.
pub(super) fn launch(
    jail: &Jail,
    spec: &JailSpec,
    (slots, files): (&Path, &[Bind]),
    kept: [RawFd; 4],
) -> Result<Child, SpawnError> {
    let (log_reader, log_writer) = io::pipe().map_err(failed("create a pipe"))?;
    let scopes = ruleset::scopes().map_err(failed("create a Landlock ruleset"))?;
    let view = ServerView::of(spec, slots, files).map_err(failed("describe the jail"))?;
    let mut words = spec.argv.iter();
    let mut command = Command::new(words.next().map_or("".as_ref(), |program| program.as_os_str()));
    command.args(words).env_clear().envs(spec.env.iter().map(|(name, value)| (name, value))).current_dir("/");
    // Before the limits, since this process may have more files open than the program may open.
    let see = move || view.enter();
    // SAFETY: `see` makes system calls on data that was prepared before the fork: no allocation, no lock.
    unsafe { command.pre_exec(see) };
    ChildSetup::of(spec, kept.map(Some))?.add_to(&mut command);
    connect(&mut command, (None, None), log_writer).map_err(failed("duplicate a descriptor"))?;
    let (owner, ruleset) = (std::process::id(), scopes.as_ref().map(AsRawFd::as_raw_fd));
    let filter = FilterProgram::of(jail.filters().of_fork_server());
    let restrict = move || {
        rustix::process::setsid()?;
        give_up_capabilities()?;
        rustix::thread::set_no_new_privs(true)?;
        if let Some(ruleset) = ruleset {
            // SAFETY: the call takes a descriptor that the parent holds across the fork, and no flags.
            check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0_u32) })?;
        }
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the call.
        if parent_id() != owner {
            return Err(rustix::io::Errno::SRCH.into());
        }
        filter.load()
    };
    // SAFETY: `restrict` makes system calls on data that was prepared before the fork: no allocation, no lock.
    unsafe { command.pre_exec(restrict) };
    let child = command.spawn().map_err(failed("start a fork server"))?;
    drop((command, scopes));
    adopt(child.id(), log_reader)
}

fn adopt(id: u32, log: io::PipeReader) -> Result<Child, SpawnError> {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(SpawnError::Bubblewrap { message: "the program has no pid".to_owned() })?;
    // It has not been reaped, so its pid cannot have been reused.
    let open = || pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed("open a process handle")(error.into()));
    let (monitor, program, watched) = (open()?, open()?, open()?);
    prefer_oom_kill(pid);
    let output = OutputDrain::drain(log, Some(watched)).map_err(failed("start the log thread"))?;
    Ok(Child::new((pid, monitor), (pid, Some(program)), output))
}

/// The mounts of a fork server, and its ids, as strings that are ready for system calls.
struct ServerView {
    root: CString,
    /// The folder of the root on which the small file system lies, and its two folders.
    small: CString,
    jail: CString,
    slots_inside: CString,
    slots: CString,
    /// The folder of the children's further files, and the files: host, inside.
    files_inside: CString,
    files: Vec<(CString, CString)>,
    /// The program's further folders: host, inside.
    folders: Vec<(CString, CString)>,
    /// Devices: host, in the root, in the children's root.
    devices: Vec<(CString, CString, CString)>,
    uid_map: Vec<u8>,
    gid_map: Vec<u8>,
}

impl ServerView {
    fn of(spec: &JailSpec, slots: &Path, files: &[Bind]) -> io::Result<Self> {
        let bytes = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
        let root = spec.binds.first().map_or(Path::new("/"), |bind| &bind.host);
        let at = |inside: &Path| bytes(&root.join(inside.strip_prefix("/").unwrap_or(inside)));
        let folders = spec.binds.iter().skip(1).map(|bind| Ok((bytes(&bind.host)?, at(&bind.inside)?)));
        let devices = DEVICES.iter().map(Path::new).map(|device| {
            let in_jail = Path::new("/policy/jail").join(device.strip_prefix("/").unwrap_or(device));
            Ok((bytes(device)?, at(device)?, at(&in_jail)?))
        });
        let files = files
            .iter()
            .enumerate()
            .map(|(number, bind)| Ok((bytes(&bind.host)?, at(&Path::new("/policy/files").join(number.to_string()))?)));
        let (uid, gid) = match jail_uid() {
            Some(id) => (id, id),
            None => (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        };
        let map = |outside: u32| format!("{INSIDE_ID} {outside} 1").into_bytes();
        Ok(Self {
            root: bytes(root)?,
            small: at(Path::new("/policy"))?,
            jail: at(Path::new("/policy/jail"))?,
            slots_inside: at(Path::new("/policy/slots"))?,
            slots: bytes(slots)?,
            files_inside: at(Path::new("/policy/files"))?,
            files: files.collect::<io::Result<_>>()?,
            folders: folders.collect::<io::Result<_>>()?,
            devices: devices.collect::<io::Result<_>>()?,
            uid_map: map(uid),
            gid_map: map(gid),
        })
    }

    /// Enters new namespaces, and makes the runtime the root.
    fn enter(&self) -> io::Result<()> {
        // After a change of user the files in /proc that are written below belong to root, unless the process says so.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        let all = UnshareFlags::NEWUSER
            | UnshareFlags::NEWNS
            | UnshareFlags::NEWIPC
            | UnshareFlags::NEWNET
            | UnshareFlags::NEWUTS
            | UnshareFlags::NEWCGROUP;
        // SAFETY: the only thread of a forked child calls it; it shares nothing that the call could take from others.
        unsafe { rustix::thread::unshare_unsafe(all) }?;
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", &self.uid_map)?;
        write(c"/proc/self/gid_map", &self.gid_map)?;
        rustix::system::sethostname(b"assay")?;
        self.mount()
    }

    fn mount(&self) -> io::Result<()> {
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        bind_read_only(&self.root, &self.root)?;
        mount(c"tmpfs", self.small.as_c_str(), c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, SMALL)?;
        for folder in [&self.jail, &self.slots_inside, &self.files_inside] {
            mkdirat(CWD, folder.as_c_str(), Mode::from_raw_mode(FOLDER_MODE))?;
        }
        bind_read_only(&self.root, &self.jail)?;
        bind_read_only(&self.slots, &self.slots_inside)?;
        for (host, inside) in &self.folders {
            bind_read_only(host, inside)?;
        }
        for (host, inside) in &self.files {
            openat(CWD, inside.as_c_str(), OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC, Mode::empty())?;
            bind_read_only(host, inside)?;
        }
        for (host, inside, in_jail) in &self.devices {
            mount_bind(host.as_c_str(), inside.as_c_str())?;
            mount_bind(host.as_c_str(), in_jail.as_c_str())?;
        }
        remount_read_only(&self.small)?;
        rustix::process::chdir(self.root.as_c_str())?;
        rustix::process::pivot_root(c".", c".")?;
        unmount(c".", UnmountFlags::DETACH)?;
        Ok(rustix::process::chdir(c"/")?)
    }
}

fn bind_read_only(from: &CString, to: &CString) -> io::Result<()> {
    mount_bind(from.as_c_str(), to.as_c_str())?;
    remount_read_only(to)
}

/// Makes a mount read-only. Flags that it has already may not be dropped in a user namespace.
fn remount_read_only(place: &CString) -> io::Result<()> {
    let has = statvfs(place.as_c_str())?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    flags.set(MountFlags::NOEXEC, has.contains(StatVfsMountFlags::NOEXEC));
    Ok(mount_remount(place.as_c_str(), flags, c"")?)
}

fn write(file: &std::ffi::CStr, text: &[u8]) -> io::Result<()> {
    let file = openat(CWD, file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text)?;
    Ok(())
}

/// Gives up every capability that a program could gain again. Those in force end with exec.
fn give_up_capabilities() -> io::Result<()> {
    for capability in 0..=LAST_CAPABILITY {
        // SAFETY: the call takes plain numbers.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0_u64, 0_u64, 0_u64) } != 0 {
            // The kernel knows no more.
            break;
        }
    }
    Ok(rustix::thread::clear_ambient_capability_set()?)
}
