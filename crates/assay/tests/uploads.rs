//! Many simultaneous large uploads are streamed to the disk, not collected in memory.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use assay_testkit::{Assay, Client, PATIENCE, Server, wait_for};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

const SCENARIO: &str = "cartpole_keepin";
/// Number of simultaneous uploads.
const UPLOADS: usize = 64;
/// Maximum size of an accepted archive.
const SIZE_BYTES: usize = 100 << 20;
/// Size of each of those that are not archives, in MiB: all of them would exceed the memory limit several times. In
/// `tools/test-long uploads` they have the maximum size.
const REFUSED_MIB: (&str, usize) = ("ASSAY_UPLOAD_MIB", 16);
/// Number of bytes sent before the uploads wait for each other.
const FIRST_BYTES: usize = 1 << 20;
/// Maximum growth of the server's memory for all of them together.
const MAX_RESIDENT_KIB: usize = 300 << 10;
/// Maximum time for an answer.
const ANSWER_LIMIT: Duration = PATIENCE;

/// Returns an archive of the maximum size. Different values of `mark` result in different archives.
fn policy(mark: u8) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    writer.start_file("policy.py", options).unwrap();
    writer.write_all(b"def policy(observation):\n    return [0]\n").unwrap();
    writer.start_file("weights.bin", options).unwrap();
    writer.write_all(&vec![mark; SIZE_BYTES - 4096]).unwrap();
    writer.finish().unwrap().into_inner()
}

/// Sends a form in two pieces, and waits for all others between them. Returns the status of the answer.
fn upload(address: &str, key: &str, (kind, body): &(String, Vec<u8>), under_way: &AtomicUsize) -> u16 {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(ANSWER_LIMIT)).unwrap();
    let head = format!(
        "POST /verify HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    let (first, rest) = body.split_at(FIRST_BYTES);
    socket.write_all(first).unwrap();
    under_way.fetch_add(1, Ordering::SeqCst);
    wait_for("all uploads under way", ANSWER_LIMIT, || (under_way.load(Ordering::SeqCst) == UPLOADS).then_some(()));
    socket.write_all(rest).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Returns the maximum resident memory of the server's process, in KiB.
fn most_resident_kib(server: &Server) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

#[test]
fn sixty_four_simultaneous_uploads_need_little_memory() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let server = assay.serve(
        &assay.path("data"),
        &["--lanes", "1", "--set", "limits.account.uploads=64", "--set", "limits.account.uploading_mib=8192"],
    );
    let key = fs::read_to_string(assay.path("data/bootstrap-key")).unwrap().trim().to_owned();
    let form = |zip: &[u8]| Arc::new(Client::form(zip, &[("scenario", SCENARIO), ("num_episodes", "1")]));
    // Most are not archives, so they are not kept.
    let (variable, usual) = REFUSED_MIB;
    let refused_bytes = std::env::var(variable).map_or(usual, |number| number.parse().unwrap()) << 20;
    assert!(UPLOADS * refused_bytes > (3 * MAX_RESIDENT_KIB) << 10);
    let (good, bad) = ([form(&policy(1)), form(&policy(2))], form(&vec![0; refused_bytes]));
    let under_way = Arc::new(AtomicUsize::new(0));
    let begin = |number: usize| {
        let form = Arc::clone(good.get(number).unwrap_or(&bad));
        let (address, key, under_way) = (server.address().to_owned(), key.clone(), Arc::clone(&under_way));
        thread::spawn(move || upload(&address, &key, &form, &under_way))
    };
    let uploads: Vec<_> = (0..UPLOADS).map(begin).collect();
    let statuses: Vec<u16> = uploads.into_iter().map(|upload| upload.join().unwrap()).collect();
    assert_eq!(statuses[..good.len()], [201, 201]);
    assert!(statuses[good.len()..].iter().all(|status| *status == 400), "{statuses:?}");
    let most = most_resident_kib(&server);
    assert!(most < MAX_RESIDENT_KIB, "the server had {most} KiB in memory");
    assert_eq!(fs::read_dir(assay.path("data/uploads")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(assay.path("data/policies")).unwrap().count(), good.len());
    cut_off_uploads_leave_nothing(&assay, &server, &key, &bad);
}

/// Checks that clients which disconnect during an upload leave nothing behind.
fn cut_off_uploads_leave_nothing(assay: &Assay, server: &Server, key: &str, form: &(String, Vec<u8>)) {
    let (kind, body) = form;
    let head = format!(
        "POST /verify HTTP/1.1\r\nHost: assay\r\nAuthorization: Bearer {key}\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let begin = |_| {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(&body[..FIRST_BYTES]).unwrap();
        socket
    };
    let sockets: Vec<TcpStream> = (0..UPLOADS).map(begin).collect();
    let uploads = || fs::read_dir(assay.path("data/uploads")).unwrap().count();
    wait_for("all uploads on the disk", ANSWER_LIMIT, || (uploads() == UPLOADS).then_some(()));
    drop(sockets);
    wait_for("an empty folder of uploads", ANSWER_LIMIT, || (uploads() == 0).then_some(()));
}
