//! The lexer: splits a text into tokens with their columns.
use crate::error::ParseError;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TokenKind<'a> {
    /// A finite literal.
    Number(f64),
    /// A name or a keyword.
    Word(&'a str),
    /// A name in quotation marks, which is no keyword.
    Name(&'a str),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// A token and its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind<'a>,
    /// Column in characters, from 1.
    pub(crate) column: usize,
    pub(crate) text: &'a str,
}

impl Token<'_> {
    /// Returns the form of the token in error messages.
    pub(crate) fn shown(&self) -> String {
        if self.kind == TokenKind::End { "the end of the formula".to_owned() } else { format!("`{}`", self.text) }
    }
}

/// All symbols, longest first, so that `->` is not read as `-`.
const SYMBOLS: [&str; 23] = [
    "<->", "!==", "->", ">=", "<=", "==", "!=", ">", "<", "!", "&", "|", "+", "-", "*", "/", "(", ")", "[", "]", ":",
    ",", ";",
];

/// Returns all tokens of `text`; the last one is [`TokenKind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut out = Vec::new();
    let (mut rest, mut column) = (text, 1);
    loop {
        let trimmed = rest.trim_start();
        column += rest[..rest.len() - trimmed.len()].chars().count();
        rest = trimmed;
        let Some(first) = rest.chars().next() else {
            out.push(Token { kind: TokenKind::End, column, text: "" });
            return Ok(out);
        };
        let (kind, length) = if first.is_ascii_alphabetic() || first == '_' {
            let length = word_length(rest);
            (TokenKind::Word(&rest[..length]), length)
        } else if first == '"' {
            quoted(rest, column)?
        } else if first.is_ascii_digit() || first == '.' {
            number(rest, column)?
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (TokenKind::Symbol(symbol), symbol.len())
        } else {
            let expected = "a signal, a number, an operator or a parenthesis".to_owned();
            return Err(ParseError { column, expected, found: format!("`{}`", first.escape_debug()) });
        };
        out.push(Token { kind, column, text: &rest[..length] });
        column += rest[..length].chars().count();
        rest = &rest[length..];
    }
}

fn word_length(rest: &str) -> usize {
    rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len())
}

/// Parses a name in quotation marks.
fn quoted(rest: &str, column: usize) -> Result<(TokenKind<'_>, usize), ParseError> {
    match rest[1..].split_once('"') {
        Some((name, _)) if !name.is_empty() && !name.contains(char::is_control) => {
            Ok((TokenKind::Name(name), name.len() + 2))
        }
        _ => {
            let expected = "a name in quotation marks, such as \"/arm/force\"".to_owned();
            Err(ParseError { column, expected, found: "`\"`".to_owned() })
        }
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Parses a number literal: digits, a fraction, an exponent. `5s` is a number followed by a word.
fn number(rest: &str, column: usize) -> Result<(TokenKind<'static>, usize), ParseError> {
    let mut length = digits(rest);
    if rest[length..].starts_with('.') {
        length += 1 + digits(&rest[length + 1..]);
    }
    if rest[length..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
        let exponent = digits(&rest[length + 1 + sign..]);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    match rest[..length].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((TokenKind::Number(value), length)),
        _ => {
            Err(ParseError { column, expected: "a finite number".to_owned(), found: format!("`{}`", &rest[..length]) })
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn columns_count_characters() {
        let found: Vec<_> = tokens("a1.b  >=\t.5e-3s").unwrap().iter().map(|t| (t.column, t.text.to_owned())).collect();
        let expected = [(1, "a1.b"), (7, ">="), (10, ".5e-3"), (15, "s"), (16, "")];
        assert_eq!(found, expected.map(|(c, t)| (c, t.to_owned())));
    }

    #[test]
    fn rejects_foreign_characters_and_infinite_numbers() {
        assert_eq!(tokens("a > é").unwrap_err().column, 5);
        assert_eq!(tokens("a > 1e999").unwrap_err().expected, "a finite number");
        assert_eq!(tokens(".").unwrap_err().column, 1);
        for open in ["\"a", "\"\"", "\"a\nb\""] {
            assert_eq!(tokens(open).unwrap_err().found, "`\"`", "{open}");
        }
        let found: Vec<_> = tokens("\"/größe\" > 1").unwrap().iter().map(|t| t.column).collect();
        assert_eq!(found, [1, 10, 12, 13]);
    }
}
