//! A proxy that reads the requests to a server, and may change or answer them.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Headers that the proxy writes itself.
const OWN_HEADERS: [&str; 2] = ["content-length", "connection"];

/// A request on its way to the server.
#[derive(Debug, Clone)]
pub struct PassingRequest {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers, with names in lower case, except for those of the connection.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Changes a request; with `Some`, it is answered with this JSON document instead of being passed on.
type Tamper = dyn Fn(&mut PassingRequest) -> Option<Vec<u8>> + Send + Sync;

/// A proxy before a server. Dropping it ends it.
pub struct TamperingProxy {
    address: String,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TamperingProxy {
    /// Starts a proxy on a free port.
    ///
    /// # Panics
    /// Panics if there is none.
    #[must_use]
    pub fn start(
        server: &str,
        tamper: impl Fn(&mut PassingRequest) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stopping, server) = (Arc::new(AtomicBool::new(false)), server.to_owned());
        let (is_stopping, tamper): (_, Arc<Tamper>) = (Arc::clone(&stopping), Arc::new(tamper));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if is_stopping.load(Ordering::SeqCst) {
                    return;
                }
                let (stream, server, tamper) = (stream.unwrap(), server.clone(), Arc::clone(&tamper));
                // An error ends the connection, and the caller sees that.
                thread::spawn(move || drop(pass_on(stream, &server, &*tamper)));
            }
        });
        Self { address, stopping, thread: Some(thread) }
    }

    /// Returns its address and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl fmt::Debug for TamperingProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TamperingProxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for TamperingProxy {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        drop(TcpStream::connect(&self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Passes one request on; each has a connection of its own.
fn pass_on(mut client: TcpStream, server: &str, tamper: &Tamper) -> io::Result<()> {
    let mut request = read(&mut BufReader::new(client.try_clone()?))?;
    match tamper(&mut request) {
        Some(body) => {
            let length = body.len();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            client.write_all(format!("{head}content-length: {length}\r\n\r\n").as_bytes())?;
            client.write_all(&body)?;
        }
        None => {
            let mut server = TcpStream::connect(server)?;
            write(&mut server, &request)?;
            io::copy(&mut server, &mut client)?;
        }
    }
    client.shutdown(Shutdown::Both)
}

fn read(from: &mut impl BufRead) -> io::Result<PassingRequest> {
    let mut line = || {
        let mut line = String::new();
        from.read_line(&mut line).map(|_| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if path.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (mut headers, mut length) = (Vec::new(), 0);
    while let Some((name, value)) = line()?.split_once(": ") {
        let name = name.to_ascii_lowercase();
        if name == "content-length" {
            length = value.parse().map_err(io::Error::other)?;
        }
        if !OWN_HEADERS.contains(&name.as_str()) {
            headers.push((name, value.to_owned()));
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(PassingRequest { method, path, headers, body })
}

fn write(to: &mut impl Write, request: &PassingRequest) -> io::Result<()> {
    let PassingRequest { method, path, headers, body } = request;
    let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    to.write_all(format!("{head}\r\n").as_bytes())?;
    to.write_all(body)
}
