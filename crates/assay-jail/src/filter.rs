//! Seccomp filters: JSON lists (system call, reason, perhaps an argument to compare) compiled to BPF.
//!
//! Two filters are stacked. The allow-list answers ENOSYS to unknown calls, so that libraries fall back to an older
//! call. The kill-list ends the process at once, since no well-meant program makes those calls. Calls of a foreign
//! architecture are killed by both.

#![expect(unsafe_code, reason = "filters are loaded between fork and exec")]

use serde_json::{Value, json};

use crate::Profile;

const BASE: &str = include_str!("../filters/base.json");
const KILL: &str = include_str!("../filters/kill.json");
/// Calls of a fork server, in addition to those of its policies.
const FORK_SERVER: &str = include_str!("../filters/fork_server.json");
/// The call that a forked policy does not need.
const STARTS_PROGRAMS: &str = "execve";
/// "No such system call", the errno that makes libc fall back (from clone3 to clone, for example).
const ENOSYS: i32 = 38;
const NAME: &str = "filter";
/// Calls that act on other processes: only for profiles with their own pid namespace.
const ACTS_ON_PIDS: [&str; 4] = ["tgkill", "sched_setaffinity", "sched_setscheduler", "setpriority"];

/// The reason why a filter can't be compiled: a mistake in `filters/*.json`, or an unsupported processor.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The lists hold x86-64 system calls.
    #[error("no system call filter for this processor ({0}); only x86_64 is supported")]
    Architecture(&'static str),
    /// The list is not JSON.
    #[error("the system call filter is not a JSON list")]
    Json(#[source] serde_json::Error),
    /// The list is not a filter.
    #[error("could not compile the system call filter")]
    Compile(#[source] seccompiler::Error),
}

/// Compiled filters as the bytes that bubblewrap reads.
pub(crate) struct Filters {
    kill: Vec<u8>,
    policy: Allow,
    forked_policy: Vec<u8>,
    fork_server: Vec<u8>,
    step: Allow,
    step_with_cameras: Allow,
    render: Allow,
}

impl std::fmt::Debug for Filters {
    /// Omits the bytes, which are not human-readable.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filters").finish_non_exhaustive()
    }
}

/// Calls on files that Landlock does not govern: only if the host's files are not visible.
const PAST_LANDLOCK: [&str; 3] = ["chmod", "fchmod", "utimensat"];

/// An allow-list in two forms, with and without a separate pid namespace.
#[derive(Debug)]
struct Allow {
    alone: Vec<u8>,
    among_others: Vec<u8>,
}

impl Filters {
    pub(crate) fn compile() -> Result<Self, FilterError> {
        Ok(Self {
            kill: compile(json!("allow"), json!("kill_process"), list(KILL)?)?,
            policy: Allow::of(Profile::Policy)?,
            forked_policy: forked_policy()?,
            fork_server: fork_server()?,
            step: Allow::of(Profile::Step)?,
            step_with_cameras: Allow::of(Profile::StepWithCameras)?,
            render: Allow::of(Profile::Render)?,
        })
    }

    /// Returns the filters in the order of loading. The allow-list comes last, because it forbids loading another one.
    pub(crate) fn stack(&self, profile: Profile, has_pid_namespace: bool) -> [&[u8]; 2] {
        let allow = match profile {
            Profile::Policy => &self.policy,
            Profile::Step => &self.step,
            Profile::StepWithCameras => &self.step_with_cameras,
            Profile::Render => &self.render,
        };
        [&self.kill, if has_pid_namespace { &allow.alone } else { &allow.among_others }]
    }

    /// Returns the filters of a policy that was forked, in the order of loading.
    pub(crate) fn of_forked_policy(&self) -> [&[u8]; 2] {
        [&self.kill, &self.forked_policy]
    }

    /// Returns the filter of a fork server.
    pub(crate) fn of_fork_server(&self) -> &[u8] {
        &self.fork_server
    }
}

fn forked_policy() -> Result<Vec<u8>, FilterError> {
    let mut rules = policy_rules()?;
    rules.retain(|rule| rule["syscall"] != STARTS_PROGRAMS);
    compile(json!({ "errno": ENOSYS }), json!("allow"), rules)
}

fn fork_server() -> Result<Vec<u8>, FilterError> {
    let mut rules = policy_rules()?;
    rules.extend(list(FORK_SERVER)?);
    compile(json!({ "errno": ENOSYS }), json!("allow"), rules)
}

fn policy_rules() -> Result<Vec<Value>, FilterError> {
    let mut rules = list(BASE)?;
    rules.extend(list(Profile::Policy.filter_json())?);
    Ok(rules)
}

impl Allow {
    fn of(profile: Profile) -> Result<Self, FilterError> {
        let mut rules = list(BASE)?;
        rules.extend(list(profile.filter_json())?);
        let is_harmless =
            |rule: &&Value| !ACTS_ON_PIDS.iter().chain(&PAST_LANDLOCK).any(|name| rule["syscall"] == *name);
        let among_others = rules.iter().filter(is_harmless).cloned().collect();
        let compile = |rules| compile(json!({ "errno": ENOSYS }), json!("allow"), rules);
        Ok(Self { alone: compile(rules)?, among_others: compile(among_others)? })
    }
}

fn list(text: &str) -> Result<Vec<Value>, FilterError> {
    serde_json::from_str(text).map_err(FilterError::Json)
}

fn compile(otherwise: Value, on_match: Value, rules: Vec<Value>) -> Result<Vec<u8>, FilterError> {
    let arch = std::env::consts::ARCH;
    if arch != "x86_64" {
        return Err(FilterError::Architecture(arch));
    }
    let text = json!({ NAME: { "mismatch_action": otherwise, "match_action": on_match, "filter": rules } }).to_string();
    let mut programs = seccompiler::compile_from_json(text.as_bytes(), seccompiler::TargetArch::x86_64)
        .map_err(FilterError::Compile)?;
    let program = programs.remove(NAME).unwrap_or_default();
    Ok(program.iter().flat_map(instruction_bytes).collect())
}

/// Encodes the kernel's `struct sock_filter`: u16, u8, u8, u32 in native order.
fn instruction_bytes(line: &seccompiler::sock_filter) -> [u8; 8] {
    let ([a, b], [c, d, e, f]) = (line.code.to_ne_bytes(), line.k.to_ne_bytes());
    [a, b, line.jt, line.jf, c, d, e, f]
}

/// A compiled filter, aligned as the kernel requires.
#[derive(Debug)]
pub(crate) struct FilterProgram(Vec<u64>);

impl FilterProgram {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.chunks_exact(8).map(|line| u64::from_ne_bytes(line.try_into().unwrap_or_default())).collect())
    }

    /// Loads it for the calling thread; without allocations, so that a forked child may call it.
    pub(crate) fn load(&self) -> std::io::Result<()> {
        let length = libc::c_ushort::try_from(self.0.len()).unwrap_or(libc::c_ushort::MAX);
        let program = libc::sock_fprog { len: length, filter: self.0.as_ptr().cast_mut().cast() };
        // SAFETY: `program` points to `length` instructions that live across the call, which only reads them.
        check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0_u32, &raw const program) })
    }
}

/// Returns the error of a system call.
pub(crate) fn check(result: libc::c_long) -> std::io::Result<()> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::collections::BTreeSet;

    fn names(list: &str) -> Vec<(String, String)> {
        let rules: Vec<Value> = serde_json::from_str(list).unwrap();
        let text = |rule: &Value, key: &str| rule[key].as_str().unwrap_or_default().to_owned();
        rules.iter().map(|rule| (text(rule, "syscall"), text(rule, "comment"))).collect()
    }

    #[test]
    fn every_profile_compiles() {
        let filters = Filters::compile().unwrap();
        for profile in Profile::ALL {
            for program in [true, false].into_iter().flat_map(|alone| filters.stack(profile, alone)) {
                assert!(program.len() > 8 * 10 && program.len() % 8 == 0);
                assert!(program.len() / 8 < 4096, "the kernel takes at most 4096 instructions");
            }
        }
    }

    #[test]
    fn every_line_has_a_reason() {
        for list in [BASE, KILL].into_iter().chain(Profile::ALL.map(Profile::filter_json)) {
            for (syscall, reason) in names(list) {
                assert!(reason.len() > 3, "{syscall} has no reason");
            }
        }
    }

    #[test]
    fn nothing_is_both_allowed_and_killed() {
        let killed: BTreeSet<_> = names(KILL).into_iter().map(|(name, _)| name).collect();
        for profile in Profile::ALL {
            for (name, _) in names(BASE).into_iter().chain(names(profile.filter_json())) {
                assert!(!killed.contains(&name), "{name}");
            }
        }
    }

    #[test]
    fn profiles_that_share_pids_allow_no_call_that_acts_on_one() {
        let sharing: Vec<_> = Profile::ALL.into_iter().filter(|profile| !profile.has_pid_namespace()).collect();
        assert_eq!(sharing, [Profile::Step, Profile::StepWithCameras]);
        for profile in sharing {
            let allowed: BTreeSet<_> =
                names(BASE).into_iter().chain(names(profile.filter_json())).map(|(name, _)| name).collect();
            for acts in ["kill", "tkill", "rt_sigqueueinfo", "pidfd_open"].iter().chain(&ACTS_ON_PIDS) {
                assert!(!allowed.contains(*acts), "{profile:?} {acts}");
            }
        }
    }

    #[test]
    fn a_lane_with_cameras_has_few_additional_calls() {
        let of = |profile: Profile| -> BTreeSet<_> {
            names(profile.filter_json()).into_iter().map(|(name, _)| name).collect()
        };
        let more: Vec<_> = of(Profile::StepWithCameras).difference(&of(Profile::Step)).cloned().collect();
        assert_eq!(more, ["getresgid", "getresuid", "memfd_create"]);
    }
}
