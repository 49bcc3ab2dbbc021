//! A real file system of a few MiB, for tests of a full disk.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::own_namespaces::{allows, run_again};

/// Environment variable with the mounted folder, for the test that runs on it.
const MOUNTED: &str = "ASSAY_TEST_SMALL_DISK";

/// A folder on a separate disk.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Runs `body` on a new disk of `mib` MiB. The current test program is started again for the single test `name`
    /// (its path, as printed by the test harness), in a mount namespace with which the disk disappears.
    ///
    /// # Panics
    /// Panics if the test fails there, or this user cannot mount anything, not even in a user namespace.
    #[track_caller]
    pub fn run(name: &str, mib: u32, body: impl FnOnce(&Self)) {
        if let Some(folder) = std::env::var_os(MOUNTED) {
            return body(&Self(folder.into()));
        }
        let folder = tempfile::tempdir().unwrap();
        // The user of jails must be able to enter the folder.
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        // Without root, a user namespace is needed.
        let namespaces = if allows(&["-m"], "mount -t tmpfs none /mnt") { &["-m"][..] } else { &["-r", "-m"] };
        let mount = format!("mount -t tmpfs -o mode=0755,size={mib}m small \"${MOUNTED}\"");
        run_again(name, namespaces, &mount, (MOUNTED, folder.path()));
    }

    /// Returns its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Fills its free space except for about `left_bytes`. Removing the returned file frees the space.
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
