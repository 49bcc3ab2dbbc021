//! A worker without lanes, which sends what a test wants.

use assay_model::{GENERATION_HEADER, PACKED_EVIDENCE, Sha256Digest, WORKER_PROTOCOL_PATH};
use serde_json::{Value, json};

use crate::client::answer;
use crate::{Answer, PATIENCE};

/// A registered worker, from the server's view.
#[derive(Debug, Clone)]
pub struct ProtocolWorker {
    agent: ureq::Agent,
    address: String,
    token: String,
    /// Number of its registration.
    pub generation: u64,
}

impl ProtocolWorker {
    /// Registers a worker with the body that a real one sent.
    ///
    /// # Panics
    /// Panics if it is refused.
    #[must_use]
    #[track_caller]
    pub fn register(address: &str, token: &str, body: &Value) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false);
        let (agent, address, token) = (config.build().into(), address.to_owned(), token.to_owned());
        let worker = Self { agent, address, token, generation: 0 };
        let registered = worker.post("/register", body);
        assert_eq!(registered.status, 200, "{}", registered.body);
        Self { generation: registered.body["generation"].as_u64().unwrap(), ..worker }
    }

    /// Posts a JSON document.
    #[must_use]
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string())
    }

    /// Posts a text as if it were a JSON document.
    #[must_use]
    #[track_caller]
    pub fn post_text(&self, path: &str, body: &str) -> Answer {
        let request = self.agent.post(self.url(path)).header("authorization", format!("Bearer {}", self.token));
        let request = request.header(GENERATION_HEADER, self.generation.to_string());
        answer(request.header("content-type", "application/json").send(body)).unwrap()
    }

    /// Sends a GET request.
    #[must_use]
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        let request = self.agent.get(self.url(path)).header("authorization", format!("Bearer {}", self.token));
        answer(request.header(GENERATION_HEADER, self.generation.to_string()).call()).unwrap()
    }

    /// Stores a file of evidence under its SHA-256.
    #[must_use]
    #[track_caller]
    pub fn upload(&self, lease: &str, file: &[u8]) -> Answer {
        self.upload_as(lease, Sha256Digest::of(file), file)
    }

    /// Stores a file of evidence under a SHA-256 that it need not have.
    #[must_use]
    #[track_caller]
    pub fn upload_as(&self, lease: &str, sha256: Sha256Digest, file: &[u8]) -> Answer {
        self.upload_of_kind(lease, sha256, ("application/octet-stream", file))
    }

    /// Stores the file of evidence whose packed form is `form`, or claims that it is.
    #[must_use]
    #[track_caller]
    pub fn upload_packed(&self, lease: &str, sha256: Sha256Digest, form: &[u8]) -> Answer {
        self.upload_of_kind(lease, sha256, (PACKED_EVIDENCE, form))
    }

    fn upload_of_kind(&self, lease: &str, sha256: Sha256Digest, (kind, body): (&str, &[u8])) -> Answer {
        let url = self.url(&format!("/leases/{lease}/evidence/{sha256}"));
        let request = self.agent.put(url).header("authorization", format!("Bearer {}", self.token));
        let request = request.header("content-type", kind);
        answer(request.header(GENERATION_HEADER, self.generation.to_string()).send(body)).unwrap()
    }

    /// Claims a shard of a policy, and returns its lease and its assignment; `None` if there is none for `wait_s`
    /// seconds.
    #[must_use]
    #[track_caller]
    pub fn claim(&self, wait_s: u32) -> Option<(String, Value)> {
        let wanted = json!({ "wanted": "policy", "excluded_accounts": [], "wait_s": wait_s });
        let claimed = self.post("/claim", &wanted);
        assert_eq!(claimed.status, 200, "{}", claimed.body);
        let shard = &claimed.body["shard"];
        Some((shard["lease"].as_str()?.to_owned(), shard["assignment"].clone()))
    }

    /// Reports a result under a lease.
    #[must_use]
    #[track_caller]
    pub fn report(&self, lease: &str, result: &Value) -> Answer {
        self.post("/results", &json!({ "results": [{ "lease": lease, "result": result }] }))
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{WORKER_PROTOCOL_PATH}{path}", self.address)
    }
}
