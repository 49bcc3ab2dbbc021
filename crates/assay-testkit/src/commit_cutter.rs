//! A TCP proxy in front of a PostgreSQL server that cuts a connection between COMMIT and its answer.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The end of a simple query that commits, as the protocol has it.
const COMMIT: &[u8] = b"COMMIT\0";
/// Size of the buffer of a connection, in bytes.
const BUFFER: usize = 16 << 10;

/// The proxy. Its threads end with the test program.
#[derive(Debug)]
pub struct CommitCutter {
    address: SocketAddr,
    state: Arc<CutterState>,
}

#[derive(Debug, Default)]
struct CutterState {
    armed: AtomicBool,
    cuts: AtomicU32,
}

impl CommitCutter {
    /// Starts a proxy to the server on the port `server` of loopback.
    ///
    /// # Panics
    /// Panics if it cannot listen.
    #[must_use]
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::new(CutterState::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                relay(client, server, &shared);
            }
        });
        Self { address, state }
    }

    /// Returns the port to connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Lets the next COMMIT through, but not its answer: the connection is closed once the server has answered.
    pub fn cut_next_commit(&self) {
        self.state.armed.store(true, Ordering::SeqCst);
    }

    /// Returns the number of connections that were cut.
    #[must_use]
    pub fn cuts(&self) -> u32 {
        self.state.cuts.load(Ordering::SeqCst)
    }
}

fn relay(client: TcpStream, server: TcpStream, state: &Arc<CutterState>) {
    // Small messages are sent at once, so that the proxy costs little.
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let swallows = Arc::new(AtomicBool::new(false));
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (marks, shared) = (Arc::clone(&swallows), Arc::clone(state));
    std::thread::spawn(move || {
        let mut buffer = vec![0; BUFFER];
        while let Ok(read @ 1..) = from_client.read(&mut buffer) {
            let commits = buffer[..read].windows(COMMIT.len()).any(|part| part == COMMIT);
            if commits && shared.armed.swap(false, Ordering::SeqCst) {
                marks.store(true, Ordering::SeqCst);
            }
            if to_server.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let (mut from_server, mut to_client, shared) = (server, client, Arc::clone(state));
    std::thread::spawn(move || {
        let mut buffer = vec![0; BUFFER];
        while let Ok(read @ 1..) = from_server.read(&mut buffer) {
            if swallows.load(Ordering::SeqCst) {
                shared.cuts.fetch_add(1, Ordering::SeqCst);
                let _ = from_server.shutdown(Shutdown::Both);
                break;
            }
            if to_client.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
}
