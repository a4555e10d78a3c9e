// Causal attention of one head over one string, forward and backward, a block of queries at a time, so that its scores
// stay in the cache. The pattern is kept for the backward if the string is short, and computed again if it is long.
#pragma once

#include <cmath>
#include <type_traits>

#include "memory.h"
#include "products.h"

namespace handloom {

constexpr int STRIP = 2 * TILE;        // queries whose products end at the same key: nothing beyond it is computed
constexpr int MIN_QUERIES = 48;        // in a block
constexpr int BLOCK_SCORES = 32768;    // in a block, so that two of them stay in the second cache
constexpr int MAX_KEPT_LENGTH = 256;   // of a string whose pattern is kept
static_assert(MIN_QUERIES % STRIP == 0);

// Queries per block, for a string of length T: whole strips, so that in every block the strips of keys begin where
// those of queries do.
inline int block_queries(int T) {
    return std::min(T, std::max(MIN_QUERIES, BLOCK_SCORES / std::max(1, T) / STRIP * STRIP));
}

// Scores are computed in whole vectors, for which rows have room; those beyond the last key are not read.
inline int whole_vectors(int keys) { return (keys + W - 1) / W * W; }

// The distance between rows of the pattern.
inline ptrdiff_t pattern_stride(int T) { return row_length(whole_vectors(T)); }

// Floats needed to keep the pattern of a head.
inline size_t pattern_size(int T) { return T > MAX_KEPT_LENGTH ? 0 : T * pattern_stride(T); }

struct Head {  // rows of one string: (T × K), `stride` apart
    int T, d_head;
    ptrdiff_t stride;
    const float *q, *k, *v;
};

// Memory for the blocks of one string of length up to T.
struct AttentionScratch {
    float *keys, *values;       // transposed and packed, as the right side of a product
    float *pattern, *d_scores;  // (queries × T)

    static AttentionScratch carve(Carver& carver, int T, int d_head) {
        AttentionScratch scratch;
        const size_t scores = std::max(2 * BLOCK_SCORES, MIN_QUERIES * (T + 64));  // a row has less than T + 64
        scratch.keys = carver.take(packed_size(d_head, T));
        scratch.values = carver.take(packed_size(d_head, T));
        scratch.pattern = carver.take(scores);
        scratch.d_scores = carver.take(scores);
        return scratch;
    }
};

struct Softmax {  // of a query: its pattern is e^(score − top) · share
    float top, share;
};

// Zeros for keys that the query does not see, up to the last one that its strip sees.
inline void zero_behind(float* row, int own, int seen) {
    for (int j = (own + W - 1) / W * W; j < seen; j++) row[j] = 0.0f;
}

// The row of scores of a query that sees `own` keys becomes e^(score · scale − top).
inline Softmax softmax_forward(float* row, int own, float scale) {
    Vec most = splat(row[0]);
    sweep_roomy(own, [&](int j, auto span) { most = larger(span.or_else(span.load(row + j), most), most); });
    const float top = largest(most) * scale;
    Vec total{};
    sweep_roomy(own, [&](int j, auto span) {
        const Vec e = span.only(exp(span.load(row + j) * scale - top));
        span.store(row + j, e);
        total += e;
    });
    return {top, 1.0f / sum(total)};
}

// z (T × K, z_stride apart) = softmax(q · kᵀ / √K) · v. The backward needs `softmax`, of which this head's are `step`
// apart, and the pattern before the division, which is kept unless `kept` is null.
inline void attention_forward(const Head& h, const AttentionScratch& scratch, float* z, ptrdiff_t z_stride,
                              Softmax* softmax, ptrdiff_t step, float* kept) {
    const float scale = 1.0f / std::sqrt((float)h.d_head);
    const Right keys = pack(h.d_head, h.T, h.k, 1, h.stride, scratch.keys);
    const ptrdiff_t stride = pattern_stride(h.T);
    for (int first = 0; first < h.T; first += STRIP) {
        const int count = std::min(STRIP, h.T - first), seen = first + count;
        float* pattern = kept ? kept + first * stride : scratch.pattern;
        multiply(count, whole_vectors(seen), h.d_head, plain(h.q + first * h.stride, h.stride), keys, pattern, stride);
        for (int i = 0; i < count; i++) {
            float* p = pattern + i * stride;
            const int own = first + i + 1;  // keys that this query sees
            softmax[(first + i) * step] = softmax_forward(p, own, scale);
            zero_behind(p, own, seen);
        }
        multiply(count, h.d_head, seen, plain(pattern, stride), unpacked(h.v, h.stride), z + first * z_stride,
                 z_stride);
        for (int i = 0; i < count; i++)
            sweep(h.d_head, [&](int j, auto span) {
                float* at = z + (first + i) * z_stride + j;
                span.store(at, span.load(at) * softmax[(first + i) * step].share);
            });
    }
}

// Of one query: d, the gradient by its pattern, becomes that by its scores. p holds its scores or, if `kept`, its
// pattern before the division, and becomes the pattern. mean is the mean of d by the pattern, d_z · z.
inline void softmax_backward(float* p, float* d, int own, float scale, Softmax softmax, float mean, bool kept) {
    if (!kept)
        sweep_roomy(own, [&](int j, auto span) {
            span.store(p + j, span.only(exp(span.load(p + j) * scale - softmax.top)));
        });
    sweep_roomy(own, [&](int j, auto span) {
        const Vec share = span.load(p + j) * softmax.share;
        span.store(p + j, share);
        span.store(d + j, share * (span.load(d + j) - mean) * scale);
    });
}

inline float dot(int n, const float* a, const float* b) {
    Vec total{};
    sweep(n, [&](int j, auto span) { total += span.load(a + j) * span.load(b + j); });
    return sum(total);
}

// d_q, d_k, d_v (rows as of q, k, v) from d_z.
inline void attention_backward(const Head& h, const AttentionScratch& scratch, const float* z, const float* d_z,
                               ptrdiff_t z_stride, const Softmax* softmax, ptrdiff_t step, float* kept, float* d_q,
                               float* d_k, float* d_v) {
    const float scale = 1.0f / std::sqrt((float)h.d_head);
    const Right keys = kept ? Right{} : pack(h.d_head, h.T, h.k, 1, h.stride, scratch.keys);
    const Right values = pack(h.d_head, h.T, h.v, 1, h.stride, scratch.values);
    const ptrdiff_t stride = pattern_stride(h.T);
    for (int begin = 0; begin < h.T; begin += block_queries(h.T)) {
        const int block = std::min(block_queries(h.T), h.T - begin);
        float* patterns = kept ? kept + begin * stride : scratch.pattern;
        for (int strip = 0; strip < block; strip += STRIP) {
            const int first = begin + strip, count = std::min(STRIP, block - strip), seen = first + count;
            float *pattern = patterns + strip * stride, *d_scores = scratch.d_scores + strip * stride;
            const float* d = d_z + first * z_stride;
            if (!kept)
                multiply(count, whole_vectors(seen), h.d_head, plain(h.q + first * h.stride, h.stride), keys, pattern,
                         stride);
            multiply(count, whole_vectors(seen), h.d_head, plain(d, z_stride), values, d_scores, stride);
            for (int i = 0; i < count; i++) {
                float *p = pattern + i * stride, *s = d_scores + i * stride;
                const int own = first + i + 1;
                const float mean = dot(h.d_head, d + i * z_stride, z + (first + i) * z_stride);
                softmax_backward(p, s, own, scale, softmax[(first + i) * step], mean, kept != nullptr);
                zero_behind(p, own, seen);
                zero_behind(s, own, seen);
            }
            multiply(count, h.d_head, seen, plain(d_scores, stride), unpacked(h.k, h.stride), d_q + first * h.stride,
                     h.stride);
        }
        for (int first = 0; first < begin + block; first += STRIP) {  // keys, and the queries that see them
            const int count = std::min(STRIP, begin + block - first), from = std::max(0, first - begin);
            const ptrdiff_t at = from * stride + first;
            const Begin onto = first < begin ? Begin::add : Begin::zero;  // earlier blocks have written to them
            multiply(count, h.d_head, block - from, transposed(scratch.d_scores + at, stride),
                     unpacked(h.q + (begin + from) * h.stride, h.stride), d_k + first * h.stride, h.stride, onto);
            multiply(count, h.d_head, block - from, transposed(patterns + at, stride),
                     unpacked(d_z + (begin + from) * z_stride, z_stride), d_v + first * h.stride, h.stride, onto);
        }
    }
}

}  // namespace handloom
