//! Landlock rulesets, which limit what a process may do with the files that it can see. This process creates them; a
//! jailed process applies one to itself irrevocably.
//!
//! All rights that the kernel's version of Landlock (its ABI) knows are handled, and thus forbidden unless a rule
//! allows them: files from ABI 1 on, moving between folders 2, truncating 3, TCP 4, device ioctls 5, abstract Unix
//! sockets and signals to others 6. An older kernel lacks the later ones, most of which the filter forbids too.

#![expect(unsafe_code, reason = "the version of Landlock has no safe wrapper")]

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope, make_bitflags,
};

use crate::JailSpec;
use crate::bwrap::{DEVICES, SYSTEM_FOLDERS};

/// The version whose rights are requested. Later versions add rights that a jail does not have anyway.
const WANTED: ABI = ABI::V6;
/// The first version with scopes.
const SCOPES: u32 = 6;
/// `LANDLOCK_CREATE_RULESET_VERSION`: returns the version instead of creating a ruleset.
const ASK_VERSION: libc::c_ulong = 1;
/// Cache of the dynamic loader, which renderers need for the system's OpenGL when they see the whole host.
const LOADER_CACHE: &str = "/etc/ld.so.cache";

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
const NULL: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile});
/// Rights for its own files and folders, but not for devices, sockets, pipes or links.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | RemoveDir | RemoveFile | MakeDir | MakeReg | Refer | Truncate
});

/// Returns the kernel's version of Landlock; 0 if it has none, or it is disabled.
pub(crate) fn abi() -> u32 {
    // SAFETY: without a structure and with this flag the call only returns a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, ASK_VERSION)
    };
    u32::try_from(version).unwrap_or(0)
}

/// Returns the ruleset of a running program: it may read its binds, write to writable ones, and execute nothing. `None`
/// if the kernel has no Landlock.
pub(crate) fn running(spec: &JailSpec) -> io::Result<Option<OwnedFd>> {
    create(|| rules(spec, None))
}

/// Returns the ruleset before the program runs: the same, but it may also execute `loader`, which starts it.
pub(crate) fn starting(spec: &JailSpec, loader: &Path) -> io::Result<Option<OwnedFd>> {
    create(|| rules(spec, Some(loader)))
}

/// Returns a ruleset that forbids the network, signals to others and their abstract sockets, but no files: it does not
/// keep a process from mounting. `None` if the kernel's version can't tell these apart.
pub(crate) fn scopes() -> io::Result<Option<OwnedFd>> {
    if abi() < SCOPES {
        return Ok(None);
    }
    create(|| Ruleset::default().handle_access(AccessNet::from_all(WANTED))?.scope(Scope::from_all(WANTED))?.create())
}

fn create(rules: impl FnOnce() -> Result<RulesetCreated, landlock::RulesetError>) -> io::Result<Option<OwnedFd>> {
    rules().map(Into::into).map_err(io::Error::other)
}

fn rules(spec: &JailSpec, loader: Option<&Path>) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?
        .create()?;
    for bind in &spec.binds {
        rules = allow(rules, &bind.host, if bind.writable { WRITE } else { READ })?;
    }
    let [null, random] = DEVICES;
    rules = allow(rules, Path::new(null), NULL)?;
    rules = allow(rules, Path::new(random), AccessFs::ReadFile.into())?;
    if spec.profile.sees_system() {
        for place in SYSTEM_FOLDERS.iter().chain(&["/usr", LOADER_CACHE]) {
            rules = allow(rules, Path::new(place), READ)?;
        }
    }
    match loader {
        Some(loader) => allow(rules, loader, AccessFs::ReadFile | AccessFs::Execute),
        None => Ok(rules),
    }
}

/// Adds a rule for `path` and everything below it, if it exists.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    // A file takes only the rights that apply to files.
    let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(WANTED) };
    rules.add_rule(PathBeneath::new(place, rights))
}
