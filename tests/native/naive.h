// The reference of the C++ tests: the transformer in double precision, written with plain loops. Of the engine it uses
// only the layout of the parameters (layout.h). Also what all tests need: CHECK and random numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "layout.h"

namespace test {

using namespace handloom;

#if !defined(__has_feature)  // Clang has it where GCC has macros
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
constexpr bool SANITIZED = WATCHES_MEMORY || WATCHES_THREADS;  // then sizes are smaller, because it is slow

inline int failures = 0, checks = 0;

inline bool check(bool fine, const char* file, int line, const char* what) {
    checks++;
    if (!fine && ++failures <= 50) std::printf("%s:%d: failed: %s\n", file, line, what);
    return fine;
}

// Two numbers should differ by `most` at most; NaN agrees with nothing.
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
Doubles naive_norm(Norm kind, const Doubles& x, const Number* w, const Number* b, double eps) {
    const int n = (int)x.size();
    double mean = 0.0, square = 0.0;
    for (double one : x) mean += one / n;
    if (kind == Norm::rms) mean = 0.0;
    for (double one : x) square += (one - mean) * (one - mean) / n;
    Doubles out(n);
    for (int i = 0; i < n; i++)
        out[i] = (x[i] - mean) / std::sqrt(square + eps) * (double)w[i] + (b ? (double)b[i] : 0.0);
    return out;
}

class Naive {
public:
    const Layout& layout;
    Doubles weights, fixed_pos;  // fixed_pos: positions that are not learned, or nothing

    Naive(const Layout& of, const float* from, const std::vector<float>& positions = {})
        : layout(of), weights(from, from + of.size), fixed_pos(positions.begin(), positions.end()) {}

    // The logits at every position of a text.
    std::vector<Doubles> logits(const int64_t* ids, int T) const {
        const Config& c = layout.config;
        std::vector<Doubles> x(T);
        for (int t = 0; t < T; t++) {
            x[t].assign(of(layout.W_E) + ids[t] * c.d_model, of(layout.W_E) + (ids[t] + 1) * c.d_model);
            const double* pos = c.learned_pos ? of(layout.W_pos) : fixed_pos.empty() ? nullptr : fixed_pos.data();
            for (int i = 0; i < c.d_model && pos; i++) x[t][i] += pos[t * c.d_model + i];
        }
        for (const Layer& l : layout.layers) {
            sublayer(x, l.ln1, c.n_heads > 0, [&](const auto& in) { return attention(l, in); });
            sublayer(x, l.ln2, c.d_ff > 0, [&](const auto& in) { return mlp(l, in); });
        }
        if (!c.post_norm) normed(x, layout.ln_final);
        for (Doubles& row : x) row = unembedded(row);
        return x;
    }

    // The sum of the losses of the tokens to predict.
    double loss(const int64_t* ids, int length, int64_t asked, const int64_t* targets) const {
        const std::vector<Doubles> all = logits(ids, length);
        double total = 0.0;
        for (int t = 0; t < length; t++) {
            if (targets ? targets[t] < 0 : t + 1 < asked) continue;
            double most = -INFINITY, sum = 0.0;
            for (double one : all[t]) most = std::max(most, one);
            for (double one : all[t]) sum += std::exp(one - most);
            total += most + std::log(sum) - all[t][targets ? targets[t] : ids[t + 1]];
        }
        return total;
    }

private:
    const double* of(const Section& s) const { return s.exists() ? weights.data() + s.offset : nullptr; }

    Doubles linear(const Doubles& x, const Section& matrix, const Section& bias) const {
        Doubles y(matrix.cols);
        for (int64_t j = 0; j < matrix.cols; j++) {
            if (bias.exists()) y[j] = of(bias)[j];
            for (int64_t i = 0; i < matrix.rows; i++) y[j] += x[i] * of(matrix)[i * matrix.cols + j];
        }
        return y;
    }

    Doubles unembedded(const Doubles& x) const {
        const Config& c = layout.config;
        if (!c.tied) return linear(x, layout.W_U, layout.b_U);
        Doubles y(c.d_vocab);
        for (int j = 0; j < c.d_vocab; j++) {
            if (layout.b_U.exists()) y[j] = of(layout.b_U)[j];
            for (int i = 0; i < c.d_model; i++) y[j] += x[i] * of(layout.W_E)[(int64_t)j * c.d_model + i];
        }
        return y;
    }

    void normed(std::vector<Doubles>& x, const LayerNorm& ln) const {
        if (layout.config.norm == (int)Norm::none) return;
        for (Doubles& row : x)
            row = naive_norm((Norm)layout.config.norm, row, of(ln.w), of(ln.b), layout.config.eps);
    }

    template <class Work>
    void sublayer(std::vector<Doubles>& x, const LayerNorm& ln, bool exists, Work work) const {
        std::vector<Doubles> in = x;
        if (exists && !layout.config.post_norm) normed(in, ln);
        const std::vector<Doubles> more = work(in);
        for (size_t t = 0; t < x.size(); t++)
            for (size_t i = 0; i < x[t].size(); i++) x[t][i] += more[t][i];
        if (exists && layout.config.post_norm) normed(x, ln);
    }

    std::vector<Doubles> mlp(const Layer& l, const std::vector<Doubles>& in) const {
        std::vector<Doubles> out(in.size(), Doubles(layout.config.d_model));
        for (size_t t = 0; t < in.size(); t++) {
            if (l.W_in.exists()) {
                Doubles mlp_post = linear(in[t], l.W_in, l.b_in);
                for (double& one : mlp_post) one = naive_activation((Activation)layout.config.activation, one);
                out[t] = linear(mlp_post, l.W_out, l.b_out);
            } else if (l.b_out.exists()) {
                out[t].assign(of(l.b_out), of(l.b_out) + layout.config.d_model);
            }
        }
        return out;
    }

    std::vector<Doubles> attention(const Layer& l, const std::vector<Doubles>& in) const {
        const int T = (int)in.size(), K = layout.config.d_head, HK = layout.config.d_attn();
        std::vector<Doubles> qkv, out(T, Doubles(layout.config.d_model));
        for (int t = 0; t < T; t++) {
            if (l.W_QKV.exists()) qkv.push_back(linear(in[t], l.W_QKV, l.b_QKV));
            else if (l.b_O.exists()) out[t].assign(of(l.b_O), of(l.b_O) + layout.config.d_model);
        }
        if (!l.W_QKV.exists()) return out;
        for (int t = 0; t < T; t++) {
            Doubles z(HK);
            for (int h = 0; h < layout.config.n_heads; h++) {
                Doubles pattern(t + 1);
                double most = -INFINITY, sum = 0.0;
                for (int s = 0; s <= t; s++) {
                    for (int j = h * K; j < (h + 1) * K; j++) pattern[s] += qkv[t][j] * qkv[s][HK + j];
                    pattern[s] /= std::sqrt((double)K);
                    most = std::max(most, pattern[s]);
                }
                for (double& one : pattern) sum += one = std::exp(one - most);
                for (int s = 0; s <= t; s++)
                    for (int j = h * K; j < (h + 1) * K; j++) z[j] += pattern[s] / sum * qkv[s][2 * HK + j];
            }
            out[t] = linear(z, l.W_O, l.b_O);
        }
        return out;
    }
};

}  // namespace test
