//! Constructors: instructions by name, for those who write them from Rust.
//!
//! The operands that follow are those of the PTX text, destinations first. Optional modifiers are added
//! with [`Op::with`] and the flags of [`Op`].

use super::modifiers::*;
use super::rows::{
    bulk, control, convert, copy, float, half, int, matrix, memory, moves, object, sync, unit,
    warp, wgmma,
};
use super::{Class, Op, Row, Ty};

fn typed(row: &'static Row, t: Ty) -> Op {
    Op::new(row).set("t", t.name())
}

/// The signed integer of the same width, for operations that have no bit types.
fn as_int(t: Ty) -> Ty {
    match (t.class(), t.bits()) {
        (Class::Bits, 16) => Ty::U16,
        (Class::Bits, 32) => Ty::U32,
        (Class::Bits, 64) => Ty::U64,
        _ => t,
    }
}

fn pick(
    t: Ty,
    ints: &'static Row,
    f32: &'static Row,
    f64: &'static Row,
    f16: &'static Row,
    bf16: &'static Row,
) -> Op {
    let row = match t {
        Ty::F32 => f32,
        Ty::F64 => f64,
        Ty::F16 | Ty::F16x2 => f16,
        Ty::BF16 | Ty::BF16x2 => bf16,
        _ => return typed(ints, as_int(t)),
    };
    let op = typed(row, t);
    op.try_with(Rounding::Rn).unwrap_or(op)
}

macro_rules! by_type {
    ($($(#[$m:meta])* $name:ident: $i:path, $f:path, $d:path, $h:path, $b:path;)*) => { $(
        $(#[$m])*
        #[must_use]
        pub fn $name(t: Ty) -> Op { pick(t, &$i, &$f, &$d, &$h, &$b) }
    )* };
}

by_type! {
    /// `d = a + b`; floats round to nearest even. bfloat needs the newer target; `fma` does not.
    add: int::ADD, float::ADD, float::ADD64, half::ADD, half::ADD_BF;
    /// `d = a - b`.
    sub: int::SUB, float::SUB, float::SUB64, half::SUB, half::SUB_BF;
    /// `d = a * b`: the low half of integers.
    mul: int::MUL, float::MUL, float::MUL64, half::MUL, half::MUL_BF;
    /// `d = a * b + c`: integers wrap, floats round once.
    fma: int::MAD, float::FMA, float::FMA64, half::FMA, half::FMA_BF;
    /// `d = a / b`, correctly rounded.
    div: int::DIV, float::DIV, float::DIV64, float::DIV, float::DIV;
    /// `d = |a|`.
    abs: int::ABS, float::ABS, float::ABS, half::ABS, half::ABS;
    /// `d = -a`.
    neg: int::NEG, float::NEG, float::NEG, half::NEG, half::NEG;
    /// `d` = the smaller; of floats the number if one is NaN ([`Op::nan`] not offered here: [`min_nan`]).
    min: int::MIN, float::MIN, float::MIN, half::MIN, half::MIN;
    /// `d` = the larger; of floats the number if one is NaN ([`max_nan`] propagates).
    max: int::MAX, float::MAX, float::MAX, half::MAX, half::MAX;
}

/// `d` = the smaller, NaN if one is NaN.
#[must_use]
pub fn min_nan(t: Ty) -> Op {
    typed(
        if t == Ty::F32 {
            &float::MIN_NAN
        } else {
            &half::MIN
        },
        t,
    )
    .nan()
}
/// `d` = the larger, NaN if one is NaN.
#[must_use]
pub fn max_nan(t: Ty) -> Op {
    typed(
        if t == Ty::F32 {
            &float::MAX_NAN
        } else {
            &half::MAX
        },
        t,
    )
    .nan()
}
/// `d = a * b`, twice as wide; `t` is the operands' type.
#[must_use]
pub fn mul_wide(t: Ty) -> Op {
    typed(&int::MUL_WIDE, as_int(t))
}
/// `d = a * b + c` of integers, the low half.
#[must_use]
pub fn mad(t: Ty) -> Op {
    typed(&int::MAD, as_int(t))
}
/// `d = a * b + c`, `d` and `c` twice as wide; `t` is the operands' type.
#[must_use]
pub fn mad_wide(t: Ty) -> Op {
    typed(&int::MAD_WIDE, as_int(t))
}
/// `d` = remainder of `a / b` of integers.
#[must_use]
pub fn rem(t: Ty) -> Op {
    typed(&int::REM, as_int(t))
}

macro_rules! by_bits {
    ($($(#[$m:meta])* $name:ident: $row:path;)*) => { $(
        $(#[$m])*
        #[must_use]
        pub fn $name(t: Ty) -> Op { typed(&$row, if t == Ty::Pred { t } else { t.untyped() }) }
    )* };
}

by_bits! {
    /// `d = a and b`, of bits or predicates.
    and: int::AND;
    /// `d = a or b`.
    or: int::OR;
    /// `d = a xor b`.
    xor: int::XOR;
    /// `d = not a`.
    not: int::NOT;
    /// `d = a << b`; zero from the width on.
    shl: int::SHL;
    /// `d` = number of ones (`.u32`).
    popc: int::POPC;
    /// `d` = number of leading zeros (`.u32`).
    clz: int::CLZ;
    /// `d` = bits in the opposite order.
    brev: int::BREV;
    /// `f` = `b` with `d` bits from place `c` on replaced by `a`.
    bfi: int::BFI;
}

/// `d = a >> b`; signed types keep the sign.
#[must_use]
pub fn shr(t: Ty) -> Op {
    typed(&int::SHR, t)
}
/// `d` = `c` bits of `a` from place `b` on, extended.
#[must_use]
pub fn bfe(t: Ty) -> Op {
    typed(&int::BFE, as_int(t))
}
/// `d` = place of the first significant bit, all ones if none.
#[must_use]
pub fn bfind(t: Ty) -> Op {
    typed(&int::BFIND, as_int(t))
}
/// `d` = the function of three bits with this table (an immediate, fourth source).
#[must_use]
pub fn lop3() -> Op {
    Op::new(&int::LOP3)
}
/// `d` = four bytes chosen from `{b, a}` by `c`.
#[must_use]
pub fn prmt() -> Op {
    Op::new(&int::PRMT)
}
fn compare(cmp: Cmp, t: Ty, ints: &'static Row, floats: &'static Row, halves: &'static Row) -> Op {
    let row = match t {
        Ty::F32 | Ty::F64 => floats,
        Ty::F16 | Ty::F16x2 | Ty::BF16 | Ty::BF16x2 => halves,
        _ => ints,
    };
    typed(row, t).with(cmp)
}
/// `p = a cmp b`; floats: ordered forms are false and `u` forms true if an operand is NaN. Bit types
/// compare for equality only.
#[must_use]
pub fn setp(cmp: Cmp, t: Ty) -> Op {
    compare(cmp, t, &int::SETP, &float::SETP, &half::SETP)
}
/// `p = (a cmp b) op c`; the predicate `c` is the last operand.
#[must_use]
pub fn setp_bool(cmp: Cmp, op: Bool, t: Ty) -> Op {
    compare(cmp, t, &int::SETP_BOOL, &float::SETP_BOOL, &half::SETP_BOOL).with(op)
}
/// `d = c ? a : b`; 16-bit floats as bits.
#[must_use]
pub fn selp(t: Ty) -> Op {
    let t = if t.bits() == 16 || t.class() == Class::Packed {
        t.untyped()
    } else {
        t
    };
    typed(&int::SELP, t)
}

/// `d` = square root of `a`, correctly rounded.
#[must_use]
pub fn sqrt(t: Ty) -> Op {
    typed(
        if t == Ty::F64 {
            &float::SQRT64
        } else {
            &float::SQRT
        },
        t,
    )
    .with(Rounding::Rn)
}
/// `d = 1 / a`, correctly rounded.
#[must_use]
pub fn rcp(t: Ty) -> Op {
    typed(
        if t == Ty::F64 {
            &float::RCP64
        } else {
            &float::RCP
        },
        t,
    )
    .with(Rounding::Rn)
}
/// `d` = magnitude of `b` with the sign of `a`.
#[must_use]
pub fn copysign(t: Ty) -> Op {
    typed(&float::COPYSIGN, t)
}

macro_rules! plain {
    ($($(#[$m:meta])* $name:ident: $row:path;)*) => { $(
        $(#[$m])*
        #[must_use]
        pub fn $name() -> Op { Op::new(&$row) }
    )* };
}

plain! {
    /// `d` = 2 to the `a`, approximately (f32).
    ex2_approx: unit::EX2;
    /// `d` = logarithm to the base 2, approximately (f32).
    lg2_approx: unit::LG2;
    /// `d = 1 / a`, approximately (f32).
    rcp_approx: unit::RCP;
    /// `d` = 1 / square root, approximately (f32).
    rsqrt_approx: unit::RSQRT;
    /// `d` = square root, approximately (f32).
    sqrt_approx: unit::SQRT;
    /// `d` = sine, approximately (f32).
    sin_approx: unit::SIN;
    /// `d` = cosine, approximately (f32).
    cos_approx: unit::COS;
    /// `d` = hyperbolic tangent, approximately (f32).
    tanh_approx: unit::TANH;
    /// `d = a / b`, within 2 units in the last place over the full range (f32).
    div_full: unit::DIV;
    /// Go to a label.
    bra: control::BRA;
    /// Leave the function.
    ret: control::RET;
    /// Leave the kernel.
    exit: control::EXIT;
    /// Stop the kernel with an error.
    trap: control::TRAP;
    /// `d` = lanes of the mask where the predicate holds.
    ballot: warp::BALLOT;
    /// `d` = lanes that are here.
    activemask: warp::ACTIVEMASK;
    /// Wait for the lanes of a mask.
    bar_warp: warp::BAR_WARP;
    /// Wait at a barrier (id, optional thread count).
    bar_sync: sync::BAR;
    /// Arrive at a barrier (id, thread count).
    bar_arrive: sync::BAR_ARRIVE;
    /// Wait for the cluster.
    cluster_wait: sync::CLUSTER_WAIT;
    /// Arrive at the cluster's barrier.
    cluster_arrive: sync::CLUSTER_ARRIVE;
    /// One elected lane (`_|p`, mask).
    elect: moves::ELECT;
    /// Close the group of copies.
    cp_async_commit: copy::COMMIT;
    /// Wait until at most n groups of copies are under way (immediate).
    cp_async_wait: copy::WAIT;
    /// Close the group of bulk copies.
    bulk_commit: bulk::COMMIT;
    /// Wait until at most n groups of bulk copies are under way (immediate).
    bulk_wait: bulk::WAIT;
    /// Make a barrier object (address, count).
    mbarrier_init: object::INIT;
    /// Arrive at a barrier object (`_` or state, address).
    mbarrier_arrive: object::ARRIVE;
    /// Expect bytes, then arrive (`_` or state, address, bytes).
    mbarrier_arrive_expect: object::ARRIVE_TX;
    /// Wait a while for the phase of a parity (predicate, address, parity).
    mbarrier_try_wait_parity: object::TRY_WAIT_PARITY;
    /// Publish initialised barrier objects.
    fence_mbarrier_init: memory::FENCE_INIT;
    /// Order registers before the multiplies that follow.
    wgmma_fence: wgmma::FENCE;
    /// Close the group of multiplies.
    wgmma_commit: wgmma::COMMIT;
    /// Wait until at most n groups of multiplies are under way (immediate).
    wgmma_wait: wgmma::WAIT;
}

/// `d = a / b` approximately, by the reciprocal (f32).
#[must_use]
pub fn div_approx() -> Op {
    Op::new(&unit::DIV).set("kind", "approx")
}
/// A conversion from type `a` to type `d`. Between floats it rounds to nearest even where it must; float
/// to integer truncates; [`Op::with`] changes the rounding.
///
/// # Panics
/// If there is no such conversion.
#[must_use]
pub fn cvt(d: Ty, a: Ty) -> Op {
    let row = match (d, a) {
        (d, a) if d.is_int() && a.is_int() => &convert::INT,
        (Ty::BF16, a) if a.is_int() => &convert::INT_BF16,
        (_, a) if a.is_int() => &convert::INT_FLOAT,
        (d, Ty::BF16) if d.is_int() => &convert::BF16_INT,
        (d, _) if d.is_int() => &convert::FLOAT_INT,
        (Ty::F32, Ty::BF16) => &convert::WIDEN,
        (Ty::BF16, Ty::F32) => &convert::NARROW,
        (Ty::BF16, _) => &convert::BF16,
        (_, Ty::BF16) => &convert::FROM_BF16,
        (Ty::TF32, _) => &convert::TF32_RNA,
        _ => &convert::FLOAT,
    };
    let op = Op::new(row).set("d", d.name());
    let op = op.try_set("a", a.name()).unwrap_or(op);
    if d.is_float() && (a.is_int() || a.bits() > d.bits() || (a != d && a.bits() == d.bits())) {
        op.with(Rounding::Rn)
    } else if d.is_int() && a.is_float() {
        op.with(Rounding::Rzi)
    } else {
        op
    }
}
/// `d` = `a` rounded to an integer that stays a float.
#[must_use]
pub fn round(t: Ty, rnd: Rounding) -> Op {
    Op::new(&convert::FLOAT)
        .set("d", t.name())
        .set("a", t.name())
        .with(rnd)
}
/// `d` = two 16-bit floats (`f16x2` or `bf16x2`) from two f32: the first source in the high half.
#[must_use]
pub fn cvt_pair(d: Ty) -> Op {
    Op::new(&convert::PAIR)
        .set("d", d.name())
        .with(Rounding::Rn)
}
/// `d` = two 8-bit floats of this type, `a` in the high byte, `b` in the low byte, clamped.
#[must_use]
pub fn cvt_eight(d: Ty) -> Op {
    Op::new(&convert::F8_PAIR)
        .set("d", &format!("{}x2", d.name()))
        .with(Rounding::Rn)
}
/// `d` = the two 8-bit floats of this type in `a`, as f16.
#[must_use]
pub fn cvt_from_eight(a: Ty) -> Op {
    Op::new(&convert::F8_WIDEN)
        .set("a", &format!("{}x2", a.name()))
        .with(Rounding::Rn)
}
/// `d = a`: register, immediate, special register or the address of a variable.
#[must_use]
pub fn mov(t: Ty) -> Op {
    let t = if t.bits() == 16 || t.class() == Class::Packed {
        t.untyped()
    } else {
        t
    };
    typed(&moves::MOV, t)
}
/// `d` = the parts (a vector of `parts` registers), the first lowest.
#[must_use]
pub fn pack(t: Ty, parts: u32) -> Op {
    typed(
        if parts == 2 {
            &moves::PACK2
        } else {
            &moves::PACK4
        },
        t.untyped(),
    )
}
/// The parts (a vector of `parts` registers) of `a`, the first lowest.
#[must_use]
pub fn unpack(t: Ty, parts: u32) -> Op {
    typed(
        if parts == 2 {
            &moves::UNPACK2
        } else {
            &moves::UNPACK4
        },
        t.untyped(),
    )
}
/// `d` = the generic address of an address in a space.
#[must_use]
pub fn cvta(space: Space) -> Op {
    typed(
        if space == Space::Param {
            &moves::CVTA_PARAM
        } else {
            &moves::CVTA
        },
        Ty::U64,
    )
    .with(space)
}
/// `d` = the address in a space of a generic address.
#[must_use]
pub fn cvta_to(space: Space) -> Op {
    typed(&moves::CVTA_TO, Ty::U64).with(space)
}
/// A load; add [`Vec`], [`Cache`], [`L1`], [`L2`], [`Order`] and [`Scope`] as wanted.
#[must_use]
pub fn ld(space: Space, t: Ty) -> Op {
    let op = typed(&memory::LD, t);
    if space == Space::Generic {
        op
    } else {
        op.with(space)
    }
}
/// A load from global memory that nothing writes during the kernel.
#[must_use]
pub fn ld_nc(t: Ty) -> Op {
    typed(&memory::LD_NC, t)
}
/// A store; add [`Vec`], [`Cache`], [`L1`], [`Order`] and [`Scope`] as wanted.
#[must_use]
pub fn st(space: Space, t: Ty) -> Op {
    let op = typed(&memory::ST, t);
    if space == Space::Generic {
        op
    } else {
        op.with(space)
    }
}
/// `d` = old memory; memory = `op(memory, b)`. 16-bit floats add without flushing.
#[must_use]
pub fn atom(space: Space, op: Atom, t: Ty) -> Op {
    let row = match (op, t) {
        (Atom::Cas, _) => &memory::ATOM_CAS,
        (_, Ty::F16 | Ty::F16x2 | Ty::BF16 | Ty::BF16x2) => &memory::ATOM_HALF,
        _ => &memory::ATOM,
    };
    typed(row, t).with(space).with(op)
}
/// Memory = `op(memory, b)`.
#[must_use]
pub fn red(space: Space, op: Atom, t: Ty) -> Op {
    let row = match t {
        Ty::F16 | Ty::F16x2 | Ty::BF16 | Ty::BF16x2 => &memory::RED_HALF,
        _ => &memory::RED,
    };
    typed(row, t).with(space).with(op)
}
/// Earlier accesses before later ones, as threads of a scope see them.
#[must_use]
pub fn fence(order: Order, scope: Scope) -> Op {
    Op::new(&memory::FENCE).with(order).with(scope)
}
/// Ordinary accesses before asynchronous ones.
#[must_use]
pub fn fence_proxy_async(space: FenceSpace) -> Op {
    let op = Op::new(&memory::FENCE_PROXY);
    if space == FenceSpace::All {
        op
    } else {
        op.with(space)
    }
}
/// `d` (or `d|p`) = `a` of another lane (operands: d, a, b, c, mask).
#[must_use]
pub fn shfl(mode: Shfl) -> Op {
    Op::new(&warp::SHFL).with(mode)
}
/// A vote that gives a predicate.
#[must_use]
pub fn vote(mode: Vote) -> Op {
    Op::new(&warp::VOTE).with(mode)
}
/// Lanes with the same value.
#[must_use]
pub fn match_lanes(mode: Match, t: Ty) -> Op {
    typed(
        if mode == Match::Any {
            &warp::MATCH_ANY
        } else {
            &warp::MATCH_ALL
        },
        t.untyped(),
    )
}
/// `d = op` over the lanes of a mask.
#[must_use]
pub fn redux(op: Atom, t: Ty) -> Op {
    typed(&warp::REDUX, t).with(op)
}
/// An asynchronous copy (dst, src, bytes, optional source size): through the first cache (4, 8, 16 bytes)
/// or past it ([`Cache::Cg`], 16 bytes).
#[must_use]
pub fn cp_async(cache: Cache) -> Op {
    Op::new(&copy::CP_ASYNC).with(cache)
}
/// Load 8 x 8 matrices of 16-bit elements.
#[must_use]
pub fn ldmatrix(num: Matrices, transposed: bool) -> Op {
    let op = Op::new(&matrix::LDMATRIX).with(num).with(Space::Shared);
    if transposed {
        op.set("trans", "trans")
    } else {
        op
    }
}
/// Store 8 x 8 matrices of 16-bit elements.
#[must_use]
pub fn stmatrix(num: Matrices, transposed: bool) -> Op {
    let op = Op::new(&matrix::STMATRIX).with(num).with(Space::Shared);
    if transposed {
        op.set("trans", "trans")
    } else {
        op
    }
}
/// A warp's multiply: depth `k`, type of the inputs, type of the sums. `None` if there is none.
#[must_use]
pub fn mma(k: u32, a: Ty, b: Ty, sums: Ty) -> Option<Op> {
    let shape = format!("m16n8k{k}");
    super::named("mma").iter().find_map(|row| {
        Op::new(row)
            .try_set("shape", &shape)?
            .try_set("dt", sums.name())?
            .try_set("at", a.name())?
            .try_set("bt", b.name())?
            .try_set("ct", sums.name())
    })
}
/// A warpgroup's multiply 64 x `n`: types of inputs and sums, A in registers or shared memory. `None` if
/// there is none.
#[must_use]
pub fn wgmma(n: u32, a: Ty, b: Ty, sums: Ty, a_in_registers: bool) -> Option<Op> {
    let shape = format!("m64n{n}k{}", 256 / a.bits());
    super::named("wgmma").iter().find_map(|row| {
        let wanted = row.form().pats.get(1)?.count != super::row::Count::One;
        Op::new(row)
            .try_set("shape", &shape)?
            .try_set("dt", sums.name())?
            .try_set("at", a.name())?
            .try_set("bt", b.name())
            .filter(|_| wanted == a_in_registers)
    })
}
