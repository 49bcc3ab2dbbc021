//! Markdown for a terminal: text wrapped to the line width, tables laid out, and markup replaced by its meaning (bold,
//! italic and coloured if colours are enabled). Parsed by pulldown-cmark.

use anstyle::{AnsiColor, Style};
use assay_model::sanitise;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use super::layout::Layout;

/// Indentation of everything under a heading.
const INDENT: usize = 2;
/// Indentation of code blocks.
const CODE_INDENT: usize = 4;

const BOLD: Style = Style::new().bold();
const ITALIC: Style = Style::new().italic();
const CODE: Style = AnsiColor::Cyan.on_default();
const LINK: Style = Style::new().underline();

/// Styled pieces joined without a space. An empty word ends its line.
type Word = Vec<(Style, String)>;

impl Layout {
    /// Returns the Markdown text laid out for a terminal, without markup.
    #[must_use]
    pub fn markdown(self, text: &str) -> String {
        let mut page = MarkdownPage::of(self);
        let text = sanitise(text, usize::MAX);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            page.event(event);
        }
        page.flush();
        page.out
    }
}

/// State of the layout.
struct MarkdownPage {
    layout: Layout,
    out: String,
    /// Words of the current block.
    words: Vec<Word>,
    /// True if the next piece starts a new word.
    apart: bool,
    styles: Vec<Style>,
    /// Open lists: the next number of each that is numbered.
    lists: Vec<Option<u64>>,
    /// Bullet of the next line, which is the first of a list item.
    bullet: Option<String>,
    /// Addresses of open links.
    links: Vec<String>,
    /// True if a blank line precedes the next output.
    gap: bool,
    /// Number of open images, whose texts are not shown.
    images: usize,
    heading: bool,
    code: Option<String>,
    rows: Option<Vec<Vec<String>>>,
}

impl MarkdownPage {
    fn of(layout: Layout) -> Self {
        Self {
            layout,
            out: String::new(),
            words: Vec::new(),
            apart: true,
            styles: Vec::new(),
            lists: Vec::new(),
            bullet: None,
            links: Vec::new(),
            gap: false,
            images: 0,
            heading: false,
            code: None,
            rows: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.push(Style::new(), &text),
            },
            Event::Code(text) => self.push(CODE, &text),
            Event::SoftBreak => self.apart = true,
            Event::HardBreak => {
                self.words.push(Word::new());
                self.apart = true;
            }
            Event::Html(text) | Event::InlineHtml(text) if !text.trim_start().starts_with("<!--") => {
                self.push(Style::new(), &text);
            }
            Event::Rule => {
                self.flush();
                self.gap = true;
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::BlockQuote(_) => self.block(),
            Tag::Heading { .. } => {
                self.block();
                self.heading = true;
            }
            Tag::List(first) => {
                self.flush();
                // A list within an item belongs to that item.
                self.gap |= self.lists.is_empty();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.bullet = Some(bullet);
            }
            Tag::CodeBlock(_) => {
                self.block();
                self.code = Some(String::new());
            }
            Tag::Table(_) => {
                self.block();
                self.rows = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => self.rows.iter_mut().for_each(|rows| rows.push(Vec::new())),
            Tag::Strong => self.styles.push(BOLD),
            Tag::Emphasis => self.styles.push(ITALIC),
            Tag::Link { dest_url, .. } => {
                self.styles.push(LINK);
                self.links.push(dest_url.into_string());
            }
            Tag::Image { .. } => self.images += 1,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::Item | TagEnd::BlockQuote(_) => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.heading = false;
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.words);
                let words: Vec<String> = cell.iter().map(|word| plain(word)).collect();
                self.rows.iter_mut().filter_map(|rows| rows.last_mut()).for_each(|row| row.push(words.join(" ")));
                self.apart = true;
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Strong | TagEnd::Emphasis => {
                self.styles.pop();
            }
            TagEnd::Link => {
                self.styles.pop();
                // On a web page the link can be followed; here only its address is of use.
                if let Some(address) = self.links.pop().filter(|address| address.contains("://")) {
                    self.push(Style::new(), &format!(" ({address})"));
                }
            }
            TagEnd::Image => self.images = self.images.saturating_sub(1),
            _ => {}
        }
    }

    /// Adds text to the current block.
    fn push(&mut self, style: Style, text: &str) {
        if self.images > 0 {
            return;
        }
        let style = if style == Style::new() { self.styles.last().copied().unwrap_or_default() } else { style };
        for (index, part) in text.split([' ', '\n', '\t']).enumerate() {
            self.apart |= index > 0;
            if part.is_empty() {
                continue;
            }
            match self.words.last_mut().filter(|_| !self.apart) {
                Some(word) => word.push((style, part.to_owned())),
                None => self.words.push(vec![(style, part.to_owned())]),
            }
            self.apart = false;
        }
    }

    /// Ends the previous block, with a blank line after it.
    fn block(&mut self) {
        self.flush();
        // The first block of an item is next to its bullet.
        self.gap |= self.bullet.is_none() && self.lists.is_empty();
    }

    fn separate(&mut self) {
        if std::mem::take(&mut self.gap) && !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    /// Lays out the words of the current block.
    fn flush(&mut self) {
        let words = std::mem::take(&mut self.words);
        self.apart = true;
        if words.is_empty() {
            return;
        }
        self.separate();
        let inside = if self.heading { 0 } else { INDENT };
        let bullet = self.bullet.take().unwrap_or_default();
        // Each nested list is indented by the width of a bullet.
        let deep = inside + 2 * self.lists.len().saturating_sub(1);
        let hang = deep + if self.lists.is_empty() { 0 } else { bullet.len().max(2) };
        let (mut line, mut used) =
            (format!("{}{bullet}", " ".repeat(if bullet.is_empty() { hang } else { deep })), hang);
        let mut is_first = true;
        for word in words {
            let wide = plain(&word).width();
            let full = !is_first && used + 1 + wide > self.layout.width();
            if word.is_empty() || full {
                self.out.push_str(line.trim_end());
                self.out.push('\n');
                (line, used, is_first) = (" ".repeat(hang), hang, true);
            }
            if word.is_empty() {
                continue;
            }
            if !is_first {
                line.push(' ');
                used += 1;
            }
            for (style, text) in &word {
                let style = if self.heading { BOLD } else { *style };
                line.push_str(&self.layout.styled(style, text));
            }
            (used, is_first) = (used + wide, false);
        }
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        self.separate();
        for line in code.lines() {
            self.out.push_str(format!("{}{}", " ".repeat(CODE_INDENT), self.layout.styled(CODE, line)).trim_end());
            self.out.push('\n');
        }
        self.gap = true;
    }

    fn end_table(&mut self) {
        let mut rows = self.rows.take().unwrap_or_default();
        if rows.is_empty() {
            return;
        }
        self.separate();
        let header = rows.remove(0);
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        self.out.push_str(&self.layout.table(&header, &rows, INDENT));
        self.gap = true;
    }
}

fn plain(word: &[(Style, String)]) -> String {
    word.iter().map(|(_, text)| text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Reach\n\nGo *there*, past `a < b`, and **stop**.\nSee [the page](https://example.org/x).\n\n\
                        ![none](x.png)\n\n- one thing that takes more than a line of it\n- two\n  1. deep\n  2. deeper\n\n\
                        ```sh\nassay  verify\n```\n\n| name | meaning |\n|---|---|\n| `x` | where it is |\n\nThe end.\n";

    #[test]
    fn marks_become_layout_and_style() {
        let plain = "Reach\n\n  Go there, past a < b, and stop. See\n  the page (https://example.org/x).\n\n  - one thing that takes \
                     more than a\n    line of it\n  - two\n    1. deep\n    2. deeper\n\n    assay  verify\n\n  name  meaning\n  \
                     ─────────────────\n  x     where it is\n\n  The end.\n";
        let shown = Layout::new(40, false).markdown(TEXT);
        let rule = |text: &str| text.lines().filter(|line| !line.contains('─')).collect::<Vec<_>>().join("\n");
        assert_eq!(rule(&shown), rule(plain), "{shown}");
        let coloured = Layout::new(40, true).markdown(TEXT);
        assert!(coloured.contains("\u{1b}[1mReach\u{1b}[0m") && coloured.contains("\u{1b}[3mthere"), "{coloured:?}");
        assert_eq!(rule(&sanitise(&coloured, usize::MAX)), rule(&shown));
    }

    #[test]
    fn text_cannot_control_the_terminal() {
        let shown = Layout::new(40, true).markdown("a\u{1b}[31mb <b>c</b> <!-- d -->\n\n<div>\ne\n</div>");
        assert!(!shown.contains("\u{1b}[31m") && shown.contains("<b>c</b>") && !shown.contains("<!--"), "{shown:?}");
    }
}
