//! A program, its launch and its buffers, ready to run.

use super::npy;
use super::spec::{Content, Form, Named, Spec, argument, content};
use super::{Launch, near};
use crate::outcome::{Failure, Kind, Result};
use std::collections::BTreeMap;
use std::path::Path;
use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Arg, Fault, Options, Program, Report, Shot, TensorMap, Vm};

/// A buffer of the machine.
#[derive(Debug)]
pub struct Buffer {
    pub address: u64,
    pub bytes: usize,
    pub form: Form,
}

#[derive(Debug)]
pub struct Bench {
    pub vm: Vm,
    pub entry: String,
    pub buffers: BTreeMap<String, Buffer>,
    program: Program,
    args: Vec<Arg>,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
}

/// Reads a text.
pub fn text(file: &Path) -> Result<String> {
    std::fs::read_to_string(file)
        .map_err(|e| Kind::File.because(format!("{} could not be read: {e}", file.display())))
}

fn bytes(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file)
        .map_err(|e| Kind::File.because(format!("{} could not be read: {e}", file.display())))
}

fn usage(e: String) -> Failure {
    Kind::Usage.because(e)
}

fn extension(file: &Path) -> &str {
    file.extension().and_then(|e| e.to_str()).unwrap_or("")
}

/// Reads a file of numbers.
pub fn load(file: &Path, tensor: Option<&str>) -> Result<(Form, Vec<u8>)> {
    let data = bytes(file)?;
    let shown = file.display();
    let wrong = |e: String| Kind::File.because(format!("{shown}: {e}"));
    match extension(file) {
        "npy" => npy::read(&data).map_err(wrong),
        "safetensors" => {
            let all =
                safetensors::SafeTensors::deserialize(&data).map_err(|e| wrong(e.to_string()))?;
            let names = all.names();
            let name = match tensor {
                Some(t) => t,
                None if names.len() == 1 => names[0],
                None => {
                    return Err(usage(format!(
                        "{shown} has {} tensors: name one behind #",
                        names.len()
                    )));
                }
            };
            let t = all
                .tensor(name)
                .map_err(|e| Kind::Missing.because(format!("{shown}: {e}")))?;
            let ty = ty_of(t.dtype())
                .ok_or_else(|| wrong(format!("elements of type {:?}", t.dtype())))?;
            let form = Form {
                ty,
                shape: t.shape().to_vec(),
            };
            Ok((form, t.data().to_vec()))
        }
        _ => Ok((
            Form {
                ty: Ty::U8,
                shape: vec![data.len()],
            },
            data,
        )),
    }
}

const STORED: &[(safetensors::Dtype, Ty)] = &[
    (safetensors::Dtype::F32, Ty::F32),
    (safetensors::Dtype::F64, Ty::F64),
    (safetensors::Dtype::F16, Ty::F16),
    (safetensors::Dtype::BF16, Ty::BF16),
    (safetensors::Dtype::I8, Ty::S8),
    (safetensors::Dtype::I16, Ty::S16),
    (safetensors::Dtype::I32, Ty::S32),
    (safetensors::Dtype::I64, Ty::S64),
    (safetensors::Dtype::U8, Ty::U8),
    (safetensors::Dtype::U16, Ty::U16),
    (safetensors::Dtype::U32, Ty::U32),
    (safetensors::Dtype::U64, Ty::U64),
];

fn ty_of(d: safetensors::Dtype) -> Option<Ty> {
    let own = STORED.iter().find(|s| s.0 == d).map(|s| s.1);
    own.or((d == safetensors::Dtype::BOOL).then_some(Ty::U8))
}

/// Numbers of a fixed generator in -1..1; integers of all values.
fn random(form: &Form, seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut out = Vec::with_capacity(bytes);
    while out.len() < bytes {
        let word = next();
        let x = (word >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        match form.ty {
            Ty::F64 => out.extend(x.to_le_bytes()),
            Ty::F32 => out.extend((x as f32).to_le_bytes()),
            Ty::F16 => out.extend(half::f16::from_f64(x).to_le_bytes()),
            Ty::BF16 => out.extend(half::bf16::from_f64(x).to_le_bytes()),
            t => out.extend(&word.to_le_bytes()[..(t.bytes() as usize).min(8)]),
        }
    }
    out.truncate(bytes);
    out
}

impl Bench {
    pub fn new(launch: &Launch) -> Result<Bench> {
        let grid = launch.blocks()?;
        let source = text(&launch.file)?;
        let vm = Vm::new();
        let shown = launch.file.display();
        let program = vm
            .load(&source)
            .map_err(|e| Kind::Wrong.because(format!("{shown}: {e}")))?;
        let mut names: Vec<String> = program.entries().map(str::to_string).collect();
        names.sort_unstable();
        let entry = match &launch.entry {
            Some(e) if names.contains(e) => e.clone(),
            Some(e) => {
                let has = names.join(", ");
                let near = near(e, names.iter().map(String::as_str));
                return Err(Kind::Missing
                    .because(format!("{shown} has no entry `{e}`; it has {has}{near}")));
            }
            None if names.len() == 1 => names[0].clone(),
            None => {
                let has = names.join(", ");
                return Err(usage(format!(
                    "{shown} has {}: {has}; name one with --entry",
                    names.len()
                )));
            }
        };
        let mut bench = Bench {
            vm,
            entry,
            program,
            buffers: BTreeMap::new(),
            args: vec![],
            grid,
            block: launch.block.0,
            shared: launch.shared,
        };
        for text in &launch.buffers {
            let (name, what) = text
                .split_once('=')
                .ok_or_else(|| usage(format!("`{text}`: NAME=SPEC is wanted")))?;
            bench.make(name, content(what).map_err(usage)?)?;
        }
        let specs: std::result::Result<Vec<Spec>, String> =
            launch.args.iter().map(|a| argument(a)).collect();
        let specs = specs.map_err(usage)?;
        for spec in &specs {
            if let Spec::Buffer(name, what) = spec {
                bench.make(name, what.clone())?;
            }
        }
        bench.args = specs
            .into_iter()
            .map(|s| bench.argument(s))
            .collect::<Result<_>>()?;
        Ok(bench)
    }

    fn make(&mut self, name: &str, what: Content) -> Result<()> {
        if self.buffers.contains_key(name) {
            return Err(usage(format!("two buffers are called `{name}`")));
        }
        let memory = |e: tiki_launch::vm::MemoryError| usage(format!("`{name}`: {e}"));
        let (form, data) = match what {
            Content::Unset(form) => {
                let bytes = form.bytes().map_err(usage)?;
                let address = self.vm.alloc_unset(bytes as u64, name).map_err(memory)?;
                let buffer = Buffer {
                    address,
                    bytes,
                    form,
                };
                self.buffers.insert(name.to_string(), buffer);
                return Ok(());
            }
            Content::Zeros(f) => {
                let n = f.bytes().map_err(usage)?;
                (f, vec![0; n])
            }
            Content::Random(f, seed) => {
                let n = f.bytes().map_err(usage)?;
                let data = random(&f, seed, n);
                (f, data)
            }
            Content::File(file, tensor) => load(&file, tensor.as_deref())?,
        };
        let address = self.vm.alloc(data.len() as u64, name).map_err(memory)?;
        self.vm.write(address, &data).map_err(memory)?;
        let buffer = Buffer {
            address,
            bytes: data.len(),
            form,
        };
        self.buffers.insert(name.to_string(), buffer);
        Ok(())
    }

    fn argument(&self, spec: Spec) -> Result<Arg> {
        let find = |name: &str| {
            let b = self.buffers.get(name);
            let near = near(name, self.buffers.keys().map(String::as_str));
            b.ok_or_else(|| usage(format!("no buffer is called `{name}`{near}")))
        };
        Ok(match spec {
            Spec::Bytes(b) => Arg::Bytes(b),
            Spec::Buffer(name, _) => Arg::Address(find(&name)?.address),
            Spec::Map {
                buffer,
                form,
                extent,
                swizzle,
            } => {
                let size = u64::from(form.ty.bytes());
                let dims: Vec<u64> = form.shape.iter().rev().map(|d| *d as u64).collect();
                let inner = &dims[..dims.len().saturating_sub(1)];
                let strides = inner.iter().scan(size, |bytes, d| {
                    *bytes = bytes.saturating_mul(*d);
                    Some(*bytes)
                });
                let map = TensorMap {
                    ty: form.ty,
                    address: find(&buffer)?.address,
                    strides: strides.collect(),
                    extent: extent.into_iter().rev().collect(),
                    swizzle,
                    nan_outside: false,
                    dims,
                };
                let bytes = map
                    .encode()
                    .map_err(|e| usage(format!("tensor map of `{buffer}`: {e}")))?;
                Arg::Bytes(bytes.to_vec())
            }
        })
    }

    pub fn shot(&self) -> Shot<'_> {
        Shot {
            program: &self.program,
            entry: &self.entry,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.shared,
            args: &self.args,
        }
    }

    pub fn run(&self, options: &Options) -> Result<Report> {
        let s = self.shot();
        self.vm
            .launch(
                s.program,
                s.entry,
                s.grid,
                s.block,
                s.dynamic_shared,
                s.args,
                options,
            )
            .map_err(|f| failed(&f))
    }

    pub fn buffer(&self, name: &str) -> Result<&Buffer> {
        let has: Vec<&str> = self.buffers.keys().map(String::as_str).collect();
        let (near, all) = (near(name, has.iter().copied()), has.join(", "));
        let missing =
            || Kind::Missing.because(format!("no buffer `{name}`; there are {all}{near}"));
        self.buffers.get(name).ok_or_else(missing)
    }

    pub fn read(&self, b: &Buffer) -> Result<Vec<u8>> {
        let mut out = vec![0; b.bytes];
        self.vm
            .read(b.address, &mut out)
            .map_err(|e| Kind::Wrong.because(e.to_string()))?;
        Ok(out)
    }

    /// Writes a buffer to a file.
    pub fn write(&self, to: &Named) -> Result<()> {
        let b = self.buffer(&to.name)?;
        let data = self.read(b)?;
        let shown = to.file.display();
        let out = match extension(&to.file) {
            "npy" => npy::write(&b.form, &data),
            "safetensors" => {
                let stored = STORED.iter().find(|s| s.1 == b.form.ty).map(|s| s.0);
                let stored =
                    stored.ok_or_else(|| usage(format!("{} is not stored there", b.form.ty)))?;
                let view =
                    safetensors::tensor::TensorView::new(stored, b.form.shape.clone(), &data);
                let view = view.map_err(|e| Kind::File.because(format!("{shown}: {e}")))?;
                let name = to.tensor.clone().unwrap_or_else(|| to.name.clone());
                safetensors::serialize([(name, view)], None)
                    .map_err(|e| Kind::File.because(format!("{shown}: {e}")))?
            }
            _ => data,
        };
        std::fs::write(&to.file, out)
            .map_err(|e| Kind::File.because(format!("{shown} could not be written: {e}")))
    }
}

/// A launch that was refused or broke.
pub fn failed(f: &Fault) -> Failure {
    let kind = if f.code == tiki_launch::vm::Code::Launch {
        Kind::Usage
    } else {
        Kind::Wrong
    };
    kind.because(f.to_string())
}
