"""Times the products of the library (`tiki::gemm`) on an NVIDIA GPU, in turn with cuBLAS and cuBLASLt.

    TIKI_DUMP=ptx TIKI_DUMP_DIR=$PWD/target/ptx cargo check                  # wherever cargo is
    python3 benches/h200/gemm.py target/ptx/tiki --csv benches/results/gemm_h200.csv
    python3 benches/h200/gemm.py target/ptx/tiki --shapes few-tiles --csv benches/results/gemm_few_tiles_h200.csv

The second set are results of fewer or hardly more tiles than multiprocessors, most with a long K. Of it, kernels are timed whose
busiest multiprocessor sums at most half as much again as at best, and it is printed which kernel cuBLAS takes.

How it loads, launches, times and judges is `products.py`'s; the anchor is what PyTorch calls: cuBLAS for 16-bit types and for
tf32 (`allow_tf32`), cuBLASLt (`_scaled_mm`, unit scales, fast accumulation) for e4m3.
"""

import ctypes
import glob
import os
import re

import products as base
import torch
import triton_sm80
from cuda.bindings import driver as cu

UP = base.up
E4M3 = torch.float8_e4m3fn
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "e4m3": E4M3}
MAPS = dict(base.MAP_TYPES)
MAPS[torch.float32] = cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT32
MAPS[E4M3] = cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_UINT8
base.MAP_TYPES = MAPS
SHAPES = base.SHAPES + [(16, 8192, 8192)]
FEW_TILES = [
    (1024, 1024, 8192), (1536, 1536, 8192), (2048, 2048, 8192), (512, 4096, 4096), (512, 2048, 8192), (256, 4096, 4096), (256, 8192, 8192),
    (1280, 1280, 4096), (3072, 3072, 4096), (768, 3072, 8192), (1024, 4096, 1024), (384, 5120, 5120), (64, 4096, 14336),
]
SETS = {"usual": SHAPES, "few-tiles": FEW_TILES}
PERSISTENT = ("gemm_general", "hopper", "tf32", "uneven")
FEW = ("gemm_few", "few")
WARPS = ("ampere", "whole")
SHORT = [(8192, 8192, 8192), (4096, 4096, 4096)]


SWIZZLES = {
    0: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE,
    32: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_32B,
    64: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_64B,
    128: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
}
# What the text says of a tensor map: its parameter, its box, its swizzle in bytes.
MAP = re.compile(r"^// (\w+_map\d+): box \[([\d, ]+)\](?:, swizzle (\d+))?", re.M)
# Extents of a tile that a kernel does not take as parameters.
OWN_TILES = {"uneven": {"BM": 128, "BN": 256}}


def tensor_map(t, box):
    box, swizzle = box
    shape, strides = list(t.shape), [s * t.element_size() for s in t.stride()]
    box = [1] * (t.dim() - len(box)) + box
    integers = lambda kind, values: [kind(v) for v in reversed(values)]
    return base.check(cu.cuTensorMapEncodeTiled(
        MAPS[t.dtype], t.dim(), t.data_ptr(), integers(cu.cuuint64_t, shape), integers(cu.cuuint64_t, strides[:-1]),
        integers(cu.cuuint32_t, box), [cu.cuuint32_t(1)] * t.dim(),
        cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE, SWIZZLES[swizzle],
        cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))


base.tensor_map = tensor_map


class Kernel(base.Kernel):
    """An instance; arguments with strides, and of a shape of its own where the operand lies transposed."""

    def __init__(self, path):
        super().__init__(path)
        text = open(path).read()
        self.args |= OWN_TILES.get(self.name, {})
        self.boxes = {name: ([int(e) for e in box.split(",")], int(s or 0)) for name, box, s in MAP.findall(text)}
        self.params = re.findall(r"\.param (?:\.align 64 )?\.(\w+) (\w+?)_(ptr|dim\d|stride\d|value|map\d+)\b", text)

    def bind(self, grid, named):
        i = self.args
        none = torch.empty(0, 0, device="cuda", dtype=named["c"].dtype)
        more = {"bias": none[0:0].flatten(), "d": none, "alpha": 1.0, "beta": 0.0, "activation": 0}
        across = {"a": i.get("TA") == 1, "b": i.get("TB") == 1}
        named = {**more, **{n: t.T.contiguous() if across.get(n) else t for n, t in named.items()}}
        keep, pointers = [named], []
        for kind, name, part in self.params:
            value = named[name]
            if part.startswith("map"):
                raw = (ctypes.c_ubyte * 192)()
                at = (ctypes.addressof(raw) + 63) // 64 * 64
                ctypes.memmove(at, tensor_map(value, self.boxes[f"{name}_{part}"]).getPtr(), 128)
                keep.append(raw)
                pointers.append(at)
                continue
            if part == "ptr":
                value = value.data_ptr()
            elif part.startswith("dim"):
                value = value.shape[int(part[3:])]
            elif part.startswith("stride"):
                value = value.stride(int(part[6:]))
            c = base.CTYPES[kind](value)
            keep.append(c)
            pointers.append(ctypes.addressof(c))
        array = (ctypes.c_void_p * len(pointers))(*pointers)
        blocks = (list(grid) + [1, 1])[:3]

        def go():
            stream = torch.cuda.current_stream().cuda_stream
            base.check(cu.cuLaunchKernel(self.function, *blocks, self.threads, 1, 1, self.shared, stream, ctypes.addressof(array), 0))

        go.keep = (keep, array)
        return go


def grid(kernel, m, n, processors):
    i = kernel.args
    if kernel.name in PERSISTENT:
        cluster = i.get("MC", 1) * i.get("NC", 1)
        return [processors // cluster * cluster]
    return [UP(n, i["BN"]), UP(m, i["BM"])]


def cut(m, n, processors):
    """Rows of tiles that `uneven` gives narrow ones: as `uneven::cut` in `src/gemm/uneven.rs`."""
    rows, columns = UP(m, 128), UP(n, 256)
    more = min(-rows * columns % processors, rows)
    return more if columns >= 16 and more * 16 >= processors else 0


def busiest(kernel, m, n, processors):
    """Elements of a result that the busiest multiprocessor sums, as far as the grid says."""
    i = kernel.args
    tiles = UP(m, i["BM"]) * UP(n, i["BN"])
    return UP(tiles, processors) * i["BM"] * i["BN"]


def worth_timing(kernel, m, n, k, few_tiles):
    """A tile far from the shape is not worth the time of the card."""
    i, few = kernel.args, kernel.name in FEW
    area, outputs, waste = i["BM"] * i["BN"], m * n, UP(m, i["BM"]) * i["BM"] / m
    across = (i.get("TA"), i.get("TB")) not in ((0, 0), (None, None))
    if i.get("EPI") == 1 or kernel.name in WARPS and (m, n, k) != (4096, 4096, 4096):
        return False
    if few_tiles:
        return not across and (UP(m, i["BM"]) <= 2 if few else m > 64 and waste <= 1.5)
    if few != (m <= 128) and (few or m <= 16) or waste > 2 or (few and i["BM"] < m):
        return False
    if (outputs > 2**23 and area < 2**14) or (outputs <= 2**20 and area > 2**13 and not few):
        return False
    return not across or (m, n, k) in SHORT


def cases(kernels, processors, shapes):
    for dtype, into in (("bf16", "bf16"), ("f16", "f16"), ("f32", "f32"), ("e4m3", "bf16"), ("e4m3", "e4m3")):
        mine = [k for k in kernels if k.args.get("E", "f32") == dtype and k.args.get("O", into) == into]
        few_tiles = shapes is FEW_TILES
        for m, n, k in shapes if dtype in ("bf16", "f16") else [] if few_tiles else SHORT:
            if not mine:
                continue
            t, out = TYPES[dtype], TYPES[into]
            a, b = (torch.randn(rows, k, device="cuda").to(t) for rows in (m, n))
            c = torch.full((m, n), float("nan"), device="cuda").to(out)
            one = torch.ones((), device="cuda")
            candidates, outputs = {}, {}
            if dtype == "e4m3":
                anchor, scaled = "cuBLASLt", lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=out, use_fast_accum=True)
                candidates[anchor] = scaled
            else:
                anchor, y = "cuBLAS", torch.empty_like(c)
                candidates[anchor] = lambda: torch.mm(a, b.T, out=y)
            try:
                ref = candidates[anchor]().clone()
            except RuntimeError as refused:
                print(f"LEFT OUT: {anchor} refuses {m} x {n} x {k} of {dtype} into {into}: {refused}", flush=True)
                continue
            worth = [kernel for kernel in mine if worth_timing(kernel, m, n, k, few_tiles)]
            if few_tiles:
                least = min((busiest(kernel, m, n, processors) for kernel in worth), default=0)
                worth = [kernel for kernel in worth if kernel.name in FEW or busiest(kernel, m, n, processors) <= 1.5 * least]
            for kernel in worth:
                mine_c = c.clone()
                outputs[kernel.title] = mine_c
                named = {"a": a, "b": b, "c": mine_c}
                if kernel.name == "uneven":
                    named |= {"a": a.view(m // 8, 4, 2, k).transpose(1, 2), "cut": cut(m, n, processors)}
                candidates[kernel.title] = kernel.bind(grid(kernel, m, n, processors), named)
            if any(name.startswith(WARPS) for name in candidates):
                for name, go, y in triton_sm80.candidates(dtype, a, b):
                    candidates[name], outputs[name] = go, y
            yield f"product {m} x {n} x {k}{' into e4m3' if into == 'e4m3' else ''}", dtype, 2 * m * n * k, candidates, outputs, ref, anchor


def taken_by(go):
    """Names of the kernels that a call launches."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        go()
        torch.cuda.synchronize()
    host = ("cuLaunch", "cuda", "Activity")
    return ", ".join(event.key for event in profile.key_averages() if not event.key.startswith(host))


def main():
    parser = base.arguments(__doc__)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--types", default="", help="types, separated by commas")
    parser.add_argument("--shapes", choices=SETS, default="usual", help="which set of shapes")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    table = base.Table("benches/h200/gemm.py", (28, 100))
    paths = sorted(glob.glob(os.path.join(options.folder, "*.ptx")))
    kernels = [k for k in map(Kernel, paths) if {"BM", "BN"} <= set(k.args) and not k.name.startswith("list_")]
    few_tiles = options.shapes == "few-tiles"
    for case, dtype, flops, candidates, outputs, ref, anchor in cases(kernels, table.properties.multi_processor_count, SETS[options.shapes]):
        if options.only not in case or (options.types and dtype not in options.types.split(",")):
            continue
        errors = table.errors(case, candidates, outputs, lambda out: base.error(out, ref), 1e-2)
        if few_tiles:
            print(f"{case:28} {dtype:5} cuBLAS takes {taken_by(candidates[anchor])}", flush=True)
        # Few rows stream their weights: what lies in the second-level cache counts.
        streams = not few_tiles and re.match(r"product (\d+) ", case)[1] in ("16", "128")
        for state, dirty in (("", True), (", cache of lines read", False)) if streams else (("", True),):
            # Of kernels of some microseconds, more: the clock's own step shows in one of them.
            more = 5 if few_tiles else 10 if flops < 2 * 10**10 else 1
            times = base.measure(candidates, options.rounds * more, dirty)
            # What is built for 8.0 is also held against the best of what else is, in the same run.
            others = [name for name in candidates if name.startswith("Triton")]
            best = min(others, key=lambda name: base.median(times[name])) if others else None
            for title, wrong in errors.items():
                for other in [anchor, best] if best and title.startswith(WARPS) else [anchor]:
                    table.line(case + state, dtype, flops, times, title, other, wrong)
    table.end(options.csv)


if __name__ == "__main__":
    main()
