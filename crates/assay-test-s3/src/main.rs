//! An S3 server for tests: the crate `s3s-fs`, whose buckets are folders. A program of its own, so that what it is made
//! of is not linked into every test program; `assay_testkit::S3Server` starts it.
//!
//! `assay-test-s3 FOLDER ADDRESS` serves FOLDER on a free port of ADDRESS and prints address and port in a line. The
//! key is in `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`. It ends when its standard input closes: with the test.
#![expect(clippy::print_stdout, reason = "a program")]

use std::env;
use std::net::IpAddr;

use anyhow::Context;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (Some(folder), Some(address), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: assay-test-s3 FOLDER ADDRESS");
    };
    let address: IpAddr = address.to_str().and_then(|address| address.parse().ok()).context("ADDRESS is not one")?;
    let variable = |name| env::var(name).with_context(|| format!("{name} is not set"));
    let file_system = FileSystem::new(&folder).map_err(|error| anyhow::anyhow!("{}: {error:?}", folder.display()))?;
    let mut service = S3ServiceBuilder::new(file_system);
    service.set_auth(SimpleAuth::from_single(variable("AWS_ACCESS_KEY_ID")?, variable("AWS_SECRET_ACCESS_KEY")?));
    let service = service.build();
    let listener = TcpListener::bind((address, 0)).await?;
    std::thread::spawn(end_with_input);
    println!("{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        // Clients of tests end connections as they like.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone()));
    }
}

/// Ends the process when its standard input closes.
fn end_with_input() {
    let ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    std::process::exit(i32::from(ended.is_err()));
}
