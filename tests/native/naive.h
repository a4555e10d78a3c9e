// What the tests of the engine compare with: the transformer in double precision, written with plain loops. Of the
// engine it uses only where the numbers lie (layout.h). Also what all tests need: CHECK and random numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "layout.h"

namespace test {

using namespace handloom;

#if !defined(__has_feature)  // Clang's way to say what GCC says by macros
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr bool WATCHES_MEMORY = true;
#else
constexpr bool WATCHES_MEMORY = false;
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr bool WATCHES_THREADS = true;
#else
constexpr bool WATCHES_THREADS = false;
#endif
constexpr bool SANITIZED = WATCHES_MEMORY || WATCHES_THREADS;  // smaller sizes, for it is slow

inline int failures = 0, checks = 0;

inline bool check(bool fine, const char* file, int line, const char* what) {
    checks++;
    if (!fine && ++failures <= 50) std::printf("%s:%d: not so: %s\n", file, line, what);
    return fine;
}

// Two numbers that should agree up to `most`; NaN agrees with nothing.
inline bool check_near(double a, double b, double most, const char* file, int line, const char* what) {
    const bool fine = check(std::fabs(a - b) <= most, file, line, what);
    if (!fine && failures <= 50) std::printf("    %.9g and %.9g, more than %.3g apart\n", a, b, most);
    return fine;
}

#define CHECK(...) test::check((__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)
#define CHECK_NEAR(a, b, most) test::check_near(a, b, most, __FILE__, __LINE__, #a " is " #b)

class Random {  // splitmix64: the same numbers everywhere
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t bits() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    double uniform() { return (double)(bits() >> 11) / 9007199254740992.0; }
    float number() { return (float)(2.0 * uniform() - 1.0); }  // −1 … 1
    int below(int n) { return (int)(bits() % (uint64_t)n); }

private:
    uint64_t state_;
};

using Doubles = std::vector<double>;
using Ids = std::vector<int64_t>;

inline double naive_activation(Activation kind, double x) {
    switch (kind) {
        case Activation::relu: return x > 0.0 ? x : 0.0;
        case Activation::gelu: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
        case Activation::gelu_tanh: {
            const double u = std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
            return 0.5 * x * (1.0 + std::tanh(u));
        }
        case Activation::silu: return x / (1.0 + std::exp(-x));
        case Activation::none: return x;
    }
    return NAN;
}

template <class Number>
Doubles naive_norm(Norm kind, const Doubles& x, const Number* gain, const Number* bias, double eps) {
    const int n = (int)x.size();
    double mean = 0.0, square = 0.0;
    for (double one : x) mean += one / n;
    if (kind == Norm::rms) mean = 0.0;
    for (double one : x) square += (one - mean) * (one - mean) / n;
    Doubles out(n);
    for (int i = 0; i < n; i++)
        out[i] = (x[i] - mean) / std::sqrt(square + eps) * (double)gain[i] + (bias ? (double)bias[i] : 0.0);
    return out;
}

class Naive {
public:
    const Layout& layout;
    Doubles weights, fixed;  // fixed: positions that are not learnt, or nothing

    Naive(const Layout& of, const float* from, const std::vector<float>& positions = {})
        : layout(of), weights(from, from + of.size), fixed(positions.begin(), positions.end()) {}

    // The logits at every position of a text.
    std::vector<Doubles> logits(const int64_t* ids, int T) const {
        const Config& c = layout.config;
        std::vector<Doubles> x(T);
        for (int t = 0; t < T; t++) {
            x[t].assign(of(layout.embed) + ids[t] * c.width, of(layout.embed) + (ids[t] + 1) * c.width);
            const double* place = c.table ? of(layout.positions) : fixed.empty() ? nullptr : fixed.data();
            for (int i = 0; i < c.width && place; i++) x[t][i] += place[t * c.width + i];
        }
        for (const LayerSections& l : layout.layers) {
            sublayer(x, l.gain1, l.bias1, c.heads > 0, [&](const auto& in) { return attention(l, in); });
            sublayer(x, l.gain2, l.bias2, c.hidden > 0, [&](const auto& in) { return neurons(l, in); });
        }
        if (!c.post) normed(x, layout.gain, layout.bias);
        for (Doubles& row : x) row = unembedded(row);
        return x;
    }

    // The sum of the losses of the tokens that are to be learnt.
    double loss(const int64_t* ids, int length, int64_t asked) const {
        const std::vector<Doubles> all = logits(ids, length);
        double total = 0.0;
        for (int t = 0; t < length; t++) {
            if (t + 1 < asked) continue;
            double most = -INFINITY, sum = 0.0;
            for (double one : all[t]) most = std::max(most, one);
            for (double one : all[t]) sum += std::exp(one - most);
            total += most + std::log(sum) - all[t][ids[t + 1]];
        }
        return total;
    }

private:
    const double* of(const Section& s) const { return s.at < 0 ? nullptr : weights.data() + s.at; }

    Doubles linear(const Doubles& x, const Section& matrix, const Section& bias) const {
        Doubles y(matrix.cols);
        for (int64_t j = 0; j < matrix.cols; j++) {
            if (bias.at >= 0) y[j] = of(bias)[j];
            for (int64_t i = 0; i < matrix.rows; i++) y[j] += x[i] * of(matrix)[i * matrix.cols + j];
        }
        return y;
    }

    Doubles unembedded(const Doubles& x) const {
        const Config& c = layout.config;
        if (!c.tied) return linear(x, layout.unembed, layout.unembed_bias);
        Doubles y(c.vocab);
        for (int j = 0; j < c.vocab; j++) {
            if (layout.unembed_bias.at >= 0) y[j] = of(layout.unembed_bias)[j];
            for (int i = 0; i < c.width; i++) y[j] += x[i] * of(layout.embed)[(int64_t)j * c.width + i];
        }
        return y;
    }

    void normed(std::vector<Doubles>& x, const Section& gain, const Section& bias) const {
        if (layout.config.norm == (int)Norm::none) return;
        for (Doubles& row : x)
            row = naive_norm((Norm)layout.config.norm, row, of(gain), of(bias), layout.config.eps);
    }

    template <class Work>
    void sublayer(std::vector<Doubles>& x, const Section& gain, const Section& bias, bool there, Work work) const {
        std::vector<Doubles> in = x;
        if (there && !layout.config.post) normed(in, gain, bias);
        const std::vector<Doubles> more = work(in);
        for (size_t t = 0; t < x.size(); t++)
            for (size_t i = 0; i < x[t].size(); i++) x[t][i] += more[t][i];
        if (there && layout.config.post) normed(x, gain, bias);
    }

    std::vector<Doubles> neurons(const LayerSections& l, const std::vector<Doubles>& in) const {
        std::vector<Doubles> out(in.size(), Doubles(layout.config.width));
        for (size_t t = 0; t < in.size(); t++) {
            if (l.in.at >= 0) {
                Doubles hidden = linear(in[t], l.in, l.in_bias);
                for (double& one : hidden) one = naive_activation((Activation)layout.config.activation, one);
                out[t] = linear(hidden, l.back, l.back_bias);
            } else if (l.back_bias.at >= 0) {
                out[t].assign(of(l.back_bias), of(l.back_bias) + layout.config.width);
            }
        }
        return out;
    }

    std::vector<Doubles> attention(const LayerSections& l, const std::vector<Doubles>& in) const {
        const int T = (int)in.size(), width = layout.config.head_width, inner = layout.config.inner();
        std::vector<Doubles> qkv, out(T, Doubles(layout.config.width));
        for (int t = 0; t < T; t++) {
            if (l.qkv.at >= 0) qkv.push_back(linear(in[t], l.qkv, l.qkv_bias));
            else if (l.out_bias.at >= 0) out[t].assign(of(l.out_bias), of(l.out_bias) + layout.config.width);
        }
        if (l.qkv.at < 0) return out;
        for (int t = 0; t < T; t++) {
            Doubles z(inner);
            for (int h = 0; h < layout.config.heads; h++) {
                Doubles pattern(t + 1);
                double most = -INFINITY, sum = 0.0;
                for (int s = 0; s <= t; s++) {
                    for (int j = h * width; j < (h + 1) * width; j++) pattern[s] += qkv[t][j] * qkv[s][inner + j];
                    pattern[s] /= std::sqrt((double)width);
                    most = std::max(most, pattern[s]);
                }
                for (double& one : pattern) sum += one = std::exp(one - most);
                for (int s = 0; s <= t; s++)
                    for (int j = h * width; j < (h + 1) * width; j++) z[j] += pattern[s] / sum * qkv[s][2 * inner + j];
            }
            out[t] = linear(z, l.out, l.out_bias);
        }
        return out;
    }
};

}  // namespace test
