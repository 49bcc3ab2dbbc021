//! Splits sources into words and signs.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Names between `::`.
pub(crate) type Names = Vec<String>;

/// Returns the words and signs of a source, `::` as one, without comments, literals, and what stands below
/// `#[cfg(test)]`.
pub(crate) fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    flatten(source.parse().unwrap(), &mut tokens);
    remove_tests(&mut tokens);
    tokens
}

fn flatten(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut colon = false;
    for tree in stream {
        let is_colon = matches!(&tree, TokenTree::Punct(sign) if sign.as_char() == ':');
        let second = colon && is_colon;
        colon = is_colon && !second;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace | Delimiter::None => ("{", "}"),
                };
                tokens.push(open.to_owned());
                flatten(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Ident(name) => tokens.push(name.to_string()),
            TokenTree::Punct(_) if second => *tokens.last_mut().unwrap() = "::".to_owned(),
            TokenTree::Punct(sign) => tokens.push(sign.to_string()),
            TokenTree::Literal(_) => {}
        }
    }
}

fn remove_tests(tokens: &mut Vec<String>) {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    while let Some(start) = tokens.windows(MARK.len()).position(|tokens| tokens == MARK) {
        let mut depth = 0;
        let last = tokens[start..].iter().position(|token| {
            depth += match token.as_str() {
                "{" | "(" | "[" => 1,
                "}" | ")" | "]" => -1,
                _ => 0,
            };
            depth == 0 && ["}", ";"].contains(&token.as_str()) || depth < 0
        });
        tokens.drain(start..=start + last.unwrap());
    }
}

pub(crate) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns `base` with the names at the start of `tokens`, and the tokens behind them.
pub(crate) fn leading_path<'a>(base: &[String], mut tokens: &'a [String]) -> (Names, &'a [String]) {
    let mut path = base.to_vec();
    while let [name, rest @ ..] = tokens
        && is_name(name)
    {
        path.push(name.clone());
        tokens = rest;
        match rest {
            [sign, rest @ ..] if sign == "::" => tokens = rest,
            _ => break,
        }
    }
    (path, tokens)
}
