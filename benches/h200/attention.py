"""Times attention, forward and backward, on an NVIDIA GPU in turn with cuDNN and PyTorch's FlashAttention.

    TIKI_DUMP=ptx TIKI_DUMP_DIR=$PWD/target/ptx cargo check       # wherever cargo is
    python3 benches/h200/attention.py target/ptx/tiki --csv benches/results/attention_h200.csv

The PTX text is loaded through the driver as it was written; the tensor maps are made as its head says. A round runs every
candidate once, in an order that is shuffled anew each round; each run is timed by CUDA events with a buffer larger than
the second-level cache rewritten before it. Inputs are fresh random normals; outputs are filled with NaN and compared with
f64 (one head) before anything is timed; the errors of ours and of the anchor stand in the result. A ratio is the
anchor's time to ours within a round: above 1, ours is faster; its interval is the distribution-free one of 95% for a
median. 16,384 tokens in 2,048 columns throughout; a causal product counts half. The rate of `decode`, one query over 262,144
keys of several sequences, is in TB/s; its anchor is a copy that moves as many bytes.
"""

import argparse
import ctypes
import datetime
import glob
import math
import os
import random
import re
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from products import CTYPES, DTYPES, MAP_TYPES, Kernel, check, cu, driver_version, interval, measure, median, up  # noqa: E402

MAP_TYPES[torch.float32] = cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT32
SWIZZLES = {
    0: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE,
    32: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_32B,
    64: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_64B,
    128: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
}
EVERY = 1 << 30


class Mapped(Kernel):
    """A kernel whose tensor maps are those of its text's head."""

    def __init__(self, path):
        super().__init__(path)
        text = open(path).read()
        self.dependent = "griddepcontrol.wait" in text
        self.maps = {f"map{n}": (eval(box), int(swizzle)) for n, box, swizzle in re.findall(r"^// \w+_map(\d+): box (\[.*?\]), swizzle (\d+)", text, re.M)}

    def bind(self, grid, named):
        keep, pointers = [named], []
        for kind, name, part in self.params:
            value = named[name]
            if part.startswith("map"):
                raw = (ctypes.c_ubyte * 192)()
                at = (ctypes.addressof(raw) + 63) // 64 * 64
                ctypes.memmove(at, self.tensor_map(value, *self.maps[part]).getPtr(), 128)
                keep.append(raw)
                pointers.append(at)
                continue
            if part == "ptr":
                value = value.data_ptr()
            elif part.startswith("dim"):
                value = value.shape[int(part[3:])]
            c = CTYPES[kind](value)
            keep.append(c)
            pointers.append(ctypes.addressof(c))
        array = (ctypes.c_void_p * len(pointers))(*pointers)
        stream = torch.cuda.current_stream().cuda_stream
        grid = (list(grid) + [1, 1])[:3]

        config = cu.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = self.threads, 1, 1
        config.sharedMemBytes, config.hStream = self.shared, stream
        if self.dependent:
            # As the library launches what waits for the kernel before it by itself.
            attribute = cu.CUlaunchAttribute()
            attribute.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            attribute.value.programmaticStreamSerializationAllowed = 1
            config.attrs, config.numAttrs = [attribute], 1

        def go():
            check(cu.cuLaunchKernelEx(config, self.function, ctypes.addressof(array), 0))

        go.keep = (keep, array)
        return go

    @staticmethod
    def tensor_map(t, box, swizzle):
        strides = [s * t.element_size() for s in t.stride()]
        integers = lambda kind, values: [kind(v) for v in reversed(values)]
        return check(cu.cuTensorMapEncodeTiled(
            MAP_TYPES[t.dtype], t.dim(), t.data_ptr(), integers(cu.cuuint64_t, list(t.shape)), integers(cu.cuuint64_t, strides[:-1]),
            integers(cu.cuuint32_t, box), [cu.cuuint32_t(1)] * t.dim(),
            cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE, SWIZZLES[swizzle],
            cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B, cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))


def exact(q, k, v, g, causal):
    """Output and gradients of one head in f64."""
    q, k, v, g = (t.double() for t in (q, k, v, g))
    scale, s = 1 / math.sqrt(q.shape[-1]), q.shape[0]
    out, dq = torch.empty_like(q), torch.empty_like(q)
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    for a in range(0, s, 2048):
        rows = slice(a, min(a + 2048, s))
        score = q[rows] @ k.t() * scale
        if causal:
            r = torch.arange(a, rows.stop, device=q.device)[:, None]
            score.masked_fill_(torch.arange(s, device=q.device)[None] > r, -math.inf)
        p = torch.softmax(score, -1)
        out[rows] = p @ v
        dp = g[rows] @ v.t()
        ds = p * (dp - (g[rows] * out[rows]).sum(-1, keepdim=True)) * scale
        dq[rows] = ds @ k
        dk += ds.t() @ q[rows]
        dv += p.t() @ g[rows]
    return out, dq, dk, dv


def error(ours, reference):
    return ((ours.double() - reference).norm() / reference.norm()).item()


def forward(kernels, processors, dtype, d, s, causal):
    batch, heads, t = 16384 // s, 2048 // d, DTYPES[dtype]
    q, k, v, g = (torch.randn(batch, heads, s, d, device="cuda", dtype=t) for _ in range(4))
    reference = exact(q[-1, -1], k[-1, -1], v[-1, -1], g[-1, -1], causal)[0]

    def backend(which):
        def go():
            with sdpa_kernel(which):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return go

    anchors = {"cuDNN": backend(SDPBackend.CUDNN_ATTENTION), "FlashAttention-2": backend(SDPBackend.FLASH_ATTENTION)}
    candidates, errors = dict(anchors), {name: error(go()[-1, -1], reference) for name, go in anchors.items()}
    for kernel in kernels:
        if kernel.name != "attention_hopper" or kernel.args.get("E") != dtype or kernel.args.get("D") != d:
            continue
        out, lse = torch.full_like(q, math.nan), torch.empty(batch, heads, s, device="cuda")
        named = {"q": q, "k": k, "v": v, "out": out, "lse": lse, "scale_log2": math.log2(math.e) / math.sqrt(d), "before": EVERY, "after": 0 if causal else EVERY}
        go = kernel.bind([processors], named)
        go()
        torch.cuda.synchronize()
        errors[kernel.title] = error(out[-1, -1], reference)
        apart = error(out, anchors["FlashAttention-2"]().double())
        if not apart < 1e-2 or not errors[kernel.title] < 1.5 * errors["cuDNN"]:
            print(f"WRONG: {kernel.title} forward {s} causal {causal}: {apart:.2e} from FlashAttention, {errors[kernel.title]:.2e} from f64 (cuDNN {errors['cuDNN']:.2e})", flush=True)
            continue
        candidates[kernel.title] = go
    return 4 * batch * heads * s * s * d // (2 if causal else 1), candidates, errors


def backward(kernels, processors, dtype, d, s, causal):
    batch, heads, t = 16384 // s, 2048 // d, DTYPES[dtype]
    q, k, v, g = (torch.randn(batch, heads, s, d, device="cuda", dtype=t) for _ in range(4))
    reference = exact(q[-1, -1], k[-1, -1], v[-1, -1], g[-1, -1], causal)
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]

    def backend(which):
        with sdpa_kernel(which):
            out = F.scaled_dot_product_attention(*leaves, is_causal=causal)
        return lambda: torch.autograd.grad(out, leaves, g, retain_graph=True)

    worst = lambda grads: max(error(x[-1, -1], y) for x, y in zip(grads, reference[1:]))
    anchors = {"cuDNN": backend(SDPBackend.CUDNN_ATTENTION), "FlashAttention-2": backend(SDPBackend.FLASH_ATTENTION)}
    candidates, errors = dict(anchors), {name: worst(go()) for name, go in anchors.items()}
    mine = [x for x in kernels if x.args.get("E") == dtype and x.args.get("D") == d]
    of = lambda name: next((x for x in mine if x.name == name), None)
    forwards, prepare, finish = of("attention_hopper"), of("attention_prepare"), of("attention_finish")
    padded = up(s, 128) * 128
    out, lse, scale = torch.empty_like(q), torch.empty(batch, heads, s, device="cuda"), 1 / math.sqrt(d)
    named = {"q": q, "k": k, "v": v, "out": out, "lse": lse, "d_out": g, "d_lse": lse, "with_lse": 0, "scale": scale, "scale_log2": math.log2(math.e) * scale,
             "before": EVERY, "after": 0 if causal else EVERY, "top": torch.empty(batch, heads, padded, device="cuda"), "delta": torch.empty(batch, heads, padded, device="cuda"),
             "sums": torch.empty(batch, heads, padded * d // 128, 128, device="cuda"), "turns": torch.zeros(batch, heads, padded // 32 + 1, device="cuda", dtype=torch.int32), "group": 1, "told": 2 * up(s, 128)}
    for kernel in mine:
        if kernel.name != "attention_backward_hopper" or not (forwards and prepare and finish):
            continue
        grads = [torch.full_like(x, math.nan) for x in (q, k, v)]
        own = named | {"dq": grads[0], "dk": grads[1], "dv": grads[2]}
        # Who adds in order tells nothing: what makes dQ of the sums begins when all of it has ended.
        own["told"] = 0 if kernel.args["ORDERED"] else named["told"]
        forwards.bind([processors], own)()
        parts = [prepare.bind([padded // 64, heads, batch], own), kernel.bind([heads * batch * up(s, 128)], own), finish.bind([padded * d // 128 // 32, heads, batch], own)]

        def go(parts=parts):
            named["sums"].zero_()
            named["turns"].zero_()
            for part in parts:
                part()

        go()
        torch.cuda.synchronize()
        if kernel.args["ORDERED"]:
            once = [x.clone() for x in grads]
            go()
            torch.cuda.synchronize()
            if not all(torch.equal(x, y) for x, y in zip(once, grads)):
                print(f"WRONG: {kernel.title} {s} causal {causal}: two runs differ", flush=True)
        errors[kernel.title] = worst(grads)
        apart = max(error(x, y.double()) for x, y in zip(grads, anchors["FlashAttention-2"]()))
        if not apart < 2e-2 or not errors[kernel.title] < 1.5 * errors["cuDNN"]:
            print(f"WRONG: {kernel.title} backward {s} causal {causal}: {apart:.2e} from FlashAttention, {errors[kernel.title]:.2e} from f64 (cuDNN {errors['cuDNN']:.2e})", flush=True)
            continue
        candidates[kernel.title] = go
        # Turns count up from zero: over those of the run before, whoever is late would set them back.
        alone = lambda part=parts[1]: (named["turns"].zero_(), part())
        candidates[kernel.title + " alone"] = alone if kernel.args["ORDERED"] else parts[1]
        errors[kernel.title + " alone"] = errors[kernel.title]
    return 10 * batch * heads * s * s * d // (2 if causal else 1), candidates, errors


def decode(kernels, processors, dtype, d, s, _):
    """One query a head; the rate is bytes of the cache, the anchor a copy that reads as many bytes."""
    heads, t = 2048 // d, DTYPES[dtype]
    batch = max(1, 262144 // s)
    q = torch.randn(batch, heads, d, device="cuda", dtype=t)
    k, v = (torch.randn(batch, heads, s, d, device="cuda", dtype=t) for _ in range(2))
    p = torch.softmax((k[-1, -1].double() @ q[-1, -1].double()) / math.sqrt(d), 0)
    reference = p @ v[-1, -1].double()
    mine = [x for x in kernels if x.args.get("E") == dtype and x.args.get("D") == d and x.args.get("PAGED", 0) == 0]
    part, combine = (next(x for x in mine if x.name == name) for name in ("attention_decode", "attention_combine"))
    splits = min(max(8 * processors // (batch * heads), 1), up(s, 64))
    out = torch.full_like(q, math.nan)
    named = {"q": q, "k": k, "v": v, "table": torch.zeros(batch, 1, device="cuda", dtype=torch.int32), "lengths": torch.full((batch,), s, device="cuda", dtype=torch.int32),
             "parts": torch.empty(batch, heads, splits, d, device="cuda"), "lse": torch.empty(batch, heads, splits, device="cuda"), "scale_log2": math.log2(math.e) / math.sqrt(d)}
    last = {"parts": named["parts"], "lse": named["lse"], "out": out, "whole": torch.empty(batch, heads, device="cuda")}
    parts = [part.bind([splits, heads, batch], named), combine.bind([heads, batch], last)]
    both = torch.cat([k.flatten(), v.flatten()])
    half = both.numel() // 2
    title = f"{part.title}, {splits} parts"
    go = lambda: [x() for x in parts]
    go()
    torch.cuda.synchronize()
    errors = {title: error(out[-1, -1], reference), "copy": 0.0}
    # A copy of half the bytes reads and writes as many as the cache has.
    candidates = {"copy": lambda: both[half:].copy_(both[:half]), title: go}
    return 2 * k.numel() * k.element_size(), candidates, errors


def sweep(kernels, processors, count):
    """Cases of random lengths, heads and bands, every instance, against f64: the worst error of each tensor, in half units in the last place."""
    draw, worst, cases = random.Random(2026), {}, 0
    for i in range(count):
        dtype, d = draw.choice(list(DTYPES)), draw.choice([64, 96, 128, 192, 256, 64, 128])
        t, batch, shared = DTYPES[dtype], draw.choice([1, 2]), draw.choice([1, 2])
        heads, sq = shared * draw.choice([1, 3]), draw.randint(1, 700)
        sk = sq if draw.random() < 0.4 else draw.randint(1, 700)
        before, after = (draw.randint(0, 400), draw.randint(0, 200)) if draw.random() < 0.4 else (EVERY, EVERY)
        after = 0 if draw.random() < 0.5 else after
        q, g = (torch.randn(batch, heads, sq, d, device="cuda", dtype=t) for _ in range(2))
        k, v = (torch.randn(batch, shared, sk, d, device="cuda", dtype=t) for _ in range(2))
        spread = lambda x: x.double().repeat_interleave(heads // shared, 1)
        kk, vv, qq, gg = spread(k), spread(v), q.double(), g.double()
        diagonal = torch.arange(sq, device="cuda")[:, None] + sk - sq
        at = torch.arange(sk, device="cuda")[None]
        hidden = (at > diagonal + after) | (at < diagonal - before)
        score = (qq @ kk.transpose(2, 3) / math.sqrt(d)).masked_fill(hidden, -math.inf)
        prob = torch.nan_to_num(torch.softmax(score, -1), 0.0)
        o = prob @ vv
        ds = prob * (gg @ vv.transpose(2, 3) - (gg * o).sum(-1, keepdim=True)) / math.sqrt(d)
        gather = lambda x: x.view(batch, shared, heads // shared, sk, d).sum(2)
        reference = {"out": o, "dq": ds @ kk, "dk": gather(ds.transpose(2, 3) @ qq), "dv": gather(prob.transpose(2, 3) @ gg)}
        scale, padded = 1 / math.sqrt(d), up(sq, 128) * 128
        nan = lambda x: torch.full_like(x, math.nan)
        named = {"q": q, "k": k, "v": v, "d_out": g, "with_lse": 0, "scale": scale, "scale_log2": math.log2(math.e) * scale, "before": before, "after": after,
                 "lse": torch.empty(batch, heads, sq, device="cuda"), "top": torch.empty(batch, heads, padded, device="cuda"), "delta": torch.empty(batch, heads, padded, device="cuda")}
        named["d_lse"] = named["lse"]
        mine = [x for x in kernels if x.args.get("E") == dtype and x.args.get("D") == d]
        runs = []
        for kernel in mine:
            if kernel.name == "attention_hopper":
                named["out"] = nan(q)
                kernel.bind([processors], dict(named))()
                runs.append(("out", named["out"]))
        for kernel in mine:
            if kernel.name == "attention_backward_hopper":
                own = named | {"dq": nan(q), "dk": nan(k), "dv": nan(v), "sums": torch.zeros(batch, heads, padded * d // 128, 128, device="cuda"), "turns": torch.zeros(batch, heads, padded // 32 + 1, device="cuda", dtype=torch.int32), "group": heads // shared, "told": 2 * up(sk, 128)}
                of = lambda name: next(x for x in mine if x.name == name)
                of("attention_prepare").bind([padded // 64, heads, batch], own)()
                kernel.bind([shared * batch * up(sk, 128)], own)()
                of("attention_finish").bind([padded * d // 128 // 32, heads, batch], own)()
                runs.extend((name, own[name]) for name in ("dq", "dk", "dv"))
        torch.cuda.synchronize()
        for name, got in runs:
            norm = reference[name].norm().item()
            off = (got.double() - reference[name]).norm().item() / max(norm, 1e-30) if norm else float(got.abs().max())
            off /= 2.0 ** (-11 if dtype == "f16" else -8)
            worst[name] = max(worst.get(name, 0.0), off if off == off else math.inf)
            if not off <= 2.0:
                print(f"WRONG: {name} {off:.2f} half units: {dtype} {batch} x {heads}/{shared} heads, {sq} x {sk} x {d}, {before} before, {after} after", flush=True)
        cases += 1
    print(f"{cases} cases; worst errors in half units in the last place: " + ", ".join(f"{k} {v:.2f}" for k, v in worst.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--csv")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--types", default="f16,bf16")
    parser.add_argument("--widths", default="64,128")
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384")
    parser.add_argument("--sweep", type=int, default=0, help="first so many random cases against f64")
    parser.add_argument("--caches", default="8192,16384,32768,65536")
    parser.add_argument("--passes", default="forward,backward,decode")
    parser.add_argument("--masks", default="0,1")
    options = parser.parse_args()
    torch.zeros(1, device="cuda")
    properties = torch.cuda.get_device_properties(0)
    driver = driver_version()
    kernels = [Mapped(p) for p in sorted(glob.glob(os.path.join(options.folder, "*.ptx"))) if os.path.basename(p).startswith("attention")]
    if options.sweep:
        sweep(kernels, properties.multi_processor_count, options.sweep)
    # Line by line, so that what was measured stays whatever comes.
    record = open(options.csv or os.devnull, "w", buffering=1)
    record.write("date,card,driver,command,pass,case,type,kernel,TFLOP/s,anchor,anchor TFLOP/s,ratio,ratio low,ratio high,error,anchor error\n")
    split = lambda text: [int(x) for x in text.split(",")]
    passes = {"forward": forward, "backward": backward, "decode": decode}
    for which in options.passes.split(","):
        for dtype in options.types.split(","):
            for d in split(options.widths):
                for s in split(options.caches if which == "decode" else options.lengths):
                    for causal in [0] if which == "decode" else split(options.masks):
                        flops, candidates, errors = passes[which](kernels, properties.multi_processor_count, dtype, d, s, bool(causal))
                        case = f"{'causal ' if causal else ''}{s} x {d}"
                        times = measure(candidates, options.rounds)
                        rate = lambda name: flops / median(times[name]) / 1e9  # TFLOP/s, or TB/s
                        anchors = ("copy",) if which == "decode" else ("cuDNN", "FlashAttention-2")
                        for title in candidates:
                            for anchor in anchors:
                                if title in anchors:
                                    continue
                                ratios = [x / y for x, y in zip(times[anchor], times[title])]
                                low, high = interval(ratios)
                                row = [datetime.date.today().isoformat(), properties.name, driver, "benches/h200/attention.py",
                                       which, case, dtype, f'"{title}"', f"{rate(title):.4g}", anchor, f"{rate(anchor):.4g}", f"{median(ratios):.3f}", f"{low:.3f}", f"{high:.3f}", f"{errors[title]:.1e}", f"{errors[anchor]:.1e}"]
                                record.write(",".join(row) + "\n")
                                if anchor == anchors[0]:
                                    print(f"{which:8} {case:18} {dtype:4} {title:62} {rate(title):6.4g} {anchor} {rate(anchor):6.4g} {rate(anchors[-1]):6.4g} ratio {median(ratios):.3f} [{low:.3f}, {high:.3f}] error {errors[title]:.1e} ({errors[anchor]:.1e})", flush=True)
    record.close()


if __name__ == "__main__":
    main()
