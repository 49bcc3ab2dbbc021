//! A real file system of a few MiB, for what happens when it is full.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the mounted folder to the test that runs on it.
const MOUNTED: &str = "ASSAY_TEST_SMALL_DISK";
/// Mounts what its first arguments say, and becomes the rest.
const MOUNT: &str = "mount -t tmpfs -o mode=0755,size=\"$1\" small \"$2\" && shift 2 && exec \"$@\"";

/// A folder on a disk of its own.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Runs `body` on a new disk of `mib` MiB: this very test program is started again for the one test `name` (its
    /// path, as the test harness prints it), in a mount namespace of its own, where the disk goes with it.
    ///
    /// # Panics
    /// The test failed there, or this machine lets its user mount nothing, not even in a user namespace.
    #[track_caller]
    pub fn run(name: &str, mib: u32, body: impl FnOnce(&Self)) {
        if let Some(folder) = std::env::var_os(MOUNTED) {
            return body(&Self(folder.into()));
        }
        let folder = tempfile::tempdir().unwrap();
        // The user of jails has to get through.
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let again = |namespaces: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(namespaces).args(["sh", "-c", MOUNT, "sh", &format!("{mib}m")]).arg(folder.path());
            command.arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
            command.env(MOUNTED, folder.path()).output().unwrap()
        };
        let mounts = |namespaces: &[&str]| {
            let tried =
                Command::new("unshare").args(namespaces).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
            tried.is_ok_and(|tried| tried.status.success())
        };
        // Without root, in a user namespace.
        let namespaces = if mounts(&["-m"]) { &["-m"][..] } else { &["-r", "-m"] };
        let done = again(namespaces);
        let (told, log) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success() && told.contains("1 passed"), "on a disk of {mib} MiB: {told}\n{log}");
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all of its free space but about `left_bytes`, until the answer is removed.
    #[must_use]
    pub fn fill(&self, left_bytes: u64) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::create(&path).unwrap();
        let block = [1; 4096];
        while self.free_bytes() > left_bytes {
            match file.write_all(&block) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("filling the disk: {error}"),
            }
        }
        path
    }

    /// Returns the free space in bytes.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        let found = rustix::fs::statvfs(&self.0).unwrap();
        found.f_bavail * found.f_frsize
    }
}
