// The forward of a group of strings through the whole transformer, and its loss. The tokens of all strings of a group
// are the rows of one matrix, one string after the other: nothing is padded. A thread has one Forward, which reuses its
// memory from group to group. backward.h reads what it keeps.
#pragma once

#include <cmath>
#include <vector>

#include "attention.h"
#include "stream.h"

namespace handloom {

struct String {
    const int64_t* ids;      // the inputs
    int length;              // the number of inputs
    int64_t asked;           // the first tokens, this many, are given and not predicted
    const int64_t* targets;  // of the inputs; null: the target of each is the next one

    // What is predicted after input t, or NOTHING.
    int64_t target(int t) const { return targets ? targets[t] : t + 1 >= asked ? ids[t + 1] : NOTHING; }
};

// −log of the probability of the target; the row of logits becomes the gradient by it.
inline double cross_entropy(int d_vocab, float* row, int target) {
    float most = row[0];
    for (int j = 1; j < d_vocab; j++) most = std::max(most, row[j]);
    const double right = row[target] - most;
    Vec total{};
    sweep(d_vocab, [&](int j, auto span) {
        const Vec e = span.only(exp(span.load(row + j) - most));
        span.store(row + j, e);
        total += e;
    });
    const float whole = sum(total);
    const Vec share = splat(1.0f / whole);
    sweep(d_vocab, [&](int j, auto span) { span.store(row + j, span.load(row + j) * share); });
    row[target] -= 1.0f;
    return std::log((double)whole) - right;
}

class Forward {
public:
    struct LayerCache {                        // what the backward needs of a layer:
        float *attn_in, *qkv, *z, *patterns;   // (rows × D), (rows × 3HK), (rows × HK), (T × T) per string and head
        float *mlp_in, *mlp_post, *mlp_slope;  // (rows × D), (rows × F), (rows × F)
        Softmax* softmax;                      // (rows × H)
        NormCache ln1, ln2;
    };

    const Layout& layout;
    Stream stream;
    std::vector<LayerCache> layers;
    float* final;            // (rows × D): what is unembedded
    NormCache ln_final;
    float* logits;           // (logits_rows × V, vocab_stride apart)
    const ptrdiff_t vocab_stride;
    AttentionScratch scratch;

    explicit Forward(const Layout& l)
        : layout(l), stream(l), layers(l.layers.size()), vocab_stride(row_length(l.config.d_vocab)) {}

    int rows() const { return stream.rows; }  // tokens of all strings

    // Through all layers, up to `final`. With `keep`, every layer has memory of its own for the backward.
    void run(const Transformer& model, const std::vector<String>& strings, bool keep) {
        lay_out(strings, keep);
        each_token([&](int row, int64_t id, int position) { stream.embed(model, row, id, position); });
        for (int i = 0; i < (int)layers.size(); i++) {
            const Layer& l = layout.layers[i];
            LayerCache& c = layers[i];
            stream.sublayer(model, l.ln1, c.ln1, c.attn_in, layout.config.n_heads, l.b_O,
                            [&] { attention(model, i, c); });
            stream.sublayer(model, l.ln2, c.ln2, c.mlp_in, layout.config.d_ff, l.b_out,
                            [&] { stream.mlp(model, i, c.mlp_in, c.mlp_post, keep ? c.mlp_slope : nullptr); });
        }
        if (layout.ln_final.w.exists()) stream.norm(model, layout.ln_final, ln_final, final);
        else std::copy(stream.x, stream.x + rows() * stream.d_stride, final);
    }

    // The logits of the last positions of each string: (all of them × V).
    void last_logits(const Transformer& model, const std::vector<String>& strings, int last, float* out) {
        run(model, strings, false);
        for (size_t s = 0; s < strings.size(); s++) {
            const int count = std::min(last, strings[s].length);
            const float* from = final + (starts_[s] + strings[s].length - count) * stream.d_stride;
            stream.unembed(model, count, from, out, layout.config.d_vocab);
            out += (ptrdiff_t)count * layout.config.d_vocab;
        }
    }

    // The sum of the losses of the tokens to predict.
    double loss(const Transformer& model, const std::vector<String>& strings) {
        run(model, strings, false);
        return losses(model, [](int, int) {});
    }

    // The same after a run, some rows at a time, because a vocabulary may be large: each(first, count) finds in
    // `logits` the gradient by the logits of these rows.
    template <class Each>
    double losses(const Transformer& model, Each each) {
        const int V = layout.config.d_vocab;
        double total = 0.0;
        int s = 0, t = 0;  // string and position of a row
        for (int first = 0; first < rows(); first += logits_rows_) {
            const int count = std::min(logits_rows_, rows() - first);
            stream.unembed(model, count, final + first * stream.d_stride, logits, vocab_stride);
            for (int i = 0; i < count; i++, t++) {
                while (t == (*strings_)[s].length) s++, t = 0;
                const String& string = (*strings_)[s];
                float* row = logits + i * vocab_stride;
                const int64_t target = string.target(t);
                if (target != NOTHING) total += cross_entropy(V, row, (int)target);
                else std::fill(row, row + V, 0.0f);
            }
            each(first, count);
        }
        return total;
    }

    template <class Work>
    void each_token(Work work) const {
        for (size_t s = 0; s < strings_->size(); s++)
            for (int t = 0; t < (*strings_)[s].length; t++) work(starts_[s] + t, (*strings_)[s].ids[t], t);
    }

    // work(head, its first row, h, its pattern) for every head of every string.
    template <class Work>
    void each_head(const LayerCache& c, Work work) const {
        const int H = layout.config.n_heads, K = layout.config.d_head, HK = layout.config.d_attn();
        for (size_t s = 0; s < strings_->size(); s++)
            for (int h = 0; h < H; h++) {
                const int T = (*strings_)[s].length;
                const size_t size = pattern_size(T);
                const float* q = c.qkv + starts_[s] * stream.qkv_stride + h * K;
                float* pattern = c.patterns && size ? c.patterns + pattern_starts_[s] + h * size : nullptr;
                work(Head{T, K, stream.qkv_stride, q, q + HK, q + 2 * HK}, starts_[s], h, pattern);
            }
    }

private:
    const std::vector<String>* strings_ = nullptr;
    std::vector<int> starts_;                      // the first row of each string
    std::vector<size_t> pattern_starts_;
    int logits_rows_ = 0;                          // rows unembedded at a time
    Floats memory_;

    void attention(const Transformer& model, int layer, LayerCache& c) {
        const int H = layout.config.n_heads, K = layout.config.d_head;
        stream.project(model, layer, c.attn_in, c.qkv);
        each_head(c, [&](const Head& head, int first, int h, float* pattern) {
            attention_forward(head, scratch, c.z + first * stream.z_stride + h * K, stream.z_stride,
                              c.softmax + first * H + h, H, pattern);
        });
        stream.add_heads(model, layer, c.z);
    }

    void lay_out(const std::vector<String>& strings, bool keep) {
        strings_ = &strings;
        starts_.clear();
        pattern_starts_.assign(1, 0);
        int rows = 0, longest = 0;
        for (const String& s : strings) {
            starts_.push_back(rows);
            rows += s.length;
            longest = std::max(longest, s.length);
            pattern_starts_.push_back(pattern_starts_.back() + layout.config.n_heads * pattern_size(s.length));
        }
        stream.rows = rows;
        logits_rows_ = (int)std::max<ptrdiff_t>(TILE, std::min<ptrdiff_t>(rows, 65536 / vocab_stride));
        carve_from(memory_, [&](Carver& carver) { carve(carver, longest, keep); });
    }

    void carve(Carver& carver, int longest, bool keep) {
        const size_t d_size = rows() * stream.d_stride;
        stream.x = carver.take(d_size), final = carver.take(d_size);
        ln_final = {carver.take(d_size), carver.take(rows())};
        logits = carver.take(logits_rows_ * vocab_stride);
        scratch = AttentionScratch::carve(carver, longest, layout.config.d_head);
        for (size_t i = 0; i < layers.size(); i++) {
            if (i && !keep) layers[i] = layers[0];  // without a backward all layers use the same memory
            else carve_layer(carver, layers[i], keep);
        }
    }

    void carve_layer(Carver& carver, LayerCache& c, bool keep) {
        const size_t n = rows(), d_size = n * stream.d_stride, ff_size = n * stream.ff_stride;
        c.attn_in = carver.take(d_size), c.mlp_in = carver.take(d_size);
        c.ln1 = {carver.take(d_size), carver.take(n)}, c.ln2 = {carver.take(d_size), carver.take(n)};
        c.qkv = carver.take(n * stream.qkv_stride), c.z = carver.take(n * stream.z_stride);
        c.softmax = reinterpret_cast<Softmax*>(carver.take(2 * n * layout.config.n_heads));
        c.patterns = keep ? carver.take(pattern_starts_.back()) : nullptr;
        c.mlp_post = carver.take(ff_size), c.mlp_slope = keep ? carver.take(ff_size) : nullptr;
    }
};

}  // namespace handloom
