//! A proxy that breaks a server's connections in chosen ways.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Size of the pieces in which bytes are passed on.
const PIECE: usize = 16 << 10;

/// The behaviour of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpFault {
    /// Passes everything on.
    None,
    /// Answers every request with this status and error code, in the form of S3.
    Answer(u16, &'static str),
    /// Passes an answer on in pieces of 16 KiB, and waits before each.
    Slow(Duration),
    /// Takes requests and never answers.
    Silent,
    /// Cuts a connection after this number of bytes of requests.
    Cut(usize),
}

/// A proxy before a server. Dropping it cuts all connections.
#[derive(Debug)]
pub struct HttpFaultProxy {
    address: String,
    shared: Arc<ProxyShared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct ProxyShared {
    server: String,
    fault: Mutex<HttpFault>,
    open: Mutex<Vec<TcpStream>>,
    stopping: AtomicBool,
    faults: AtomicU32,
}

impl HttpFaultProxy {
    /// Starts a proxy on a free port of loopback.
    ///
    /// # Panics
    /// Panics if there is none.
    #[must_use]
    pub fn start(server: &str) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST, server)
    }

    /// Starts a proxy on a free port of this address of the host.
    ///
    /// # Panics
    /// Panics if there is none.
    #[must_use]
    pub fn start_at(address: Ipv4Addr, server: &str) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(ProxyShared {
            server: server.to_owned(),
            fault: Mutex::new(HttpFault::None),
            open: Mutex::default(),
            stopping: AtomicBool::new(false),
            faults: AtomicU32::new(0),
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let (stream, shared) = (stream.unwrap(), Arc::clone(&of_thread));
                thread::spawn(move || shared.pass_on(stream));
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Returns its address and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Changes the behaviour, and cuts the open connections.
    ///
    /// # Panics
    /// Panics if another thread did.
    pub fn set(&self, fault: HttpFault) {
        *self.shared.fault.lock().unwrap() = fault;
        self.shared.cut();
    }

    /// Returns the number of connections that met a fault.
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.shared.faults.load(Ordering::SeqCst)
    }
}

impl Drop for HttpFaultProxy {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        drop(TcpStream::connect(&self.address));
        self.shared.cut();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl ProxyShared {
    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    fn pass_on(&self, mut client: TcpStream) {
        let fault = *self.fault.lock().unwrap();
        self.open.lock().unwrap().push(client.try_clone().unwrap());
        if fault != HttpFault::None {
            self.faults.fetch_add(1, Ordering::SeqCst);
        }
        match fault {
            HttpFault::Answer(status, code) => fail(client, status, code),
            HttpFault::Silent => while client.read(&mut [0; PIECE]).is_ok_and(|read| read > 0) {},
            HttpFault::None => self.relay(client, usize::MAX, Duration::ZERO),
            HttpFault::Slow(pause) => self.relay(client, usize::MAX, pause),
            HttpFault::Cut(limit) => self.relay(client, limit, Duration::ZERO),
        }
    }

    /// Passes on at most `limit` bytes to the server, and its answers in pieces after a pause each.
    fn relay(&self, client: TcpStream, limit: usize, pause: Duration) {
        let Ok(server) = TcpStream::connect(&self.server) else { return };
        self.open.lock().unwrap().push(server.try_clone().unwrap());
        let (to_server, from_server) = (server.try_clone().unwrap(), server);
        let (from_client, to_client) = (client.try_clone().unwrap(), client);
        let answers = thread::spawn(move || copy(from_server, to_client, usize::MAX, pause));
        copy(from_client, to_server, limit, Duration::ZERO);
        drop(answers.join());
    }
}

/// Copies until the end or the limit, and then ends both connections.
fn copy(mut from: TcpStream, mut to: TcpStream, limit: usize, pause: Duration) {
    let (mut piece, mut copied) = ([0; PIECE], 0);
    loop {
        let read = match from.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.unwrap_or(0),
        };
        thread::sleep(pause);
        copied += read;
        if read == 0 || copied > limit || to.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    for stream in [from, to] {
        drop(stream.shutdown(Shutdown::Both));
    }
}

/// Reads a request, and answers with the status and error code.
fn fail(mut client: TcpStream, status: u16, code: &str) {
    let (mut request, mut piece) = (Vec::new(), [0; PIECE]);
    loop {
        let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if request.len() >= head.len() + 4 + length.unwrap_or(0) {
                break;
            }
        }
        match client.read(&mut piece) {
            Ok(read) if read > 0 => request.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
    let body = format!("<Error><Code>{code}</Code><Message>The request failed.</Message></Error>");
    let length = body.len();
    let answer = format!("HTTP/1.1 {status} Failed\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    drop(client.write_all(answer.as_bytes()));
    drop(client.shutdown(Shutdown::Write));
}
