// Tests of what the engine is made of: vectors, products, norms, activations, attention. Where the engine may read but
// not use a number there is NaN, so that using it shows.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "attention.h"
#include "naive.h"

namespace test {

using Row = std::vector<float>;

inline Row random_row(Random& random, size_t n, size_t behind = 0) {
    Row row(n + behind, NAN);
    for (size_t i = 0; i < n; i++) row[i] = random.number();
    return row;
}

// Rows of n numbers, `row` apart, NaN between them and a panel of NaN at the end.
inline Row random_rows(Random& random, int count, int n, ptrdiff_t row, float size = 1.0f) {
    Row rows(count * row + PANEL, NAN);
    for (int t = 0; t < count; t++)
        for (int i = 0; i < n; i++) rows[t * row + i] = size * random.number();
    return rows;
}

inline bool same(const float* a, const float* b, size_t count) {
    return !count || !std::memcmp(a, b, count * sizeof(float));
}

// ---- vectors.h

inline float exp_of(float x) {
    const Vec e = handloom::exp(splat(x));
    for (int i = 1; i < W; i++) CHECK(e[i] == e[0] || (std::isnan(e[i]) && std::isnan(e[0])));
    return e[0];
}

inline void test_exp_is_right_to_two_units_in_the_last_place() {
    for (double x = -87.0; x <= 88.0; x += 0.00917) {
        const double wanted = std::exp((double)(float)x);
        CHECK_NEAR(exp_of((float)x), wanted, 2.4e-7 * wanted);
    }
    CHECK(exp_of(0.0f) == 1.0f);
}

inline void test_exp_of_extremes() {
    for (float x : {-87.5f, -104.0f, -1e10f, -std::numeric_limits<float>::max(), -INFINITY})
        CHECK(exp_of(x) >= 0.0f && exp_of(x) < 2e-38f);
    for (float x : {88.5f, 104.0f, 1e10f, std::numeric_limits<float>::max(), INFINITY})
        CHECK(exp_of(x) > 1e38f && std::isfinite(exp_of(x)));
    CHECK(std::isnan(exp_of(NAN)));
}

inline void test_exp_works_lane_by_lane() {
    Vec x{};
    for (int i = 0; i < W; i++) x[i] = i == 1 ? NAN : 0.5f * i - 2.0f;
    const Vec e = handloom::exp(x);
    for (int i = 0; i < W; i++) CHECK(i == 1 ? std::isnan(e[i]) : e[i] == exp_of(x[i]));
}

inline void test_sum_and_largest_see_every_lane() {
    Random random(1);
    for (int lane = 0; lane < W; lane++) {
        Vec v{};
        double total = 0.0;
        for (int i = 0; i < W; i++) v[i] = random.number(), total += v[i];
        CHECK_NEAR(sum(v), total, 1e-6);
        v[lane] = 7.0f;
        CHECK(largest(v) == 7.0f);
        Vec one = splat(-INFINITY);
        one[lane] = -5.0f;
        CHECK(largest(one) == -5.0f);
        Vec r = root(splat((float)lane));
        CHECK_NEAR(r[lane], std::sqrt((double)lane), 1e-6);
        CHECK(larger(v, splat(0.0f))[lane] == 7.0f && larger(splat(0.0f), -v)[lane] == 0.0f);
    }
}

inline void test_a_sweep_loads_and_stores_a_row_and_no_more() {
    Random random(2);
    for (int n = 0; n <= 3 * W; n++) {
        const Row from = random_row(random, n);  // no room behind: the address sanitizer sees a load beyond
        Row to(n + W, 5.0f);
        int next = 0;
        sweep(n, [&](int i, auto span) {
            CHECK(i == next);
            next = i + W;
            const Vec v = span.load(from.data() + i), kept = span.only(splat(3.0f));
            for (int l = 0; l < W; l++) {
                CHECK(v[l] == (i + l < n ? from[i + l] : 0.0f));
                CHECK(kept[l] == (i + l < n ? 3.0f : 0.0f));
            }
            span.store(to.data() + i, v + 1.0f);
        });
        CHECK(next >= n && next < n + W);
        for (int i = 0; i < n + W; i++) CHECK(to[i] == (i < n ? from[i] + 1.0f : 5.0f));
    }
}

inline void test_a_roomy_sweep_leaves_out_what_is_behind_the_row() {
    Random random(3);
    for (int n = 0; n <= 3 * W; n++) {
        const Row from = random_row(random, n, W);
        Row to(n + W, 5.0f);
        int next = 0;
        sweep_roomy(n, [&](int i, auto span) {
            CHECK(i == next);
            next = i + W;
            const Vec v = span.only(span.load(from.data() + i));  // NaN behind the row becomes 0
            const Vec u = span.or_else(span.load(from.data() + i), splat(9.0f));
            for (int l = 0; l < W; l++) {
                CHECK(v[l] == (i + l < n ? from[i + l] : 0.0f));
                CHECK(u[l] == (i + l < n ? from[i + l] : 9.0f));
            }
            span.store(to.data() + i, v);
        });
        CHECK(next >= n && next < n + W);
        for (int i = 0; i < n; i++) CHECK(to[i] == from[i]);
    }
}

// ---- products.h

struct Product {  // what it should give: sums in double, and the sums of absolute values, by which errors are judged
    Doubles sums, sizes;
};

inline Product naive_product(int rows, int cols, int depth, const Row& a, const Row& b) {
    Product made{Doubles(rows * cols), Doubles(rows * cols)};
    for (int i = 0; i < rows; i++)
        for (int p = 0; p < depth; p++)
            for (int j = 0; j < cols; j++) {
                const double one = (double)a[i * depth + p] * b[p * cols + j];
                made.sums[i * cols + j] += one;
                made.sizes[i * cols + j] += std::fabs(one);
            }
    return made;
}

// The same matrix in the ways in which it can lie in memory.
struct Matrices {
    Row a, a_turned, b_roomy, b_packed, b_turned_packed;
    Left lefts[2];
    Right rights[3];

    Matrices(int rows, int cols, int depth, const Row& left, const Row& right) {
        a.assign(rows * (depth + 3) + 1, NAN), a_turned.assign((rows + 2) * depth + 1, NAN);
        b_roomy.assign(depth * (cols + 5) + PANEL, NAN);
        b_packed.assign(packed_size(depth, cols), NAN), b_turned_packed = b_packed;
        for (int i = 0; i < rows; i++)
            for (int p = 0; p < depth; p++)
                a[i * (depth + 3) + p] = a_turned[p * (rows + 2) + i] = left[i * depth + p];
        Row turned(cols * depth);
        for (int p = 0; p < depth; p++)
            for (int j = 0; j < cols; j++)
                b_roomy[p * (cols + 5) + j] = turned[j * depth + p] = right[p * cols + j];
        lefts[0] = plain(a.data(), depth + 3), lefts[1] = transposed(a_turned.data(), rows + 2);
        rights[0] = unpacked(b_roomy.data(), cols + 5);
        rights[1] = pack(depth, cols, right.data(), cols, 1, b_packed.data());
        rights[2] = pack(depth, cols, turned.data(), 1, depth, b_turned_packed.data());
    }
};

inline void compare_product(int rows, int cols, int depth, Random& random) {
    const Row left = random_row(random, rows * depth), right = random_row(random, depth * cols);
    const Row bias = random_row(random, cols), before = random_row(random, rows * (cols + 3));
    const Product wanted = naive_product(rows, cols, depth, left, right);
    const Matrices matrices(rows, cols, depth, left, right);
    CHECK(same(matrices.b_packed.data(), matrices.b_turned_packed.data(), matrices.b_packed.size()));
    for (const Left& a : matrices.lefts)
        for (const Right& b : matrices.rights)
            for (Begin begin : {Begin::zero, Begin::bias, Begin::add}) {
                Row c = before;
                multiply(rows, cols, depth, a, b, c.data(), cols + 3, begin, bias.data());
                double worst = 0.0;
                bool outside = true;
                for (int i = 0; i < rows; i++) {
                    for (int j = 0; j < cols; j++) {
                        const float first = begin == Begin::zero   ? 0.0f
                                            : begin == Begin::bias ? bias[j]
                                                                   : before[i * (cols + 3) + j];
                        const int at = i * cols + j;
                        const double error = std::fabs(c[i * (cols + 3) + j] - (first + wanted.sums[at]));
                        worst = error <= 1e3 ? std::max(worst, error / (1.0 + wanted.sizes[at])) : INFINITY;
                    }
                    outside &= same(&c[i * (cols + 3) + cols], &before[i * (cols + 3) + cols], 3);
                }
                CHECK_NEAR(worst, 0.0, 5e-7);
                CHECK(outside);
            }
}

inline void test_products_of_all_shapes() {
    Random random(4);
    for (int rows : {1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE + 3})
        for (int cols : {1, 3, W, W + 1, PANEL - 1, PANEL, PANEL + 1, 2 * PANEL + 5})
            for (int depth : {0, 1, 2, 7, W + 1, DEPTH, DEPTH + 1, 2 * DEPTH + 9})
                compare_product(rows, cols, depth, random);
}

inline void test_a_product_without_its_bias_begins_with_zero() {
    Random random(5);
    const Row a = random_row(random, 6), b = random_row(random, 3 * PANEL);
    Row c(2 * PANEL, NAN);
    multiply(2, PANEL, 3, plain(a.data(), 3), unpacked(b.data(), PANEL), c.data(), PANEL, Begin::bias, nullptr);
    const Product wanted = naive_product(2, PANEL, 3, a, b);
    for (int i = 0; i < 2 * PANEL; i++) CHECK_NEAR(c[i], wanted.sums[i], 1e-6);
}

inline void test_a_row_has_the_same_bits_whatever_rows_are_around_it() {
    Random random(6);
    const int most = 3 * TILE + 1;
    for (int cols : {1, PANEL, PANEL + 3})
        for (int depth : {5, DEPTH + 40}) {
            const Row a = random_row(random, most * depth), b = random_row(random, depth * cols, PANEL);
            const Row bias = random_row(random, cols);
            Row all(most * cols), some(most * cols);
            const Right right = unpacked(b.data(), cols);
            multiply(most, cols, depth, plain(a.data(), depth), right, all.data(), cols, Begin::bias, bias.data());
            for (int first = 0; first < most; first += TILE / 2)
                for (int rows = 1; rows <= most - first; rows++) {
                    const Left left = plain(a.data() + first * depth, depth);
                    multiply(rows, cols, depth, left, right, some.data(), cols, Begin::bias, bias.data());
                    CHECK(same(some.data(), all.data() + first * cols, rows * cols));
                }
        }
}

// ---- norms.h

struct NormCase {
    Norm kind;
    int n;
    bool bias;
};

constexpr int NORM_ROWS = 3;
constexpr double EPS = 1e-3;

inline Doubles one_row(const Row& rows, int t, int n, ptrdiff_t row) {
    return Doubles(rows.begin() + t * row, rows.begin() + t * row + n);
}

inline void compare_norm(const NormCase& test, Random& random) {
    const int n = test.n;
    const ptrdiff_t row = row_length(n);
    const Row x = random_rows(random, NORM_ROWS, n, row), gain = random_row(random, n), bias = random_row(random, n);
    const Row dout = random_rows(random, NORM_ROWS, n, row), before = random_rows(random, NORM_ROWS, n, row);
    Row normed(x.size(), 5.0f), scale(NORM_ROWS), out(x.size(), 5.0f);
    const float* b = test.bias ? bias.data() : nullptr;
    const Normed kept{normed.data(), scale.data()};
    norm_forward(test.kind, NORM_ROWS, n, row, x.data(), gain.data(), b, (float)EPS, kept, out.data());
    Row in_place = x;
    norm_forward(test.kind, NORM_ROWS, n, row, in_place.data(), gain.data(), b, (float)EPS, kept, in_place.data());
    Row dx = before, dx_alone = before, d_gain(n, 1.0f), d_bias(n, 2.0f), d_gain2(n), d_bias2(n);
    norm_backward(test.kind, NORM_ROWS, n, row, dout.data(), kept, gain.data(), true, dx.data(), d_gain.data(),
                  test.bias ? d_bias.data() : nullptr);
    norm_backward(test.kind, NORM_ROWS, n, row, dout.data(), kept, gain.data(), false, dx_alone.data(), d_gain2.data(),
                  test.bias ? d_bias2.data() : nullptr);
    Doubles gains(n), biases(n);
    for (int t = 0; t < NORM_ROWS; t++) {
        const Doubles from = one_row(x, t, n, row), wanted = naive_norm(test.kind, from, gain.data(), b, (float)EPS);
        const auto total = [&](const Doubles& at) {  // what dx is the gradient of
            double sum = 0.0;
            const Doubles y = naive_norm(test.kind, at, gain.data(), b, (float)EPS);
            for (int i = 0; i < n; i++) sum += y[i] * dout[t * row + i];
            return sum;
        };
        const Row ones(n, 1.0f);
        const Doubles bare = naive_norm(test.kind, from, ones.data(), (const float*)nullptr, (float)EPS);
        for (int i = 0; i < n; i++) {
            CHECK_NEAR(out[t * row + i], wanted[i], 3e-6);
            CHECK(in_place[t * row + i] == out[t * row + i]);
            Doubles up = from, down = from;
            up[i] += 1e-5, down[i] -= 1e-5;
            const double slope = (total(up) - total(down)) / 2e-5;
            CHECK_NEAR(dx_alone[t * row + i], slope, 2e-5);
            CHECK_NEAR(dx[t * row + i], slope + before[t * row + i], 2e-5);
            gains[i] += dout[t * row + i] * bare[i], biases[i] += dout[t * row + i];
        }
        for (ptrdiff_t i = n; i < row; i++) CHECK(out[t * row + i] == 5.0f && normed[t * row + i] == 5.0f);
    }
    for (int i = 0; i < n; i++) {
        CHECK_NEAR(d_gain[i], 1.0 + gains[i], 1e-5);
        CHECK_NEAR(d_bias[i], 2.0 + (test.bias ? biases[i] : 0.0), 1e-5);
    }
}

inline void test_norms_and_their_gradients() {
    Random random(7);
    for (Norm kind : {Norm::layer, Norm::rms})
        for (int n : {1, 2, W - 1, W, W + 1, 20, 2 * W + 3, 64})
            for (bool bias : {true, false}) compare_norm({kind, n, bias}, random);
}

// Layer norm takes a single number away, so that its gradient is 0, and not the rounding of a product times the scale.
inline void test_the_layer_norm_of_one_number_has_no_gradient() {
    Random random(8);
    for (int i = 0; i < 1000; i++) {
        const float dout = random.number(), gain = random.number();
        float normed = 0.0f, scale = 1e6f, dx = NAN, d_gain = 0.0f, d_bias = 0.0f;
        norm_backward(Norm::layer, 1, 1, 1, &dout, {&normed, &scale}, &gain, false, &dx, &d_gain, &d_bias);
        CHECK(dx == 0.0f);
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

inline void test_activations_touch_their_columns_alone() {
    Random random(8);
    for (Activation kind : ACTIVATIONS)
        for (int n : {1, W - 1, W, W + 1, 2 * W + 3}) {
            const ptrdiff_t row = row_length(n);
            const Row from = random_rows(random, 3, n, row, 3.0f);
            Row x = from, alone = from, slope(from.size(), 5.0f);
            activate(kind, 3, n, row, x.data(), slope.data());
            activate(kind, 3, n, row, alone.data(), nullptr);
            CHECK(same(x.data(), alone.data(), x.size()));
            for (int t = 0; t < 3; t++)
                for (ptrdiff_t i = 0; i < row; i++) {
                    if (i >= n) CHECK(std::isnan(x[t * row + i]) && slope[t * row + i] == 5.0f);
                    else CHECK_NEAR(x[t * row + i], naive_activation(kind, from[t * row + i]), 2e-6);
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
    int T, width;
    Row q, k, v, dz;   // (T × width)
    Doubles z, dq, dk, dv;

    AttentionCase(int T, int width, Random& random)
        : T(T), width(width), q(random_row(random, T * width)), k(random_row(random, T * width)),
          v(random_row(random, T * width)), dz(random_row(random, T * width)) {
        for (float& one : q) one *= 3.0f;  // a pattern that is far from even
        z.resize(T * width), dq = dk = dv = z;
        for (int t = 0; t < T; t++) query(t);
    }

private:
    double dot(const Row& a, int s, const Row& b, int t) const {
        double sum = 0.0;
        for (int j = 0; j < width; j++) sum += (double)a[s * width + j] * b[t * width + j];
        return sum;
    }

    void query(int t) {
        const double scale = 1.0 / std::sqrt((double)width);
        Doubles p(t + 1), d(t + 1);
        double most = -INFINITY, sum = 0.0, mean = 0.0;
        for (int s = 0; s <= t; s++) p[s] = dot(q, t, k, s) * scale, most = std::max(most, p[s]);
        for (double& one : p) sum += one = std::exp(one - most);
        for (int s = 0; s <= t; s++) p[s] /= sum, d[s] = dot(dz, t, v, s), mean += p[s] * d[s];
        for (int s = 0; s <= t; s++)
            for (int j = 0; j < width; j++) {
                const double d_score = p[s] * (d[s] - mean) * scale;
                z[t * width + j] += p[s] * v[s * width + j];
                dv[s * width + j] += p[s] * dz[t * width + j];
                dq[t * width + j] += d_score * k[s * width + j];
                dk[s * width + j] += d_score * q[t * width + j];
            }
    }
};

// Columns `first` … of rows: two heads beside each other, so that what a head writes beyond its columns shows.
inline void put(const Row& from, int T, int width, float* to, ptrdiff_t row) {
    for (int t = 0; t < T; t++) std::copy(&from[t * width], &from[t * width] + width, to + t * row);
}

inline void compare_rows(const float* rows, ptrdiff_t row, const Doubles& wanted, int T, int width, const char* what) {
    double worst = 0.0, size = 1.0;
    for (double one : wanted) size = std::max(size, std::fabs(one));
    for (int t = 0; t < T; t++)
        for (int j = 0; j < width; j++) {
            const double error = std::fabs(rows[t * row + j] - wanted[t * width + j]);
            worst = error <= 1e6 ? std::max(worst, error) : INFINITY;
        }
    if (!CHECK_NEAR(worst, 0.0, 4e-6 * size)) std::printf("    %s, T %d, width %d\n", what, T, width);
}

inline void compare_attention(const AttentionCase& test, bool keep) {
    const int T = test.T, width = test.width, heads = 2, h = 1;  // the second of two heads
    const ptrdiff_t triple = row_length(3 * heads * width), inner = row_length(heads * width);
    Row qkv(T * triple + PANEL, NAN), d_qkv(T * triple + PANEL, 0.0f), z(T * inner + PANEL, 5.0f), dz(z.size(), NAN);
    const ptrdiff_t at_q = h * width, at_k = at_q + heads * width, at_v = at_k + heads * width;
    put(test.q, T, width, &qkv[at_q], triple), put(test.k, T, width, &qkv[at_k], triple);
    put(test.v, T, width, &qkv[at_v], triple), put(test.dz, T, width, &dz[at_q], inner);
    Carver dry;
    AttentionRoom::carve(dry, T, width);
    Row memory(dry.used(), NAN), kept(T * row_length(whole_panels(T)) + PANEL, NAN);
    Carver carver(memory.data());
    const AttentionRoom room = AttentionRoom::carve(carver, T, width);
    std::vector<Softmax> softmax(T * heads, {5.0f, 5.0f});
    const Head head{T, width, triple, &qkv[at_q], &qkv[at_k], &qkv[at_v]};
    float* pattern = keep ? kept.data() : nullptr;
    attend_forward(head, room, &z[at_q], inner, &softmax[h], heads, pattern);
    compare_rows(&z[at_q], inner, test.z, T, width, keep ? "z, pattern kept" : "z");
    for (int t = 0; t < T; t++) {
        CHECK(softmax[t * heads].top == 5.0f && softmax[t * heads].share == 5.0f);
        for (ptrdiff_t j = 0; j < inner; j++)
            if (j < at_q || j >= at_q + width) CHECK(z[t * inner + j] == 5.0f);
    }
    std::fill(memory.begin(), memory.end(), NAN);
    attend_backward(head, room, &z[at_q], &dz[at_q], inner, &softmax[h], heads, pattern, &d_qkv[at_q], &d_qkv[at_k],
                    &d_qkv[at_v]);
    compare_rows(&d_qkv[at_q], triple, test.dq, T, width, keep ? "dq, pattern kept" : "dq");
    compare_rows(&d_qkv[at_k], triple, test.dk, T, width, keep ? "dk, pattern kept" : "dk");
    compare_rows(&d_qkv[at_v], triple, test.dv, T, width, keep ? "dv, pattern kept" : "dv");
    for (int t = 0; t < T; t++)
        for (ptrdiff_t j = 0; j < triple; j++) {
            const bool own = (j >= at_q && j < at_q + width) || (j >= at_k && j < at_k + width) ||
                             (j >= at_v && j < at_v + width);
            if (!own) CHECK(d_qkv[t * triple + j] == 0.0f);
        }
}

inline void test_attention_and_its_gradient() {
    Random random(9);
    for (int T : {1, 2, 12, 13, 49, 130, 181, 182, 200, 256, 257, 300, 700})
        for (int width : {1, 5, 16, 20}) {
            if (T > 256 && SANITIZED && width != 5) continue;
            const AttentionCase test(T, width, random);
            compare_attention(test, true);
            compare_attention(test, false);
        }
}

inline void test_a_pattern_is_kept_for_short_strings_alone() {
    CHECK(pattern_size(KEPT) >= (size_t)KEPT * KEPT && pattern_size(KEPT + 1) == 0);
}

}  // namespace test
