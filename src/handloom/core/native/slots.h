// Rows that go on token by token, each in a slot that holds the keys and values of what the row has had so far. The
// slots of a batch need not be equally far.
#pragma once

#include <cmath>
#include <vector>

#include "group.h"

namespace handloom {

class Slots {
public:
    Slots(const Transformer& model, int count, int longest)
        : model_(model), config_(model.layout.config), stream_(model.layout), lengths_(count, 0),
          longest_(row_length(longest)) {
        each_ = (size_t)config_.layers * config_.inner() * longest_;
        keys_.reserve(each_ * count + PANEL);
        values_.reserve(each_ * count + PANEL);
    }

    // How much memory a slot takes.
    static size_t bytes(const Config& c, int longest) {
        return sizeof(float) * 2 * c.layers * c.inner() * row_length(longest);
    }

    int length(int slot) const { return lengths_[slot]; }
    void clear(int slot) { lengths_[slot] = 0; }

    // Feed each of these slots, all different, a token; the logits after it, (count × vocab, apart as told).
    void step(int count, const int* slots, const int64_t* tokens, float* logits, ptrdiff_t row) {
        lay_out(count);
        for (int i = 0; i < count; i++) stream_.embed(model_, i, tokens[i], lengths_[slots[i]]);
        for (int i = 0; i < config_.layers; i++) {
            const LayerSections& l = model_.layout.layers[i];
            stream_.sublayer(model_, l.gain1, l.bias1, normed_, in_, config_.heads, l.out_bias,
                             [&] { attention(slots, i); });
            stream_.sublayer(model_, l.gain2, l.bias2, normed_, in_, config_.hidden, l.back_bias,
                             [&] { stream_.neurons(model_, i, in_, post_, nullptr); });
        }
        const Layout& layout = model_.layout;
        if (layout.gain.at >= 0) stream_.norm(model_, layout.gain, layout.bias, normed_, in_);
        stream_.unembed(model_, count, layout.gain.at >= 0 ? in_ : stream_.x, logits, row);
        for (int i = 0; i < count; i++) lengths_[slots[i]]++;
    }

private:
    Transformer model_;
    const Config& config_;
    Stream stream_;
    std::vector<int> lengths_;
    ptrdiff_t longest_;
    size_t each_;
    Floats keys_, values_;  // of a slot, layer and head: keys (width × longest), values (longest × width)
    Floats memory_;
    float *in_, *qkv_, *z_, *post_, *scores_;
    Normed normed_;

    void lay_out(int count) {
        Carver dry;
        carve(dry, count);
        memory_.reserve(dry.used());
        Carver carver(memory_.data());
        carve(carver, count);
    }

    void carve(Carver& carver, int count) {
        const Stream& s = stream_;
        stream_.rows = count;
        stream_.x = carver.take(count * s.wide), in_ = carver.take(count * s.wide);
        normed_ = {carver.take(count * s.wide), carver.take(count)};
        qkv_ = carver.take(count * s.triple), z_ = carver.take(count * s.inner), post_ = carver.take(count * s.hidden);
        scores_ = carver.take(longest_);
    }

    void attention(const int* slots, int layer) {
        const int inner = config_.inner(), width = config_.head_width;
        stream_.queries_keys_values(model_, layer, in_, qkv_);
        for (int i = 0; i < stream_.rows; i++)
            for (int h = 0; h < config_.heads; h++) {
                const size_t at = each_ * slots[i] + ((size_t)layer * config_.heads + h) * width * longest_;
                const float* q = qkv_ + i * stream_.triple + h * width;
                attend(lengths_[slots[i]], q, q + inner, q + 2 * inner, keys_.data() + at, values_.data() + at,
                       z_ + i * stream_.inner + h * width);
            }
        stream_.add_heads(model_, layer, z_);
    }

    // One query: its own key and value are kept at `now`, and it sees them and all before.
    void attend(int now, const float* q, const float* k, const float* v, float* keys, float* values, float* z) {
        const int width = config_.head_width, seen = now + 1;
        for (int j = 0; j < width; j++) keys[j * longest_ + now] = k[j];
        std::copy(v, v + width, values + (ptrdiff_t)now * width);
        const float scale = 1.0f / std::sqrt((float)width);
        Vec most = splat(-INFINITY), total{};
        sweep_roomy(seen, [&](int t, auto span) {
            Vec even{}, odd{};  // two sums, for one would wait for itself
            int j = 0;
            for (; j + 1 < width; j += 2) {
                even += q[j] * load(keys + j * longest_ + t);
                odd += q[j + 1] * load(keys + (j + 1) * longest_ + t);
            }
            if (j < width) even += q[j] * load(keys + j * longest_ + t);
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
        sweep(width, [&](int j, auto span) {
            Vec sums[4] = {};
            int t = 0;
            for (; t + 4 <= seen; t += 4)
                for (int l = 0; l < 4; l++) sums[l] += scores_[t + l] * span.load(values + (ptrdiff_t)(t + l) * width + j);
            for (; t < seen; t++) sums[0] += scores_[t] * span.load(values + (ptrdiff_t)t * width + j);
            span.store(z + j, (sums[0] + sums[1] + sums[2] + sums[3]) * share);
        });
    }
};

}  // namespace handloom
