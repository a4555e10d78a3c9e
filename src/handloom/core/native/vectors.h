// Vectors of floats, as wide as those of the machine that this file is compiled for. They are GCC's and Clang's vector
// types, so that one source serves x86-64 and ARM: + - * / and comparisons work on all lanes at once.
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

// v rounded to float32: where v is a product, the compiler may not fuse it with a sum that follows.
inline Vec rounded(Vec v) {
#if defined(__x86_64__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#else
    asm("" : "+m"(v));
#endif
    return v;
}

inline Vec larger(Vec a, Vec b) { return a > b ? a : b; }
inline Vec root(Vec x) {
    for (int i = 0; i < W; i++) x[i] = __builtin_sqrtf(x[i]);
    return x;
}

// The sum of all lanes, always in the same order. Unrolled, because only then does GCC leave `part` in registers.
inline float sum(Vec v) {
    float part[W];
    store(part, v);
#pragma GCC unroll 4
    for (int half = W / 2; half; half /= 2)
        for (int i = 0; i < half; i++) part[i] += part[i + half];
    return part[0];
}

inline float largest(Vec v) {
    float part[W];
    store(part, v);
#pragma GCC unroll 4
    for (int half = W / 2; half; half /= 2)
        for (int i = 0; i < half; i++) part[i] = part[i] > part[i + half] ? part[i] : part[i + half];
    return part[0];
}

constexpr int32_t NUMBERS[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// A row of n floats is processed vector by vector. A span says how to load and store each: a Whole vector, or the Part
// of one at the end of the row, which is loaded with zeros behind it.
struct Whole {
    Vec load(const float* from) const { return handloom::load(from); }
    void store(float* to, Vec v) const { handloom::store(to, v); }
    Vec only(Vec v) const { return v; }
    Vec or_else(Vec v, Vec) const { return v; }
};

struct Part {
    int count;
    Vec load(const float* from) const {
        Vec v{};
        std::memcpy(&v, from, count * sizeof(float));
        return v;
    }
    void store(float* to, Vec v) const { std::memcpy(to, &v, count * sizeof(float)); }
    Vec only(Vec v) const {  // zeros in the lanes behind the row
        for (int i = count; i < W; i++) v[i] = 0.0f;
        return v;
    }
};

// The end of a row that has room for a whole vector, all of which is loaded and stored.
struct Edge {
    Ints inside;  // −1 in the lanes that belong to the row
    explicit Edge(int count) {
        std::memcpy(&inside, NUMBERS, sizeof inside);
        inside = inside < count;
    }
    Vec load(const float* from) const { return handloom::load(from); }
    void store(float* to, Vec v) const { handloom::store(to, v); }
    Vec only(Vec v) const { return (Vec)((Ints)v & inside); }
    Vec or_else(Vec v, Vec other) const { return inside ? v : other; }
};

// work(i, span) for i = 0, W, 2W, …: span loads and stores the vector at i.
template <class Work>
inline void sweep(int n, Work work) {
    int i = 0;
    for (; i + W <= n; i += W) work(i, Whole{});
    if (i < n) work(i, Part{n - i});
}

template <class Work>
inline void sweep_roomy(int n, Work work) {
    int i = 0;
    for (; i + W <= n; i += W) work(i, Whole{});
    if (i < n) work(i, Edge(n - i));
}

// e^x to about one unit in the last place. It is almost 0 for very negative x, a large number for very large x, and NaN
// for NaN.
inline Vec exp(Vec x) {
    const Vec low = splat(-87.0f), high = splat(88.0f);
    const Vec shift = splat(12582912.0f);  // 1.5 · 2^23: adding it rounds to an integer
    x = x < low ? low : x;
    x = x > high ? high : x;
    const Vec shifted = x * 1.44269504f + shift, n = shifted - shift;
    const Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Vec p = splat(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    return p * (Vec)(((Ints)shifted + 127) << 23);  // the last bits of `shifted` are n
}

}  // namespace handloom
