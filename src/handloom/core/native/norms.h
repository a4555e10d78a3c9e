// Layer norm and RMS norm of rows, forward and backward.
#pragma once

#include <cmath>

#include "layout.h"
#include "vectors.h"

namespace handloom {

// Where the forward of a norm keeps what its backward needs.
struct NormCache {
    float* normalized;  // (count × stride): the rows before w and b
    float* rstd;        // (count): 1 / deviation, or 1 / root mean square
};

// out = (x − mean) · rstd · w + b; for RMS norm the mean is 0. b may be null. Rows of n are `stride` apart.
inline void norm_forward(Norm kind, int count, int n, ptrdiff_t stride, const float* x, const float* w, const float* b,
                         float eps, NormCache cache, float* out) {
    for (int t = 0; t < count; t++, x += stride, out += stride) {
        float* normalized = cache.normalized + t * stride;
        Vec total{}, squares{};
        if (kind == Norm::layer) sweep(n, [&](int i, auto span) { total += span.load(x + i); });
        const Vec mean = splat(sum(total) / n);
        sweep(n, [&](int i, auto span) {
            const Vec d = span.only(span.load(x + i) - mean);
            squares += d * d;
        });
        const float rstd = 1.0f / std::sqrt(sum(squares) / n + eps);
        cache.rstd[t] = rstd;
        sweep(n, [&](int i, auto span) {
            const Vec d = (span.load(x + i) - mean) * rstd;
            span.store(normalized + i, d);
            const Vec y = d * span.load(w + i);
            span.store(out + i, b ? y + span.load(b + i) : y);
        });
    }
}

// d_x = the gradient by x, given that by the output; with `add` it is added to d_x. Those by w and b are added to d_w
// and d_b. d − mean may be exactly 0 (it is if n = 1) and rstd very large, so d must be the same rounded number in the
// mean and in the difference.
inline void norm_backward(Norm kind, int count, int n, ptrdiff_t stride, const float* d_out, NormCache cache,
                          const float* w, bool add, float* d_x, float* d_w, float* d_b) {
    for (int t = 0; t < count; t++, d_out += stride, d_x += stride) {
        const float* normalized = cache.normalized + t * stride;
        Vec slope{}, along{};
        sweep(n, [&](int i, auto span) {
            const Vec g = span.load(d_out + i), y = span.load(normalized + i);
            const Vec d = rounded(g * span.load(w + i));
            slope += d;
            along += d * y;
            span.store(d_w + i, span.load(d_w + i) + g * y);
            if (d_b) span.store(d_b + i, span.load(d_b + i) + g);
        });
        const Vec mean = splat(kind == Norm::layer ? sum(slope) / n : 0.0f), share = splat(sum(along) / n);
        const Vec rstd = splat(cache.rstd[t]);
        sweep(n, [&](int i, auto span) {
            const Vec d = rounded(span.load(d_out + i) * span.load(w + i));
            const Vec g = rstd * (d - mean - span.load(normalized + i) * share);
            span.store(d_x + i, add ? span.load(d_x + i) + g : g);
        });
    }
}

}  // namespace handloom
