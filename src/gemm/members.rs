//! A list of products in one launch: what may be in it, and the tables that its kernel reads.
//!
//! A row of [`super::rows::Product::list`] says what an instance takes. The one with the least estimated time is taken: the
//! steps of all tiles, dealt out evenly, and half of those of the longest tile, by which the last ones end apart. Products come in the order of their K, longest first,
//! so that the last tiles to be dealt out are the short ones. An operand's place is the distance from the lowest address
//! among its kind: the kernel's argument begins there.

use super::error::GemmError;
use super::rows::Product;
use super::table::{Launched, Lies};
use super::{Activation, Choice, Epilogue, Member, Precision, extents};
use crate::{Element, LaunchError, Reached, Stream, Tensor};
use tiki_kernel::artifact::Artifact;
use tiki_kernel::target::Target;

/// The arguments that all kernels of [`super::list`] have.
#[derive(Debug)]
pub struct Tables<E: Element, O: Element> {
    pub(super) a: Tensor<E, 1>,
    pub(super) b: Tensor<E, 1>,
    pub(super) c: Tensor<O, 1>,
    pub(super) begins: Tensor<u64, 2>,
    pub(super) sizes: Tensor<u32, 2>,
    pub(super) tiles: u32,
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) activation: u32,
}

/// What an instance does with sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ends {
    /// It stores them.
    Plain,
    /// It scales them and adds the result as it was.
    Scaled,
    /// It applies functions too.
    Any,
}

/// One instance for lists.
#[derive(Debug)]
pub struct ListRow<E: Element, O: Element> {
    pub(super) instance: &'static str,
    pub(super) artifact: &'static Artifact,
    pub(super) tile: [usize; 2],
    /// Everything is contiguous along K (the result along N), in rows of whole eights of elements, and the tables count eights.
    pub(super) eights: bool,
    pub(super) ends: Ends,
    pub(super) precision: Option<Precision>,
    /// Speed of its tiles.
    pub(super) rate: f64,
    pub(super) run: fn(&Stream, &mut Tables<E, O>) -> Launched,
}

/// What is asked of a list, apart from its members.
struct Asked {
    ends: Ends,
    precision: Precision,
}

impl<E: Element, O: Element> ListRow<E, O> {
    fn eligible(
        &self,
        stream: &Stream,
        asked: &Asked,
        members: &[Member<'_, E, O>],
    ) -> Result<(), String> {
        let device = stream.device();
        let target = Target::by_name(self.artifact.target);
        if !target.is_some_and(|t| device.runs(t)) {
            let (target, name) = (self.artifact.target, device.name());
            return Err(format!("built for {target}, which {name} does not run"));
        }
        if let Some(p) = self.precision
            && p != asked.precision
        {
            return Err(format!("multiplies by {p:?}, not {:?}", asked.precision));
        }
        if self.ends < asked.ends {
            return Err(match self.ends {
                Ends::Plain => "has no epilogue".into(),
                _ => "applies no function".into(),
            });
        }
        let eights = |lies: Lies, extent: usize, stride: usize| {
            lies == Lies::Along && extent.is_multiple_of(8) && stride.is_multiple_of(8)
        };
        for (i, (a, b, c)) in members.iter().enumerate().filter(|(_, m)| !m.2.is_empty()) {
            let (k, n) = (a.dim(1), b.dim(0));
            // Of a K of 0, nothing is read.
            let read = k == 0
                || eights(Lies::of(*a), k, a.stride(0)) && eights(Lies::of(*b), k, b.stride(0));
            let whole = read && eights(Lies::of(&**c), n, c.stride(0));
            if self.eights && !whole {
                return Err(format!(
                    "takes rows of whole eights of elements, 16 bytes aligned; product {i} has others"
                ));
            }
        }
        if self.tiles(members) > u64::from(u32::MAX) {
            return Err("counts tiles in 32 bits".into());
        }
        Ok(())
    }

    fn tiles_of(&self, [m, n]: [usize; 2]) -> u64 {
        m.div_ceil(self.tile[0]) as u64 * n.div_ceil(self.tile[1]) as u64
    }

    fn tiles(&self, members: &[Member<'_, E, O>]) -> u64 {
        members
            .iter()
            .map(|(_, _, c)| self.tiles_of(c.shape()))
            .sum()
    }

    fn estimate(&self, processors: u32, members: &[Member<'_, E, O>]) -> f64 {
        let (mut all, mut longest) = (0.0, 0.0_f64);
        for (a, _, c) in members {
            // What comes before and after the sums is as long as a few steps.
            let steps = (a.dim(1) + 256) as f64;
            all += self.tiles_of(c.shape()) as f64 * steps;
            longest = longest.max(steps);
        }
        let area = (self.tile[0] * self.tile[1]) as f64;
        (all / f64::from(processors.max(1)) + longest / 2.0) * area / self.rate
    }
}

/// Products of a list whose shapes all differ, in one kernel: `c = act(alpha a @ b.T) + beta c` for each member. Members may be
/// empty, and have a K of 0.
///
/// All share the epilogue, which has no bias and no residual here: results have different columns. What no instance takes is
/// [`GemmError::NotBuilt`], with the first member that does not fit; [`super::grouped`] launches members one by one.
///
/// ```
/// use tiki::gemm::{Epilogue, listed};
/// use tiki::prelude::f16;
///
/// let device = tiki::Device::vm()?;
/// let ones = |shape: [usize; 2]| {
///     device.tensor_from(&vec![f16::ONE; shape[0] * shape[1]], shape)
/// };
/// let (a, b, mut c) = (ones([3, 16])?, ones([8, 16])?, ones([3, 8])?);
/// let (d, e, mut f) = (ones([40, 72])?, ones([24, 72])?, ones([40, 24])?);
/// let mut members = [(&a, &b, &mut c), (&d, &e, &mut f)];
/// let chosen = listed(&device.stream(), &mut members, &Epilogue::default())?;
/// assert!(c.to_vec()?.iter().all(|x| x.to_f32() == 16.0));
/// assert!(f.to_vec()?.iter().all(|x| x.to_f32() == 72.0));
/// assert_eq!(chosen.tiles, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn listed<E: Product<O>, O: Element>(
    stream: &Stream,
    members: &mut [Member<'_, E, O>],
    epilogue: &Epilogue<'_, O>,
) -> Result<Choice, GemmError> {
    for (i, (a, b, c)) in members.iter().enumerate() {
        let ([m, k], [n, _]) = (a.shape(), b.shape());
        extents("the right operand", &[n, k], &b.shape())
            .and_then(|()| extents("the result", &[m, n], &c.shape()))
            .map_err(|error| error.of_member(i))?;
    }
    let what = || {
        let (e, o) = (E::DTYPE.name(), O::DTYPE.name());
        format!("a list of {} products of {e} into {o}", members.len())
    };
    if epilogue.bias.is_some() || epilogue.residual.is_some() {
        let why = "a list has no bias and no residual: results have different columns";
        let reasons = E::list().iter().map(|row| (row.instance, why.to_string()));
        return Err(GemmError::NotBuilt {
            what: what(),
            reasons: reasons.collect(),
        });
    }
    let asked = Asked {
        ends: match epilogue.activation {
            _ if epilogue.is_plain() => Ends::Plain,
            Activation::None => Ends::Scaled,
            _ => Ends::Any,
        },
        precision: epilogue.precision,
    };
    let processors = stream.device().multiprocessors();
    let (mut best, mut reasons) = (None, Vec::new());
    for row in E::list() {
        match row.eligible(stream, &asked, members) {
            Ok(()) => {
                let time = row.estimate(processors, members);
                if best.is_none_or(|(least, _)| time < least) {
                    best = Some((time, row));
                }
            }
            Err(reason) => reasons.push((row.instance, reason)),
        }
    }
    let Some((_, row)) = best else {
        return Err(GemmError::NotBuilt {
            what: what(),
            reasons,
        });
    };
    let tiles = row.tiles(members);
    if tiles > 0 {
        let mut tables = row.tables(stream, members, epilogue)?;
        let mut reached: Vec<Reached<'_>> = Vec::with_capacity(3 * members.len());
        for (a, b, c) in members.iter_mut() {
            reached.extend([a.reached(), b.reached(), c.reached_mut()]);
        }
        stream.reaching(row.artifact.instance, &reached, || {
            (row.run)(stream, &mut tables)
        })?;
    }
    Ok(Choice {
        instance: row.instance,
        report: row.artifact.report,
        tiles,
        parts: 1,
        processors,
    })
}

/// A tensor of nothing where a tensor begins.
fn nothing_at<E: Element>(
    stream: &Stream,
    at: Option<&Tensor<E, 2>>,
) -> Result<Tensor<E, 1>, LaunchError> {
    match at {
        Some(t) => t.at::<1, 1>([0])?.slice(0, 0..0),
        None => stream.device().empty([0]),
    }
}

impl<E: Element, O: Element> ListRow<E, O> {
    fn tables(
        &self,
        stream: &Stream,
        members: &[Member<'_, E, O>],
        epilogue: &Epilogue<'_, O>,
    ) -> Result<Tables<E, O>, LaunchError> {
        let mut there: Vec<&Member<'_, E, O>> =
            members.iter().filter(|m| !m.2.is_empty()).collect();
        there.sort_by_key(|(a, ..)| std::cmp::Reverse(a.dim(1)));
        let read = || there.iter().filter(|(a, ..)| a.dim(1) > 0);
        let a0 = read().map(|m| m.0).min_by_key(|t| t.address());
        let b0 = read().map(|m| m.1).min_by_key(|t| t.address());
        let c0 = there.iter().map(|m| &*m.2).min_by_key(|t| t.address());
        let unit = if self.eights { 8 } else { 1 };
        let (mut begins, mut sizes) = (Vec::new(), Vec::new());
        let mut before = 0;
        for (a, b, c) in &there {
            let ([m, k], [n, _]) = (a.shape(), b.shape());
            begins.extend([
                distance(*a, a0) / unit,
                distance(*b, b0) / unit,
                distance(&**c, c0) / unit,
            ]);
            for strides in [a.strides(), b.strides(), c.strides()] {
                let of = if self.eights { 1 } else { 2 };
                begins.extend(strides[..of].iter().map(|s| *s as u64 / unit));
            }
            sizes.extend([m as u64, n as u64 / unit, k as u64 / unit, before].map(|x| x as u32));
            before += self.tiles_of([m, n]);
        }
        sizes.extend([0, 0, 0, before as u32]);
        let device = stream.device();
        let columns = begins.len() / there.len().max(1);
        Ok(Tables {
            a: nothing_at(stream, a0)?,
            b: nothing_at(stream, b0)?,
            c: nothing_at(stream, c0)?,
            begins: device.tensor_from(&begins, [there.len(), columns])?,
            sizes: device.tensor_from(&sizes, [there.len() + 1, 4])?,
            tiles: before as u32,
            alpha: epilogue.alpha,
            beta: epilogue.beta,
            activation: epilogue.activation as u32,
        })
    }
}

/// Elements from where the first begins to where this one does; 0 of what is never read.
fn distance<E: Element>(t: &Tensor<E, 2>, first: Option<&Tensor<E, 2>>) -> u64 {
    let first = first.filter(|_| !t.is_empty());
    first.map_or(0, |f| (t.address() - f.address()) / size_of::<E>() as u64)
}
