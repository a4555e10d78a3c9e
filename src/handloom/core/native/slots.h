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
        : model_(model), config_(model.layout.config), lengths_(count, 0), longest_(row_length(longest)) {
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
        embed(count, slots, tokens);
        for (int i = 0; i < config_.layers; i++) {
            const LayerSections& l = model_.layout.layers[i];
            const PackedLayer& packed = model_.packed.layers[i];
            sublayer(count, l.gain1, l.bias1, config_.heads, l.out_bias, [&] { attention(count, slots, i, l, packed); });
            sublayer(count, l.gain2, l.bias2, config_.hidden, l.back_bias, [&] { neurons(count, l, packed); });
        }
        const Layout& layout = model_.layout;
        const float* from = x_;
        if (layout.gain.at >= 0) norm(count, layout.gain, layout.bias, in_), from = in_;
        multiply(count, config_.vocab, config_.width, plain(from, wide_), model_.packed.unembed, logits, row,
                 Begin::bias, layout.unembed_bias.of(model_.weights));
        for (int i = 0; i < count; i++) lengths_[slots[i]]++;
    }

private:
    Transformer model_;
    const Config& config_;
    std::vector<int> lengths_;
    ptrdiff_t longest_;
    size_t each_;
    Floats keys_, values_;  // of a slot, layer and head: keys (width × longest), values (longest × width)
    Floats memory_;
    ptrdiff_t wide_, triple_, inner_, hidden_;
    float *x_, *in_, *qkv_, *z_, *post_, *scores_;
    Normed normed_;

    void lay_out(int count) {
        Carver dry;
        carve(dry, count);
        memory_.reserve(dry.used());
        Carver carver(memory_.data());
        carve(carver, count);
    }

    void carve(Carver& carver, int count) {
        wide_ = row_length(config_.width), triple_ = row_length(3 * config_.inner());
        inner_ = row_length(config_.inner()), hidden_ = row_length(config_.hidden);
        x_ = carver.take(count * wide_), in_ = carver.take(count * wide_);
        normed_ = {carver.take(count * wide_), carver.take(count)};
        qkv_ = carver.take(count * triple_), z_ = carver.take(count * inner_), post_ = carver.take(count * hidden_);
        scores_ = carver.take(longest_);
    }

    void embed(int count, const int* slots, const int64_t* tokens) {
        const int width = config_.width;
        for (int i = 0; i < count; i++) {
            const float* token = model_.layout.embed.of(model_.weights) + tokens[i] * width;
            const float* place =
                model_.positions ? model_.positions + (ptrdiff_t)lengths_[slots[i]] * width : nullptr;
            for (int j = 0; j < width; j++) x_[i * wide_ + j] = place ? token[j] + place[j] : token[j];
        }
    }

    template <class Work>
    void sublayer(int count, const Section& gain, const Section& bias, int size, const Section& out_bias, Work work) {
        if (size) {
            if (!config_.post && gain.at >= 0) norm(count, gain, bias, in_);
            else std::copy(x_, x_ + count * wide_, in_);
            work();
        }
        if (const float* b = out_bias.of(model_.weights))
            for (int i = 0; i < count; i++)
                for (int j = 0; j < config_.width; j++) x_[i * wide_ + j] += b[j];
        if (size && config_.post && gain.at >= 0) norm(count, gain, bias, x_);
    }

    void norm(int count, const Section& gain, const Section& bias, float* out) {
        norm_forward((Norm)config_.norm, count, config_.width, wide_, x_, gain.of(model_.weights),
                     bias.of(model_.weights), config_.eps, normed_, out);
    }

    void neurons(int count, const LayerSections& l, const PackedLayer& packed) {
        multiply(count, config_.hidden, config_.width, plain(in_, wide_), packed.in, post_, hidden_, Begin::bias,
                 l.in_bias.of(model_.weights));
        activate((Activation)config_.activation, count, config_.hidden, hidden_, post_, nullptr);
        multiply(count, config_.width, config_.hidden, plain(post_, hidden_), packed.back, x_, wide_, Begin::add);
    }

    void attention(int count, const int* slots, int layer, const LayerSections& l, const PackedLayer& packed) {
        const int inner = config_.inner(), width = config_.head_width;
        multiply(count, 3 * inner, config_.width, plain(in_, wide_), packed.qkv, qkv_, triple_, Begin::bias,
                 l.qkv_bias.of(model_.weights));
        for (int i = 0; i < count; i++)
            for (int h = 0; h < config_.heads; h++) {
                const size_t at = each_ * slots[i] + ((size_t)layer * config_.heads + h) * width * longest_;
                const float* q = qkv_ + i * triple_ + h * width;
                attend(lengths_[slots[i]], q, q + inner, q + 2 * inner, keys_.data() + at, values_.data() + at,
                       z_ + i * inner_ + h * width);
            }
        multiply(count, config_.width, inner, plain(z_, inner_), packed.out, x_, wide_, Begin::add);
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
