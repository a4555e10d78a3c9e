// Tests of vectors.h and products.h. Where the engine may read a number but not use it, the tests put NaN, so that
// using it shows.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "naive.h"
#include "products.h"

namespace test {

using Row = std::vector<float>;

inline Row random_row(Random& random, size_t n, size_t behind = 0) {
    Row row(n + behind, NAN);
    for (size_t i = 0; i < n; i++) row[i] = random.number();
    return row;
}

// Rows of n numbers, `stride` apart, NaN between them and a panel of NaN at the end.
inline Row random_rows(Random& random, int count, int n, ptrdiff_t stride, float size = 1.0f) {
    Row rows(count * stride + PANEL, NAN);
    for (int t = 0; t < count; t++)
        for (int i = 0; i < n; i++) rows[t * stride + i] = size * random.number();
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

struct Product {  // the expected sums in double, and the sums of absolute values, by which errors are judged
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

// The same matrices in all the ways in which they can lie in memory.
struct Matrices {
    Row a, a_transposed, b_roomy, b_packed, b_transposed_packed;
    Left lefts[2];
    Right rights[3];

    Matrices(int rows, int cols, int depth, const Row& left, const Row& right) {
        a.assign(rows * (depth + 3) + 1, NAN), a_transposed.assign((rows + 2) * depth + 1, NAN);
        b_roomy.assign(depth * (cols + 5) + PANEL, NAN);
        b_packed.assign(packed_size(depth, cols), NAN), b_transposed_packed = b_packed;
        for (int i = 0; i < rows; i++)
            for (int p = 0; p < depth; p++)
                a[i * (depth + 3) + p] = a_transposed[p * (rows + 2) + i] = left[i * depth + p];
        Row b_transposed(cols * depth);
        for (int p = 0; p < depth; p++)
            for (int j = 0; j < cols; j++)
                b_roomy[p * (cols + 5) + j] = b_transposed[j * depth + p] = right[p * cols + j];
        lefts[0] = plain(a.data(), depth + 3), lefts[1] = transposed(a_transposed.data(), rows + 2);
        rights[0] = unpacked(b_roomy.data(), cols + 5);
        rights[1] = pack(depth, cols, right.data(), cols, 1, b_packed.data());
        rights[2] = pack(depth, cols, b_transposed.data(), 1, depth, b_transposed_packed.data());
    }
};

inline void compare_product(int rows, int cols, int depth, Random& random) {
    const Row left = random_row(random, rows * depth), right = random_row(random, depth * cols);
    const Row bias = random_row(random, cols), before = random_row(random, rows * (cols + 3));
    const Product wanted = naive_product(rows, cols, depth, left, right);
    const Matrices matrices(rows, cols, depth, left, right);
    CHECK(same(matrices.b_packed.data(), matrices.b_transposed_packed.data(), matrices.b_packed.size()));
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
        for (int cols : {1, 3, W, W + 1, PANEL - 1, PANEL, PANEL + 1, PANEL + W, 2 * PANEL + 5})
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
    for (int cols : {1, W, PANEL, PANEL + 3})
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

}  // namespace test
