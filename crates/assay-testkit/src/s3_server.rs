//! An S3 server for tests: the crate `s3s-fs`, with a bucket in a temporary folder.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// An S3 server with one bucket. Dropping it stops it and deletes the bucket.
#[derive(Debug)]
pub struct S3Server {
    folder: TempDir,
    address: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
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
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(Self::ACCESS_KEY, Self::SECRET_KEY));
        let service = service.build();
        let listener = std::net::TcpListener::bind((address, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, mut stopped) = oneshot::channel();
        let serve = async move {
            let listener = TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap(),
                    _ = &mut stopped => return,
                };
                // Clients of tests end connections as they like.
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone()));
            }
        };
        let run = move || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(serve);
        Self { folder, address, stop: Some(stop), thread: Some(std::thread::spawn(run)) }
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
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
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
