//! The hosts and their programs.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use assay_testkit::{
    Assay, Client, HostNetwork, HttpFaultProxy, NetHost, Postgres, Running, S3Server, Server, wait_for,
};
use serde_json::json;

use crate::hosts::offers::Offers;
use crate::hosts::{LIMIT, assay, audit, lease_s};

const PORT: u16 = 8080;
const BUCKET: &str = "s3://evidence/lab";
/// Folder of the bucket's objects.
pub(crate) const PREFIX: &str = "lab/";
/// Settings of the server. Maintenance is frequent, so that the test need not wait for it.
const SETTINGS: [&str; 6] = ["--lanes", "0", "--log-level", "info", "--set", "retention.every_s=0.5"];

/// A host that runs a worker. Its files are its own.
#[derive(Debug)]
pub(crate) struct WorkerHost {
    pub(crate) net: NetHost,
    pub(crate) files: Assay,
    pub(crate) name: &'static str,
    token: String,
    /// The server's host.
    server: Ipv4Addr,
    pub(crate) process: Option<Running>,
}

/// The service.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) server_net: NetHost,
    pub(crate) server_files: Assay,
    pub(crate) server: Option<Server>,
    pub(crate) database_net: NetHost,
    pub(crate) database: Postgres,
    pub(crate) s3_net: NetHost,
    pub(crate) s3: S3Server,
    /// In front of the S3 server, on its host.
    pub(crate) proxy: HttpFaultProxy,
    pub(crate) workers: [WorkerHost; 2],
    pub(crate) client: Client,
}

impl Site {
    /// Starts everything.
    pub(crate) fn start(network: &HostNetwork) -> Self {
        let [server_net, database_net, s3_net] = ["server", "database", "s3"].map(|name| network.host(name));
        let database = database_net.within(|| Postgres::start_at(database_net.address(), &[("fsync", "on")]));
        let (s3, proxy) = s3_net.within(|| {
            let s3 = S3Server::start_at(s3_net.address());
            let proxy = HttpFaultProxy::start_at(s3_net.address(), s3.address());
            (s3, proxy)
        });
        let variables = S3Server::variables(proxy.address());
        let files = variables.iter().fold(assay(), |files, (name, value)| files.with_variable(name, value));
        database.database();
        let server = serve(&server_net, &files, &database);
        audit::install(&database);
        let client = server.client(&fs::read_to_string(files.path("data/bootstrap-key")).unwrap());
        let workers = ["far", "farther"].map(|name| WorkerHost::start(network, name, (server_net.address(), &client)));
        let server = Some(server);
        Self { server_net, server_files: files, server, database_net, database, s3_net, s3, proxy, workers, client }
    }

    /// Starts the server again, with the same files and address.
    pub(crate) fn start_server(&mut self) {
        self.server = Some(serve(&self.server_net, &self.server_files, &self.database));
    }

    /// Waits until another episode has ended.
    pub(crate) fn wait_for_progress(&self, offers: &Offers) {
        let before = offers.episodes_done(&self.client);
        wait_for("progress after a fault", LIMIT, || {
            (offers.has_ended(&self.client) || offers.episodes_done(&self.client) > before).then_some(())
        });
    }

    /// Waits until the worker holds a shard.
    pub(crate) fn wait_for_work(&self, worker: usize) {
        wait_for("a worker with a shard", LIMIT, || (self.shards(worker) > 0).then_some(()));
    }

    /// Waits until the worker holds no shard any more, since its leases have ended.
    pub(crate) fn wait_for_lapse(&self, worker: usize) {
        wait_for("the end of a worker's leases", LIMIT, || (self.shards(worker) == 0).then_some(()));
    }

    fn shards(&self, worker: usize) -> u64 {
        let answer = self.client.get("/v1/workers");
        let mut workers = answer.body["workers"].as_array().unwrap().iter();
        let row = workers.find(|row| row["name"] == self.workers[worker].name).unwrap();
        row["shards"].as_u64().unwrap()
    }
}

impl WorkerHost {
    fn start(network: &HostNetwork, name: &'static str, (server, client): (Ipv4Addr, &Client)) -> Self {
        let created = client.post_json("/v1/workers", &json!({ "name": name }));
        assert_eq!(created.status, 201, "{}", created.body);
        let token = created.body["token"].as_str().unwrap().to_owned();
        let mut host = Self { net: network.host(name), files: assay(), name, token, server, process: None };
        host.start_worker(None);
        host
    }

    /// Starts the worker; a library that is loaded first may change what the system tells it.
    pub(crate) fn start_worker(&mut self, preloaded: Option<PathBuf>) {
        let server = format!("{}:{PORT}", self.server);
        let environment: Vec<_> = preloaded.iter().map(|library| ("LD_PRELOAD", library.as_path())).collect();
        let start = || self.files.work_in(&server, (self.name, &self.token), &environment);
        self.process = Some(self.net.within(start));
    }
}

fn serve(net: &NetHost, files: &Assay, database: &Postgres) -> Server {
    let (listen, url) = (format!("{}:{PORT}", net.address()), database.url(audit::DATABASE));
    let lease = format!("intervals.worker_lease_s={}", lease_s());
    let own = ["--store", &url, "--blobs", BUCKET, "--set", &lease];
    let start = || files.serve_at(&listen, &files.path("data"), &[&own[..], &SETTINGS[..]].concat());
    net.within(start)
}
