// Activation functions of the MLP, with their derivatives. The forward computes the derivative (slope) beside the
// value, while their common terms are at hand, so that the backward is one multiplication.
#pragma once

#include "layout.h"
#include "vectors.h"

namespace handloom {

struct Curve {
    Vec value, slope;
};

inline Vec sigmoid(Vec x) { return 1.0f / (1.0f + exp(-x)); }

template <Activation kind>
inline Curve curve(Vec x) {
    if constexpr (kind == Activation::relu) {
        const Vec off{};
        return {x < off ? off : x, x > off ? splat(1.0f) : off};
    } else if constexpr (kind == Activation::silu) {
        const Vec s = sigmoid(x);
        return {x * s, s + s * (1.0f - s) * x};
    } else if constexpr (kind == Activation::gelu_tanh) {  // x · sigmoid(u), u = √(8/π) (x + 0.044715 x³)
        const Vec u = x * (x * x * 0.07135481627f + 1.59576912161f), s = sigmoid(u);
        return {x * s, s + s * (1.0f - s) * (3.0f * u - 3.19153824321f * x)};
    } else if constexpr (kind == Activation::gelu) {  // x Φ(x), Φ by Abramowitz and Stegun 7.1.26, error below 1e-7
        const Vec z = (x < 0.0f ? -x : x) * 0.70710678118f, t = 1.0f / (1.0f + 0.3275911f * z);
        const Vec bell = exp(-z * z);
        Vec p = splat(1.061405429f);
        p = p * t - 1.453152027f;
        p = p * t + 1.421413741f;
        p = p * t - 0.284496736f;
        p = p * t + 0.254829592f;
        const Vec tail = 0.5f * p * t * bell, share = x < 0.0f ? tail : 1.0f - tail;
        return {x * share, share + x * bell * 0.39894228040f};
    } else {
        return {x, splat(1.0f)};
    }
}

template <Activation kind>
void activate_as(int count, int n, ptrdiff_t stride, float* x, float* slope) {
    for (int t = 0; t < count; t++, x += stride)
        sweep(n, [&](int i, auto span) {
            const Curve c = curve<kind>(span.load(x + i));
            span.store(x + i, c.value);
            if (slope) span.store(slope + t * stride + i, c.slope);
        });
}

// Each of `count` rows of n, `stride` apart, becomes f(x) in place; slope, unless null, gets f'(x).
inline void activate(Activation kind, int count, int n, ptrdiff_t stride, float* x, float* slope) {
    switch (kind) {
        case Activation::relu: return activate_as<Activation::relu>(count, n, stride, x, slope);
        case Activation::gelu: return activate_as<Activation::gelu>(count, n, stride, x, slope);
        case Activation::gelu_tanh: return activate_as<Activation::gelu_tanh>(count, n, stride, x, slope);
        case Activation::silu: return activate_as<Activation::silu>(count, n, stride, x, slope);
        case Activation::none: return activate_as<Activation::none>(count, n, stride, x, slope);
    }
}

}  // namespace handloom
