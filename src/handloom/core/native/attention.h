// Causal attention of one head over one string, forward and backward, a block of queries at a time, so that its scores
// stay in the cache. What the forward knows of them is kept for the backward if the string is short, and computed again
// if it is long.
#pragma once

#include <cmath>
#include <type_traits>

#include "memory.h"
#include "products.h"

namespace handloom {

constexpr int STRIP = 2 * TILE;  // queries whose products end at the same key: what lies beyond is not computed
constexpr int BLOCK = 32768;     // scores in a block, so that two of them stay in the second cache

constexpr int KEPT = 256;        // the longest string whose pattern is kept

// Queries in a block, of a string of length T: whole strips, so that those of keys, in all blocks, begin where those of
// queries do.
inline int queries(int T) { return std::min(T, std::max(48, BLOCK / std::max(1, T) / STRIP * STRIP)); }
static_assert(48 % STRIP == 0);

// Scores are computed in whole panels, for which rows have room; those beyond the last key are not read.
inline int whole_panels(int keys) { return (int)panels(keys) * PANEL; }

struct Head {  // rows of one string: (T × width), `row` apart
    int T, width;
    ptrdiff_t row;
    const float *q, *k, *v;
};

// Memory for the blocks of one string of length T at most.
struct AttentionRoom {
    float *keys, *values;      // transposed and packed, as the right side of a product
    float *pattern, *d_score;  // (queries × T)

    static AttentionRoom carve(Carver& carver, int T, int width) {
        AttentionRoom room;
        const size_t scores = std::max(2 * BLOCK, 48 * (T + 64));  // rows are less than 64 longer than T
        room.keys = carver.take(packed_size(width, T));
        room.values = carver.take(packed_size(width, T));
        room.pattern = carver.take(scores);
        room.d_score = carver.take(scores);
        return room;
    }
};

// How much it takes to keep the pattern of a head.
inline size_t pattern_size(int T) { return T > KEPT ? 0 : T * row_length(whole_panels(T)); }

struct Softmax {  // of a query: e^(score − top) · share
    float top, share;
};

// Zeros for keys that the query does not see, up to the last that its strip does.
inline void zero_behind(float* row, int own, int seen) {
    for (int j = (own + W - 1) / W * W; j < seen; j++) row[j] = 0.0f;
}

// z (T × width, z_row apart) = softmax(q · kᵀ / √width) · v. What the backward needs is kept, the
// softmax `step` apart, the pattern (e^(score − top)) unless `kept` is null.
inline void attend_forward(const Head& h, const AttentionRoom& room, float* z, ptrdiff_t z_row, Softmax* softmax,
                           ptrdiff_t step, float* kept) {
    const float scale = 1.0f / std::sqrt((float)h.width);
    const Right keys = pack(h.width, h.T, h.k, 1, h.row, room.keys);
    const ptrdiff_t row = row_length(whole_panels(h.T));
    for (int first = 0; first < h.T; first += STRIP) {
        const int count = std::min(STRIP, h.T - first), seen = first + count;
        float* pattern = kept ? kept + first * row : room.pattern;
        multiply(count, whole_panels(seen), h.width, plain(h.q + first * h.row, h.row), keys, pattern, row);
        for (int i = 0; i < count; i++) {
            float* p = pattern + i * row;
            const int own = first + i + 1;  // keys that this query sees
            Vec most = splat(p[0]);
            sweep_roomy(own, [&](int j, auto span) { most = larger(span.or_else(span.load(p + j), most), most); });
            const float top = largest(most) * scale;
            Vec total{};
            sweep_roomy(own, [&](int j, auto span) {
                const Vec e = span.only(exp(span.load(p + j) * scale - top));
                span.store(p + j, e);
                total += e;
            });
            zero_behind(p, own, seen);
            softmax[(first + i) * step] = {top, 1.0f / sum(total)};
        }
        multiply(count, h.width, seen, plain(pattern, row), unpacked(h.v, h.row), z + first * z_row, z_row);
        for (int i = 0; i < count; i++)
            sweep(h.width, [&](int j, auto span) {
                float* at = z + (first + i) * z_row + j;
                span.store(at, span.load(at) * softmax[(first + i) * step].share);
            });
    }
}

// dq, dk, dv (rows as of q, k, v) from dz.
inline void attend_backward(const Head& h, const AttentionRoom& room, const float* z, const float* dz, ptrdiff_t z_row,
                            const Softmax* softmax, ptrdiff_t step, float* kept, float* dq, float* dk, float* dv) {
    const float scale = 1.0f / std::sqrt((float)h.width);
    const Right keys = kept ? Right{} : pack(h.width, h.T, h.k, 1, h.row, room.keys);
    const Right values = pack(h.width, h.T, h.v, 1, h.row, room.values);
    const ptrdiff_t row = row_length(whole_panels(h.T));
    for (int begin = 0; begin < h.T; begin += queries(h.T)) {
        const int block = std::min(queries(h.T), h.T - begin);
        float* patterns = kept ? kept + begin * row : room.pattern;
        for (int strip = 0; strip < block; strip += STRIP) {
            const int first = begin + strip, count = std::min(STRIP, block - strip), seen = first + count;
            float *pattern = patterns + strip * row, *d_score = room.d_score + strip * row;
            const float* d = dz + first * z_row;
            if (!kept)
                multiply(count, whole_panels(seen), h.width, plain(h.q + first * h.row, h.row), keys, pattern, row);
            multiply(count, whole_panels(seen), h.width, plain(d, z_row), values, d_score, row);
            for (int i = 0; i < count; i++) {
                float *p = pattern + i * row, *s = d_score + i * row;
                const int own = first + i + 1;
                Vec total{};
                sweep(h.width, [&](int j, auto span) {
                    total += span.load(d + i * z_row + j) * span.load(z + (first + i) * z_row + j);
                });
                const Vec mean = splat(sum(total));
                const auto [top, part] = softmax[(first + i) * step];
                if (!kept)
                    sweep_roomy(own, [&, top = top](int j, auto span) {
                        span.store(p + j, span.only(exp(span.load(p + j) * scale - top)));
                    });
                sweep_roomy(own, [&, part = part](int j, auto span) {
                    const Vec share = span.load(p + j) * part;
                    span.store(p + j, share);
                    span.store(s + j, share * (span.load(s + j) - mean) * scale);
                });
                zero_behind(p, own, seen);
                zero_behind(s, own, seen);
            }
            multiply(count, h.width, seen, plain(d_score, row), unpacked(h.k, h.row), dq + first * h.row, h.row);
        }
        for (int first = 0; first < begin + block; first += STRIP) {  // keys, and the queries that see them
            const int count = std::min(STRIP, begin + block - first), from = std::max(0, first - begin);
            const ptrdiff_t at = from * row + first;
            const Begin onto = first < begin ? Begin::add : Begin::zero;  // whether queries before have seen them
            multiply(count, h.width, block - from, transposed(room.d_score + at, row),
                     unpacked(h.q + (begin + from) * h.row, h.row), dk + first * h.row, h.row, onto);
            multiply(count, h.width, block - from, transposed(patterns + at, row),
                     unpacked(dz + (begin + from) * z_row, z_row), dv + first * h.row, h.row, onto);
        }
    }
}

}  // namespace handloom
