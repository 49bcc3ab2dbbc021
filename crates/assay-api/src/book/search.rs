//! The search: all words must occur in a section, in any order.

use super::design_notes::is_design_note;
use super::page::{BookPage, BookSection};
use super::pages::pages;

/// Maximum number of words.
const MAX_WORDS: usize = 8;
/// Maximum number of results.
const MAX_HITS: usize = 30;
/// Number of characters of a result's text.
const EXCERPT_CHARS: usize = 220;
/// Number of them before the first word.
const LEAD_CHARS: usize = 60;
/// The page whose sections come last, because they mention everything.
const CHANGELOG: &str = "changelog";
const TITLE_POINTS: usize = 20;
const HEADING_POINTS: usize = 8;
/// Maximum number of occurrences that count.
const MAX_OCCURRENCES: usize = 5;

/// A section that matches.
#[derive(Debug)]
pub(crate) struct BookHit {
    pub(crate) page: &'static BookPage,
    /// Address relative to the book: name and anchor.
    pub(crate) address: String,
    pub(crate) section: &'static str,
    /// Its text around the first word, in pieces; true for a word that was searched.
    pub(crate) excerpt: Vec<(bool, String)>,
    text: &'static str,
    points: usize,
}

/// Returns the sections that contain all words, best first; nothing if there is no word.
pub(crate) fn search(text: &str) -> Vec<BookHit> {
    let words: Vec<String> = text.split_whitespace().take(MAX_WORDS).map(str::to_lowercase).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let sections = pages().iter().flat_map(|page| page.sections.iter().map(move |section| (page, section)));
    let mut hits: Vec<_> = sections.filter_map(|(page, section)| hit(page, section, &words)).collect();
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.points));
    hits.truncate(MAX_HITS);
    // Only of those that are shown: a letter occurs in every section.
    hits.iter_mut().for_each(|hit| hit.excerpt = excerpt(hit.text, &words));
    hits
}

fn hit(page: &'static BookPage, section: &'static BookSection, words: &[String]) -> Option<BookHit> {
    let (title, heading, text) = (page.title.to_lowercase(), section.title.to_lowercase(), section.text.to_lowercase());
    let mut points = 0;
    for word in words {
        let count = text.matches(&**word).count();
        let is_in_heading = heading.contains(&**word);
        // The title of a page names it, but does not make each of its sections a result.
        if count == 0 && !is_in_heading {
            return None;
        }
        points += count.min(MAX_OCCURRENCES);
        points += if is_in_heading { HEADING_POINTS } else { 0 };
        points += if title.contains(&**word) { TITLE_POINTS } else { 0 };
    }
    if page.name == CHANGELOG {
        points = 0;
    }
    // What holds today comes before the reasons of the day that a note was written.
    if is_design_note(page.name) {
        points = points.min(MAX_OCCURRENCES);
    }
    let address = if section.id.is_empty() { page.name.to_owned() } else { format!("{}#{}", page.name, section.id) };
    Some(BookHit { page, address, section: &section.title, excerpt: Vec::new(), text: &section.text, points })
}

/// Returns a part of the text with the first word, cut at spaces.
fn excerpt(text: &str, words: &[String]) -> Vec<(bool, String)> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let is_hit = |token: &str| words.iter().any(|word| token.to_lowercase().contains(&**word));
    let first = tokens.iter().position(|token| is_hit(token)).unwrap_or(0);
    let mut start = first;
    let mut lead = 0;
    while start > 0 && lead < LEAD_CHARS {
        start -= 1;
        lead += tokens.get(start).map_or(0, |token| token.chars().count() + 1);
    }
    let mut pieces: Vec<(bool, String)> = Vec::new();
    let mut length = 0;
    if start > 0 {
        pieces.push((false, "… ".to_owned()));
    }
    let mut rest = tokens.iter().skip(start).peekable();
    while let Some(token) = rest.next_if(|_| length < EXCERPT_CHARS) {
        length += token.chars().count() + 1;
        match pieces.last_mut() {
            Some((false, piece)) if !is_hit(token) => {
                piece.push_str(token);
                piece.push(' ');
            }
            _ if is_hit(token) => pieces.extend([(true, (*token).to_owned()), (false, " ".to_owned())]),
            _ => pieces.push((false, format!("{token} "))),
        }
    }
    if rest.peek().is_some() {
        pieces.push((false, "…".to_owned()));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{EXCERPT_CHARS, MAX_HITS, search};

    #[test]
    fn all_words_must_occur_and_titles_come_first() {
        let hits = search("Signal TEMPORAL");
        assert_eq!(hits.first().map(|hit| hit.page.name), Some("stl"), "{hits:?}");
        for hit in &hits {
            let text: String = hit.excerpt.iter().map(|(_, piece)| &**piece).collect();
            assert!(text.chars().count() < EXCERPT_CHARS + 120, "{text}");
        }
        let fork = search("fork server");
        assert!(fork.iter().any(|hit| hit.page.name == "2026-11-24-fork-server"), "{fork:?}");
        assert!(fork.first().is_some_and(|hit| !hit.page.name.starts_with("2026")), "notes come last: {fork:?}");
        assert!(hits.len() <= MAX_HITS && hits.iter().any(|hit| hit.excerpt.iter().any(|(is_hit, _)| *is_hit)));
        for nothing in ["", "  ", "signal nosuchwordanywhere"] {
            assert!(search(nothing).is_empty(), "{nothing}");
        }
    }
}
