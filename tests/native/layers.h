// Tests of norms.h, activations.h and attention.h: each forward and its backward against plain loops. Where the engine
// may read a number but not use it, the tests put NaN, so that using it shows.
#pragma once

#include "activations.h"
#include "attention.h"
#include "kernels.h"
#include "norms.h"

namespace test {

// ---- norms.h

struct NormCase {
    Norm kind;
    int n;
    bool bias;
};

constexpr int NORM_ROWS = 3;
constexpr double EPS = 1e-3;

inline Doubles one_row(const Row& rows, int t, int n, ptrdiff_t stride) {
    return Doubles(rows.begin() + t * stride, rows.begin() + t * stride + n);
}

inline void compare_norm(const NormCase& test, Random& random) {
    const int n = test.n;
    const ptrdiff_t stride = row_length(n);
    const Row x = random_rows(random, NORM_ROWS, n, stride), w = random_row(random, n), bias = random_row(random, n);
    const Row d_out = random_rows(random, NORM_ROWS, n, stride), before = random_rows(random, NORM_ROWS, n, stride);
    Row normalized(x.size(), 5.0f), rstd(NORM_ROWS), out(x.size(), 5.0f);
    const float* b = test.bias ? bias.data() : nullptr;
    const NormCache cache{normalized.data(), rstd.data()};
    norm_forward(test.kind, NORM_ROWS, n, stride, x.data(), w.data(), b, (float)EPS, cache, out.data());
    Row in_place = x;
    norm_forward(test.kind, NORM_ROWS, n, stride, in_place.data(), w.data(), b, (float)EPS, cache, in_place.data());
    Row d_x = before, d_x_alone = before, d_w(n, 1.0f), d_b(n, 2.0f), d_w2(n), d_b2(n);
    norm_backward(test.kind, NORM_ROWS, n, stride, d_out.data(), cache, w.data(), true, d_x.data(), d_w.data(),
                  test.bias ? d_b.data() : nullptr);
    norm_backward(test.kind, NORM_ROWS, n, stride, d_out.data(), cache, w.data(), false, d_x_alone.data(), d_w2.data(),
                  test.bias ? d_b2.data() : nullptr);
    Doubles ws(n), bs(n);
    for (int t = 0; t < NORM_ROWS; t++) {
        const Doubles from = one_row(x, t, n, stride), wanted = naive_norm(test.kind, from, w.data(), b, (float)EPS);
        const auto total = [&](const Doubles& at) {  // what d_x is the gradient of
            double sum = 0.0;
            const Doubles y = naive_norm(test.kind, at, w.data(), b, (float)EPS);
            for (int i = 0; i < n; i++) sum += y[i] * d_out[t * stride + i];
            return sum;
        };
        const Row ones(n, 1.0f);
        const Doubles bare = naive_norm(test.kind, from, ones.data(), (const float*)nullptr, (float)EPS);
        for (int i = 0; i < n; i++) {
            CHECK_NEAR(out[t * stride + i], wanted[i], 3e-6);
            CHECK(in_place[t * stride + i] == out[t * stride + i]);
            Doubles up = from, down = from;
            up[i] += 1e-5, down[i] -= 1e-5;
            const double slope = (total(up) - total(down)) / 2e-5;
            CHECK_NEAR(d_x_alone[t * stride + i], slope, 2e-5);
            CHECK_NEAR(d_x[t * stride + i], slope + before[t * stride + i], 2e-5);
            ws[i] += d_out[t * stride + i] * bare[i], bs[i] += d_out[t * stride + i];
        }
        for (ptrdiff_t i = n; i < stride; i++) CHECK(out[t * stride + i] == 5.0f && normalized[t * stride + i] == 5.0f);
    }
    for (int i = 0; i < n; i++) {
        CHECK_NEAR(d_w[i], 1.0 + ws[i], 1e-5);
        CHECK_NEAR(d_b[i], 2.0 + (test.bias ? bs[i] : 0.0), 1e-5);
    }
}

inline void test_norms_and_their_gradients() {
    Random random(7);
    for (Norm kind : {Norm::layer, Norm::rms})
        for (int n : {1, 2, W - 1, W, W + 1, 20, 2 * W + 3, 64})
            for (bool bias : {true, false}) compare_norm({kind, n, bias}, random);
}

// The layer norm of a single number is its bias, so that its gradient is 0, and not the rounding of a product times
// rstd.
inline void test_the_layer_norm_of_one_number_has_no_gradient() {
    Random random(8);
    for (int i = 0; i < 1000; i++) {
        const float d_out = random.number(), w = random.number();
        float normalized = 0.0f, rstd = 1e6f, d_x = NAN, d_w = 0.0f, d_b = 0.0f;
        norm_backward(Norm::layer, 1, 1, 1, &d_out, {&normalized, &rstd}, &w, false, &d_x, &d_w, &d_b);
        CHECK(d_x == 0.0f);
    }
}

// ---- activations.h

constexpr Activation ACTIVATIONS[] = {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                      Activation::silu};

inline void test_activations_and_their_slopes() {
    std::vector<float> points = {0.0f, 1e-6f, -1e-6f, 30.0f, -30.0f, 1e4f, -1e4f};
    for (float x = -12.003f; x < 12.0f; x += 0.0171f) points.push_back(x);
    for (Activation kind : ACTIVATIONS) {
        Row x = points, slope(points.size());
        activate(kind, 1, (int)points.size(), (ptrdiff_t)points.size(), x.data(), slope.data());
        for (size_t i = 0; i < points.size(); i++) {
            const double at = points[i], h = 1e-6 * std::max(1.0, std::fabs(at));
            const double up = naive_activation(kind, at + h), down = naive_activation(kind, at - h);
            CHECK_NEAR(x[i], naive_activation(kind, at), 5e-7 * (1.0 + std::fabs(at)));
            if (kind == Activation::relu && std::fabs(at) <= 2e-6) continue;  // its slope jumps here
            CHECK_NEAR(slope[i], (up - down) / (2.0 * h), 2e-6);
        }
    }
}

inline void test_activations_change_their_columns_only() {
    Random random(8);
    for (Activation kind : ACTIVATIONS)
        for (int n : {1, W - 1, W, W + 1, 2 * W + 3}) {
            const ptrdiff_t stride = row_length(n);
            const Row from = random_rows(random, 3, n, stride, 3.0f);
            Row x = from, alone = from, slope(from.size(), 5.0f);
            activate(kind, 3, n, stride, x.data(), slope.data());
            activate(kind, 3, n, stride, alone.data(), nullptr);
            CHECK(same(x.data(), alone.data(), x.size()));
            for (int t = 0; t < 3; t++)
                for (ptrdiff_t i = 0; i < stride; i++) {
                    if (i >= n) CHECK(std::isnan(x[t * stride + i]) && slope[t * stride + i] == 5.0f);
                    else CHECK_NEAR(x[t * stride + i], naive_activation(kind, from[t * stride + i]), 2e-6);
                }
        }
}

inline void test_activations_of_nan_are_nan() {
    for (Activation kind : ACTIVATIONS) {
        float x = NAN;
        activate(kind, 1, 1, 1, &x, nullptr);
        CHECK(std::isnan(x));
    }
}

// ---- attention.h

struct AttentionCase {
    int T, K;
    Row q, k, v, d_z;   // (T × K)
    Doubles z, d_q, d_k, d_v;

    AttentionCase(int T, int K, Random& random)
        : T(T), K(K), q(random_row(random, T * K)), k(random_row(random, T * K)),
          v(random_row(random, T * K)), d_z(random_row(random, T * K)) {
        for (float& one : q) one *= 3.0f;  // a pattern that is far from even
        z.resize(T * K), d_q = d_k = d_v = z;
        for (int t = 0; t < T; t++) query(t);
    }

private:
    double dot(const Row& a, int s, const Row& b, int t) const {
        double sum = 0.0;
        for (int j = 0; j < K; j++) sum += (double)a[s * K + j] * b[t * K + j];
        return sum;
    }

    void query(int t) {
        const double scale = 1.0 / std::sqrt((double)K);
        Doubles p(t + 1), d(t + 1);
        double most = -INFINITY, sum = 0.0, mean = 0.0;
        for (int s = 0; s <= t; s++) p[s] = dot(q, t, k, s) * scale, most = std::max(most, p[s]);
        for (double& one : p) sum += one = std::exp(one - most);
        for (int s = 0; s <= t; s++) p[s] /= sum, d[s] = dot(d_z, t, v, s), mean += p[s] * d[s];
        for (int s = 0; s <= t; s++)
            for (int j = 0; j < K; j++) {
                const double d_score = p[s] * (d[s] - mean) * scale;
                z[t * K + j] += p[s] * v[s * K + j];
                d_v[s * K + j] += p[s] * d_z[t * K + j];
                d_q[t * K + j] += d_score * k[s * K + j];
                d_k[s * K + j] += d_score * q[t * K + j];
            }
    }
};

// The columns of one head of two side by side, so that anything written beyond its columns shows.
inline void put(const Row& from, int T, int K, float* to, ptrdiff_t stride) {
    for (int t = 0; t < T; t++) std::copy(&from[t * K], &from[t * K] + K, to + t * stride);
}

inline void compare_rows(const float* rows, ptrdiff_t stride, const Doubles& wanted, int T, int K, const char* what) {
    double worst = 0.0, size = 1.0;
    for (double one : wanted) size = std::max(size, std::fabs(one));
    for (int t = 0; t < T; t++)
        for (int j = 0; j < K; j++) {
            const double error = std::fabs(rows[t * stride + j] - wanted[t * K + j]);
            worst = error <= 1e6 ? std::max(worst, error) : INFINITY;
        }
    if (!CHECK_NEAR(worst, 0.0, 4e-6 * size)) std::printf("    %s, T %d, K %d\n", what, T, K);
}

inline void compare_attention(const AttentionCase& test, bool keep) {
    const int T = test.T, K = test.K, H = 2, h = 1;  // the second of two heads
    const ptrdiff_t qkv_stride = row_length(3 * H * K), z_stride = row_length(H * K);
    Row qkv(T * qkv_stride + PANEL, NAN), d_qkv(qkv.size(), 0.0f);
    Row z(T * z_stride + PANEL, 5.0f), d_z(z.size(), NAN);
    const ptrdiff_t at_q = h * K, at_k = at_q + H * K, at_v = at_k + H * K;
    put(test.q, T, K, &qkv[at_q], qkv_stride), put(test.k, T, K, &qkv[at_k], qkv_stride);
    put(test.v, T, K, &qkv[at_v], qkv_stride), put(test.d_z, T, K, &d_z[at_q], z_stride);
    Carver dry;
    AttentionScratch::carve(dry, T, K);
    Row memory(dry.used(), NAN), kept(T * pattern_stride(T) + PANEL, NAN);
    Carver carver(memory.data());
    const AttentionScratch scratch = AttentionScratch::carve(carver, T, K);
    std::vector<Softmax> softmax(T * H, {5.0f, 5.0f});
    const Head head{T, K, qkv_stride, &qkv[at_q], &qkv[at_k], &qkv[at_v]};
    float* pattern = keep ? kept.data() : nullptr;
    attention_forward(head, scratch, &z[at_q], z_stride, &softmax[h], H, pattern);
    compare_rows(&z[at_q], z_stride, test.z, T, K, keep ? "z, pattern kept" : "z");
    for (int t = 0; t < T; t++) {
        CHECK(softmax[t * H].top == 5.0f && softmax[t * H].share == 5.0f);
        for (ptrdiff_t j = 0; j < z_stride; j++)
            if (j < at_q || j >= at_q + K) CHECK(z[t * z_stride + j] == 5.0f);
    }
    std::fill(memory.begin(), memory.end(), NAN);
    attention_backward(head, scratch, &z[at_q], &d_z[at_q], z_stride, &softmax[h], H, pattern, &d_qkv[at_q],
                       &d_qkv[at_k], &d_qkv[at_v]);
    compare_rows(&d_qkv[at_q], qkv_stride, test.d_q, T, K, keep ? "d_q, pattern kept" : "d_q");
    compare_rows(&d_qkv[at_k], qkv_stride, test.d_k, T, K, keep ? "d_k, pattern kept" : "d_k");
    compare_rows(&d_qkv[at_v], qkv_stride, test.d_v, T, K, keep ? "d_v, pattern kept" : "d_v");
    for (int t = 0; t < T; t++)
        for (ptrdiff_t j = 0; j < qkv_stride; j++) {
            const bool own = (j >= at_q && j < at_q + K) || (j >= at_k && j < at_k + K) ||
                             (j >= at_v && j < at_v + K);
            if (!own) CHECK(d_qkv[t * qkv_stride + j] == 0.0f);
        }
}

inline void test_attention_and_its_gradient() {
    Random random(9);
    for (int T : {1, 2, 12, 13, 49, 130, 181, 182, 200, 256, 257, 300, 700})
        for (int K : {1, 5, 16, 20}) {
            if (T > 256 && SANITIZED && K != 5) continue;
            const AttentionCase test(T, K, random);
            compare_attention(test, true);
            compare_attention(test, false);
        }
}

inline void test_a_pattern_is_kept_for_short_strings_only() {
    CHECK(pattern_size(MAX_KEPT_LENGTH) >= (size_t)MAX_KEPT_LENGTH * MAX_KEPT_LENGTH);
    CHECK(pattern_size(MAX_KEPT_LENGTH + 1) == 0);
}

}  // namespace test
