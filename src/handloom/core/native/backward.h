// The backward of a group of strings: the gradient of the loss by every parameter. It goes through forward.h from the
// end to the beginning, and each function here is the backward of one there or in stream.h. A d_ in front of a name is
// the gradient by it. A thread has one Backward, which reuses its memory from group to group.
#pragma once

#include "forward.h"

namespace handloom {

class Backward {
public:
    Forward forward;

    explicit Backward(const Layout& layout) : forward(layout), layout_(layout), stream_(forward.stream) {}
    Backward(const Backward&) = delete;

    // The sum of the losses of the tokens to predict. Its gradient is added to `gradient` or, if that is `fresh`,
    // written over what it held.
    double loss(const Transformer& model, const std::vector<String>& strings, float* gradient, bool fresh = false) {
        forward.run(model, strings, true);
        rows_ = forward.rows();
        if (!rows_) return 0.0;
        carve_from(memory_, [&](Carver& carver) { carve(carver); });
        onto_ = fresh ? Begin::zero : Begin::add;
        if (fresh) clear_sums(gradient);
        const double total =
            forward.losses(model, [&](int first, int count) { unembed_backward(model, gradient, first, count); });
        run(model, gradient);
        return total;
    }

private:
    const Layout& layout_;
    const Stream& stream_;  // of the forward
    int rows_ = 0;
    Begin onto_ = Begin::add;  // whether the gradients of matrices are written or added to
    float* d_x_;               // (rows × D): by the stream, as far as it is known
    float *d_in_, *d_qkv_, *d_z_, *d_pre_;  // (rows × D), (rows × 3HK), (rows × HK), (rows × F)
    Floats memory_;

    using LayerCache = Forward::LayerCache;

    void carve(Carver& carver) {
        d_x_ = carver.take(rows_ * stream_.d_stride), d_in_ = carver.take(rows_ * stream_.d_stride);
        d_qkv_ = carver.take(rows_ * stream_.qkv_stride), d_z_ = carver.take(rows_ * stream_.z_stride);
        d_pre_ = carver.take(rows_ * stream_.ff_stride);
    }

    // Zeros where a gradient is not the product of matrices but summed row by row.
    void clear_sums(float* gradient) const {
        if (!layout_.config.tied) std::fill_n(layout_.W_E.of(gradient), layout_.W_E.size(), 0.0f);
        if (layout_.W_pos.exists()) std::fill_n(layout_.W_pos.of(gradient), layout_.W_pos.size(), 0.0f);
        std::fill(gradient + layout_.decayed_size, gradient + layout_.size, 0.0f);
    }

    void unembed_backward(const Transformer& model, float* gradient, int first, int count) {
        const int V = layout_.config.d_vocab, D = layout_.config.d_model;
        const float *d_logits = forward.logits, *in = forward.final + first * stream_.d_stride;
        const ptrdiff_t v_stride = forward.vocab_stride, d_stride = stream_.d_stride;
        multiply(count, D, V, plain(d_logits, v_stride), model.packed.W_U_T, d_x_ + first * d_stride, d_stride);
        const Begin onto = first ? Begin::add : onto_;
        if (layout_.config.tied)
            multiply(V, D, count, transposed(d_logits, v_stride), unpacked(in, d_stride), layout_.W_E.of(gradient), D,
                     onto);
        else
            multiply(D, V, count, transposed(in, d_stride), unpacked(d_logits, v_stride), layout_.W_U.of(gradient), V,
                     onto);
        sum_rows(count, V, d_logits, v_stride, layout_.b_U.of(gradient));
    }

    // Through all layers, from d_x_ as `unembed_backward` left it.
    void run(const Transformer& model, float* gradient) {
        const Config& c = layout_.config;
        if (layout_.ln_final.w.exists())
            norm_backward(model, gradient, layout_.ln_final, forward.ln_final, d_x_, false, d_x_);
        for (size_t i = forward.layers.size(); i-- > 0;) {
            const Layer& l = layout_.layers[i];
            const PackedLayer& packed = model.packed.layers[i];
            const LayerCache& cache = forward.layers[i];
            sublayer_backward(model, gradient, l.ln2, cache.ln2, c.d_ff, l.b_out, [&](float* d_in, Begin begin) {
                mlp_backward(gradient, l, packed, cache, d_in, begin);
            });
            sublayer_backward(model, gradient, l.ln1, cache.ln1, c.n_heads, l.b_O, [&](float* d_in, Begin begin) {
                attention_backward(gradient, l, packed, cache, d_in, begin);
            });
        }
        embed_backward(gradient);
    }

    // `work` reads d_x_ and writes, or adds, the gradient by the sublayer's input.
    template <class Work>
    void sublayer_backward(const Transformer& model, float* gradient, const LayerNorm& ln, NormCache cache, int size,
                           const Section& bias, Work work) {
        const bool post_norm = layout_.config.post_norm, normed = size && ln.w.exists();
        if (post_norm && normed) norm_backward(model, gradient, ln, cache, d_x_, false, d_x_);
        sum_rows(rows_, layout_.config.d_model, d_x_, stream_.d_stride, bias.of(gradient));
        if (!size) return;
        if (post_norm || !normed) return work(d_x_, Begin::add);
        work(d_in_, Begin::zero);
        norm_backward(model, gradient, ln, cache, d_in_, true, d_x_);
    }

    void norm_backward(const Transformer& model, float* gradient, const LayerNorm& ln, NormCache cache,
                       const float* d_out, bool add, float* d_x) {
        handloom::norm_backward((Norm)layout_.config.norm, rows_, layout_.config.d_model, stream_.d_stride, d_out,
                                cache, ln.w.of(model.weights), add, d_x, ln.w.of(gradient), ln.b.of(gradient));
    }

    void mlp_backward(float* gradient, const Layer& l, const PackedLayer& packed, const LayerCache& c, float* d_in,
                      Begin begin) {
        const int D = layout_.config.d_model, F = layout_.config.d_ff;
        const ptrdiff_t d_stride = stream_.d_stride, ff_stride = stream_.ff_stride;
        multiply(F, D, rows_, transposed(c.mlp_post, ff_stride), unpacked(d_x_, d_stride), l.W_out.of(gradient), D,
                 onto_);
        multiply(rows_, F, D, plain(d_x_, d_stride), packed.W_out_T, d_pre_, ff_stride);
        sum_rows(rows_, F, l.b_in.of(gradient), [&](int t, int i, auto span) {
            float* d = d_pre_ + t * ff_stride + i;
            const Vec g = span.load(d) * span.load(c.mlp_slope + t * ff_stride + i);
            span.store(d, g);
            return g;
        });
        linear_backward(gradient, l.W_in, packed.W_in_T, c.mlp_in, d_pre_, ff_stride, d_in, begin);
    }

    void attention_backward(float* gradient, const Layer& l, const PackedLayer& packed, const LayerCache& c,
                            float* d_in, Begin begin) {
        const int D = layout_.config.d_model, H = layout_.config.n_heads, K = layout_.config.d_head, HK = H * K;
        const ptrdiff_t d_stride = stream_.d_stride, z_stride = stream_.z_stride, qkv_stride = stream_.qkv_stride;
        multiply(HK, D, rows_, transposed(c.z, z_stride), unpacked(d_x_, d_stride), l.W_O.of(gradient), D, onto_);
        multiply(rows_, HK, D, plain(d_x_, d_stride), packed.W_O_T, d_z_, z_stride);
        forward.each_head(c, [&](const Head& head, int first, int h, float* pattern) {
            const ptrdiff_t at = first * z_stride + h * K;
            float* d_q = d_qkv_ + first * qkv_stride + h * K;
            handloom::attention_backward(head, forward.scratch, c.z + at, d_z_ + at, z_stride,
                                         c.softmax + first * H + h, H, pattern, d_q, d_q + HK, d_q + 2 * HK);
        });
        sum_rows(rows_, 3 * HK, d_qkv_, qkv_stride, l.b_QKV.of(gradient));
        linear_backward(gradient, l.W_QKV, packed.W_QKV_T, c.attn_in, d_qkv_, qkv_stride, d_in, begin);
    }

    // The gradients by a matrix that reads the stream and by its input, from that by its output.
    void linear_backward(float* gradient, const Section& matrix, const Right& matrix_T, const float* in,
                         const float* d_out, ptrdiff_t out_stride, float* d_in, Begin begin) {
        const int D = (int)matrix.rows, cols = (int)matrix.cols;
        multiply(D, cols, rows_, transposed(in, stream_.d_stride), unpacked(d_out, out_stride), matrix.of(gradient),
                 cols, onto_);
        multiply(rows_, D, cols, plain(d_out, out_stride), matrix_T, d_in, stream_.d_stride, begin);
    }

    void embed_backward(float* gradient) {
        const int D = layout_.config.d_model;
        forward.each_token([&](int row, int64_t id, int position) {
            const float* d = d_x_ + row * stream_.d_stride;
            sum_rows(1, D, d, 0, layout_.W_E.of(gradient) + id * D);
            if (layout_.W_pos.exists()) sum_rows(1, D, d, 0, layout_.W_pos.of(gradient) + (ptrdiff_t)position * D);
        });
    }

    static void sum_rows(int count, int n, const float* rows, ptrdiff_t stride, float* to) {
        if (to) sum_rows(count, n, to, [&](int t, int i, auto span) { return span.load(rows + t * stride + i); });
    }

    // Rows of n are summed and added to what `to`, unless null, holds; term(t, i, span) is a vector of row t. Four sums
    // at a time, because each waits for its last addition.
    template <class Term>
    static void sum_rows(int count, int n, float* to, Term term) {
        int first = 0;
        for (; first + 4 * W <= n; first += 4 * W) {
            Vec total[4] = {};
            for (int t = 0; t < count; t++)
#pragma GCC unroll 4
                for (int k = 0; k < 4; k++) total[k] += term(t, first + k * W, Whole{});
            for (int k = 0; to && k < 4; k++) store(to + first + k * W, load(to + first + k * W) + total[k]);
        }
        sweep(n - first, [&](int i, auto span) {
            Vec total{};
            for (int t = 0; t < count; t++) total += term(t, first + i, span);
            if (to) span.store(to + first + i, span.load(to + first + i) + total);
        });
    }
};

}  // namespace handloom
