//! Servers that tests of all processes share, each test with an account of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use toml::{Table, Value};

use crate::{Assay, Client, Server, home};

/// File with the kinds of shared servers, in the source tree.
const KINDS: &str = "crates/assay/tests/serve/shared_servers.toml";

/// A kind of shared servers: their settings.
#[derive(Debug, Clone)]
pub struct ServerKind {
    /// The name.
    pub name: String,
    /// Environment variable with the address of a server that runs, and the file with its first key:
    /// `HOST:PORT,FILE`.
    pub variable: String,
    /// Arguments of `assay serve` beside its address and data folder.
    pub arguments: Vec<String>,
}

impl ServerKind {
    /// Returns all kinds.
    ///
    /// # Panics
    /// Panics if the file with the kinds is not as described there.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let kinds: Table = fs::read_to_string(home().join(KINDS)).unwrap().parse().unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value} in {KINDS}")).to_owned();
        let kind = |(name, kind): (String, Value)| Self {
            name,
            variable: text(&kind["variable"]),
            arguments: kind["arguments"].as_array().unwrap().iter().map(text).collect(),
        };
        kinds.into_iter().map(kind).collect()
    }

    /// Starts a server of this kind in the folder `data` of `assay`.
    ///
    /// # Panics
    /// Panics if it ends instead.
    #[must_use]
    #[track_caller]
    pub fn start(&self, assay: &Assay) -> Server {
        let data = assay.path("data");
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        arguments.extend(self.arguments.iter().map(String::as_str));
        Assay::listening(assay.start(&arguments))
    }
}

/// A server that others may use at the same time.
#[derive(Debug)]
pub struct SharedServer {
    address: String,
    key_file: PathBuf,
    /// It and its files, if it runs for this test alone.
    _own: Option<(Server, Assay)>,
}

/// An account that no other test has.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: String,
    /// A client with the key.
    pub client: Client,
}

impl SharedServer {
    /// Returns the server of this kind that tests share, or starts one for this test alone if there is none.
    ///
    /// # Panics
    /// Panics if there is no such kind, or if the server does not start.
    #[must_use]
    #[track_caller]
    pub fn of(kind: &str, assay: impl FnOnce() -> Assay) -> Self {
        let kinds = ServerKind::all();
        let kind = kinds.iter().find(|other| other.name == kind).unwrap_or_else(|| panic!("no kind {kind} in {KINDS}"));
        if let Ok(place) = std::env::var(&kind.variable) {
            let (address, file) = place.split_once(',').unwrap_or_else(|| panic!("{} is {place}", kind.variable));
            return Self { address: address.to_owned(), key_file: file.into(), _own: None };
        }
        let assay = assay();
        let server = kind.start(&assay);
        let (address, key_file) = (server.address().to_owned(), assay.path("data/bootstrap-key"));
        Self { address, key_file, _own: Some((server, assay)) }
    }

    /// Returns the address and port on which it listens.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns its data folder.
    ///
    /// # Panics
    /// Panics if its key is not in its data folder.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.key_file.parent().unwrap()
    }

    /// Creates a client with this key.
    #[must_use]
    pub fn client(&self, key: &str) -> Client {
        Client::new(&self.address, key)
    }

    /// Creates an account and its key, which has these scopes.
    ///
    /// # Panics
    /// Panics if it is refused.
    #[must_use]
    #[track_caller]
    pub fn account(&self, scopes: &[&str]) -> Account {
        static ACCOUNTS: AtomicU32 = AtomicU32::new(0);
        let admin = self.client(&fs::read_to_string(&self.key_file).unwrap());
        let name = format!("t{}", unique(&ACCOUNTS));
        let made = admin.post_json("/keys", &json!({ "name": name, "account": name, "scopes": scopes }));
        assert_eq!(made.status, 201, "{}", made.body);
        let key = made.body["key"].as_str().unwrap().to_owned();
        Account { client: self.client(&key), name, key }
    }
}

/// Returns a text of digits and letters that no other process returns, even one with the same id, nor this one again.
#[expect(clippy::disallowed_methods, reason = "a name for a test has nothing to do with the service's clock")]
pub(crate) fn unique(counter: &AtomicU32) -> String {
    static BEGAN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let began = BEGAN.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
        u64::try_from(now).unwrap()
    });
    format!("{}x{began:x}x{}", std::process::id(), counter.fetch_add(1, Ordering::Relaxed))
}
