//! Arrays in files of NumPy (`.npy`, versions 1 to 3).
//!
//! A file is a magic string, a length, a dictionary in Python's notation (`descr`, `fortran_order`, `shape`)
//! and the bytes. Types that NumPy has not (bf16, 8-bit floats) are written as integers of their size.

use super::spec::Form;
use tiki_kernel::isa::Ty;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads a file: form and bytes.
pub fn read(file: &[u8]) -> Result<(Form, Vec<u8>), String> {
    let bad = || "not a complete .npy file".to_string();
    if file.len() < 10 || &file[..6] != MAGIC {
        return Err(bad());
    }
    let (at, len): (usize, usize) = if file[6] == 1 {
        (10, usize::from(u16::from_le_bytes([file[8], file[9]])))
    } else {
        let n: [u8; 4] = file
            .get(8..12)
            .ok_or_else(bad)?
            .try_into()
            .map_err(|_| bad())?;
        (12, u32::from_le_bytes(n) as usize)
    };
    let end = at.checked_add(len).ok_or_else(bad)?;
    let header = std::str::from_utf8(file.get(at..end).ok_or_else(bad)?).map_err(|_| bad())?;
    let value = |key: &str| {
        let from = header.find(&format!("'{key}'"))? + key.len() + 2;
        Some(header[from..].trim_start_matches([':', ' ']))
    };
    let descr = value("descr")
        .and_then(|v| v.strip_prefix('\''))
        .ok_or_else(bad)?;
    let descr = descr.split('\'').next().unwrap_or("");
    if !value("fortran_order").ok_or_else(bad)?.starts_with("False") {
        return Err("the array is stored column by column; store it row by row".into());
    }
    let shape = value("shape")
        .and_then(|v| v.strip_prefix('('))
        .ok_or_else(bad)?;
    let shape = shape.split(')').next().unwrap_or("");
    let shape: Result<Vec<usize>, _> = shape
        .split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(str::parse)
        .collect();
    let form = Form {
        ty: ty(descr).ok_or_else(|| format!("elements of type `{descr}`"))?,
        shape: shape.map_err(|_| bad())?,
    };
    let bytes = &file[end..];
    if bytes.len() != form.bytes()? {
        return Err(bad());
    }
    Ok((form, bytes.to_vec()))
}

const TYPES: &[(&str, Ty)] = &[
    ("f4", Ty::F32),
    ("f8", Ty::F64),
    ("f2", Ty::F16),
    ("i1", Ty::S8),
    ("i2", Ty::S16),
    ("i4", Ty::S32),
    ("i8", Ty::S64),
    ("u1", Ty::U8),
    ("u2", Ty::U16),
    ("u4", Ty::U32),
    ("u8", Ty::U64),
];

fn ty(descr: &str) -> Option<Ty> {
    // Little endian, or no order for single bytes.
    let name = descr.strip_prefix(['<', '|', '=']).unwrap_or(descr);
    let name = if name == "b1" { "u1" } else { name };
    TYPES.iter().find(|t| t.0 == name).map(|t| t.1)
}

/// Writes a file.
pub fn write(form: &Form, bytes: &[u8]) -> Vec<u8> {
    let name = TYPES.iter().find(|t| t.1 == form.ty).map(|t| t.0);
    let name = name.unwrap_or(
        ["u1", "u1", "u2", "u2", "u4", "u4", "u4", "u4", "u8"][form.ty.bytes().min(8) as usize],
    );
    let order = if name.ends_with('1') { '|' } else { '<' };
    let dims: String = form.shape.iter().map(|d| format!("{d}, ")).collect();
    let mut header = format!(
        "{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({}), }}",
        dims.trim_end()
    );
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![], vec![3], vec![2, 3], vec![0, 4]] {
            let form = Form { ty: Ty::F32, shape };
            let bytes: Vec<u8> = (0..form.bytes().unwrap()).map(|x| x as u8).collect();
            let (back, same) = read(&write(&form, &bytes)).unwrap();
            assert_eq!((back.ty, back.shape, same), (form.ty, form.shape, bytes));
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let form = Form {
            ty: Ty::F32,
            shape: vec![4],
        };
        let whole = write(&form, &[0; 16]);
        for n in 0..whole.len() {
            assert!(read(&whole[..n]).is_err(), "{n} bytes");
        }
    }
}
