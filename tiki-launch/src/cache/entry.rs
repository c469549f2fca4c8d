//! One entry: a file that can be read by a person down to its binary part.
//!
//! ```text
//! tiki-cubin 2
//! hash 5e1f..            of everything that follows this line
//! kernel gemm<E = f16>
//! log 120
//! cubin 30216
//! (the log, then the machine code)
//! ```
//!
//! Invariant: `read(write(e)) == e`, and bytes that were cut, added or changed anywhere are a [`Fault`].

use super::key::FORMAT;

/// Machine code, and what the assembler said while it made it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The kernel's instance, for people.
    pub kernel: String,
    /// The assembler's words.
    pub log: String,
    /// The machine code.
    pub cubin: Vec<u8>,
}

/// Why a file is no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is of another version, or something else altogether.
    Format,
    /// Its bytes are not those that were written.
    Damaged,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fault::Format => "no entry of this version",
            Fault::Damaged => "damaged",
        })
    }
}

impl Entry {
    /// As a file.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let kernel = self.kernel.replace('\n', " ");
        let (log, cubin) = (self.log.len(), self.cubin.len());
        let mut body = format!("kernel {kernel}\nlog {log}\ncubin {cubin}\n").into_bytes();
        body.extend_from_slice(self.log.as_bytes());
        body.extend_from_slice(&self.cubin);
        let mut out = format!("{FORMAT}\nhash {}\n", blake3::hash(&body)).into_bytes();
        out.extend_from_slice(&body);
        out
    }

    /// From a file.
    pub fn read(bytes: &[u8]) -> Result<Entry, Fault> {
        let (format, rest) = line(bytes).ok_or(Fault::Format)?;
        if format != FORMAT {
            return Err(Fault::Format);
        }
        let (hash, body) = line(rest).ok_or(Fault::Damaged)?;
        let hash = hash.strip_prefix("hash ").ok_or(Fault::Damaged)?;
        if blake3::hash(body).to_hex().as_str() != hash {
            return Err(Fault::Damaged);
        }
        Entry::body(body).ok_or(Fault::Damaged)
    }

    fn body(body: &[u8]) -> Option<Entry> {
        let (kernel, rest) = line(body)?;
        let (log, rest) = line(rest)?;
        let (cubin, rest) = line(rest)?;
        let log: usize = log.strip_prefix("log ")?.parse().ok()?;
        let cubin: usize = cubin.strip_prefix("cubin ")?.parse().ok()?;
        let (text, code) = rest.split_at_checked(log)?;
        (code.len() == cubin).then_some(())?;
        Some(Entry {
            kernel: kernel.strip_prefix("kernel ")?.to_owned(),
            log: String::from_utf8(text.to_vec()).ok()?,
            cubin: code.to_vec(),
        })
    }
}

/// The first line, and what follows it.
fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|&b| b == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Entry {
        Entry {
            kernel: "k<N = 4>".into(),
            log: "info : 40 registers\n".into(),
            cubin: (0..=255).cycle().take(700).collect(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Entry::read(&sample().write()), Ok(sample()));
        assert_eq!(Entry::read(&Entry::default().write()), Ok(Entry::default()));
    }

    /// Invariant: no damage goes unseen. Witness: every bit flipped, every length cut, a byte added.
    #[test]
    fn damage_is_seen() {
        let whole = sample().write();
        for at in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            assert!(Entry::read(&bytes).is_err(), "bit {at}");
        }
        for end in 0..whole.len() {
            assert!(Entry::read(&whole[..end]).is_err(), "{end} bytes");
        }
        let mut longer = whole;
        longer.push(0);
        assert_eq!(Entry::read(&longer), Err(Fault::Damaged));
    }
}
