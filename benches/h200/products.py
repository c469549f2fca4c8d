"""Times the products and attention of `examples/` on an NVIDIA GPU, in turn with cuBLAS, cuDNN and PyTorch.

    TIKI_DUMP=ptx TIKI_DUMP_DIR=$PWD/target/ptx cargo check --examples       # wherever cargo is
    python3 benches/h200/products.py target/ptx --csv benches/results/products_h200.csv

The PTX text is loaded through the driver as it was written. What the launcher would do is done here: a tensor map for
each `NAME_mapN` parameter, of the boxes in `BOXES` (64 columns, the 128-byte swizzle), and the grid of the attribute.

A round runs every candidate once, in an order that is shuffled anew each round; each run is timed by CUDA events with a
buffer larger than the second-level cache rewritten before it. Inputs are fresh random normals; outputs are filled with NaN and
compared with the anchor's before anything is timed, and a wrong kernel is not timed. A ratio is anchor's time to
ours within a round: above 1, ours is faster; its interval is the distribution-free one of 95% for a median.
"""

import argparse
import ctypes
import datetime
import glob
import math
import os
import random
import re
import subprocess
import sys

import torch
import torch.nn.functional as F
from cuda.bindings import driver as cu
from torch.nn.attention import SDPBackend, sdpa_kernel

CTYPES = {"u64": ctypes.c_uint64, "u32": ctypes.c_uint32, "f32": ctypes.c_float, "u8": ctypes.c_uint8}
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
MAP_TYPES = {
    torch.float16: cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    torch.bfloat16: cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
}
# Rows of the box of each tensor map, from the instance's own numbers.
BOXES = {
    "gemm_hopper": lambda i: {"a": i["BM"], "b": i["BN"], "c": 64},
    "attention_hopper": lambda i: {"q": 128, "k": i["BN"], "v": i["BN"]},
}
SHAPES = [(8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024), (8192, 8192, 512), (4096, 11008, 4096), (128, 8192, 8192)]


def check(result):
    if result[0] != cu.CUresult.CUDA_SUCCESS:
        raise RuntimeError(str(result[0]))
    return result[1] if len(result) == 2 else result[1:]


def tensor_map(t, rows):
    shape, strides = list(t.shape), [s * t.element_size() for s in t.stride()]
    box = [1] * (t.dim() - 2) + [rows, 64]
    integers = lambda kind, values: [kind(v) for v in reversed(values)]
    return check(cu.cuTensorMapEncodeTiled(
        MAP_TYPES[t.dtype], t.dim(), t.data_ptr(), integers(cu.cuuint64_t, shape), integers(cu.cuuint64_t, strides[:-1]),
        integers(cu.cuuint32_t, box), [cu.cuuint32_t(1)] * t.dim(),
        cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE, cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
        cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))


class Kernel:
    def __init__(self, path):
        text = open(path).read()
        self.title = text.splitlines()[0][2:].strip()
        self.name = self.title.split("<")[0]
        self.args = {k: int(v) if v.isdigit() else v for k, v in re.findall(r"(\w+) = (\w+)", self.title)}
        self.params = re.findall(r"\.param (?:\.align 64 )?\.(\w+) (\w+?)_(ptr|dim\d|value|map\d+)\b", text)
        self.threads = int(re.search(r"\.reqntid (\d+)", text).group(1))
        ends = [int(e) for e in re.findall(r"^// shared_memory\[\d+\.\.(\d+)\]", text, re.M)]
        self.shared = max(ends, default=0) if ".extern .shared" in text else 0
        module = check(cu.cuModuleLoadData(text.encode() + b"\0"))
        self.function = check(cu.cuModuleGetFunction(module, re.search(r"\.entry (\w+)\(", text).group(1).encode()))
        attribute = cu.CUfunction_attribute
        self.local = check(cu.cuFuncGetAttribute(attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, self.function))
        check(cu.cuFuncSetAttribute(self.function, attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, self.shared))

    def bind(self, grid, named):
        keep, pointers = [named], []
        boxes = BOXES.get(self.name, lambda i: {})(self.args)
        for kind, name, part in self.params:
            if part.startswith("map"):
                raw = (ctypes.c_ubyte * 192)()
                at = (ctypes.addressof(raw) + 63) // 64 * 64
                ctypes.memmove(at, tensor_map(named[name], boxes[name]).getPtr(), 128)
                keep.append(raw)
                pointers.append(at)
                continue
            value = named[name]
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

        def go():
            check(cu.cuLaunchKernel(self.function, *grid, self.threads, 1, 1, self.shared, stream, ctypes.addressof(array), 0))

        go.keep = (keep, array)
        return go


def driver_version():
    """The driver's own version (580.159.04), and of which CUDA it is: the CUDA version alone does not tell drivers apart."""
    version = check(cu.cuDriverGetVersion())
    cuda = f"CUDA {version // 1000}.{version % 1000 // 10}"
    said = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    own = said.stdout.split()[:1] if said.returncode == 0 else []
    return f"{own[0] if own else 'not recorded'} ({cuda})"


def up(a, b):
    return -(-a // b)


def measure(candidates, rounds, dirty=True):
    """Times in turn, in ms, after other 256 MiB went through the second-level cache: written (their lines must go out while
    a kernel reads), or only read."""
    for run in candidates.values():
        for _ in range(3):
            run()
    flush = torch.empty(256 << 20, device="cuda", dtype=torch.uint8)
    times = {name: [] for name in candidates}
    for _ in range(rounds):
        order = list(candidates)
        random.shuffle(order)
        for name in order:
            flush.zero_() if dirty else torch.sum(flush.view(torch.int32))
            torch.cuda._sleep(1_000_000)  # the host gets ahead: its own cost is not what is timed
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            candidates[name]()
            end.record()
            torch.cuda.synchronize()
            times[name].append(begin.elapsed_time(end))
    return times


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def interval(values):
    """The 95% interval of the median: order statistics, by the binomial distribution."""
    n, values = len(values), sorted(values)
    k, tail = 0, 0.0
    while tail + math.comb(n, k) / 2**n <= 0.025:
        tail += math.comb(n, k) / 2**n
        k += 1
    return values[max(k - 1, 0)], values[min(n - k, n - 1)]


def error(ours, anchor):
    return ((ours.double() - anchor.double()).norm() / anchor.double().norm()).item()


def arguments(doc):
    """What every run is told."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--csv")
    parser.add_argument("--rounds", type=int, default=21)
    return parser


class Table:
    """What a run finds: a line for each kernel beside each of its anchors, printed as it comes, written at the end."""

    def __init__(self, command, widths):
        torch.zeros(1, device="cuda")
        self.properties, self.driver = torch.cuda.get_device_properties(0), driver_version()
        self.command, self.widths, self.wrong = command, widths, 0
        self.lines = ["date,card,driver,command,case,type,kernel,TFLOP/s,anchor,anchor TFLOP/s,ratio,ratio low,ratio high,error"]

    def errors(self, case, candidates, outputs, distance, bound):
        """How far each kernel is from its anchor; one that is wrong is told, and no candidate any more."""
        errors = {}
        for title, out in outputs.items():
            candidates[title]()
            torch.cuda.synchronize()
            errors[title] = distance(out)
            if not errors[title] <= bound:
                print(f"WRONG: {title} on {case}: {errors.pop(title):.3e}", flush=True)
                del candidates[title]
                self.wrong += 1
        return errors

    def line(self, case, dtype, flops, times, title, anchor, error):
        rate = lambda name: flops / median(times[name]) / 1e9
        ratios = [x / y for x, y in zip(times[anchor], times[title])]
        low, high = interval(ratios)
        row = [datetime.date.today().isoformat(), self.properties.name, self.driver, self.command,
               f'"{case}"', dtype, f'"{title}"', f"{rate(title):.1f}", anchor, f"{rate(anchor):.1f}", f"{median(ratios):.3f}", f"{low:.3f}", f"{high:.3f}", f"{error:.1e}"]
        self.lines.append(",".join(row))
        of_case, of_title = self.widths
        print(f"{case:{of_case}} {dtype:5} {title:{of_title}} {rate(title):7.1f} {anchor} {rate(anchor):7.1f} ratio {median(ratios):.3f} [{low:.3f}, {high:.3f}]", flush=True)

    def end(self, path):
        if path:
            with open(path, "w") as file:
                file.write("\n".join(self.lines) + "\n")
        sys.exit(1 if self.wrong else 0)


def products(kernels, processors):
    for dtype in ("f16", "bf16"):
        for m, n, k in SHAPES:
            t = DTYPES[dtype]
            a, b = torch.randn(m, k, device="cuda", dtype=t), torch.randn(n, k, device="cuda", dtype=t)
            ref = torch.matmul(a, b.t())
            candidates, outputs = {"cuBLAS": lambda: torch.matmul(a, b.t(), out=ref)}, {}
            for kernel in kernels:
                if not kernel.name.startswith("gemm") or kernel.args.get("E") != dtype:
                    continue
                c = torch.full((m, n), float("nan"), device="cuda", dtype=t)
                tiles = up(n, kernel.args["BN"]), up(m, kernel.args["BM"])
                grid = [processors] if kernel.name == "gemm_hopper" else tiles
                outputs[kernel.title] = c
                candidates[kernel.title] = kernel.bind(grid, {"a": a, "b": b, "c": c})
            yield f"product {m} x {n} x {k}", dtype, 2 * m * n * k, candidates, outputs, ref, "cuBLAS", 5e-3


def attention(kernels, _):
    for dtype in ("f16", "bf16"):
        for d in (64, 128):
            for s in (1024, 2048, 4096, 8192, 16384):
                for causal in (False, True):
                    batch, heads, t = 16384 // s, 2048 // d, DTYPES[dtype]
                    q, k, v = (torch.randn(batch, heads, s, d, device="cuda", dtype=t) for _ in range(3))

                    def backend(which):
                        def go():
                            with sdpa_kernel(which):
                                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
                        return go

                    candidates = {"cuDNN": backend(SDPBackend.CUDNN_ATTENTION), "FlashAttention-2": backend(SDPBackend.FLASH_ATTENTION)}
                    outputs, ref = {}, candidates["FlashAttention-2"]()
                    for kernel in kernels:
                        mine = kernel.name.startswith("attention") and kernel.args.get("E") == dtype and kernel.args.get("D") == d
                        if not mine or (causal and kernel.name == "attention_hopper"):
                            continue
                        out = torch.full_like(q, float("nan"))
                        lse = torch.empty(batch, heads, s, device="cuda")
                        rows = kernel.args.get("BM", 128)
                        named = {"q": q, "k": k, "v": v, "out": out, "lse": lse, "scale_log2": math.log2(math.e) / math.sqrt(d), "causal": int(causal)}
                        outputs[kernel.title] = out
                        candidates[kernel.title] = kernel.bind([up(s, rows), heads, batch], named)
                    if outputs:
                        flops = 4 * batch * heads * s * s * d // (2 if causal else 1)
                        yield f"attention {'causal ' if causal else ''}{s} x {d}", dtype, flops, candidates, outputs, ref, "cuDNN", 1e-2


def main():
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    table = Table("benches/h200/products.py", (28, 60))
    paths = sorted(glob.glob(os.path.join(options.folder, "*.ptx")))
    kernels = [Kernel(p) for p in paths if os.path.basename(p).startswith(("gemm", "attention"))]
    for make in (products, attention):
        for case, dtype, flops, candidates, outputs, ref, anchor, bound in make(kernels, table.properties.multi_processor_count):
            if options.only not in case:
                continue
            errors = table.errors(case, candidates, outputs, lambda out: error(out, ref), bound)
            times = measure(candidates, options.rounds)
            for title, wrong in errors.items():
                table.line(case, dtype, flops, times, title, anchor, wrong)
    table.end(options.csv)


if __name__ == "__main__":
    main()
