//! The documentation under `/ui/docs`.

use crate::app::TestApp;
use crate::ui::{html, open};

#[tokio::test]
async fn everybody_reads_and_searches_the_documentation() {
    let app = TestApp::new();
    let index = open(&app, "/ui/docs", "").await;
    assert_eq!(index.status, 200);
    let links: Vec<String> = html(&index)
        .split("href=\"docs/")
        .skip(1)
        .map(|part| part.split(['"', '#']).next().unwrap().to_owned())
        .collect();
    assert!(links.len() > 40 && links.contains(&"design".to_owned()), "{links:?}");
    let decisions = open(&app, "/ui/docs/design", "").await;
    let notes = html(&decisions).split("<li><a href=\"").skip(1).map(|part| part.split('"').next().unwrap().to_owned());
    let notes: Vec<String> = notes.collect();
    assert!(notes.len() > 40 && notes[0] > notes[notes.len() - 1], "the newest comes first: {notes:?}");
    for name in links.into_iter().chain(notes) {
        let path = format!("/ui/docs/{name}");
        let page = open(&app, &path, "").await;
        assert_eq!(page.status, 200, "{path}");
        let text = html(&page);
        assert!(text.len() < 100 << 10, "{path} has {} bytes", text.len());
        for active in ["<script", "<style", " style=", " onclick", "javascript:"] {
            assert!(!text.contains(active), "{path} contains {active}");
        }
    }
    let page = open(&app, "/ui/docs/pages", "").await;
    let picture = "src=\"images/page-verdict-light-1280.webp\"";
    assert!(html(&page).contains(picture) && html(&page).contains("id=\"security\""), "{}", html(&page));
    let picture = open(&app, "/ui/docs/images/page-verdict-light-1280.webp", "").await;
    assert_eq!((picture.status.as_u16(), &picture.headers["content-type"]), (200, &"image/webp".parse().unwrap()));
    for (path, status) in
        [("/ui/docs/nothing", 404), ("/ui/docs/images/x.webp", 404), ("/ui/docs?q=", 200), ("/ui/docs?q=a&q=b", 200)]
    {
        assert_eq!(open(&app, path, "").await.status, status, "{path}");
    }
    let found = open(&app, "/ui/docs?q=Robustness+clause", "").await;
    assert!(html(&found).contains("<mark>") && html(&found).contains("href=\"/ui/docs/stl"), "{}", html(&found));
    let hostile = open(&app, "/ui/docs?q=%22%3E%3Cimg%20src%3Dx%3E", "").await;
    assert!(html(&hostile).contains("Nothing contains all") && !html(&hostile).contains("<img"));
}
