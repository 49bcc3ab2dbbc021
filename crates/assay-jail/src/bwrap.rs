//! Builds bubblewrap's command line for a [`JailSpec`].

use std::ffi::OsString;
use std::path::Path;

use crate::spec::SEAL_VARIABLE;
use crate::{Bind, JailSpec, Profile};

/// User and group in the jail: the user `nobody`.
const INSIDE_ID: &str = "65534";
/// The devices of every jail. `--dev` would mount a writable tmpfs.
pub(crate) const DEVICES: [&str; 2] = ["/dev/null", "/dev/urandom"];
/// System folders (or links into `/usr`) that software OpenGL needs from the host in addition to `/usr`.
pub(crate) const SYSTEM_FOLDERS: [&str; 3] = ["/lib", "/lib64", "/lib32"];

/// Descriptors for bubblewrap itself.
pub(crate) struct Descriptors {
    /// Filters, in the order of loading.
    pub(crate) filters: [i32; 2],
    /// The pipe to which it writes the program's pid.
    pub(crate) info: i32,
    /// The ruleset that the program applies to itself.
    pub(crate) seal: Option<i32>,
}

/// Returns bubblewrap's arguments.
pub(crate) fn arguments(spec: &JailSpec, descriptors: &Descriptors) -> Vec<OsString> {
    let mut args = Args(Vec::with_capacity(96));
    args.namespaces(spec.profile);
    if spec.profile.sees_system() {
        args.system_folders();
    }
    for bind in &spec.binds {
        // The loader of a native program is in one of the system's folders.
        if !spec.profile.sees_system() || !SYSTEM_FOLDERS.iter().any(|folder| bind.inside.starts_with(folder)) {
            args.bind(bind);
        }
    }
    for device in DEVICES {
        args.add(["--dev-bind", device, device]);
    }
    if !spec.binds.iter().any(|bind| bind.inside == Path::new("/")) {
        // bubblewrap's own root is a writable tmpfs without a limit.
        args.add(["--remount-ro", "/"]);
    }
    args.add(["--chdir", "/"]);
    for (name, value) in &spec.env {
        args.add(["--setenv", name, value]);
    }
    if let Some(seal) = descriptors.seal {
        args.add(["--setenv", SEAL_VARIABLE, &seal.to_string()]);
    }
    for filter in descriptors.filters {
        args.add(["--add-seccomp-fd", &filter.to_string()]);
    }
    args.add(["--info-fd", &descriptors.info.to_string(), "--"]);
    args.0.extend(spec.argv.iter().cloned());
    args.0
}

struct Args(Vec<OsString>);

impl Args {
    fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.0.extend(words.into_iter().map(OsString::from));
    }

    fn namespaces(&mut self, profile: Profile) {
        self.add(["--unshare-user", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]);
        if profile.has_pid_namespace() {
            // As pid 1 the program is the namespace's only process, and cannot read bubblewrap's environment.
            self.add(["--unshare-pid", "--as-pid-1"]);
        }
        self.add(["--disable-userns", "--uid", INSIDE_ID, "--gid", INSIDE_ID, "--hostname", "assay"]);
        self.add(["--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
    }

    fn system_folders(&mut self) {
        self.add(["--ro-bind", "/usr", "/usr"]);
        for folder in SYSTEM_FOLDERS {
            match std::fs::read_link(folder) {
                Ok(target) => {
                    self.add(["--symlink"]);
                    self.0.extend([target.into_os_string(), folder.into()]);
                }
                Err(_) => self.add(["--ro-bind-try", folder, folder]),
            }
        }
    }

    fn bind(&mut self, bind: &Bind) {
        self.add([if bind.writable { "--bind" } else { "--ro-bind" }]);
        self.0.extend([bind.host.clone().into_os_string(), bind.inside.clone().into_os_string()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(spec: &JailSpec) -> String {
        let args = arguments(spec, &Descriptors { filters: [3, 4], info: 5, seal: None });
        args.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_policy_is_alone_and_its_root_is_the_runtime() {
        let mut spec = JailSpec::new(Profile::Policy, ["/py", "x"]);
        spec.binds = vec![Bind::read_only("/srv/python", "/"), Bind::read_only("/srv/p", "/policy")];
        let line = line(&spec);
        assert!(line.contains("--unshare-pid --as-pid-1") && line.contains("--unshare-net"));
        assert!(line.contains("--ro-bind /srv/python / --ro-bind /srv/p /policy"));
        assert!(!line.contains("--remount-ro") && line.ends_with("--info-fd 5 -- /py x"));
    }

    #[test]
    fn a_stepping_lane_shares_pids_and_nothing_else() {
        let line = line(&JailSpec::new(Profile::Step, ["/lane"]));
        assert!(!line.contains("pid-1") && !line.contains("unshare-pid") && !line.contains("/usr"));
        assert!(line.contains("--unshare-user --unshare-ipc --unshare-net") && line.contains("--remount-ro /"));
    }
}
