//! Seccomp filters: JSON lists (system call, reason, perhaps an argument to compare) compiled to BPF.
//!
//! Two filters are stacked. The allow-list answers ENOSYS to unknown calls, so that libraries fall back to an older
//! call. The kill-list ends the process at once, since no well-meant program makes those calls. Calls of a foreign
//! architecture are killed by both.

use serde_json::{Value, json};

use crate::Profile;

const BASE: &str = include_str!("../filters/base.json");
const KILL: &str = include_str!("../filters/kill.json");
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
#[derive(Debug)]
pub(crate) struct Filters {
    kill: Vec<u8>,
    policy: Allow,
    step: Allow,
    step_with_cameras: Allow,
    render: Allow,
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
