//! `/ui/docs`: the documentation, for everyone; its search needs no JavaScript.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::page::{PageFrame, failure, page};
use super::viewer::MaybeViewer;
use crate::book::{self, BookHit, BookPage};
use crate::http::ApiError;
use crate::routes::Query;
use crate::state::App;

/// Time for which a browser may keep a picture, in seconds.
const IMAGES_FOR: &str = "private, max-age=3600";

#[derive(Template)]
#[template(path = "ui/docs_page.html")]
struct DocsPage {
    frame: PageFrame,
    shown: &'static BookPage,
    /// HTML, escaped.
    html: String,
    is_index: bool,
    earlier: Option<&'static BookPage>,
    later: Option<&'static BookPage>,
}

#[derive(Template)]
#[template(path = "ui/docs_search.html")]
struct DocsSearchPage {
    frame: PageFrame,
    words: String,
    hits: Vec<BookHit>,
}

/// Shows the index, or the results of a search.
pub(crate) async fn index(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let query = Query::parse(query.as_deref());
    let frame = PageFrame::new(&app.settings, viewer.as_ref(), "docs");
    match query.text("q") {
        Ok(None) => show(frame, "index", true),
        Ok(Some(words)) => {
            let content = DocsSearchPage { frame, words: words.to_owned(), hits: book::search(words) };
            page(StatusCode::OK, &content)
        }
        // A form sends its empty field, too.
        Err(_) => page(StatusCode::OK, &DocsSearchPage { frame, words: String::new(), hits: Vec::new() }),
    }
}

/// Shows a page.
pub(crate) async fn one(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(name): Path<String>,
) -> Response {
    if book::page(&name).is_none() {
        return failure(&app, viewer.as_ref(), &ApiError::not_found("page of the documentation"));
    }
    show(PageFrame::new(&app.settings, viewer.as_ref(), "docs"), &name, false)
}

/// Returns a picture of a page.
pub(crate) async fn image(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(name): Path<String>,
) -> Response {
    match book::image(&name) {
        Some(content) => {
            ([(header::CONTENT_TYPE, "image/webp"), (header::CACHE_CONTROL, IMAGES_FOR)], content).into_response()
        }
        None => failure(&app, viewer.as_ref(), &ApiError::not_found("picture")),
    }
}

fn show(frame: PageFrame, name: &str, is_at_root: bool) -> Response {
    let pages = book::pages();
    let Some(at) = pages.iter().position(|page| page.name == name) else {
        return ApiError::not_found("page of the documentation").into_response();
    };
    let Some(shown) = pages.get(at) else { return ApiError::not_found("page").into_response() };
    // Addresses are relative to the folder of the pages.
    let html = if is_at_root { from_root(&shown.html) } else { shown.html.clone() };
    let earlier = at.checked_sub(1).and_then(|at| pages.get(at));
    let content = DocsPage { frame, shown, html, is_index: name == "index", earlier, later: pages.get(at + 1) };
    page(StatusCode::OK, &content)
}

/// Returns the HTML for the address without a final slash, whose links would lead beside it.
fn from_root(html: &str) -> String {
    let mut pieces = html.split("href=\"");
    let mut changed = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_relative = !piece.starts_with("http") && !piece.starts_with('#');
        changed.push_str(if is_relative { "href=\"docs/" } else { "href=\"" });
        changed.push_str(piece);
    }
    changed
}
