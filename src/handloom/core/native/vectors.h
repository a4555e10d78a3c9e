// Vectors of floats, as wide as the machine this file is compiled for has them. GCC's and Clang's vector types, so that
// one source serves x86-64 and ARM: + - * / and comparisons work on all lanes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace handloom {

#if defined(__AVX512F__)
constexpr int W = 16;      // floats in a vector
constexpr int TILE = 12;   // rows of a tile of a matrix product: TILE × 2 vectors of sums fit the registers
#elif defined(__AVX__)
constexpr int W = 8;
constexpr int TILE = 6;
#elif defined(__aarch64__)
constexpr int W = 4;
constexpr int TILE = 12;
#else
constexpr int W = 4;
constexpr int TILE = 6;
#endif

typedef float Vec __attribute__((vector_size(4 * W)));
typedef int32_t Ints __attribute__((vector_size(4 * W)));
typedef float AnyVec __attribute__((vector_size(4 * W), aligned(4), may_alias));  // at any address

inline Vec load(const float* from) { return *reinterpret_cast<const AnyVec*>(from); }
inline void store(float* to, Vec v) { *reinterpret_cast<AnyVec*>(to) = v; }
inline Vec splat(float x) { return x - Vec{}; }

inline Vec choose(Ints where, Vec a, Vec b) { return (Vec)((where & (Ints)a) | (~where & (Ints)b)); }
inline Vec larger(Vec a, Vec b) { return choose(a > b, a, b); }
inline Vec root(Vec x) {
    for (int i = 0; i < W; i++) x[i] = __builtin_sqrtf(x[i]);
    return x;
}

inline float sum(Vec v) {
    float total = 0.0f;
    for (int i = 0; i < W; i++) total += v[i];
    return total;
}

inline float largest(Vec v) {
    float most = v[0];
    for (int i = 1; i < W; i++) most = v[i] > most ? v[i] : most;
    return most;
}

// A row of n floats is swept vector by vector; the end of it, shorter than a vector, is loaded with zeros behind it.
struct Whole {
    Vec load(const float* from) const { return handloom::load(from); }
    void store(float* to, Vec v) const { handloom::store(to, v); }
    Vec only(Vec v) const { return v; }
};

struct Part {
    int count;
    Vec load(const float* from) const {
        Vec v{};
        std::memcpy(&v, from, count * sizeof(float));
        return v;
    }
    void store(float* to, Vec v) const { std::memcpy(to, &v, count * sizeof(float)); }
    Vec only(Vec v) const {  // zeros in the lanes that are not there
        for (int i = count; i < W; i++) v[i] = 0.0f;
        return v;
    }
};

// do_it(i, span) for i = 0, W, 2W, …: span loads and stores what lies from i on.
template <class Do>
inline void sweep(int n, Do do_it) {
    int i = 0;
    for (; i + W <= n; i += W) do_it(i, Whole{});
    if (i < n) do_it(i, Part{n - i});
}

// e^x to about one unit in the last place; 0 far below, a large number far above, NaN for NaN.
inline Vec exp(Vec x) {
    const Vec low = splat(-87.0f), high = splat(88.0f), shift = splat(12582912.0f);  // 1.5 · 2^23 rounds to whole
    x = choose(x < low, low, choose(x > high, high, x));
    const Vec n = (x * 1.44269504f + shift) - shift;
    const Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Vec p = splat(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    const Ints power = __builtin_convertvector(n == n ? n : Vec{}, Ints);
    return p * (Vec)((power + 127) << 23);
}

}  // namespace handloom
