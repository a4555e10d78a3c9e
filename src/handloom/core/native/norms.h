// Layer norm and RMS norm of rows, forward and backward.
#pragma once

#include <cmath>

#include "vectors.h"

namespace handloom {

enum class Norm { none, layer, rms };

// Where a norm keeps what its backward needs: the normed rows before gain and bias, and what each was multiplied by.
struct Normed {
    float* rows;   // (count × row)
    float* scale;  // (count)
};

// out = (x − mean) / deviation · gain + bias, or x / root mean square · gain + bias. bias may be null.
inline void norm_forward(Norm kind, int count, int n, ptrdiff_t row, const float* x, const float* gain,
                         const float* bias, float eps, Normed kept, float* out) {
    for (int t = 0; t < count; t++, x += row, out += row) {
        float* normed = kept.rows + t * row;
        Vec total{}, squares{};
        if (kind == Norm::layer) sweep(n, [&](int i, auto span) { total += span.load(x + i); });
        const Vec mean = splat(sum(total) / n);
        sweep(n, [&](int i, auto span) {
            const Vec d = span.only(span.load(x + i) - mean);
            squares += d * d;
        });
        const float scale = 1.0f / std::sqrt(sum(squares) / n + eps);
        kept.scale[t] = scale;
        sweep(n, [&](int i, auto span) {
            const Vec d = (span.load(x + i) - mean) * scale;
            span.store(normed + i, d);
            const Vec y = d * span.load(gain + i);
            span.store(out + i, bias ? y + span.load(bias + i) : y);
        });
    }
}

// dx = what `dout` says of x (added to what dx holds, if told); d_gain and d_bias are added to. d − mean may be exactly 0
// (it is, if n = 1) and scale very large, so d must be the same rounded number in the mean and in the difference.
inline void norm_backward(Norm kind, int count, int n, ptrdiff_t row, const float* dout, Normed kept, const float* gain,
                          bool add, float* dx, float* d_gain, float* d_bias) {
    for (int t = 0; t < count; t++, dout += row, dx += row) {
        const float* normed = kept.rows + t * row;
        Vec slope{}, along{};
        sweep(n, [&](int i, auto span) {
            const Vec g = span.load(dout + i), y = span.load(normed + i);
            const Vec d = rounded(g * span.load(gain + i));
            slope += d;
            along += d * y;
            span.store(d_gain + i, span.load(d_gain + i) + g * y);
            if (d_bias) span.store(d_bias + i, span.load(d_bias + i) + g);
        });
        const Vec mean = splat(kind == Norm::layer ? sum(slope) / n : 0.0f), share = splat(sum(along) / n);
        const Vec scale = splat(kept.scale[t]);
        sweep(n, [&](int i, auto span) {
            const Vec d = rounded(span.load(dout + i) * span.load(gain + i));
            const Vec g = scale * (d - mean - span.load(normed + i) * share);
            span.store(dx + i, add ? span.load(dx + i) + g : g);
        });
    }
}

}  // namespace handloom
