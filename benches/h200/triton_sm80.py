"""A matrix product by Triton for compute capability 8.0: what is had on a Hopper card without warpgroup products.

The PTX text of Triton's own compiler, built for 8.0, is loaded through the driver like ours.
"""

import ctypes
import re

import products as base
import torch
import triton
import triton.language as tl
from cuda.bindings import driver as cu
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

CONFIGS = [(128, 128, 32, 4, 4), (128, 128, 64, 3, 4), (128, 128, 32, 4, 8), (128, 256, 32, 3, 8), (128, 256, 64, 3, 8), (256, 128, 64, 3, 8), (128, 128, 64, 4, 8)]


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (G * columns)
    first = group * G
    height = min(rows - first, G)
    m, n = first + (pid % (G * columns)) % height, (pid % (G * columns)) // height
    om, on, ok = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + om[:, None] * K + ok[None, :], b + on[None, :] * K + ok[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK
    tl.store(c + om[:, None] * N + on[None, :], acc.to(c.dtype.element_ty))


def candidates(dtype, a, b):
    """Every configuration: its name, a function that launches it, and its output."""
    t = {torch.float16: "*fp16", torch.bfloat16: "*bf16"}[a.dtype]
    (m, k), n = a.shape, b.shape[0]
    for bm, bn, bk, stages, warps in CONFIGS:
        signature = {"a": t, "b": t, "c": t, "M": "i32", "N": "i32", "K": "i32", "BM": "constexpr", "BN": "constexpr", "BK": "constexpr", "G": "constexpr"}
        constants = {"BM": bm, "BN": bn, "BK": bk, "G": 8}
        attrs = {(i,): [["tt.divisibility", 16]] for i in range(6)}
        source = ASTSource(product, signature, {(list(signature).index(k),): v for k, v in constants.items()}, attrs)
        built = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": warps, "num_stages": stages})
        text = built.asm["ptx"]
        module = base.check(cu.cuModuleLoadData(text.encode() + b"\0"))
        function = base.check(cu.cuModuleGetFunction(module, re.search(r"\.entry (\w+)\(", text).group(1).encode()))
        shared = built.metadata.shared
        base.check(cu.cuFuncSetAttribute(function, cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared))
        out = torch.full((m, n), float("nan"), device="cuda", dtype=a.dtype)
        kinds = re.findall(r"\.param \.(u64|u32|b32|b64)", text[: text.index("{")].replace(" .ptr .global .align 16", "").replace(" .ptr .global .align 1", ""))
        values = [a.data_ptr(), b.data_ptr(), out.data_ptr(), m, n, k]
        values += [0] * (len(kinds) - len(values))
        words = [(ctypes.c_uint64 if kind.endswith("64") else ctypes.c_uint32)(v) for kind, v in zip(kinds, values)]
        array = (ctypes.c_void_p * len(words))(*[ctypes.addressof(w) for w in words])
        blocks = -(-m // bm) * (-(-n // bn))

        def go(function=function, blocks=blocks, warps=warps, shared=shared, array=array, keep=words):
            base.check(cu.cuLaunchKernel(function, blocks, 1, 1, warps * 32, 1, 1, shared, torch.cuda.current_stream().cuda_stream, ctypes.addressof(array), 0))

        yield f"Triton sm_80 {bm} x {bn} x {bk} stages {stages} warps {warps}", go, out
