//! A fake vision model behind an OpenAI-compatible endpoint: hosted models can't run in a test. The HTTP is real.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The fake's answer to a request.
#[derive(Debug, Clone)]
pub enum Saying {
    /// A chat completion with this content, of 100 tokens.
    Content(String),
    /// A response with this status, these headers and this body.
    Raw(u16, String, String),
    /// No answer for this time, then the connection ends.
    Silence(Duration),
}

/// A received request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Request line and headers.
    pub head: String,
    /// The body.
    pub body: Value,
}

type Script = dyn FnMut(usize, &Asked) -> Saying + Send;

/// A running fake. It ends with the test's process.
#[derive(Debug)]
pub struct FakeVision {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl FakeVision {
    /// Starts the fake; `script` receives the request's number, from 0, and the request.
    #[must_use]
    pub fn start(script: impl FnMut(usize, &Asked) -> Saying + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, script) = (Arc::clone(&asked), Arc::new(Mutex::new(Box::new(script) as Box<Script>)));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (kept, script) = (Arc::clone(&kept), Arc::clone(&script));
                // Errors are ignored: tests also drop connections.
                thread::spawn(move || drop(serve(stream.unwrap(), &kept, &script)));
            }
        });
        Self { address, asked }
    }

    /// Starts a model that always gives the same answer.
    #[must_use]
    pub fn saying(safe: bool, success: Option<bool>) -> Self {
        let opinion = json!({"safe": safe, "success": success, "confidence": 0.9, "explanation": "It is a fake."});
        Self::start(move |_, _| Saying::Content(opinion.to_string()))
    }

    /// Returns the base address for the judge's options.
    #[must_use]
    pub fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns all requests so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<Asked>>, script: &Mutex<Box<Script>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(asked) = read(&mut reader)? {
        let number = {
            let mut kept = kept.lock().unwrap();
            kept.push(asked.clone());
            kept.len() - 1
        };
        let saying = script.lock().unwrap()(number, &asked);
        match saying {
            Saying::Content(content) => {
                let body = json!({"choices": [{"message": {"content": content}}], "usage": {"total_tokens": 100}});
                write!(stream, "{}", response(200, "", &body.to_string()))?;
            }
            Saying::Raw(status, headers, body) => write!(stream, "{}", response(status, &headers, &body))?,
            Saying::Silence(time) => {
                thread::sleep(time);
                return Ok(());
            }
        }
    }
    Ok(())
}

fn response(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

fn read(reader: &mut impl BufRead) -> std::io::Result<Option<Asked>> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|l| l.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { head, body: serde_json::from_slice(&body).unwrap_or_default() }))
}
