"""Every input of the approximate unit on an NVIDIA GPU, against f64: the bounds that the machine promises.

    python3 benches/h200/approximate.py --csv benches/results/approximate_h200.csv       # needs nvcc

The machine gives correctly rounded values where a card reads small tables (`tiki-kernel/src/isa/rows/unit.rs`). Here every
one of the 2^32 patterns of an f32 (2^16 of a half) goes through the instruction, and the result is compared with the f64
function of the CUDA library, rounded once to the type: how many differ, the largest distance in units in the last place,
the largest error relative to the exact value, and the largest absolute error (sine and cosine: within -pi..pi; logarithm: absolute
within 0.5..2, relative outside, as documented). A NaN
must meet a NaN and an infinity the same infinity; lanes where they do not are counted apart, as are the lanes where the
card and the reference flush differently (a result that is subnormal on one side). `limit` is the bound of the row; the
script ends with 1 if a figure exceeds it.
"""

import argparse
import ctypes
import datetime
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# name, instruction, type, f64 expression, what is bounded, its limit.
FORMS = [
    ("ex2.approx.f32", "f32", "exp2(x)", "ulp", 2),
    ("ex2.approx.ftz.f32", "f32", "exp2(x)", "ulp", 2),
    ("lg2.approx.f32", "f32", "log2(x)", "either", 2.0**-22),
    ("lg2.approx.ftz.f32", "f32", "log2(x)", "either", 2.0**-22),
    ("rcp.approx.f32", "f32", "1.0 / x", "ulp", 1),
    ("rcp.approx.ftz.f32", "f32", "1.0 / x", "ulp", 1),
    ("sqrt.approx.f32", "f32", "sqrt(x)", "relative", 2.0**-23),
    ("sqrt.approx.ftz.f32", "f32", "sqrt(x)", "relative", 2.0**-23),
    ("rsqrt.approx.f32", "f32", "1.0 / sqrt(x)", "relative", 2.0**-22.9),
    ("rsqrt.approx.ftz.f32", "f32", "1.0 / sqrt(x)", "relative", 2.0**-22.9),
    ("sin.approx.f32", "f32", "sin(x)", "absolute", 2.0**-20.9),
    ("sin.approx.ftz.f32", "f32", "sin(x)", "absolute", 2.0**-20.9),
    ("cos.approx.f32", "f32", "cos(x)", "absolute", 2.0**-20.9),
    ("cos.approx.ftz.f32", "f32", "cos(x)", "absolute", 2.0**-20.9),
    ("tanh.approx.f32", "f32", "tanh(x)", "relative", 2.0**-11),
    ("ex2.approx.f16", "f16", "exp2(x)", "relative", 2.0**-9.9),
    ("ex2.approx.ftz.bf16", "bf16", "exp2(x)", "relative", 2.0**-7),
    ("tanh.approx.f16", "f16", "tanh(x)", "absolute", 2.0**-10.9),
    ("tanh.approx.bf16", "bf16", "tanh(x)", "absolute", 2.0**-7.9),
]

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Worst { unsigned long long differ, special, flushed, count, ulp, ulp_at, relative, relative_at, absolute, absolute_at; };
__device__ inline double of_f32(unsigned b) { return (double)__uint_as_float(b); }
__device__ inline double of_f16(unsigned b) { return (double)__half2float(__ushort_as_half((unsigned short)b)); }
__device__ inline double of_bf16(unsigned b) { return (double)__bfloat162float(__ushort_as_bfloat16((unsigned short)b)); }
__device__ inline unsigned to_f32(double v) { return __float_as_uint((float)v); }
__device__ inline unsigned to_f16(double v) { return __half_as_ushort(__double2half(v)); }
__device__ inline unsigned to_bf16(double v) { return __bfloat16_as_ushort(__double2bfloat16(v)); }
__device__ inline long long order(unsigned b, unsigned sign) { return b & sign ? -(long long)(b & (sign - 1)) : (long long)b; }
// The place of the largest value need not be that of the first: it is one input with that value.
__device__ inline void keep(unsigned long long *most, unsigned long long *at, unsigned long long v, unsigned b) {
    if (v > *most) { if (atomicMax(most, v) < v) *at = b; }
}
#define FORM(NAME, TYPE, SIGN, SMALL, FTZ, ASM, EXPRESSION, ABSOLUTE, RELATIVE)                                     \
extern "C" __global__ void NAME(Worst *w, unsigned long long n) {                                                   \
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;                                           \
    unsigned long long differ = 0, special = 0, flushed = 0, count = 0;                                             \
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {      \
        unsigned in = (unsigned)i, out;                                                                             \
        ASM                                                                                                         \
        double x = of_##TYPE(in);                                                                                   \
        bool ftz = FTZ;                                                                                             \
        if (ftz && fabs(x) < SMALL) x = copysign(0.0, x);                                                           \
        double exact = EXPRESSION, got = of_##TYPE(out);                                                            \
        unsigned want = to_##TYPE(exact);                                                                           \
        double rounded = of_##TYPE(want);                                                                           \
        count++;                                                                                                    \
        if (isnan(exact) || isnan(got)) { special += isnan(exact) != isnan(got); continue; }                        \
        if (isinf(rounded) || isinf(got)) { special += rounded != got; continue; }                                  \
        if (ftz && fabs(rounded) < SMALL) { flushed += got != 0.0 && fabs(got) > SMALL; continue; }                 \
        if (out == want) continue;                                                                                  \
        differ++;                                                                                                   \
        if ((got == 0.0) != (rounded == 0.0) && fabs(exact) < SMALL) { flushed++; continue; }                       \
        long long far = order(out, SIGN) - order(want, SIGN);                                                       \
        double off = fabs(got - exact);                                                                             \
        keep(&w->ulp, &w->ulp_at, far < 0 ? -far : far, in);                                                        \
        if ((RELATIVE) && fabs(exact) >= SMALL)                                                                     \
            keep(&w->relative, &w->relative_at, __double_as_longlong(off / fabs(exact)), in);                       \
        if (ABSOLUTE) keep(&w->absolute, &w->absolute_at, __double_as_longlong(off), in);                           \
    }                                                                                                               \
    atomicAdd(&w->differ, differ); atomicAdd(&w->special, special);                                                 \
    atomicAdd(&w->flushed, flushed); atomicAdd(&w->count, count);                                                   \
}
"""

# Where an error is taken as absolute, and where as relative; elsewhere both hold everywhere.
RANGES = {
    "sin": ("fabs(x) <= 3.14159274101257324", "true"),
    "cos": ("fabs(x) <= 3.14159274101257324", "true"),
    "lg2": ("x > 0.5 && x < 2.0", "!(x > 0.5 && x < 2.0)"),
}
TYPES = {
    "f32": ("0x80000000u", "1.17549435082228751e-38", 32),
    "f16": ("0x8000u", "6.103515625e-05", 16),
    "bf16": ("0x8000u", "1.17549435082228751e-38", 16),
}


def source():
    text = SOURCE
    for n, (form, kind, expression, _, _) in enumerate(FORMS):
        sign, small, bits = TYPES[kind]
        if bits == 16:
            asm = 'unsigned short g; unsigned short h = (unsigned short)in; asm("{ %s %%0, %%1; }" : "=h"(g) : "h"(h)); out = g;' % form
        else:
            asm = 'float d; float a = __uint_as_float(in); asm("%s %%0, %%1;" : "=f"(d) : "f"(a)); out = __float_as_uint(d);' % form
        ftz = "true" if ".ftz" in form else "false"
        absolute, relative = RANGES.get(form.split(".")[0], ("true", "true"))
        text += f"FORM(form{n}, {kind}, {sign}, {small}, {ftz}, {asm}, {expression}, {absolute}, {relative})\n"
    return text


class Worst(ctypes.Structure):
    names = ["differ", "special", "flushed", "count", "ulp", "ulp_at", "relative", "relative_at", "absolute", "absolute_at"]
    _fields_ = [(name, ctypes.c_uint64) for name in names]


def as_double(bits):
    return ctypes.c_double.from_buffer_copy(ctypes.c_uint64(bits)).value


def power(v):
    return f"2^{math.log2(v):.2f}" if v else "0"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv")
    parser.add_argument("--source", action="store_true", help="print the CUDA source and end")
    options = parser.parse_args()
    if options.source:
        print(source())
        return 0
    import torch
    from cuda.bindings import driver as cu
    from products import check, driver_version

    torch.cuda.init()
    torch.zeros(1, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "forms.cu")
        with open(path, "w") as file:
            file.write(source())
        subprocess.run(["nvcc", "-arch=sm_90", "-cubin", "-o", path + "bin", path], check=True)
        with open(path + "bin", "rb") as file:
            module = check(cu.cuModuleLoadData(file.read()))
    rows, failed = [], 0
    for n, (form, kind, _, what, limit) in enumerate(FORMS):
        worst = torch.zeros(len(Worst.names), dtype=torch.int64, device="cuda")
        function = check(cu.cuModuleGetFunction(module, f"form{n}".encode()))
        values = (worst.data_ptr(), 1 << TYPES[kind][2])
        check(cu.cuLaunchKernel(function, 132 * 8, 1, 1, 256, 1, 1, 0, torch.cuda.current_stream().cuda_stream, (values, (ctypes.c_void_p, ctypes.c_uint64)), 0))
        torch.cuda.synchronize()
        w = Worst(*[v & (2**64 - 1) for v in worst.tolist()])
        relative, absolute = as_double(w.relative), as_double(w.absolute)
        figure = {"ulp": w.ulp, "relative": relative, "absolute": absolute, "either": max(relative, absolute)}[what]
        bad = figure > limit or w.special
        failed += bool(bad)
        told = w.ulp if what == "ulp" else power(figure)
        print(f"{form:22} {w.count - w.differ:>11} of {w.count} equal, {w.ulp} ulp at {w.ulp_at:#x}, relative {power(relative)} at {w.relative_at:#x}, "
              f"absolute {power(absolute)}, special {w.special}, flushed {w.flushed}: {what} {told} of {limit if what == 'ulp' else power(limit)}{' EXCEEDED' if bad else ''}", flush=True)
        rows.append([form, w.count, w.differ, w.special, w.flushed, w.ulp, f"{w.ulp_at:#x}", power(relative), f"{w.relative_at:#x}", power(absolute), what, limit if what == "ulp" else power(limit)])
    if options.csv:
        head = [datetime.date.today().isoformat(), torch.cuda.get_device_name(), driver_version(), "python3 benches/h200/approximate.py"]
        with open(options.csv, "w") as file:
            file.write("date,card,driver,command,form,inputs,differ from rounded,specials differ,flushed,max ulp,at,max relative,at,max absolute,bound on,bound\n")
            for row in rows:
                file.write(",".join(str(v) for v in head + row) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
