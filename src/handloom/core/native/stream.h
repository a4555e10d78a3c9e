// The residual stream of some rows, a token each, and all that is done to every row by itself: embedding, norms,
// neurons, and how a sublayer reads the stream and adds to it. What looks at other rows, attention, is in attention.h for
// whole strings and in slots.h for one token more.
#pragma once

#include "layout.h"

namespace handloom {

struct Transformer {
    const Layout& layout;
    const float* weights;
    const Packed& packed;
    const float* positions;  // (block × width), learnt or fixed; null if there are none
};

struct Stream {
    const Layout& layout;
    int rows = 0;
    ptrdiff_t wide, inner, triple, hidden;  // distances between rows: of the stream, of heads, of q k v, of neurons
    float* x = nullptr;

    explicit Stream(const Layout& l)
        : layout(l), wide(row_length(l.config.width)), inner(row_length(l.config.inner())),
          triple(row_length(3 * l.config.inner())), hidden(row_length(l.config.hidden)) {}

    void embed(const Transformer& model, int row, int64_t token, int64_t position) const {
        const int width = layout.config.width;
        const float* from = layout.embed.of(model.weights) + token * width;
        const float* place = model.positions ? model.positions + position * width : nullptr;
        float* to = x + row * wide;
        sweep(width, [&](int i, auto span) {
            const Vec e = span.load(from + i);
            span.store(to + i, place ? e + span.load(place + i) : e);
        });
    }

    void norm(const Transformer& model, const Section& gain, const Section& bias, Normed kept, float* out) const {
        norm_forward((Norm)layout.config.norm, rows, layout.config.width, wide, x, gain.of(model.weights),
                     bias.of(model.weights), layout.config.eps, kept, out);
    }

    // x + f(norm(x)) or norm(x + f(x)); `work` reads `in` and adds to x. A sublayer of no size adds its bias alone.
    template <class Work>
    void sublayer(const Transformer& model, const Section& gain, const Section& bias, Normed kept, float* in, int size,
                  const Section& out_bias, Work work) const {
        const bool post = layout.config.post, normed = size && gain.at >= 0;
        if (size) {
            if (normed && !post) norm(model, gain, bias, kept, in);
            else std::copy(x, x + rows * wide, in);
            work();
        }
        if (const float* b = out_bias.of(model.weights))
            for (int t = 0; t < rows; t++)
                sweep(layout.config.width, [&](int i, auto span) {
                    float* at = x + t * wide + i;
                    span.store(at, span.load(at) + span.load(b + i));
                });
        if (normed && post) norm(model, gain, bias, kept, x);
    }

    void queries_keys_values(const Transformer& model, int layer, const float* in, float* qkv) const {
        multiply(rows, 3 * layout.config.inner(), layout.config.width, plain(in, wide), model.packed.layers[layer].qkv,
                 qkv, triple, Begin::bias, layout.layers[layer].qkv_bias.of(model.weights));
    }

    void add_heads(const Transformer& model, int layer, const float* z) const {
        multiply(rows, layout.config.width, layout.config.inner(), plain(z, inner), model.packed.layers[layer].out, x,
                 wide, Begin::add);
    }

    // slope may be null.
    void neurons(const Transformer& model, int layer, const float* in, float* post, float* slope) const {
        const Config& c = layout.config;
        multiply(rows, c.hidden, c.width, plain(in, wide), model.packed.layers[layer].in, post, hidden, Begin::bias,
                 layout.layers[layer].in_bias.of(model.weights));
        activate((Activation)c.activation, rows, c.hidden, hidden, post, slope);
        multiply(rows, c.width, c.hidden, plain(post, hidden), model.packed.layers[layer].back, x, wide, Begin::add);
    }

    // The logits of rows `from` (as those of x lie), apart as told.
    void unembed(const Transformer& model, int count, const float* from, float* logits, ptrdiff_t row) const {
        multiply(count, layout.config.vocab, layout.config.width, plain(from, wide), model.packed.unembed, logits, row,
                 Begin::bias, layout.unembed_bias.of(model.weights));
    }
};

}  // namespace handloom
