//! The server on a real socket: stopping, slow clients and early responses.

use std::time::Duration;

use assay_api::{ApiSettings, Uploads, serve};
use assay_testkit::PATIENCE;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::app::{POLICY, Part, SCENARIO, TestApp, ZIP, encode};
use crate::workers::HandWorker;

/// A form whose archive is more than is held in memory while it comes in.
fn long() -> Vec<u8> {
    encode(&[SCENARIO, Part::File("policy", "grasp.zip", &[ZIP, &[0; 200 << 10]].concat())])
}

struct Running {
    app: TestApp,
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

async fn run(settings: ApiSettings) -> Running {
    let app = TestApp::with(settings);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let state = app.state.clone();
    let server = tokio::spawn(async move {
        let shutdown = async { stopped.await.unwrap_or_default() };
        serve(listener, state, shutdown).await.unwrap();
    });
    app.state.readiness.set(Ok(()));
    Running { app, address, stop, server }
}

async fn exchange(address: std::net::SocketAddr, head: &str, body: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    // The response is read even if the server has closed the connection already.
    let _ = socket.write_all(body).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn links_are_absolute_for_clients_on_this_machine() {
    let running = run(ApiSettings::default()).await;
    let (app, address) = (&running.app, running.address);
    let key = app.key("lab", "verify,read").await;
    assert_eq!(app.post("/webhooks/secret", &key).await.status, 201);
    let callback = Part::Text("callback_url", "https://lab.test/hook");
    let id = app.completed(&key, 1).await;
    let forwarded = format!("{address}\r\nX-Forwarded-For: 192.0.2.7");
    for (host, is_known) in [(address.to_string(), true), ("evil.test".to_owned(), false), (forwarded, false)] {
        let base = if is_known { format!("http://{address}") } else { String::new() };
        let common = format!("Host: {host}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n");
        let get = async |path: &str| exchange(address, &format!("GET {path} HTTP/1.1\r\n{common}\r\n"), b"").await;
        for (path, field) in [
            ("/", format!("\"api\":\"{base}/v1\"")),
            (&format!("/v1/verify/{id}"), format!("\"report_url\":\"{base}/verify/{id}/report\"")),
        ] {
            let answer = get(path).await;
            assert!(answer.contains(&field), "{host}: {field} is missing in {answer}");
            assert_eq!(answer.contains("warning: 299"), !is_known, "{host}: {answer}");
            assert!(!answer.contains("evil.test"), "{answer}");
        }
        let page = get(&format!("/verify/{id}/report")).await;
        assert!(
            page.starts_with("HTTP/1.1 200") && !page.contains("warning: 299") && !page.contains("http://127"),
            "{page}"
        );
        let body = encode(&[SCENARIO, POLICY, callback]);
        let kind = "Content-Type: multipart/form-data; boundary=XyZ";
        let head = format!("POST /verify HTTP/1.1\r\n{common}{kind}\r\nContent-Length: {}\r\n\r\n", body.len());
        let made = exchange(address, &head, &body).await;
        let (status, sign) =
            if is_known { (201, format!("location: {base}/verify/")) } else { (400, "callback_url".into()) };
        assert!(made.starts_with(&format!("HTTP/1.1 {status}")) && made.contains(&sign), "{host}: {made}");
    }
}

#[tokio::test]
async fn heads_that_are_too_long_are_rejected_in_the_common_form() {
    let running = run(ApiSettings::default()).await;
    let host = "Host: x\r\n";
    let (many, long) = ("X: a\r\n".repeat(200), format!("X: {}\r\n", "a".repeat(600_000)));
    for (request, status, code) in [
        (format!("GET /verify HTTP/1.1\r\n{host}{many}\r\n"), 431, "HEADERS_TOO_LARGE"),
        (format!("GET /verify HTTP/1.1\r\n{host}{long}\r\n"), 431, "HEADERS_TOO_LARGE"),
        (format!("GET /{} HTTP/1.1\r\n{host}\r\n", "a".repeat(70_000)), 414, "URI_TOO_LONG"),
        (format!("GET /verify?{} HTTP/1.1\r\n{host}\r\n", "a".repeat(70_000)), 414, "URI_TOO_LONG"),
        // After a request on the same connection.
        (format!("GET /healthz HTTP/1.1\r\n{host}\r\nGET / HTTP/1.1\r\n{host}{many}\r\n"), 431, "HEADERS_TOO_LARGE"),
    ] {
        let answer = exchange(running.address, &request, b"").await;
        let start = answer.find(&format!("HTTP/1.1 {status}")).unwrap_or_else(|| panic!("{answer:?}"));
        let (head, body) = answer[start..].split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer:?}"));
        assert_eq!((&body["data"], &body["error"]["code"]), (&Value::Null, &json!(code)), "{answer:?}");
        assert!(head.contains(body["error"]["request_id"].as_str().unwrap()), "{head}");
        assert!(head.contains("connection: close") && head.contains("application/json"), "{head}");
    }
}

fn head(key: &str, length: usize) -> String {
    format!(
        "POST /verify HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: {length}\r\n\
         Content-Type: multipart/form-data; boundary=XyZ\r\nConnection: close\r\n\r\n"
    )
}

#[tokio::test]
async fn a_client_that_is_still_sending_receives_an_early_response() {
    let running = run(ApiSettings::default()).await;
    // The second is longer than what is read before the answer is sent.
    for mib in [4, 96] {
        let body = vec![b'x'; mib << 20];
        let answer = exchange(running.address, &head("nonsense", body.len()), &body).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{mib} MiB: {answer:?}");
        assert!(answer.contains("UNAUTHORIZED"), "{mib} MiB: {answer:?}");
    }
}

#[tokio::test]
async fn a_client_that_expects_continue_is_rejected_at_once() {
    let running = run(ApiSettings::default()).await;
    let head = head("nonsense", 50 << 20).replace("Connection: close", "Expect: 100-continue");
    let answer = exchange(running.address, &head, b"").await;
    assert!(answer.starts_with("HTTP/1.1 401") && answer.to_lowercase().contains("connection: close"), "{answer:?}");
}

#[tokio::test]
async fn a_client_that_stops_sending_gets_408_and_leaves_nothing() {
    let running = run(ApiSettings {
        uploads: Uploads { idle_s: Duration::from_millis(100).into(), ..Uploads::default() },
        ..ApiSettings::default()
    })
    .await;
    let key = running.app.key("lab", "verify").await;
    let body = encode(&[SCENARIO, POLICY]);
    let answer = exchange(running.address, &head(&key, body.len()), &body[..body.len() - 30]).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("TIMEOUT"), "{answer:?}");
    assert_eq!(running.app.leftovers(), 0);
}

#[tokio::test]
async fn a_body_that_never_ends_gets_408_even_at_a_steady_rate() {
    let uploads = Uploads { total_s: Duration::from_millis(300).into(), ..Uploads::default() };
    let running = run(ApiSettings { uploads, ..ApiSettings::default() }).await;
    let key = running.app.key("lab", "verify").await;
    let body = encode(&[SCENARIO, POLICY]);
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(head(&key, 1 << 20).as_bytes()).await.unwrap();
    socket.write_all(&body[..body.len() - 30]).await.unwrap();
    let (mut reader, mut writer) = socket.into_split();
    let steady = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while writer.write_all(b"x").await.is_ok() {
            ticks.tick().await;
        }
    });
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, reader.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("within 0.3 s"), "{answer:?}");
    assert_eq!(running.app.leftovers(), 0);
    steady.abort();
}

#[tokio::test]
async fn a_slow_body_gets_408_long_before_the_total_time_is_over() {
    let idle_s = Duration::from_millis(300).into();
    let uploads = Uploads { idle_s, min_bytes_per_s: 1_000_000, ..Uploads::default() };
    let running = run(ApiSettings { uploads, ..ApiSettings::default() }).await;
    let key = running.app.key("lab", "verify").await;
    let body = encode(&[SCENARIO, POLICY]);
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(head(&key, 1 << 20).as_bytes()).await.unwrap();
    socket.write_all(&body[..body.len() - 30]).await.unwrap();
    let (mut reader, mut writer) = socket.into_split();
    let steady = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while writer.write_all(b"x").await.is_ok() {
            ticks.tick().await;
        }
    });
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, reader.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("1000000 bytes per second"), "{answer:?}");
    assert_eq!(running.app.leftovers(), 0);
    steady.abort();
}

#[tokio::test]
async fn a_connection_without_a_request_head_is_closed() {
    let running = run(ApiSettings { header_s: Duration::from_millis(100).into(), ..ApiSettings::default() }).await;
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ").await.unwrap();
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await;
    assert!(ended.is_ok(), "the connection was kept");
    let answer = exchange(running.address, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "others are served: {answer:?}");
}

#[tokio::test]
async fn connections_are_limited() {
    let running = run(ApiSettings { max_connections: 1, ..ApiSettings::default() }).await;
    let ask = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let mut first = TcpStream::connect(running.address).await.unwrap();
    first.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    first.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let second = tokio::spawn(exchange(running.address, ask, b""));
    let mut third = TcpStream::connect(running.address).await.unwrap();
    third.write_all(ask.as_bytes()).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(200), third.read_exact(&mut answer)).await;
    assert!(waited.is_err() && !second.is_finished(), "there was no place for it");
    drop(first);
    assert!(second.await.unwrap().starts_with("HTTP/1.1 200"));
    third.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[tokio::test]
async fn an_interrupted_upload_leaves_nothing() {
    let running = run(ApiSettings::default()).await;
    let key = running.app.key("lab", "verify").await;
    let body = long();
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(head(&key, body.len()).as_bytes()).await.unwrap();
    socket.write_all(&body[..body.len() - 30]).await.unwrap();
    wait_for("the upload to begin", || running.app.leftovers() == 1).await;
    drop(socket);
    wait_for("the half file to go", || running.app.leftovers() == 0).await;
}

#[tokio::test]
async fn stopping_lets_running_requests_finish() {
    let running = run(ApiSettings::default()).await;
    let key = running.app.key("lab", "verify").await;
    let body = long();
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(head(&key, body.len()).as_bytes()).await.unwrap();
    socket.write_all(&body[..body.len() - 30]).await.unwrap();
    wait_for("the upload to begin", || running.app.leftovers() == 1).await;
    running.stop.send(()).unwrap();
    wait_for("no new work", || running.app.state.readiness.get() == Err("stopping")).await;
    // The service ends with this task, and would cut the request off.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!running.server.is_finished(), "it does not wait for the request");
    socket.write_all(&body[body.len() - 30..]).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    running.server.await.unwrap();
}

#[tokio::test]
async fn stopping_does_not_wait_for_ever() {
    let running = run(ApiSettings { drain_s: Duration::from_millis(200).into(), ..ApiSettings::default() }).await;
    let key = running.app.key("lab", "verify").await;
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(head(&key, 1000).as_bytes()).await.unwrap();
    socket.write_all(b"--XyZ\r\n").await.unwrap();
    running.stop.send(()).unwrap();
    tokio::time::timeout(PATIENCE, running.server).await.unwrap().unwrap();
}

#[tokio::test]
async fn stopping_ends_claims_that_wait_at_once() {
    let running = run(ApiSettings { drain_s: (2 * PATIENCE).into(), ..ApiSettings::default() }).await;
    let admin = running.app.key("ops", "admin").await;
    let worker = HandWorker::new(&running.app, "gpu-07", &admin).await;
    let wanted = json!({ "wanted": "policy", "excluded_accounts": [], "wait_s": 50 });
    let waiting = json!({ "wait_s": 50 });
    let answers = async { tokio::join!(worker.post("/claim", &wanted), worker.post("/renders/claim", &waiting)) };
    let stop = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        running.stop.send(()).unwrap();
    };
    let ended = async { tokio::join!(answers, stop).0 };
    // Less than the claims would wait by themselves.
    let (claim, render) = tokio::time::timeout(Duration::from_secs(45), ended).await.unwrap();
    assert_eq!((claim.status.as_u16(), &claim.body["shard"]), (200, &Value::Null));
    assert_eq!((render.status.as_u16(), &render.body["render"]), (200, &Value::Null));
    running.server.await.unwrap();
}

#[tokio::test]
async fn stopping_ends_streams_at_once() {
    let running = run(ApiSettings { drain_s: (2 * PATIENCE).into(), ..ApiSettings::default() }).await;
    let key = running.app.key("lab", "verify,read").await;
    let job = running.app.verify(&key, &[SCENARIO, POLICY]).await.body["job_id"].as_str().unwrap().to_owned();
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    let head = format!("GET /verify/{job}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&text).contains("QUEUED") {
        let read = socket.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the stream ended: {}", String::from_utf8_lossy(&text));
        text.extend(&buffer[..read]);
    }
    running.stop.send(()).unwrap();
    tokio::time::timeout(PATIENCE, running.server).await.unwrap().unwrap();
}

async fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let condition = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, condition).await.unwrap_or_else(|_| panic!("waited too long for {what}"));
}
