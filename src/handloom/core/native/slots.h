// Rows that grow token by token, each in a slot: a KV cache, which holds the keys and values of the row so far. The
// rows of a batch need not be equally long.
#pragma once

#include <cmath>
#include <vector>

#include "stream.h"

namespace handloom {

class Slots {
public:
    Slots(const Transformer& model, int count, int longest)
        : model_(model), config_(model.layout.config), stream_(model.layout), lengths_(count, 0),
          key_stride_(row_length(longest)) {
        slot_size_ = (size_t)config_.n_layers * config_.d_attn() * key_stride_;
        keys_.reserve(slot_size_ * count + PANEL);
        values_.reserve(slot_size_ * count + PANEL);
    }

    // The memory of one slot.
    static size_t bytes(const Config& c, int longest) {
        return sizeof(float) * 2 * c.n_layers * c.d_attn() * row_length(longest);
    }

    int length(int slot) const { return lengths_[slot]; }
    void clear(int slot) { lengths_[slot] = 0; }

    // Feed one token to each of these slots, all different; the logits after it, (count × V, `stride` apart).
    void step(int count, const int* slots, const int64_t* tokens, float* logits, ptrdiff_t stride) {
        stream_.rows = count;
        carve_from(memory_, [&](Carver& carver) { carve(carver); });
        for (int i = 0; i < count; i++) stream_.embed(model_, i, tokens[i], lengths_[slots[i]]);
        for (int i = 0; i < config_.n_layers; i++) {
            const Layer& l = model_.layout.layers[i];
            stream_.sublayer(model_, l.ln1, norm_, in_, config_.n_heads, l.b_O, [&] { attention(slots, i); });
            stream_.sublayer(model_, l.ln2, norm_, in_, config_.d_ff, l.b_out,
                             [&] { stream_.mlp(model_, i, in_, mlp_post_, nullptr); });
        }
        const LayerNorm& ln_final = model_.layout.ln_final;
        if (ln_final.w.exists()) stream_.norm(model_, ln_final, norm_, in_);
        stream_.unembed(model_, count, ln_final.w.exists() ? in_ : stream_.x, logits, stride);
        for (int i = 0; i < count; i++) lengths_[slots[i]]++;
    }

private:
    Transformer model_;
    const Config& config_;
    Stream stream_;
    std::vector<int> lengths_;
    ptrdiff_t key_stride_;  // the longest row, rounded up
    size_t slot_size_;
    Floats keys_, values_;  // of each slot, layer and head: keys (K × longest), values (longest × K)
    Floats memory_;
    float *in_, *qkv_, *z_, *mlp_post_, *scores_;
    NormCache norm_;

    void carve(Carver& carver) {
        const size_t count = stream_.rows, d_size = count * stream_.d_stride;
        stream_.x = carver.take(d_size), in_ = carver.take(d_size);
        norm_ = {carver.take(d_size), carver.take(count)};
        qkv_ = carver.take(count * stream_.qkv_stride), z_ = carver.take(count * stream_.z_stride);
        mlp_post_ = carver.take(count * stream_.ff_stride);
        scores_ = carver.take(key_stride_);
    }

    void attention(const int* slots, int layer) {
        const int HK = config_.d_attn(), K = config_.d_head;
        stream_.project(model_, layer, in_, qkv_);
        each_head(slots, layer, [&](int now, const float* q, float* keys, float* values, float*) {
            for (int j = 0; j < K; j++) keys[j * key_stride_ + now] = q[HK + j];
            std::copy(q + 2 * HK, q + 2 * HK + K, values + (ptrdiff_t)now * K);
        });
        each_head(slots, layer, [&](int now, const float* q, const float* keys, const float* values, float* z) {
            attend(now + 1, q, keys, values, z);
        });
        stream_.add_heads(model_, layer, z_);
    }

    // work(its position, q, keys, values, z) for every head of every row. Keys and values of all rows are stored before
    // the first is read: a vector that holds a number just stored has to wait for it.
    template <class Work>
    void each_head(const int* slots, int layer, Work work) {
        const int K = config_.d_head;
        for (int i = 0; i < stream_.rows; i++)
            for (int h = 0; h < config_.n_heads; h++) {
                const size_t at = slot_size_ * slots[i] + ((size_t)layer * config_.n_heads + h) * K * key_stride_;
                work(lengths_[slots[i]], qkv_ + i * stream_.qkv_stride + h * K, keys_.data() + at, values_.data() + at,
                     z_ + i * stream_.z_stride + h * K);
            }
    }

    // One query and the keys and values that it sees.
    void attend(int seen, const float* q, const float* keys, const float* values, float* z) {
        const int K = config_.d_head;
        const float scale = 1.0f / std::sqrt((float)K);
        Vec most = splat(-INFINITY), total{};
        sweep_roomy(seen, [&](int t, auto span) {
            Vec even{}, odd{};  // two sums, because a single one would wait for itself
            int j = 0;
            for (; j + 1 < K; j += 2) {
                even += q[j] * load(keys + j * key_stride_ + t);
                odd += q[j + 1] * load(keys + (j + 1) * key_stride_ + t);
            }
            if (j < K) even += q[j] * load(keys + j * key_stride_ + t);
            const Vec s = (even + odd) * scale;
            store(scores_ + t, s);
            most = larger(span.or_else(s, most), most);
        });
        const Vec top = splat(largest(most));
        sweep_roomy(seen, [&](int t, auto span) {
            const Vec e = span.only(exp(load(scores_ + t) - top));
            store(scores_ + t, e);
            total += e;
        });
        const float share = 1.0f / sum(total);
        sweep(K, [&](int j, auto span) {
            Vec sums[4] = {};
            int t = 0;
            for (; t + 4 <= seen; t += 4)
                for (int l = 0; l < 4; l++) sums[l] += scores_[t + l] * span.load(values + (ptrdiff_t)(t + l) * K + j);
            for (; t < seen; t++) sums[0] += scores_[t] * span.load(values + (ptrdiff_t)t * K + j);
            span.store(z + j, (sums[0] + sums[1] + sums[2] + sums[3]) * share);
        });
    }
};

}  // namespace handloom
