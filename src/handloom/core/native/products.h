// Matrix products, where most of the time goes. All of them use one kernel: a tile of TILE rows and two vectors of
// columns is summed in registers,
//
//     C(i, j) += A(i, p) · B(p, j),    p = 0 … depth − 1,
//
// an element of A times two vectors of B. The rows of B are read as vectors, so they must be contiguous. A is read by
// elements and may be transposed, so that X · W, dY · Wᵀ (with W packed transposed) and Xᵀ · dY need no other kernel. A
// sum is always taken in the order of p, whatever the tile, so that a row's result does not depend on the rows around
// it.
#pragma once

#include <algorithm>

#include "vectors.h"

namespace handloom {

constexpr int PANEL = 2 * W;  // columns of a tile
constexpr int DEPTH = 256;    // rows of B at a time: DEPTH rows of a panel stay in the first cache

struct Left {  // A(i, p) = at[i · row + p · step]
    const float* at;
    ptrdiff_t row, step;
};

struct Right {  // B(p, j) = at[j / PANEL · panel + p · row + j % PANEL]; whole panels can be read
    const float* at;
    ptrdiff_t row, panel;
};

inline Left plain(const float* at, ptrdiff_t row) { return {at, row, 1}; }
inline Left transposed(const float* at, ptrdiff_t row) { return {at, 1, row}; }
inline Right unpacked(const float* at, ptrdiff_t row) { return {at, row, PANEL}; }

enum class Begin { zero, bias, add };  // the initial value of the sums: 0, a bias per column, or what C holds

// A tile of R rows and V vectors: two, or one where no more columns are left.
template <int R, int V>
inline __attribute__((always_inline)) void tile(int depth, Left a, const float* b, ptrdiff_t b_row, Vec (&c)[R][V]) {
    const float* at = a.at;
    for (int p = 0; p < depth; p++) {
        const Vec b0 = load(b), b1 = V > 1 ? load(b + W) : Vec{};
#pragma GCC unroll 16
        for (int i = 0; i < R; i++) {
            const Vec x = splat(at[i * a.row]);
            c[i][0] += x * b0;
            if constexpr (V > 1) c[i][1] += x * b1;
        }
        at += a.step;
        b += b_row;
    }
}

template <int R, int V>
void whole_tile(int depth, Left a, const float* b, ptrdiff_t b_row, float* c, ptrdiff_t c_row, Begin begin,
                const float* bias) {
    Vec sums[R][V];
#pragma GCC unroll 16
    for (int i = 0; i < R; i++) {
        const float* from = begin == Begin::add ? c + i * c_row : bias;
        for (int k = 0; k < V; k++) sums[i][k] = begin == Begin::zero ? Vec{} : load(from + k * W);
    }
    tile<R, V>(depth, a, b, b_row, sums);
#pragma GCC unroll 16
    for (int i = 0; i < R; i++)
        for (int k = 0; k < V; k++) store(c + i * c_row + k * W, sums[i][k]);
}

// The same for the last columns, fewer than V vectors: computed in a tile of its own and copied from there.
template <int R, int V>
void part_tile(int cols, int depth, Left a, const float* b, ptrdiff_t b_row, float* c, ptrdiff_t c_row, Begin begin,
               const float* bias) {
    float own[R * V * W] = {};
    for (int i = 0; i < R && begin != Begin::zero; i++)
        std::memcpy(own + i * V * W, begin == Begin::add ? c + i * c_row : bias, cols * sizeof(float));
    whole_tile<R, V>(depth, a, b, b_row, own, V * W, Begin::add, nullptr);
    for (int i = 0; i < R; i++) std::memcpy(c + i * c_row, own + i * V * W, cols * sizeof(float));
}

template <int R>
void any_tile(int rows, int cols, int depth, Left a, const float* b, ptrdiff_t b_row, float* c, ptrdiff_t c_row,
              Begin begin, const float* bias) {
    if constexpr (R > 1) {
        if (rows < R) return any_tile<R - 1>(rows, cols, depth, a, b, b_row, c, c_row, begin, bias);
    }
    if (cols >= PANEL) whole_tile<R, 2>(depth, a, b, b_row, c, c_row, begin, bias);
    else if (cols > W) part_tile<R, 2>(cols, depth, a, b, b_row, c, c_row, begin, bias);
    else if (cols == W) whole_tile<R, 1>(depth, a, b, b_row, c, c_row, begin, bias);
    else part_tile<R, 1>(cols, depth, a, b, b_row, c, c_row, begin, bias);
}

// C (rows × cols) = A · B plus the initial value of the sums.
inline __attribute__((noinline)) void multiply(int rows, int cols, int depth, Left a, Right b, float* c,
                                               ptrdiff_t c_row, Begin begin = Begin::zero,
                                               const float* bias = nullptr) {
    if (begin == Begin::bias && !bias) begin = Begin::zero;
    for (int first = 0; first == 0 || first < depth; first += DEPTH) {
        const int deep = std::min(DEPTH, depth - first);
        for (int j = 0; j < cols; j += PANEL) {
            const float* panel = b.at + j / PANEL * b.panel + first * b.row;
            for (int i = 0; i < rows; i += TILE) {
                const Left part{a.at + i * a.row + first * a.step, a.row, a.step};
                any_tile<TILE>(std::min(TILE, rows - i), std::min(PANEL, cols - j), deep, part, panel, b.row,
                               c + i * c_row + j, c_row, begin, bias ? bias + j : nullptr);
            }
        }
        begin = Begin::add;
    }
}

inline ptrdiff_t panels(ptrdiff_t cols) { return (cols + PANEL - 1) / PANEL; }
inline ptrdiff_t packed_size(ptrdiff_t depth, ptrdiff_t cols) { return panels(cols) * PANEL * depth; }

// A matrix (depth × cols) whose element (p, j) is at[p · row + j · col], panel after panel, zeros at the end.
inline Right pack(int depth, int cols, const float* at, ptrdiff_t row, ptrdiff_t col, float* to) {
    const Right packed{to, PANEL, (ptrdiff_t)depth * PANEL};
    for (int j = 0; j < cols; j += PANEL, to += packed.panel) {
        const int wide = std::min(PANEL, cols - j);
        if (wide < PANEL) std::fill(to, to + packed.panel, 0.0f);
        if (col == 1) {
            for (int p = 0; p < depth; p++) std::memcpy(to + p * PANEL, at + p * row + j, wide * sizeof(float));
        } else {
            for (int i = 0; i < wide; i++)
                for (int p = 0; p < depth; p++) to[p * PANEL + i] = at[p * row + (j + i) * col];
        }
    }
    return packed;
}

}  // namespace handloom
