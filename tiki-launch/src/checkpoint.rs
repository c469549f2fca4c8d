//! Tensors from safetensors files, in their own types.
//!
//! The header is read and checked against the file's length when it is opened, so a file cut short is an
//! error then and not at the tensor that is missing its end. A tensor's bytes are read when it is asked for, and
//! stay nowhere but in the answer. Nothing is converted: a tensor is read as the type it is stored in, or refused.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, Metadata};
use tiki_kernel::dtype::DType;
use tiki_kernel::near;

use crate::codes::Code;
use crate::device::Device;
use crate::element::{Element, Sealed};
use crate::error::LaunchError;
use crate::tensor::Tensor;

/// Why a tensor could not be read.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs)] // the message of each says what its fields are
pub enum DataError {
    Open {
        path: PathBuf,
        source: io::Error,
    },
    Format {
        path: PathBuf,
        source: Box<SafeTensorError>,
    },
    Missing {
        path: PathBuf,
        name: String,
        there: Vec<String>,
    },
    Type {
        path: PathBuf,
        name: String,
        stored: String,
        wanted: DType,
    },
    Shape {
        path: PathBuf,
        name: String,
        stored: Vec<usize>,
        wanted: String,
    },
}

impl DataError {
    /// The stable, machine-readable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            DataError::Open { .. } => Code::DataOpen,
            DataError::Format { .. } => Code::DataFormat,
            DataError::Missing { .. } => Code::DataMissing,
            DataError::Type { .. } => Code::DataType,
            DataError::Shape { .. } => Code::DataShape,
        }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Open { path, source } => {
                write!(f, "cannot read {}: {source}", path.display())
            }
            DataError::Format { path, source } => match **source {
                SafeTensorError::MetadataIncompleteBuffer => write!(
                    f,
                    "{} is cut short or has bytes too many: its length is not what its header says",
                    path.display()
                ),
                ref other => write!(
                    f,
                    "{} is not a complete safetensors file: {other}",
                    path.display()
                ),
            },
            DataError::Missing { path, name, there } => {
                write!(
                    f,
                    "{} has no tensor `{name}`; it has {}",
                    path.display(),
                    there.join(", ")
                )?;
                let question = near::question(name, there.iter().map(String::as_str));
                question.map_or(Ok(()), |q| write!(f, "; {q}"))
            }
            DataError::Type {
                path,
                name,
                stored,
                wanted,
            } => {
                write!(
                    f,
                    "tensor `{name}` of {} is stored as {stored}, not {wanted}",
                    path.display()
                )
            }
            DataError::Shape {
                path,
                name,
                stored,
                wanted,
            } => {
                write!(
                    f,
                    "tensor `{name}` of {} has shape {stored:?}, not {wanted}",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for DataError {
    // The cause's words are in the message: what is behind it comes next.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DataError::Open { source, .. } => source.source(),
            DataError::Format { source, .. } => source.source(),
            _ => None,
        }
    }
}

/// Stored types that have a host type, by row of the element table.
const STORED: &[(Dtype, DType)] = &[
    (Dtype::F32, DType::F32),
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::F64, DType::F64),
    (Dtype::I32, DType::I32),
    (Dtype::U32, DType::U32),
    (Dtype::I64, DType::I64),
    (Dtype::U64, DType::U64),
    (Dtype::I16, DType::I16),
    (Dtype::U16, DType::U16),
    (Dtype::I8, DType::I8),
    (Dtype::U8, DType::U8),
    (Dtype::BOOL, DType::BOOL),
];

/// What a file says of one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Name.
    pub name: String,
    /// Element type, if the host has it.
    pub dtype: Option<DType>,
    /// Extents, outermost first.
    pub shape: Vec<usize>,
}

/// Values on the host, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<E> {
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// Values.
    pub values: Vec<E>,
}

/// An open safetensors file.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    /// Where it stands belongs to who reads.
    file: Mutex<File>,
    metadata: Metadata,
    /// Where the data begins.
    data: u64,
}

/// Bytes of the number before a header, and the most that number may be.
const BEFORE: u64 = size_of::<u64>() as u64;
const HEADER: u64 = 100_000_000;

/// Why a file could not be opened: the system's answer, or what its bytes say.
enum Unread {
    System(io::Error),
    Format(SafeTensorError),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Unread {
        Unread::System(error)
    }
}

/// The header, and where the data begins; the file is as long as both say.
fn header(file: &mut File) -> Result<(Metadata, u64), Unread> {
    let length = file.metadata()?.len();
    if length < BEFORE {
        return Err(Unread::Format(SafeTensorError::HeaderTooSmall));
    }
    let mut number = [0; BEFORE as usize];
    file.read_exact(&mut number)?;
    let header = u64::from_le_bytes(number);
    if header > HEADER {
        return Err(Unread::Format(SafeTensorError::HeaderTooLarge));
    }
    let data = BEFORE + header;
    if data > length {
        return Err(Unread::Format(SafeTensorError::InvalidHeaderLength));
    }
    let mut text = vec![0; header as usize];
    file.read_exact(&mut text)?;
    let damaged = |e| Unread::Format(SafeTensorError::InvalidHeaderDeserialization(e));
    let metadata: Metadata = serde_json::from_slice(&text).map_err(damaged)?;
    if data.checked_add(metadata.data_len() as u64) != Some(length) {
        return Err(Unread::Format(SafeTensorError::MetadataIncompleteBuffer));
    }
    Ok((metadata, data))
}

impl Checkpoint {
    /// Reads a file's header and checks that the file is complete.
    pub fn open(path: impl AsRef<Path>) -> Result<Checkpoint, DataError> {
        let path = path.as_ref().to_path_buf();
        let read = File::open(&path).map_err(Unread::System);
        match read.and_then(|mut file| Ok((header(&mut file)?, file))) {
            Ok(((metadata, data), file)) => Ok(Checkpoint {
                path,
                file: Mutex::new(file),
                metadata,
                data,
            }),
            Err(Unread::System(source)) => Err(DataError::Open { path, source }),
            Err(Unread::Format(source)) => Err(DataError::Format {
                path,
                source: Box::new(source),
            }),
        }
    }

    /// All tensors, by name.
    #[must_use]
    pub fn tensors(&self) -> Vec<Info> {
        let mut all: Vec<Info> = self
            .metadata
            .tensors()
            .into_iter()
            .map(|(name, info)| Info {
                name,
                dtype: host_type(info.dtype),
                shape: info.shape.clone(),
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The values of a tensor.
    pub fn read<E: Element>(&self, name: &str) -> Result<Array<E>, DataError> {
        let Some(info) = self.metadata.info(name) else {
            let there = self.tensors().into_iter().map(|t| t.name).collect();
            return Err(DataError::Missing {
                path: self.path.clone(),
                name: name.into(),
                there,
            });
        };
        if host_type(info.dtype) != Some(E::DTYPE) {
            return Err(DataError::Type {
                path: self.path.clone(),
                name: name.into(),
                stored: host_type(info.dtype)
                    .map_or_else(|| info.dtype.to_string(), |t| t.to_string()),
                wanted: E::DTYPE,
            });
        }
        let (start, end) = info.data_offsets;
        let mut refused = None;
        let received = <E as Sealed>::receive(info.shape.iter().product(), &mut |to| {
            debug_assert_eq!(to.len(), end - start, "as the header's check found");
            let read = {
                let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
                let there = file.seek(SeekFrom::Start(self.data + start as u64));
                there.and_then(|_| file.read_exact(to))
            };
            if let Err(source) = read {
                let path = self.path.clone();
                refused = Some(DataError::Open { path, source });
            }
            Ok(())
        });
        match (refused, received) {
            (None, Ok(values)) => Ok(Array {
                shape: info.shape.clone(),
                values,
            }),
            (Some(error), _) => Err(error),
            (None, Err(_)) => unreachable!("it was given no error"),
        }
    }

    /// The values of a tensor that must have this shape.
    pub fn read_as<E: Element>(&self, name: &str, shape: &[usize]) -> Result<Vec<E>, DataError> {
        let array = self.read::<E>(name)?;
        if array.shape == shape {
            return Ok(array.values);
        }
        Err(self.wrong_shape(name, array.shape, format!("{shape:?}")))
    }

    /// A tensor of rank `R` on a device.
    pub fn load<E: Element, const R: usize>(
        &self,
        device: &Device,
        name: &str,
    ) -> Result<Tensor<E, R>, LaunchError> {
        let array = self.read::<E>(name)?;
        match <[usize; R]>::try_from(array.shape.as_slice()) {
            Ok(shape) => device.tensor_from(&array.values, shape),
            Err(_) => Err(self
                .wrong_shape(name, array.shape, format!("one of {R} axes"))
                .into()),
        }
    }

    fn wrong_shape(&self, name: &str, stored: Vec<usize>, wanted: String) -> DataError {
        DataError::Shape {
            path: self.path.clone(),
            name: name.into(),
            stored,
            wanted,
        }
    }
}

fn host_type(stored: Dtype) -> Option<DType> {
    STORED
        .iter()
        .find(|(s, _)| *s == stored)
        .map(|&(_, host)| host)
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    const FILE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../examples/data/smollm2_layer15.safetensors"
    );

    fn code(error: DataError) -> &'static str {
        assert!(error.to_string().contains('/'), "names the file: {error}");
        error.code().as_str()
    }

    #[test]
    fn reads_real_tensors_in_their_own_types() {
        let file = Checkpoint::open(FILE).unwrap();
        let hidden = file.read::<f16>("hidden").unwrap();
        assert_eq!(hidden.shape, [84, 576]);
        let largest = hidden
            .values
            .iter()
            .map(|x| x.to_f32().abs())
            .fold(0.0, f32::max);
        assert_eq!(largest, 23968.0);
        let expected = file
            .read_as::<f64>("rms_norm_expected", &[84, 576])
            .unwrap();
        assert_eq!(expected.len(), 84 * 576);
        assert_eq!(file.read::<i32>("tokens").unwrap().values.len(), 84);
        assert!(
            file.tensors()
                .iter()
                .any(|t| t.name == "scores" && t.dtype == Some(DType::F32))
        );
    }

    #[test]
    fn bad_files_and_wrong_questions_are_typed_errors() {
        let file = Checkpoint::open(FILE).unwrap();
        assert_eq!(
            code(Checkpoint::open("/no/such/file").unwrap_err()),
            "TL101"
        );
        let missing = file.read::<f16>("hiden").unwrap_err();
        assert!(missing.to_string().contains("hidden"));
        assert_eq!(code(missing), "TL103");
        assert_eq!(code(file.read::<f32>("hidden").unwrap_err()), "TL104");
        assert_eq!(
            code(file.read_as::<f16>("hidden", &[576, 84]).unwrap_err()),
            "TL105"
        );

        let whole = std::fs::read(FILE).unwrap();
        let cut = std::env::temp_dir().join(format!("tiki-cut-{}.safetensors", std::process::id()));
        for length in [0, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&cut, &whole[..length]).unwrap();
            assert_eq!(
                code(Checkpoint::open(&cut).unwrap_err()),
                "TL102",
                "{length} bytes"
            );
        }
        let mut damaged = whole.clone();
        damaged[8..24].fill(0xff);
        std::fs::write(&cut, &damaged).unwrap();
        assert_eq!(code(Checkpoint::open(&cut).unwrap_err()), "TL102");
        std::fs::remove_file(&cut).unwrap();
    }
}
