// The residual stream of some rows, one token each, and the forward of all that works on every row by itself:
// embedding, norms, MLP, unembedding, and how a sublayer reads the stream and adds to it. Attention, which looks at
// other rows, is in attention.h for whole strings and in slots.h for one more token.
#pragma once

#include "activations.h"
#include "norms.h"
#include "packed.h"

namespace handloom {

// A model that can be run: views of parameters that someone else holds.
struct Transformer {
    const Layout& layout;
    const float* weights;
    const Packed& packed;
    const float* pos;  // (N × D), learned or fixed; null if the model has none
};

struct Stream {
    const Layout& layout;
    int rows = 0;
    ptrdiff_t d_stride, qkv_stride, z_stride, ff_stride;  // distances between rows of D, 3HK, HK and F
    float* x = nullptr;                                   // (rows × D)

    explicit Stream(const Layout& l)
        : layout(l), d_stride(row_length(l.config.d_model)), qkv_stride(row_length(3 * l.config.d_attn())),
          z_stride(row_length(l.config.d_attn())), ff_stride(row_length(l.config.d_ff)) {}

    void embed(const Transformer& model, int row, int64_t token, int64_t position) const {
        const int D = layout.config.d_model;
        const float* from = layout.W_E.of(model.weights) + token * D;
        const float* pos = model.pos ? model.pos + position * D : nullptr;
        float* to = x + row * d_stride;
        sweep(D, [&](int i, auto span) {
            const Vec e = span.load(from + i);
            span.store(to + i, pos ? e + span.load(pos + i) : e);
        });
    }

    void norm(const Transformer& model, const LayerNorm& ln, NormCache cache, float* out) const {
        norm_forward((Norm)layout.config.norm, rows, layout.config.d_model, d_stride, x, ln.w.of(model.weights),
                     ln.b.of(model.weights), layout.config.eps, cache, out);
    }

    // x + f(norm(x)) or norm(x + f(x)); `work` reads `in` and adds to x. A sublayer of no size adds its bias alone.
    template <class Work>
    void sublayer(const Transformer& model, const LayerNorm& ln, NormCache cache, float* in, int size,
                  const Section& bias, Work work) const {
        const bool post_norm = layout.config.post_norm, normed = size && ln.w.exists();
        if (size) {
            if (normed && !post_norm) norm(model, ln, cache, in);
            else std::copy(x, x + rows * d_stride, in);
            work();
        }
        if (const float* b = bias.of(model.weights))
            for (int t = 0; t < rows; t++)
                sweep(layout.config.d_model, [&](int i, auto span) {
                    float* at = x + t * d_stride + i;
                    span.store(at, span.load(at) + span.load(b + i));
                });
        if (normed && post_norm) norm(model, ln, cache, x);
    }

    // q, k and v of all heads.
    void project(const Transformer& model, int layer, const float* in, float* qkv) const {
        multiply(rows, 3 * layout.config.d_attn(), layout.config.d_model, plain(in, d_stride),
                 model.packed.layers[layer].W_QKV, qkv, qkv_stride, Begin::bias,
                 layout.layers[layer].b_QKV.of(model.weights));
    }

    // x += z · W_O
    void add_heads(const Transformer& model, int layer, const float* z) const {
        multiply(rows, layout.config.d_model, layout.config.d_attn(), plain(z, z_stride),
                 model.packed.layers[layer].W_O, x, d_stride, Begin::add);
    }

    // x += mlp_post · W_out, where mlp_post = f(in · W_in + b_in). slope, unless null, gets f' for the backward.
    void mlp(const Transformer& model, int layer, const float* in, float* mlp_post, float* slope) const {
        const Config& c = layout.config;
        multiply(rows, c.d_ff, c.d_model, plain(in, d_stride), model.packed.layers[layer].W_in, mlp_post, ff_stride,
                 Begin::bias, layout.layers[layer].b_in.of(model.weights));
        activate((Activation)c.activation, rows, c.d_ff, ff_stride, mlp_post, slope);
        multiply(rows, c.d_model, c.d_ff, plain(mlp_post, ff_stride), model.packed.layers[layer].W_out, x, d_stride,
                 Begin::add);
    }

    // The logits (count × V, `stride` apart) of rows `from`, which lie as those of x do.
    void unembed(const Transformer& model, int count, const float* from, float* logits, ptrdiff_t stride) const {
        multiply(count, layout.config.d_vocab, layout.config.d_model, plain(from, d_stride), model.packed.W_U, logits,
                 stride, Begin::bias, layout.b_U.of(model.weights));
    }
};

}  // namespace handloom
