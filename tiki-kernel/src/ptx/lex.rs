//! Words, numbers, strings and marks of PTX text, with their lines.

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tok {
    /// A name, directive or mnemonic: letters, digits, `_ $ % .` and inner `::`.
    Word(String),
    /// Something that starts with a digit.
    Number(String),
    /// Text between quotes.
    Text(String),
    /// A single character.
    Mark(char),
    /// A comment on a line of its own.
    Comment(String),
    /// A character that PTX does not have.
    Bad(char),
}

/// Tokens with their lines, the first line being 1.
pub(super) fn run(text: &str) -> Vec<(Tok, u32)> {
    let s = text.as_bytes();
    let (mut i, mut line, mut fresh) = (0, 1, true);
    let mut out = vec![];
    while i < s.len() {
        let c = s[i];
        match c {
            b'\n' => {
                (line, fresh) = (line + 1, true);
                i += 1;
            }
            b' ' | b'\t' | b'\r' => i += 1,
            b'/' if s.get(i + 1) == Some(&b'/') => {
                let end = s[i..]
                    .iter()
                    .position(|b| *b == b'\n')
                    .map_or(s.len(), |n| i + n);
                if fresh {
                    let body = &text[i + 2..end];
                    let body = body.strip_prefix(' ').unwrap_or(body).trim_end();
                    out.push((Tok::Comment(body.to_string()), line));
                }
                i = end;
            }
            b'/' if s.get(i + 1) == Some(&b'*') => {
                let end = text[i..].find("*/").map_or(s.len(), |n| i + n + 2);
                line += s[i..end].iter().filter(|b| **b == b'\n').count() as u32;
                i = end;
            }
            b'"' => {
                let end = s[i + 1..]
                    .iter()
                    .position(|b| *b == b'"')
                    .map_or(s.len(), |n| i + 1 + n);
                out.push((Tok::Text(text[i + 1..end].to_string()), line));
                line += s[i..end].iter().filter(|b| **b == b'\n').count() as u32;
                i = (end + 1).min(s.len());
                fresh = false;
            }
            b'0'..=b'9' => {
                let end = word_end(s, i, true);
                out.push((Tok::Number(text[i..end].to_string()), line));
                (i, fresh) = (end, false);
            }
            _ if is_word(c) => {
                let end = word_end(s, i, false);
                out.push((Tok::Word(text[i..end].to_string()), line));
                (i, fresh) = (end, false);
            }
            _ if c.is_ascii_graphic() => {
                out.push((Tok::Mark(c as char), line));
                (i, fresh) = (i + 1, false);
            }
            _ => {
                let c = text[i..].chars().next().unwrap_or('?');
                out.push((Tok::Bad(c), line));
                (i, fresh) = (i + c.len_utf8(), false);
            }
        }
    }
    out
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

fn word_end(s: &[u8], start: usize, number: bool) -> usize {
    let mut i = start + 1;
    while i < s.len() {
        let scoped = !number
            && s[i] == b':'
            && s.get(i + 1) == Some(&b':')
            && s.get(i + 2).is_some_and(|c| is_word(*c));
        let exponent = number
            && matches!(s[i], b'+' | b'-')
            && matches!(s[i - 1], b'e' | b'E')
            && s[start..i].contains(&b'.');
        if s[start] == b'.' && s[i] == b'.' {
            break;
        }
        if scoped {
            i += 2;
        } else if is_word(s[i]) || exponent {
            i += 1;
        } else {
            break;
        }
    }
    i
}
