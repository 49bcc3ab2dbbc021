//! The signed-in person who looks at a page.

use std::convert::Infallible;

use assay_model::Scope;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::http::{ApiError, Caller};
use crate::sessions::SessionSecret;
use crate::state::App;

/// A signed-in person. Keys in a header do not open pages, because pages need a session for their forms.
pub(crate) struct Viewer {
    pub(super) caller: Caller,
    pub(super) secret: SessionSecret,
}

/// The signed-in person of a GET request, if there is one.
pub(crate) struct MaybeViewer(pub(super) Option<Viewer>);

impl Viewer {
    /// Returns an error unless the session's key has this scope.
    pub(super) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        self.caller.require(scope)
    }
}

impl FromRequestParts<App> for MaybeViewer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let caller = parts.extensions.get::<Caller>().filter(|caller| caller.session.is_some()).cloned();
        let secret = SessionSecret::of(&parts.headers, &app.settings).ok().flatten();
        Ok(Self(caller.zip(secret).map(|(caller, secret)| Viewer { caller, secret })))
    }
}
