// Causal attention of one head over one string, forward and backward, a block of queries at a time: a block's scores
// stay in the cache, and are computed again in the backward instead of being kept.
#pragma once

#include <cmath>
#include <type_traits>

#include "memory.h"
#include "products.h"

namespace handloom {

constexpr int QUERIES = 48;  // in a block

struct Head {  // rows of one string: (T × width), `row` apart
    int T, width;
    ptrdiff_t row;
    const float *q, *k, *v;
};

// Memory for the blocks of one string of length T.
struct AttentionRoom {
    float *keys, *values;     // transposed and packed, as the right side of a product
    float *pattern, *d_score;  // (QUERIES × T)
    ptrdiff_t row;

    static AttentionRoom carve(Carver& carver, int T, int width) {
        AttentionRoom room;
        room.row = row_length(T + PANEL);
        room.keys = carver.take(packed_size(width, T));
        room.values = carver.take(packed_size(width, T));
        room.pattern = carver.take(QUERIES * room.row);
        room.d_score = carver.take(QUERIES * room.row);
        return room;
    }
};

// z (T × width, z_row apart) = softmax(q · kᵀ / √width) · v. log_sum (T, log_step apart) is kept for the backward.
inline void attend_forward(const Head& h, const AttentionRoom& room, float* z, ptrdiff_t z_row, float* log_sum,
                           ptrdiff_t log_step) {
    const float scale = 1.0f / std::sqrt((float)h.width);
    const Right keys = pack(h.width, h.T, h.k, 1, h.row, room.keys);
    for (int first = 0; first < h.T; first += QUERIES) {
        const int count = std::min(QUERIES, h.T - first), seen = first + count;
        multiply(count, seen, h.width, plain(h.q + first * h.row, h.row), keys, room.pattern, room.row);
        for (int i = 0; i < count; i++) {
            float* p = room.pattern + i * room.row;
            const int own = first + i + 1;  // keys that this query sees
            Vec most = splat(p[0]);
            sweep(own, [&](int j, auto span) {
                if constexpr (std::is_same_v<decltype(span), Whole>) most = larger(span.load(p + j), most);
                else for (int l = 0; l < span.count; l++) most[l] = std::max(most[l], p[j + l]);
            });
            const Vec top = splat(largest(most) * scale);
            Vec total{};
            sweep(own, [&](int j, auto span) {
                const Vec e = span.only(exp(span.load(p + j) * scale - top));
                span.store(p + j, e);
                total += e;
            });
            const float whole = sum(total);
            const Vec share = splat(1.0f / whole);
            sweep(own, [&](int j, auto span) { span.store(p + j, span.load(p + j) * share); });
            std::fill(p + own, p + seen, 0.0f);
            log_sum[(first + i) * log_step] = top[0] + std::log(whole);
        }
        multiply(count, h.width, seen, plain(room.pattern, room.row), unpacked(h.v, h.row), z + first * z_row, z_row);
    }
}

// dq, dk, dv (rows as of q, k, v; dk and dv must hold zeros) from dz.
inline void attend_backward(const Head& h, const AttentionRoom& room, const float* z, const float* dz, ptrdiff_t z_row,
                            const float* log_sum, ptrdiff_t log_step, float* dq, float* dk, float* dv) {
    const float scale = 1.0f / std::sqrt((float)h.width);
    const Right keys = pack(h.width, h.T, h.k, 1, h.row, room.keys);
    const Right values = pack(h.width, h.T, h.v, 1, h.row, room.values);
    for (int first = 0; first < h.T; first += QUERIES) {
        const int count = std::min(QUERIES, h.T - first), seen = first + count;
        const float *q = h.q + first * h.row, *d = dz + first * z_row;
        multiply(count, seen, h.width, plain(q, h.row), keys, room.pattern, room.row);
        multiply(count, seen, h.width, plain(d, z_row), values, room.d_score, room.row);
        for (int i = 0; i < count; i++) {
            float *p = room.pattern + i * room.row, *s = room.d_score + i * room.row;
            const int own = first + i + 1;
            Vec total{};
            sweep(h.width, [&](int j, auto span) {
                total += span.load(d + i * z_row + j) * span.load(z + (first + i) * z_row + j);
            });
            const Vec mean = splat(sum(total)), log_total = splat(log_sum[(first + i) * log_step]);
            sweep(own, [&](int j, auto span) {
                const Vec share = exp(span.load(p + j) * scale - log_total);
                span.store(p + j, share);
                span.store(s + j, share * (span.load(s + j) - mean) * scale);
            });
            std::fill(p + own, p + seen, 0.0f);
            std::fill(s + own, s + seen, 0.0f);
        }
        multiply(count, h.width, seen, plain(room.d_score, room.row), unpacked(h.k, h.row), dq + first * h.row, h.row);
        multiply(seen, h.width, count, transposed(room.d_score, room.row), unpacked(q, h.row), dk, h.row, Begin::add);
        multiply(seen, h.width, count, transposed(room.pattern, room.row), unpacked(d, z_row), dv, h.row, Begin::add);
    }
}

}  // namespace handloom
