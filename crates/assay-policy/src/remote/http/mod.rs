//! Policy servers over HTTP: `POST /act`. assay's own contract (recognised by `GET /health`), and the image style that
//! OpenVLA and AutoEval servers share. Numbers travel as lists or as json_numpy objects ([`numpy`]); both are read
//! everywhere.

mod client;
mod numpy;
mod session;
mod style;
mod words;

pub(crate) use session::HttpSession;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use {client::HttpClient, session::read};
