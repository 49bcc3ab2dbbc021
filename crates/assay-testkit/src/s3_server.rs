//! An S3 server for tests: the program `assay-test-s3`, with a bucket in a temporary folder.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// An S3 server with one bucket. Dropping it stops it and deletes the bucket.
#[derive(Debug)]
pub struct S3Server {
    folder: TempDir,
    address: String,
    /// Ends when its standard input closes, so even if this process is killed.
    child: Child,
}

impl S3Server {
    /// Name of the bucket.
    pub const BUCKET: &str = "evidence";
    /// Id of the access key.
    pub const ACCESS_KEY: &str = "assay-test-key";
    /// The secret of the access key.
    pub const SECRET_KEY: &str = "assay-test-secret-31415926";

    /// Starts a server on a free port of loopback.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    #[must_use]
    pub fn start() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST)
    }

    /// Starts a server on a free port of this address of the host.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    #[must_use]
    pub fn start_at(address: Ipv4Addr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(Self::BUCKET)).unwrap();
        let mut command = Command::new(program());
        command.arg(folder.path()).arg(address.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("AWS_ACCESS_KEY_ID", Self::ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", Self::SECRET_KEY);
        let mut child = command.spawn().unwrap();
        let (mut line, output) = (String::new(), child.stdout.take().unwrap());
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line.trim_end().to_owned();
        assert!(!address.is_empty(), "the S3 server ended instead of printing its address");
        Self { folder, address, child }
    }

    /// Returns its address and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the variables that a client of the server at `address` needs: of this one, or of a proxy before it.
    #[must_use]
    pub fn variables(address: &str) -> Vec<(String, String)> {
        let pairs = [
            ("AWS_ACCESS_KEY_ID", Self::ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", Self::SECRET_KEY.to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://{address}")),
            ("AWS_REGION", "us-east-1".to_owned()),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns the keys of all objects, sorted.
    ///
    /// # Panics
    /// Panics if the bucket cannot be read.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let bucket = self.folder.path().join(Self::BUCKET);
        let mut keys = Vec::new();
        collect(&bucket, &bucket, &mut keys);
        keys.sort();
        keys
    }

    /// Returns the file of an object.
    #[must_use]
    pub fn file(&self, key: &str) -> PathBuf {
        self.folder.path().join(Self::BUCKET).join(key)
    }

    /// Downloads from a signed address; `None` if the server refuses.
    #[must_use]
    pub fn download(address: &str) -> Option<Vec<u8>> {
        ureq::get(address).call().ok()?.body_mut().read_to_vec().ok()
    }

    /// Deletes the bucket with everything in it.
    ///
    /// # Panics
    /// Panics if it cannot be deleted.
    pub fn delete_bucket(&self) {
        fs::remove_dir_all(self.folder.path().join(Self::BUCKET)).unwrap();
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the program, which a build of the workspace puts into the folder above that of the test programs.
fn program() -> PathBuf {
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("assay-test-s3");
    assert!(program.is_file(), "{} is missing: run `cargo build --workspace` first", program.display());
    program
}

fn collect(bucket: &Path, folder: &Path, keys: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(bucket, &path, keys),
            false => keys.push(path.strip_prefix(bucket).unwrap().to_str().unwrap().to_owned()),
        }
    }
}
