//! Complete kernels on the machine, against f64 references, however asynchronous work completes.

use half::{bf16, f16};
use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Arg, Async, Checks, Options, Program, Swizzle, TensorMap, Vm};

struct Random(u64);

impl Random {
    /// A value in -1..1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn bf16(&mut self, n: usize) -> Vec<bf16> {
        (0..n).map(|_| bf16::from_f64(self.next())).collect()
    }
    fn f32(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.next() as f32).collect()
    }
}

struct Bench {
    vm: Vm,
    program: Program,
    options: Options,
}

impl Bench {
    fn new(file: &str, options: &Options) -> Bench {
        let path = format!(
            "{}/tests/ptx_kernels/{file}.ptx",
            env!("CARGO_MANIFEST_DIR")
        );
        let vm = Vm::new();
        let program = vm
            .load(&std::fs::read_to_string(path).unwrap())
            .unwrap_or_else(|e| panic!("{file}: {e}"));
        Bench {
            vm,
            program,
            options: options.clone(),
        }
    }
    fn put<T: bytemuck::NoUninit>(&self, name: &str, data: &[T]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let a = self.vm.alloc(bytes.len() as u64, name).unwrap();
        self.vm.write(a, bytes).unwrap();
        a
    }
    fn get<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
        &self,
        address: u64,
        n: usize,
    ) -> Vec<T> {
        let mut out = vec![T::zeroed(); n];
        self.vm
            .read(address, bytemuck::cast_slice_mut(&mut out))
            .unwrap();
        out
    }
    fn run(&self, entry: &str, grid: [u32; 3], block: u32, shared: u32, args: &[Arg]) {
        let r = self.vm.examine(
            &self.program,
            entry,
            grid,
            [block, 1, 1],
            shared,
            args,
            &self.options,
        );
        let r = r.unwrap_or_else(|f| panic!("{entry} {:?}: {f}", self.options.completion));
        let all: Vec<String> = r.findings.iter().map(ToString::to_string).collect();
        let how = self.options.completion;
        assert!(all.is_empty(), "{entry} {how:?}:\n{}", all.join("\n"));
    }
}

fn map(address: u64, dims: &[u64], extent: &[u32], swizzle: Swizzle) -> Arg {
    let mut strides = vec![];
    let mut bytes = 2;
    for d in &dims[..dims.len() - 1] {
        bytes *= d;
        strides.push(bytes);
    }
    let m = TensorMap {
        ty: Ty::BF16,
        address,
        dims: dims.to_vec(),
        strides,
        extent: extent.to_vec(),
        swizzle,
        nan_outside: false,
    };
    Arg::Bytes(m.encode().unwrap().to_vec())
}

/// Every way in which asynchronous work can complete.
fn each(run: impl Fn(&Options)) {
    let all = [
        Async::Eager,
        Async::Late,
        Async::Seed(1),
        Async::Seed(2),
        Async::Seed(3),
    ];
    for completion in all {
        run(&Options {
            completion,
            checks: Checks::All,
            threads: 2,
            max_steps: 50_000_000,
            ..Options::default()
        });
    }
}

/// The largest difference, as a share of a bound that grows with the reference.
#[track_caller]
fn close(what: &str, got: &[f64], want: &[f64], absolute: f64, relative: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let bound = absolute + relative * w.abs();
        assert!(
            (g - w).abs() <= bound,
            "{what} [{i}]: got {g}, wanted {w}, at most {bound} apart"
        );
    }
}

fn wide(v: &[bf16]) -> Vec<f64> {
    v.iter().map(|x| x.to_f64()).collect()
}

#[test]
fn gemm_of_copies_in_groups() {
    let (m, n, k) = (128, 256, 128);
    let mut r = Random(7);
    let a: Vec<f16> = (0..m * k).map(|_| f16::from_f64(r.next())).collect();
    let b: Vec<f16> = (0..n * k).map(|_| f16::from_f64(r.next())).collect();
    let want = product(
        &a.iter().map(|x| x.to_f64()).collect::<Vec<_>>(),
        &b.iter().map(|x| x.to_f64()).collect::<Vec<_>>(),
        m,
        n,
        k,
    );
    each(|o| {
        let t = Bench::new("gemm_sm80_cpasync_ldmatrix", o);
        let (pa, pb, pc) = (
            t.put("a", &a),
            t.put("b", &b),
            t.put("c", &vec![f16::ZERO; m * n]),
        );
        let args = [
            Arg::Address(pa),
            Arg::Address(pb),
            Arg::Address(pc),
            Arg::U32(m as u32),
            Arg::U32(n as u32),
            Arg::U32(k as u32),
        ];
        t.run(
            "gemm_f16_tn_128x128x32",
            [n as u32 / 128, m as u32 / 128, 1],
            128,
            65536,
            &args,
        );
        let got: Vec<f64> = t.get::<f16>(pc, m * n).iter().map(|x| x.to_f64()).collect();
        close("c", &got, &want, 1e-4, 1.0 / 1024.0);
    });
}

/// A B^T.
fn product(a: &[f64], b: &[f64], m: usize, n: usize, k: usize) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] = (0..k).map(|x| a[i * k + x] * b[j * k + x]).sum();
        }
    }
    c
}

#[test]
fn rms_norm() {
    let (rows, width) = (3, 4096);
    let mut r = Random(3);
    let (x, w) = (r.bf16(rows * width), r.bf16(width));
    let mut want = vec![];
    for row in x.chunks(width) {
        let mean = row.iter().map(|v| v.to_f64().powi(2)).sum::<f64>() / width as f64;
        let scale = 1.0 / (mean + 1e-5).sqrt();
        want.extend(
            row.iter()
                .zip(&w)
                .map(|(v, w)| v.to_f64() * scale * w.to_f64()),
        );
    }
    each(|o| {
        let t = Bench::new("rmsnorm_bf16_sm80", o);
        let (px, pw, py) = (
            t.put("x", &x),
            t.put("w", &w),
            t.put("y", &vec![bf16::ZERO; rows * width]),
        );
        t.run(
            "rmsnorm_bf16_h4096",
            [rows as u32, 1, 1],
            256,
            0,
            &[
                Arg::Address(px),
                Arg::Address(pw),
                Arg::Address(py),
                Arg::F32(1e-5),
            ],
        );
        close(
            "y",
            &wide(&t.get::<bf16>(py, rows * width)),
            &want,
            1e-30,
            1.0 / 128.0,
        );
    });
}

#[test]
fn transpose() {
    let (rows, cols) = (128, 192);
    let x = Random(5).f32(rows * cols);
    each(|o| {
        let t = Bench::new("transpose_f32_sm80", o);
        let (px, py) = (t.put("src", &x), t.put("dst", &vec![0f32; rows * cols]));
        t.run(
            "transpose_f32",
            [cols as u32 / 64, rows as u32 / 64, 1],
            256,
            0,
            &[
                Arg::Address(px),
                Arg::Address(py),
                Arg::U32(rows as u32),
                Arg::U32(cols as u32),
            ],
        );
        let got = t.get::<f32>(py, rows * cols);
        for r in 0..rows {
            for c in 0..cols {
                assert_eq!(got[c * rows + r], x[r * cols + c]);
            }
        }
    });
}

#[test]
fn scan_with_decoupled_look_back() {
    let tiles = 40;
    let n = tiles * 2048;
    let x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 11) as f32).collect();
    each(|o| {
        let t = Bench::new("scan_decoupled_lookback_sm80", o);
        let (px, py) = (t.put("in", &x), t.put("out", &vec![0f32; n]));
        let (ps, pc) = (
            t.put("state", &vec![0u64; tiles]),
            t.put("counter", &[0u32]),
        );
        t.run(
            "scan_f32_decoupled",
            [tiles as u32, 1, 1],
            256,
            0,
            &[
                Arg::Address(px),
                Arg::Address(py),
                Arg::Address(ps),
                Arg::Address(pc),
            ],
        );
        let mut sum = 0.0;
        for (g, v) in t.get::<f32>(py, n).iter().zip(&x) {
            sum += v;
            assert_eq!(*g, sum);
        }
    });
}

#[test]
fn stream_of_bulk_copies() {
    let tiles = 13;
    let x = Random(11).f32(tiles * 4096);
    each(|o| {
        let t = Bench::new("stream_bulk1d_sm90", o);
        let (px, py) = (t.put("src", &x), t.put("dst", &vec![0f32; x.len()]));
        t.run(
            "stream_scale_f32",
            [3, 1, 1],
            256,
            65600,
            &[
                Arg::Address(px),
                Arg::Address(py),
                Arg::U32(tiles as u32),
                Arg::F32(3.0),
            ],
        );
        let want: Vec<f32> = x.iter().map(|v| v * 3.0).collect();
        assert_eq!(t.get::<f32>(py, x.len()), want);
    });
}

#[test]
fn bulk_reduction() {
    each(|o| {
        let t = Bench::new("bulk_reduce_dq_sm90", o);
        let p = t.put("acc", &vec![0f32; 4096]);
        t.run(
            "bulk_reduce_dq",
            [3, 1, 1],
            160,
            0,
            &[Arg::Address(p), Arg::U32(5)],
        );
        assert_eq!(t.get::<f32>(p, 4096), vec![3.0 * 10.0; 4096]);
    });
}

fn warpgroup_gemm(file: &str, entry: &str, grid: u32, box_b: u32) {
    let (m, n, k) = (256, 256, 128);
    let mut r = Random(13);
    let (a, b) = (r.bf16(m * k), r.bf16(n * k));
    let want = product(&wide(&a), &wide(&b), m, n, k);
    each(|o| {
        let t = Bench::new(file, o);
        let (pa, pb, pc) = (
            t.put("a", &a),
            t.put("b", &b),
            t.put("c", &vec![bf16::ZERO; m * n]),
        );
        let (mu, nu, ku) = (m as u64, n as u64, k as u64);
        let s = Swizzle::B128;
        let args = [
            map(pa, &[ku, mu], &[64, 128], s),
            map(pb, &[ku, nu], &[64, box_b], s),
            map(pc, &[nu, mu], &[64, 64], s),
            Arg::U32(m as u32),
            Arg::U32(n as u32),
            Arg::U32(k as u32),
        ];
        t.run(entry, [grid, 1, 1], 384, 230528, &args);
        close(
            "c",
            &wide(&t.get::<bf16>(pc, m * n)),
            &want,
            1e-3,
            1.0 / 128.0,
        );
    });
}

#[test]
fn gemm_of_warpgroups() {
    warpgroup_gemm("gemm_wgmma_tma_ws", "gemm_bf16_tn_128x256x64", 1, 256);
}

#[test]
fn gemm_of_clusters() {
    warpgroup_gemm(
        "gemm_wgmma_cluster_multicast",
        "gemm_bf16_tn_128x256x64_cluster2",
        2,
        128,
    );
}

/// softmax(scale Q K^T) V of one head, and the logarithms of the sums; P too.
fn attention(
    q: &[f64],
    k: &[f64],
    v: &[f64],
    s: usize,
    scale: f64,
    causal: bool,
) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut p = product(q, k, s, s, 128);
    let (mut o, mut lse) = (vec![0.0; s * 128], vec![]);
    for i in 0..s {
        let row = &mut p[i * s..(i + 1) * s];
        row.iter_mut().enumerate().for_each(|(j, x)| {
            *x = if causal && j > i {
                f64::NEG_INFINITY
            } else {
                *x * scale
            }
        });
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
        lse.push(most + sum.ln());
        row.iter_mut().for_each(|x| *x = (*x - most).exp() / sum);
        for (j, x) in row.iter().enumerate() {
            for d in 0..128 {
                o[i * 128 + d] += x * v[j * 128 + d];
            }
        }
    }
    (o, lse, p)
}

fn attention_forward(file: &str, entry: &str, causal: bool) {
    let s = 256;
    let mut r = Random(17);
    let (q, k, v) = (r.bf16(s * 128), r.bf16(s * 128), r.bf16(s * 128));
    let scale = 1.0 / 128f64.sqrt();
    let (want, lse, _) = attention(&wide(&q), &wide(&k), &wide(&v), s, scale, causal);
    each(|o| {
        let t = Bench::new(file, o);
        let (pq, pk, pv) = (t.put("q", &q), t.put("k", &k), t.put("v", &v));
        let (po, pl) = (
            t.put("o", &vec![bf16::ZERO; s * 128]),
            t.put("lse", &vec![0f32; s]),
        );
        let dims = [128, s as u64, 1];
        let tile = |p: u64, rows: u32| map(p, &dims, &[64, rows, 1], Swizzle::B128);
        let log2 = (scale * std::f64::consts::LOG2_E) as f32;
        let args = [
            tile(pq, 128),
            tile(pk, 128),
            tile(pv, 128),
            tile(po, 64),
            Arg::Address(pl),
            Arg::U32(s as u32),
            Arg::F32(log2),
        ];
        t.run(entry, [s as u32 / 128, 1, 1], 384, 163_968 + 1024, &args);
        close(
            "o",
            &wide(&t.get::<bf16>(po, s * 128)),
            &want,
            4e-3,
            1.0 / 64.0,
        );
        let got: Vec<f64> = t.get::<f32>(pl, s).iter().map(|x| f64::from(*x)).collect();
        close("lse", &got, &lse, 1e-3, 1e-3);
    });
}

#[test]
fn attention_of_warpgroups() {
    attention_forward("fa3_fwd_hd128", "fa_fwd_bf16_hd128", false);
}

#[test]
fn causal_attention_of_warpgroups() {
    attention_forward("fa3_fwd_hd128_causal", "fa_fwd_bf16_hd128_causal", true);
}

fn attention_backward(file: &str, entry: &str, causal: bool) {
    let s = 128;
    let mut r = Random(19);
    let (q, k, v, d_o) = (
        r.bf16(s * 128),
        r.bf16(s * 128),
        r.bf16(s * 128),
        r.bf16(s * 128),
    );
    let (qw, kw, vw, dw) = (wide(&q), wide(&k), wide(&v), wide(&d_o));
    let scale = 1.0 / 128f64.sqrt();
    let (out, lse, p) = attention(&qw, &kw, &vw, s, scale, causal);
    let delta: Vec<f64> = (0..s)
        .map(|i| (0..128).map(|d| out[i * 128 + d] * dw[i * 128 + d]).sum())
        .collect();
    let dp = product(&dw, &vw, s, s, 128);
    let ds: Vec<f64> = (0..s * s).map(|x| p[x] * (dp[x] - delta[x / s])).collect();
    let (mut dq, mut dk, mut dv) = (vec![0.0; s * 128], vec![0.0; s * 128], vec![0.0; s * 128]);
    for i in 0..s {
        for j in 0..s {
            for d in 0..128 {
                dq[i * 128 + d] += ds[i * s + j] * kw[j * 128 + d];
                dk[j * 128 + d] += scale * ds[i * s + j] * qw[i * 128 + d];
                dv[j * 128 + d] += p[i * s + j] * dw[i * 128 + d];
            }
        }
    }
    let lse2: Vec<f32> = lse
        .iter()
        .map(|x| (x * std::f64::consts::LOG2_E) as f32)
        .collect();
    let delta: Vec<f32> = delta.iter().map(|x| *x as f32).collect();
    each(|o| {
        let t = Bench::new(file, o);
        let zeros = vec![bf16::ZERO; s * 128];
        let (pq, pk, pv, pd) = (
            t.put("q", &q),
            t.put("k", &k),
            t.put("v", &v),
            t.put("do", &d_o),
        );
        let (pdk, pdv, pdq) = (
            t.put("dk", &zeros),
            t.put("dv", &zeros),
            t.put("dq", &vec![0f32; s * 128]),
        );
        let (pl, pdelta) = (t.put("lse", &lse2), t.put("delta", &delta));
        let dims = [128, s as u64, 1];
        let tile = |p: u64, rows: u32| map(p, &dims, &[64, rows, 1], Swizzle::B128);
        let args = [
            tile(pq, 64),
            tile(pk, 128),
            tile(pv, 128),
            tile(pd, 64),
            tile(pdk, 64),
            tile(pdv, 64),
            Arg::Address(pl),
            Arg::Address(pdelta),
            Arg::Address(pdq),
            Arg::U32(s as u32),
            Arg::F32((scale * std::f64::consts::LOG2_E) as f32),
            Arg::F32(scale as f32),
        ];
        t.run(entry, [s as u32 / 128, 1, 1], 384, 197_760 + 1024, &args);
        close(
            "dv",
            &wide(&t.get::<bf16>(pdv, s * 128)),
            &dv,
            0.02,
            1.0 / 32.0,
        );
        close(
            "dk",
            &wide(&t.get::<bf16>(pdk, s * 128)),
            &dk,
            0.02,
            1.0 / 32.0,
        );
        // Blocks of 64 rows; each warpgroup has 64 columns, in the order of its accumulator's registers.
        let raw = t.get::<f32>(pdq, s * 128);
        let mut got = vec![0.0; s * 128];
        for (x, v) in raw.iter().enumerate() {
            let (i, thread, j, group, block) =
                (x % 4, x / 4 % 128, x / 512 % 8, x / 4096 % 2, x / 8192);
            let (warp, g, lane) = (thread / 32, thread % 32 / 4, thread % 4);
            let row = block * 64 + warp * 16 + g + 8 * (i / 2);
            let col = group * 64 + 8 * j + 2 * lane + i % 2;
            got[row * 128 + col] = f64::from(*v);
        }
        close("dq", &got, &dq, 0.05, 1.0 / 32.0);
    });
}

#[test]
fn attention_backward_of_warpgroups() {
    attention_backward("fa3_bwd_hd128", "fa_bwd_bf16_hd128", false);
}

#[test]
fn causal_attention_backward_of_warpgroups() {
    attention_backward("fa3_bwd_hd128_causal", "fa_bwd_bf16_hd128_causal", true);
}
