"""Times the memory-bound example kernels on an NVIDIA GPU, in turn with PyTorch, torch.compile and a device copy.

    TIKI_DUMP=ptx TIKI_DUMP_DIR=$PWD/target/ptx cargo check --examples       # wherever cargo is
    python3 benches/h200/memory.py target/ptx --csv benches/results/memory_h200.csv

The PTX text is loaded through the driver as it was written: an entry names its own parameters (`x_ptr`, `x_dim0`,
`eps_value`) and its block's threads. Only the grid is repeated here, as in each kernel's attribute.

What is measured: a round runs every candidate of a case once, in an order that is shuffled anew each round; each run is
timed by CUDA events with a buffer larger than the second-level cache rewritten before it. Figures are medians over the rounds. The
ratio is ours to the best anchor of the case, within a round; its interval is the distribution-free one of 95% for a
median, from order statistics. `copy` is a device copy of as many bytes as the kernel reads and writes. Inputs are
fresh random normals, outputs are filled with NaN before they are checked against float64, and a kernel that is wrong is
not timed. While they are timed all candidates but the copy and kernels with tensor maps write outputs that the allocator
gives at that call. `--all` times every instance found, not only the one that the table names.
"""

import argparse
import ctypes
import datetime
import math
import os
import random
import re
import sys

import torch
import torch.nn.functional as F
from cuda.bindings import driver as cu
from products import interval, median

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
CTYPES = {"u64": ctypes.c_uint64, "u32": ctypes.c_uint32, "f32": ctypes.c_float, "u8": ctypes.c_uint8}
# Largest relative error in the norm that a right kernel has, by the type of its output.
BOUNDS = {torch.float32: 1e-6, torch.float16: 5e-4, torch.bfloat16: 4e-3}
EPS = 1e-6


def check(result):
    if result[0] != cu.CUresult.CUDA_SUCCESS:
        raise RuntimeError(str(result[0]))
    return result[1] if len(result) == 2 else result[1:]


def up(a, b):
    return -(-a // b)


MAP_TYPES = {
    torch.float16: cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    torch.bfloat16: cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    torch.float32: cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
}
SWIZZLES = {
    0: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE,
    32: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_32B,
    64: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_64B,
    128: cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
}


def tensor_map(t, box, swizzle):
    """A tensor map of these boxes: its address, a multiple of 64, and the memory it lies in."""
    integers = lambda kind, values: [kind(v) for v in reversed(values)]
    strides = [s * t.element_size() for s in t.stride()]
    made = check(cu.cuTensorMapEncodeTiled(
        MAP_TYPES[t.dtype], t.dim(), t.data_ptr(), integers(cu.cuuint64_t, list(t.shape)), integers(cu.cuuint64_t, strides[:-1]),
        integers(cu.cuuint32_t, box), [cu.cuuint32_t(1)] * t.dim(), cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        SWIZZLES[swizzle], cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
    memory = (ctypes.c_ubyte * 192)()
    at = (ctypes.addressof(memory) + 63) // 64 * 64
    ctypes.memmove(at, int(made.getPtr()), 128)
    return at, memory


class Kernel:
    """One instance: its parameters, and the loaded entry."""

    def __init__(self, path):
        with open(path) as file:
            self.text = file.read()
        # The first line is the title: `// rms_norm<E = f16, N = 4096, T = 256>`.
        self.title = self.text.splitlines()[0][2:].strip()
        self.name = self.title.split("<")[0]
        values = re.findall(r"(\w+) = (\w+)", self.title)
        self.args = {k: int(v) if v.isdigit() else v for k, v in values}
        self.entry = re.search(r"\.entry (\w+)\(", self.text).group(1)
        self.params = re.findall(r"\.param \.([uf]\d+) (\w+)", self.text)
        # Tensor maps come after them, named by the tensor: `x_map0: box [1, 128, 32], swizzle 128`.
        self.maps = [(name, eval(box), int(swizzle)) for name, box, swizzle in
                     re.findall(r"^// (\w+)_map\d+: box (\[.*?\]), swizzle (\d+)", self.text, re.M)]
        # Shared memory beyond 48 KiB is dynamic: as much as the title's lines say.
        dynamic = ".extern .shared" in self.text
        ends = [int(n) for n in re.findall(r"// shared_memory\[\d+\.\.(\d+)\]", self.text)]
        self.dynamic = max(ends, default=0) if dynamic else 0
        self.threads = int(re.search(r"\.reqntid (\d+)", self.text).group(1))

    def load(self):
        module = check(cu.cuModuleLoadData(self.text.encode() + b"\0"))
        self.function = check(cu.cuModuleGetFunction(module, self.entry.encode()))
        attribute = cu.CUfunction_attribute
        if self.dynamic:
            check(cu.cuFuncSetAttribute(self.function, attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, self.dynamic))
        self.registers = check(cu.cuFuncGetAttribute(attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, self.function))
        self.local = check(cu.cuFuncGetAttribute(attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, self.function))

    def persistent(self):
        """Blocks that the card holds at once."""
        held = check(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(self.function, self.threads, self.dynamic))
        return [held * torch.cuda.get_device_properties(0).multi_processor_count]

    def bind(self, grid, arguments, lent=()):
        """A call without arguments that launches; `arguments` as in the signature. Those in `lent` are workspaces: zeroed
        before each launch, as the launcher does, and timed with it."""
        flat = []
        for a in arguments:
            flat += [a.data_ptr(), *a.shape] if isinstance(a, torch.Tensor) else [a]
        assert len(flat) == len(self.params), (self.title, self.params)
        values = [CTYPES[t](v) for (t, _), v in zip(self.params, flat)]
        names = list(dict.fromkeys(re.sub(r"_(ptr|dim\d|value)$", "", name) for _, name in self.params))
        maps = [tensor_map(arguments[names.index(name)], box, swizzle) for name, box, swizzle in self.maps]
        places = [ctypes.addressof(v) for v in values] + [at for at, _ in maps]
        pointers = (ctypes.c_void_p * len(places))(*places)
        grid = (list(grid) + [1, 1])[:3]
        stream = torch.cuda.current_stream().cuda_stream

        def go():
            for piece in lent:
                check(cu.cuMemsetD8Async(piece.data_ptr(), 0, piece.nbytes, stream))
            check(cu.cuLaunchKernel(self.function, *grid, self.threads, 1, 1, self.dynamic, stream, ctypes.addressof(pointers), 0))

        go.keep = (values, maps, pointers, arguments)
        return go

    def anew(self, go, outputs):
        """The same call, each time with outputs from the allocator, which gives what the last one left: PyTorch's own calls write
        the memory so, and where memory lies is worth up to 0.1% of a kernel's time. Tensor maps are made once: with them it is `go`."""
        values, maps, _, arguments = go.keep
        if maps:
            return go
        names = [name for _, name in self.params]
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        places = [values[i] for i, name in enumerate(names) if name.endswith("_ptr")]
        written = [(place, t) for place, t in zip(places, tensors) if any(t is o for o in outputs)]

        def fresh():
            memory = [torch.empty_like(t) for _, t in written]
            for (place, _), t in zip(written, memory):
                place.value = t.data_ptr()
            go()

        return fresh


def normals(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def poison(*shape, dtype=torch.float32):
    if not dtype.is_floating_point:
        return torch.full(shape, -1, device="cuda", dtype=dtype)
    return torch.full(shape, float("nan"), device="cuda", dtype=dtype)


def wide(t):
    return t.double()


# Each case: a function of (dtype, shape) that gives the bytes moved, what is written, the arguments, the reference
# (a list like what is written, of the rows from 0 to `SHOWN`), the grid as a function of the instance, and the anchors.
SHOWN = 256


def shown(t):
    return t[:SHOWN] if t.dim() > 1 else t[: SHOWN << 12]


def compiled(f):
    return torch.compile(f, dynamic=False)


def rms(x, w):
    v = x.float()
    return (v * torch.rsqrt((v * v).mean(-1, keepdim=True) + EPS) * w.float()).to(x.dtype)


def rms_norm(dtype, shape):
    x, w = normals(*shape, dtype=dtype), normals(shape[1], dtype=dtype)
    y = poison(*shape, dtype=dtype)
    fast = compiled(rms)
    return dict(
        bytes=2 * x.nbytes, out=[y], args=[x, w, y, EPS], grid=lambda k: [shape[0]],
        want=lambda: [F.rms_norm(wide(shown(x)), (shape[1],), wide(w), EPS)],
        anchors={"torch": lambda: F.rms_norm(x, (shape[1],), w, EPS), "torch.compile": lambda: fast(x, w)},
    )


def softmax_rows(dtype, shape):
    x, y = normals(*shape, dtype=dtype), poison(*shape, dtype=dtype)
    fast = compiled(lambda x: torch.softmax(x, -1))
    return dict(
        bytes=2 * x.nbytes, out=[y], args=[x, y], grid=lambda k: [shape[0]],
        want=lambda: [torch.softmax(wide(shown(x)), -1)],
        anchors={"torch": lambda: torch.softmax(x, -1), "torch.compile": lambda: fast(x)},
    )


def log_softmax_rows(dtype, shape):
    x, y = normals(*shape, dtype=dtype), poison(*shape, dtype=dtype)
    fast = compiled(lambda x: torch.log_softmax(x, -1))
    return dict(
        bytes=2 * x.nbytes, out=[y], args=[x, y], grid=lambda k: [shape[0]],
        want=lambda: [torch.log_softmax(wide(shown(x)), -1)],
        anchors={"torch": lambda: torch.log_softmax(x, -1), "torch.compile": lambda: fast(x)},
    )


def layer_norm(dtype, shape):
    x, w, b = normals(*shape, dtype=dtype), normals(shape[1], dtype=dtype), normals(shape[1], dtype=dtype)
    y = poison(*shape, dtype=dtype)
    plain = lambda x, w, b: F.layer_norm(x, (shape[1],), w, b, EPS)
    fast = compiled(plain)
    return dict(
        bytes=2 * x.nbytes, out=[y], args=[x, w, b, y, EPS], grid=lambda k: [shape[0]],
        want=lambda: [plain(wide(shown(x)), wide(w), wide(b))],
        anchors={"torch": lambda: plain(x, w, b), "torch.compile": lambda: fast(x, w, b)},
    )


def add_layer_norm(dtype, shape):
    x, r = normals(*shape, dtype=dtype), normals(*shape, dtype=dtype)
    w, b = normals(shape[1], dtype=dtype), normals(shape[1], dtype=dtype)
    s, y = poison(*shape, dtype=dtype), poison(*shape, dtype=dtype)

    def plain(x, r, w, b):
        s = x + r
        return s, F.layer_norm(s, (shape[1],), w, b, EPS)

    fast = compiled(plain)
    return dict(
        bytes=4 * x.nbytes, out=[s, y], args=[x, r, w, b, s, y, EPS], grid=lambda k: [shape[0]],
        want=lambda: list(plain(wide(shown(x)), wide(shown(r)), wide(w), wide(b))),
        anchors={"torch": lambda: plain(x, r, w, b), "torch.compile": lambda: fast(x, r, w, b)},
    )


def add_rms_norm(dtype, shape):
    x, r, w = normals(*shape, dtype=dtype), normals(*shape, dtype=dtype), normals(shape[1], dtype=dtype)
    s, y = poison(*shape, dtype=dtype), poison(*shape, dtype=dtype)

    def plain(x, r, w):
        s = x.float() + r.float()
        return s.to(x.dtype), (s * torch.rsqrt((s * s).mean(-1, keepdim=True) + EPS) * w.float()).to(x.dtype)

    def want():
        s = wide(shown(x)) + wide(shown(r))
        return [s, s * torch.rsqrt((s * s).mean(-1, keepdim=True) + EPS) * wide(w)]

    fast = compiled(plain)
    return dict(
        bytes=4 * x.nbytes, out=[s, y], args=[x, r, w, s, y, EPS], grid=lambda k: [shape[0]], want=want,
        anchors={"torch.compile": lambda: fast(x, r, w)},
    )


def log_softmax_backward(dtype, shape):
    y = torch.log_softmax(normals(*shape, dtype=dtype), -1)
    g, d = normals(*shape, dtype=dtype), poison(*shape, dtype=dtype)
    plain = lambda y, g: torch.ops.aten._log_softmax_backward_data(g, y, -1, y.dtype)
    fast = compiled(lambda y, g: (g.float() - y.float().exp() * g.float().sum(-1, keepdim=True)).to(y.dtype))
    return dict(
        bytes=3 * y.nbytes, out=[d], args=[y, g, d], grid=lambda k: [shape[0]],
        want=lambda: [plain(wide(shown(y)), wide(shown(g)))],
        anchors={"torch": lambda: plain(y, g), "torch.compile": lambda: fast(y, g)},
    )


def layer_norm_backward(dtype, shape):
    x, g = normals(*shape, dtype=dtype), normals(*shape, dtype=dtype)
    n = shape[1]
    w, b, d = normals(n, dtype=dtype), normals(n, dtype=dtype), poison(*shape, dtype=dtype)
    leaf, weight, bias = (t.clone().requires_grad_() for t in (x, w, b))
    taped = F.layer_norm(leaf, (n,), weight, bias, EPS)

    def want():
        v = wide(shown(x)).requires_grad_()
        F.layer_norm(v, (n,), wide(w), wide(b), EPS).backward(wide(shown(g)))
        return [v.grad]

    def weights(parts):
        v = wide(x)
        mean = v.mean(-1, keepdim=True)
        unit = (v - mean) * torch.rsqrt(((v - mean) ** 2).mean(-1, keepdim=True) + EPS)
        return parts[0], (wide(g) * unit).sum(0)

    return dict(
        bytes=3 * x.nbytes, out=[d], args=[x, w, g, d, None, EPS], grid=lambda k: k.persistent(),
        want=want, also=weights, parts=lambda blocks: poison(2, blocks, n),
        anchors={"torch": lambda: torch.autograd.grad(taped, (leaf, weight, bias), g, retain_graph=True)},
    )


def cross_entropy(dtype, shape):
    x = normals(*shape, dtype=dtype)
    target = torch.randint(shape[1], (shape[0],), device="cuda", dtype=torch.int32)
    loss, sums = poison(shape[0]), poison(shape[0])
    long = target.long()
    plain = lambda x: F.cross_entropy(x, long, reduction="none")
    fast = compiled(lambda x: F.cross_entropy(x.float(), long, reduction="none"))
    return dict(
        bytes=x.nbytes, out=[loss, sums], args=[x, target, loss, sums], grid=lambda k: [shape[0]],
        want=lambda: [plain(x.double()), torch.logsumexp(x.double(), -1)],
        anchors={"torch": lambda: plain(x), "torch.compile": lambda: fast(x)},
    )


def rope(dtype, shape):
    x, y = normals(*shape, dtype=dtype), poison(*shape, dtype=dtype)
    half = shape[2] // 2
    angles = torch.rand(shape[0], half, device="cuda") * 6
    c, s = angles.cos(), angles.sin()

    def plain(x, c, s):
        a, b = x[..., :half], x[..., half:]
        c, s = c[:, None], s[:, None]
        return torch.cat([a * c - b * s, a * s + b * c], -1).to(x.dtype)

    fast = compiled(lambda x, c, s: plain(x.float(), c, s).to(x.dtype))
    return dict(
        bytes=2 * x.nbytes, out=[y], args=[x, c, s, y], grid=lambda k: [shape[0], up(shape[1], 32)],
        want=lambda: [plain(wide(shown(x)), wide(c)[:SHOWN], wide(s)[:SHOWN])],
        anchors={"torch.compile": lambda: fast(x, c, s)},
    )


def softmax_backward(dtype, shape):
    y = torch.softmax(normals(*shape, dtype=dtype), -1)
    g, d = normals(*shape, dtype=dtype), poison(*shape, dtype=dtype)
    plain = lambda y, g: torch.ops.aten._softmax_backward_data(g, y, -1, y.dtype)

    def formula(y, g):
        p, q = y.float(), g.float()
        return ((q - (p * q).sum(-1, keepdim=True)) * p).to(y.dtype)

    fast = compiled(formula)
    return dict(
        bytes=3 * y.nbytes, out=[d], args=[y, g, d], grid=lambda k: [shape[0]],
        want=lambda: [plain(wide(shown(y)), wide(shown(g)))],
        anchors={"torch": lambda: plain(y, g), "torch.compile": lambda: fast(y, g)},
    )


def rms_norm_backward(dtype, shape):
    x, g = normals(*shape, dtype=dtype), normals(*shape, dtype=dtype)
    w, d = normals(shape[1], dtype=dtype), poison(*shape, dtype=dtype)
    n = shape[1]

    def formula(x, g, w):
        v, q = x.float(), g.float()
        r = torch.rsqrt((v * v).mean(-1, keepdim=True) + EPS)
        s = q * w.float()
        return ((s - v * ((s * v).mean(-1, keepdim=True) * r * r)) * r).to(x.dtype), (q * v * r).sum(0).to(x.dtype)

    fast = compiled(formula)
    leaf, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
    taped = F.rms_norm(leaf, (n,), weight, EPS)

    def want():
        v, q = wide(shown(x)), wide(shown(g))
        r = torch.rsqrt((v * v).mean(-1, keepdim=True) + EPS)
        s = q * wide(w)
        return [(s - v * ((s * v).mean(-1, keepdim=True) * r * r)) * r]

    def weights(parts):
        v = wide(x)
        full = (wide(g) * v * torch.rsqrt((v * v).mean(-1, keepdim=True) + EPS)).sum(0)
        return parts, full

    return dict(
        bytes=3 * x.nbytes, out=[d], args=[x, w, g, d, None, EPS], grid=lambda k: k.persistent(),
        want=want, also=weights, parts=lambda blocks: poison(blocks, n),
        anchors={
            "torch": lambda: torch.autograd.grad(taped, (leaf, weight), g, retain_graph=True),
            "torch.compile": lambda: fast(x, g, w),
        },
    )


def transpose(dtype, shape):
    x, y = normals(*shape), poison(shape[1], shape[0])
    fast = compiled(lambda x: x.t().contiguous())
    return dict(
        bytes=2 * x.nbytes, out=[y], args=[x, y], grid=lambda k: [up(shape[0], 64), up(shape[1], 64)],
        want=lambda: [wide(x[:, :SHOWN].t())], exact=True,
        anchors={"torch": lambda: x.t().contiguous(), "torch.compile": lambda: fast(x)},
    )


def add(dtype, shape):
    x, y, z = normals(*shape), normals(*shape), poison(*shape)
    return dict(
        bytes=3 * x.nbytes, out=[z], args=[x, y, z], grid=lambda k: [up(shape[0], 1024)],
        want=lambda: [wide(shown(x) + shown(y))], exact=True, anchors={"torch": lambda: torch.add(x, y)},
    )


def gate(function):
    def case(dtype, shape):
        x, y, z = normals(*shape, dtype=dtype), normals(*shape, dtype=dtype), poison(*shape, dtype=dtype)
        fast = compiled(lambda x, y: function(x.float()).mul(y.float()).to(x.dtype))
        return dict(
            bytes=3 * x.nbytes, out=[z], args=[x, y, z], grid=lambda k: [up(shape[0], 2048 // x.itemsize)],
            want=lambda: [function(wide(shown(x))) * wide(shown(y))],
            anchors={"torch": lambda: function(x) * y, "torch.compile": lambda: fast(x, y)},
        )

    return case


def cast(to):
    def case(dtype, shape):
        x, y = normals(*shape, dtype=dtype), poison(*shape, dtype=to)
        return dict(
            bytes=x.nbytes + y.nbytes, out=[y], args=[x, y], grid=lambda k: [up(shape[0], 1024)],
            want=lambda: [wide(shown(x).to(to))], exact=True, anchors={"torch": lambda: x.to(to)},
        )

    return case


def row_sum(dtype, shape):
    x, y = normals(*shape, dtype=dtype), poison(shape[0])
    fast = compiled(lambda x: x.float().sum(1))
    return dict(
        bytes=x.nbytes, out=[y], args=[x, y], grid=lambda k: [shape[0]], want=lambda: [wide(x).sum(1)[: SHOWN << 12]],
        anchors={"torch": lambda: x.sum(1), "torch.compile": lambda: fast(x)},
    )


def row_argmax(dtype, shape):
    x, y = normals(*shape, dtype=dtype), poison(shape[0], dtype=torch.int32)
    fast = compiled(lambda x: x.argmax(1))
    # Torch gives any of several equals; the first is ours to promise.
    first = lambda: wide((x == x.amax(1, keepdim=True)).int().argmax(1))
    return dict(
        bytes=x.nbytes, out=[y], args=[x, y], grid=lambda k: [shape[0]], want=lambda: [first()],
        exact=True, anchors={"torch": lambda: x.argmax(1), "torch.compile": lambda: fast(x)},
    )


WORD, STEP = torch.int32, torch.int64


def lend(wanted):
    """Workspaces, shapes and types, as the launcher lends them: in one piece, each from a multiple of 256 bytes on."""
    sizes = [up(math.prod(shape) * dtype.itemsize, 256) * 256 for shape, dtype in wanted]
    piece = torch.zeros(sum(sizes), device="cuda", dtype=torch.uint8)
    views = [part[: math.prod(shape) * dtype.itemsize].view(dtype).view(shape) for part, (shape, dtype) in zip(piece.split(sizes), wanted)]
    return piece, views


def stays(k):
    """Whether its blocks take tile after tile."""
    return k.name.endswith(("ring", "hopper"))


def walk(x, axis):
    """The norm that sums along an axis of numbers of these sizes and any signs have on average."""
    return wide(x).square().cumsum(axis).sqrt().norm()


def scan(dtype, shape):
    x, y = normals(*shape, dtype=dtype), poison(*shape, dtype=dtype)
    fast = compiled(lambda x: x.cumsum(-1))
    tiles = lambda k: up(shape[1], k.args["N"])
    return dict(
        bytes=2 * x.nbytes, out=[y], args=[x, y],
        grid=lambda k: k.persistent(), workspace=lambda k: [((1,), WORD), ((shape[0] * tiles(k),), WORD)],
        want=lambda: [wide(shown(x)).cumsum(-1)], scale=lambda: walk(shown(x), -1),
        anchors={"torch": lambda: x.cumsum(-1), "torch.compile": lambda: fast(x)},
    )


def scan_columns(dtype, shape):
    x, y = normals(*shape, dtype=dtype), poison(*shape, dtype=dtype)
    fast = compiled(lambda x: x.cumsum(1))
    across = lambda k: shape[0] * up(shape[2], k.args["C"])
    down = lambda k: up(shape[1], k.args["R"])

    words = lambda k: (down(k) + up(down(k), k.args["G"]), across(k) * k.args["C"])
    return dict(
        bytes=2 * x.nbytes, out=[y], args=[x, y], workspace=lambda k: [((1,), WORD), (words(k), WORD)],
        grid=lambda k: k.persistent() if stays(k) else [across(k) * down(k)],
        want=lambda: [wide(x).cumsum(1)], scale=lambda: walk(x, 1),
        anchors={"torch": lambda: x.cumsum(1), "torch.compile": lambda: fast(x)},
    )


def recurrence(dtype, shape):
    a, b = torch.rand(*shape, device="cuda", dtype=dtype), normals(*shape, dtype=dtype)
    y = poison(*shape, dtype=dtype)
    tiles = lambda k: up(shape[1], k.args["N"])
    alone = lambda k: k.name.endswith("rows")

    def words(k):
        if alone(k):
            return []
        return [((1,), WORD), ((shape[0] * tiles(k),) if stays(k) else (shape[0], 3 * tiles(k)), STEP)]

    def want():
        # In float64, doubling the reach; of the first rows.
        p, q = wide(a[:16]), wide(b[:16])
        reach = 1
        while reach < shape[1]:
            q = torch.cat([q[:, :reach], q[:, reach:] + p[:, reach:] * q[:, :-reach]], 1)
            p = torch.cat([p[:, :reach], p[:, reach:] * p[:, :-reach]], 1)
            reach *= 2
        return [q]

    return dict(
        bytes=3 * a.nbytes, out=[y], args=[a, b, y],
        # Of a row a block, or of a tile a block; the former tell each other nothing.
        grid=lambda k: k.persistent() if stays(k) else [shape[0] * (1 if alone(k) else tiles(k))],
        workspace=words, want=want, anchors={},
    )


def recurrence_lines(dtype, shape):
    """Of rows given as lines of 128 bytes; 128 of them are a tile."""
    case = recurrence(dtype, shape)
    line = 128 // dtype.itemsize
    tiles = shape[0] * up(shape[1], 128 * line)
    lines = [t.view(shape[0], shape[1] // line, line) for t in case["args"]]
    return dict(case, args=lines, grid=lambda k: k.persistent(), workspace=lambda k: [((1,), WORD), ((tiles,), STEP)])


gelu = lambda x: F.gelu(x, approximate="tanh")
ROWS = [(65536, 4096), (131072, 1024), (16384, 8192), (4096, 16384), (8192, 4096)]
FLAT = [(1 << 28,)]
# Kernel, case, element types, shapes, and the instance that its author would launch.
CASES = [
    ("rms_norm", rms_norm, ["f16", "bf16", "f32"], ROWS, lambda e, s: dict(E=e, N=s[1])),
    ("softmax_rows", softmax_rows, ["f16", "bf16", "f32"], ROWS, lambda e, s: dict(E=e, N=s[1])),
    ("log_softmax_rows", log_softmax_rows, ["f16", "f32"], ROWS[:2], lambda e, s: dict(E=e, N=s[1])),
    ("layer_norm", layer_norm, ["f16", "bf16", "f32"], ROWS[:1], lambda e, s: dict(E=e, N=s[1])),
    ("add_layer_norm", add_layer_norm, ["f16", "bf16", "f32"], ROWS[:1], lambda e, s: dict(E=e, N=s[1])),
    ("softmax_backward", softmax_backward, ["f16", "bf16", "f32"], ROWS[:1], lambda e, s: dict(E=e, N=s[1])),
    ("rms_norm_backward_ring", rms_norm_backward, ["f16", "bf16", "f32"], [(32768, 4096)], lambda e, s: dict(E=e, N=s[1])),
    ("add_rms_norm", add_rms_norm, ["f16", "bf16", "f32"], ROWS[:1], lambda e, s: dict(E=e, N=s[1])),
    ("log_softmax_backward", log_softmax_backward, ["f16", "f32"], ROWS[:1], lambda e, s: dict(E=e, N=s[1])),
    ("layer_norm_backward_ring", layer_norm_backward, ["f16", "bf16", "f32"], [(32768, 4096)], lambda e, s: dict(E=e, N=s[1])),
    ("cross_entropy", cross_entropy, ["bf16", "f32"], [(8192, 32768)], lambda e, s: dict(E=e, V=16 // DTYPES[e].itemsize)),
    ("rope_halves", rope, ["bf16"], [(65536, 32, 128)], lambda e, s: dict(E=e, H=64, BACK="false")),
    ("transpose", transpose, ["f32"], [(16384,) * 2, (8192,) * 2, (4096,) * 2], lambda e, s: dict(V=4)),
    ("add", add, ["f32"], FLAT, lambda e, s: {}),
    ("silu_mul", gate(F.silu), ["f16", "bf16", "f32"], FLAT, lambda e, s: dict(E=e)),
    ("gelu_mul", gate(gelu), ["f16", "bf16", "f32"], FLAT, lambda e, s: dict(E=e)),
    ("cast", cast(torch.bfloat16), ["f32"], FLAT, lambda e, s: dict(A=e, B="bf16")),
    ("cast", cast(torch.float32), ["bf16"], FLAT, lambda e, s: dict(A=e, B="f32")),
    ("row_sum", row_sum, ["f16", "bf16", "f32"], [(8192, 32768)], lambda e, s: dict(E=e, V=16 // DTYPES[e].itemsize)),
    ("scan_ring", scan, ["f32", "f16", "bf16"], [(1, 1 << 28), (8192, 32768)],
     lambda e, s: dict(E=e, OP=0, EXCLUSIVE="false", REVERSE="false", T=128, W=2, N=4608 if e == "f32" else 9216 if s[0] == 1 else 8192)),
    ("scan_columns", scan_columns, ["f32"], [(1, 65536, 4096), (64, 4096, 1024)],
     lambda e, s: dict(E=e, OP=0, EXCLUSIVE="false", REVERSE="false", V=4)),
    ("scan_columns_ring", scan_columns, ["f16", "bf16"], [(1, 65536, 4096), (64, 4096, 1024)],
     lambda e, s: dict(E=e, OP=0, EXCLUSIVE="false", REVERSE="false", V=8)),
    ("scan_columns_hopper", scan_columns, ["f16", "bf16"], [(1, 65536, 4096), (64, 4096, 1024)],
     lambda e, s: dict(E=e, OP=0, EXCLUSIVE="false", REVERSE="false")),
    ("recurrence_ring", recurrence, ["f32", "bf16"], [(1, 1 << 28)],
     lambda e, s: dict(E=e, EXCLUSIVE="false", REVERSE="false", V=16 // DTYPES[e].itemsize, T=128, W=1)),
    ("recurrence_hopper", recurrence_lines, ["f32", "bf16"], [(1, 1 << 28)],
     lambda e, s: dict(E=e, EXCLUSIVE="false", REVERSE="false")),
    ("recurrence_rows", recurrence, ["f32", "f16", "bf16"], [(8192, 32768)],
     lambda e, s: dict(E=e, EXCLUSIVE="false", REVERSE="false", V=16 // DTYPES[e].itemsize)),
    ("row_argmax_of", row_argmax, ["f16", "bf16", "f32"], ROWS[:1], lambda e, s: dict(E=e, N=s[1])),
]


def errors(case, full):
    """The relative error of each output against float64, in the norm; infinite where an element was not written.

    Sums of random signs may end near zero, and what rounding makes of the way there does not: where a case has a scale, an error
    is relative to it if it is more than the norm."""
    out, scale = [], case["scale"]() if "scale" in case else 0.0
    for got, want in zip(case["out"], case["want"]()):
        part = got[tuple(slice(n) for n in want.shape)]
        part = part.double()
        if not torch.isfinite(got).all():
            out.append(math.inf)
        elif case.get("exact"):
            out.append(0.0 if torch.equal(part, want) else math.inf)
        else:
            out.append(((part - want).norm() / max(want.norm(), scale)).item())
    if full and "also" in case:
        parts, want = case["also"](case["summed"])
        out.append(((parts.double().sum(0) - want).norm() / want.norm()).item())
    return out


def measure(candidates, rounds):
    """Milliseconds of each candidate, one list a candidate, one entry a round."""
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    for f in candidates:
        for _ in range(3):
            f()
    torch.cuda.synchronize()
    events = [[None] * rounds for _ in candidates]
    order = list(range(len(candidates)))
    for r in range(rounds):
        random.shuffle(order)
        for c in order:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush.zero_()
            begin.record()
            candidates[c]()
            end.record()
            events[c][r] = (begin, end)
    torch.cuda.synchronize()
    return [[b.elapsed_time(e) for b, e in row] for row in events]


def copier(count):
    a = torch.empty(up(count, 2), dtype=torch.int8, device="cuda").random_(-128, 127)
    b = torch.empty_like(a)
    return lambda: b.copy_(a)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ptx")
    parser.add_argument("--csv")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--anchors", type=int, default=1)
    options = parser.parse_args()
    # Each crate's dumps lie in a folder of its own.
    files = sorted(os.path.join(folder, f) for folder, _, names in os.walk(options.ptx) for f in names if f.endswith(".ptx"))
    # An example that another takes in is dumped twice; an instance is one.
    kernels = {k.title: k for k in map(Kernel, files) if any(k.name == case[0] for case in CASES)}.values()
    card = torch.cuda.get_device_name()
    driver = os.popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader").read().split()[0]
    date = datetime.date.today().isoformat()
    # Where the lines go is no part of how they came about.
    told = [a for i, a in enumerate(sys.argv) if a != "--csv" and sys.argv[i - 1] != "--csv"]
    command = "python3 benches/h200/memory.py " + " ".join(told[1:])
    lines = ["date,card,driver,command,kernel,dtype,shape,ours TB/s,anchor,anchor TB/s,copy TB/s,ratio to copy,"
             "ratio to anchor,95% low,95% high,relative error"]
    bad = 0
    for name, build, types, shapes, pick in CASES:
        for dtype in types:
            for shape in shapes:
                wanted = pick(dtype, shape)
                found = [k for k in kernels if k.name == name and all(k.args.get(a) == v for a, v in wanted.items())]
                if not re.search(options.only, f"{name} {dtype}") or not found:
                    continue
                if not options.all and len(found) > 1:
                    raise SystemExit(f"{name} {wanted}: {[k.title for k in found]}")
                # Else torch.compile gives up on a function after its eighth shape.
                torch._dynamo.reset()
                case = build(DTYPES[dtype], shape)
                ours = []
                for k in found:
                    try:
                        k.load()
                    except RuntimeError as error:
                        print(f"{k.title}: {error}")
                        bad += 1
                        continue
                    for o in case["out"]:
                        o.fill_(float("nan") if o.dtype.is_floating_point else -1)
                    if "workspace" in case:
                        piece, workspace = lend(case["workspace"](k))
                        go = k.bind(case["grid"](k), case["args"] + workspace, [piece] if workspace else [])
                    elif "parts" in case:
                        # What each of the blocks that the card holds has summed.
                        case["summed"] = case["parts"](k.persistent()[0])
                        args = [case["summed"] if a is None else a for a in case["args"]]
                        go = k.bind(case["grid"](k), args)
                    else:
                        go = k.bind(case["grid"](k), case["args"])
                    go()
                    torch.cuda.synchronize()
                    wrong = errors(case, True)
                    bound = BOUNDS.get(case["out"][0].dtype, 0.0)
                    # A NaN is no number within the bound.
                    if not all(w <= bound for w in wrong):
                        print(f"{k.title}: WRONG, relative errors {wrong}, bound {bound}")
                        bad += 1
                        continue
                    ours.append((k, go, max(wrong)))
                anchors = case["anchors"] if options.anchors else {}
                calls = [k.anew(go, case["out"]) for k, go, _ in ours] + list(anchors.values()) + [copier(case["bytes"])]
                times = measure(calls, options.rounds)
                rate = lambda t: case["bytes"] / median(t) / 1e9
                copied = times[-1]
                best, best_times = "", None
                for anchor, t in zip(anchors, times[len(ours):]):
                    if best_times is None or median(t) < median(best_times):
                        best, best_times = anchor, t
                size = "x".join(map(str, shape))
                for (k, _, wrong), t in sorted(zip(ours, times), key=lambda p: median(p[1])):
                    to_copy = median([c / o for c, o in zip(copied, t)])
                    ratios = [b / o for b, o in zip(best_times, t)] if best_times else [math.nan]
                    low, high = interval(ratios)
                    print(f"{k.title:58} {size:12} {rate(t):.3f} TB/s, copy {rate(copied):.3f} ({to_copy:.3f}), "
                          f"{best} {rate(best_times) if best_times else 0:.3f} ({median(ratios):.3f} [{low:.3f}, {high:.3f}]), "
                          f"error {wrong:.1e}, {k.registers} registers, {k.local} local", flush=True)
                    lines.append(f"{date},{card},{driver},{command},\"{k.title}\",{dtype},{size},{rate(t):.3f},{best},"
                                 f"{rate(best_times) if best_times else 0:.3f},{rate(copied):.3f},{to_copy:.3f},{median(ratios):.3f},"
                                 f"{low:.3f},{high:.3f},{wrong:.2e}")
                if options.csv:
                    # After every case: a run that is cut short has recorded what it measured.
                    with open(options.csv, "w") as file:
                        file.write("\n".join(lines) + "\n")
                del case, calls, ours
                torch.cuda.empty_cache()
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
