// A group of strings through the whole transformer, forward and backward. The tokens of all strings of a group are rows
// of one matrix, one string after the other: nothing is padded. A thread has one Group, whose memory is used again and
// again.
#pragma once

#include <cmath>
#include <vector>

#include "attention.h"
#include "stream.h"

namespace handloom {

struct String {
    const int64_t* ids;  // of inputs; the target of each is the next one
    int length;          // of inputs
    int64_t asked;       // the first so many tokens are given and not learnt
};

class Group {
public:
    explicit Group(const Layout& layout)
        : layout_(layout), stream_(layout), wide_(stream_.wide), inner_(stream_.inner), triple_(stream_.triple),
          hidden_(stream_.hidden), vocab_(row_length(layout.config.vocab)), kept_(layout.layers.size()) {}

    // The sum of the losses of the tokens to be learnt. With a gradient, that of the sum is added to it, or, if it is
    // `fresh`, written over what was there.
    double loss(const Transformer& model, const std::vector<String>& strings, float* gradient, bool fresh = false) {
        lay_out(strings, gradient != nullptr);
        if (!rows_) return 0.0;
        forward(model, gradient != nullptr);
        onto_ = fresh ? Begin::zero : Begin::add;
        if (gradient && fresh) clear_sums(gradient);
        const double total = unembed(model, gradient);
        if (gradient) backward(model, gradient);
        return total;
    }

    // The logits of the last positions of each string: (all of them × vocab).
    void logits(const Transformer& model, const std::vector<String>& strings, int last, float* out) {
        lay_out(strings, false);
        if (!rows_) return;
        forward(model, false);
        const int vocab = layout_.config.vocab;
        for (int s = 0; s < (int)strings.size(); s++) {
            const int count = std::min(last, strings[s].length);
            const float* from = final_ + (starts_[s] + strings[s].length - count) * wide_;
            stream_.unembed(model, count, from, out, vocab);
            out += (ptrdiff_t)count * vocab;
        }
    }

private:
    struct Kept {  // of a layer, for the backward
        float *in1, *in2, *qkv, *z, *patterns, *post, *slope;
        Softmax* softmax;
        Normed norm1, norm2;
    };

    const Layout& layout_;
    Stream stream_;
    const ptrdiff_t wide_, inner_, triple_, hidden_, vocab_;  // distances between rows
    std::vector<Kept> kept_;
    const std::vector<String>* strings_ = nullptr;
    std::vector<int> starts_;
    std::vector<size_t> pattern_starts_;
    int rows_ = 0;                                  // tokens of all strings
    int at_once_ = 0;                               // rows unembedded at a time
    Begin onto_ = Begin::add;                       // how matrices are written to the gradient
    float *final_, *logits_, *d_hidden_, *d_triple_, *d_inner_, *d_in_, *d_x_;
    Normed norm_;
    AttentionRoom room_;
    Floats memory_;

    void lay_out(const std::vector<String>& strings, bool backward) {
        strings_ = &strings;
        starts_.clear();
        pattern_starts_.assign(1, 0);
        rows_ = 0;
        int longest = 0;
        for (const String& s : strings) {
            starts_.push_back(rows_);
            rows_ += s.length;
            longest = std::max(longest, s.length);
            pattern_starts_.push_back(pattern_starts_.back() + layout_.config.heads * pattern_size(s.length));
        }
        Carver dry;
        carve(dry, longest, backward);
        memory_.reserve(dry.used());
        Carver carver(memory_.data());
        carve(carver, longest, backward);
    }

    void carve(Carver& carver, int longest, bool backward) {
        const Config& c = layout_.config;
        const size_t n = rows_;
        at_once_ = std::max<ptrdiff_t>(TILE, std::min<ptrdiff_t>(rows_, 65536 / vocab_));
        stream_.rows = rows_;
        stream_.x = carver.take(n * wide_), final_ = carver.take(n * wide_);
        norm_ = {carver.take(n * wide_), carver.take(n)};
        logits_ = carver.take(at_once_ * vocab_);
        room_ = AttentionRoom::carve(carver, longest, c.head_width);
        for (size_t i = 0; i < kept_.size(); i++) {
            Kept& k = kept_[i];
            if (i && !backward) {  // without a backward all layers use the same memory
                k = kept_[0];
                continue;
            }
            k.in1 = carver.take(n * wide_), k.in2 = carver.take(n * wide_);
            k.norm1 = {carver.take(n * wide_), carver.take(n)}, k.norm2 = {carver.take(n * wide_), carver.take(n)};
            k.qkv = carver.take(n * triple_), k.z = carver.take(n * inner_), k.softmax = reinterpret_cast<Softmax*>(carver.take(2 * n * c.heads));
            k.patterns = backward ? carver.take(pattern_starts_.back()) : nullptr;
            k.post = carver.take(n * hidden_), k.slope = backward ? carver.take(n * hidden_) : nullptr;
        }
        if (!backward) return;
        d_x_ = carver.take(n * wide_), d_in_ = carver.take(n * wide_);
        d_triple_ = carver.take(n * triple_), d_inner_ = carver.take(n * inner_), d_hidden_ = carver.take(n * hidden_);
    }

    // ---- forward

    void forward(const Transformer& model, bool backward) {
        const Config& c = layout_.config;
        embed(model);
        for (size_t i = 0; i < kept_.size(); i++) {
            const LayerSections& l = layout_.layers[i];
            Kept& k = kept_[i];
            stream_.sublayer(model, l.gain1, l.bias1, k.norm1, k.in1, c.heads, l.out_bias,
                             [&] { attention(model, (int)i, k); });
            stream_.sublayer(model, l.gain2, l.bias2, k.norm2, k.in2, c.hidden, l.back_bias, [&] {
                stream_.neurons(model, (int)i, k.in2, k.post, backward ? k.slope : nullptr);
            });
        }
        if (layout_.gain.at >= 0) stream_.norm(model, layout_.gain, layout_.bias, norm_, final_);
        else std::copy(stream_.x, stream_.x + rows_ * wide_, final_);
    }

    void embed(const Transformer& model) {
        for (size_t s = 0; s < strings_->size(); s++)
            for (int t = 0; t < (*strings_)[s].length; t++)
                stream_.embed(model, starts_[s] + t, (*strings_)[s].ids[t], t);
    }

    void attention(const Transformer& model, int layer, Kept& k) {
        const Config& c = layout_.config;
        stream_.queries_keys_values(model, layer, k.in1, k.qkv);
        each_head([&](int s, int h) {
            const int first = starts_[s];
            attend_forward(head(k, s, h), room_, k.z + first * inner_ + h * c.head_width, inner_,
                           k.softmax + first * c.heads + h, c.heads, pattern(k, s, h));
        });
        stream_.add_heads(model, layer, k.z);
    }

    template <class Work>
    void each_head(Work work) {
        for (int s = 0; s < (int)strings_->size(); s++)
            for (int h = 0; h < layout_.config.heads; h++) work(s, h);
    }

    float* pattern(const Kept& k, int s, int h) const {
        const size_t size = pattern_size((*strings_)[s].length);
        return k.patterns && size ? k.patterns + pattern_starts_[s] + h * size : nullptr;
    }

    Head head(const Kept& k, int s, int h) const {
        const int width = layout_.config.head_width, inner = layout_.config.inner();
        const float* q = k.qkv + starts_[s] * triple_ + h * width;
        return {(*strings_)[s].length, width, triple_, q, q + inner, q + 2 * inner};
    }

    // ---- the loss, and the first of the backward: some rows at a time, for a vocabulary may be large

    double unembed(const Transformer& model, float* gradient) {
        const Config& c = layout_.config;
        double total = 0.0;
        int s = 0, t = 0;  // string and position of a row
        for (int first = 0; first < rows_; first += at_once_) {
            const int count = std::min(at_once_, rows_ - first);
            const float* from = final_ + first * wide_;
            stream_.unembed(model, count, from, logits_, vocab_);
            for (int i = 0; i < count; i++, t++) {
                while (t == (*strings_)[s].length) s++, t = 0;
                const String& string = (*strings_)[s];
                float* row = logits_ + i * vocab_;
                if (t + 1 >= string.asked) total += cross_entropy(c.vocab, row, (int)string.ids[t + 1]);
                else std::fill(row, row + c.vocab, 0.0f);
            }
            if (!gradient) continue;
            multiply(count, c.width, c.vocab, plain(logits_, vocab_), model.packed.unembed_t, d_x_ + first * wide_,
                     wide_);
            const Begin onto = first ? Begin::add : onto_;
            if (c.tied)
                multiply(c.vocab, c.width, count, transposed(logits_, vocab_), unpacked(from, wide_),
                         layout_.embed.of(gradient), c.width, onto);
            else
                multiply(c.width, c.vocab, count, transposed(from, wide_), unpacked(logits_, vocab_),
                         layout_.unembed.of(gradient), c.vocab, onto);
            add_rows(count, c.vocab, logits_, vocab_, layout_.unembed_bias.of(gradient));
        }
        return total;
    }

    // −log of the probability of the target; the row becomes its gradient.
    static double cross_entropy(int vocab, float* row, int target) {
        float most = row[0];
        for (int j = 1; j < vocab; j++) most = std::max(most, row[j]);
        const double right = row[target] - most;
        Vec total{};
        sweep(vocab, [&](int j, auto span) {
            const Vec e = span.only(exp(span.load(row + j) - most));
            span.store(row + j, e);
            total += e;
        });
        const float whole = sum(total);
        const Vec share = splat(1.0f / whole);
        sweep(vocab, [&](int j, auto span) { span.store(row + j, span.load(row + j) * share); });
        row[target] -= 1.0f;
        return std::log((double)whole) - right;
    }

    // Zeros where a gradient is not the product of matrices but added up row by row.
    void clear_sums(float* gradient) const {
        if (!layout_.config.tied) std::fill_n(layout_.embed.of(gradient), layout_.embed.size(), 0.0f);
        if (layout_.positions.at >= 0) std::fill_n(layout_.positions.of(gradient), layout_.positions.size(), 0.0f);
        std::fill(gradient + layout_.decayed, gradient + layout_.size, 0.0f);
    }

    // ---- backward; d_x_ is what is known of the loss by x, the stream

    void backward(const Transformer& model, float* gradient) {
        const Config& c = layout_.config;
        if (layout_.gain.at >= 0) norm_back(model, gradient, layout_.gain, layout_.bias, norm_, d_x_, false, d_x_);
        for (size_t i = kept_.size(); i-- > 0;) {
            const LayerSections& l = layout_.layers[i];
            Kept& k = kept_[i];
            sublayer_back(model, gradient, l.gain2, l.bias2, k.norm2, c.hidden, l.back_bias,
                          [&](float* to, Begin begin) {
                              neurons_back(gradient, l, model.packed.layers[i], k, to, begin);
                          });
            sublayer_back(model, gradient, l.gain1, l.bias1, k.norm1, c.heads, l.out_bias,
                          [&](float* to, Begin begin) {
                              attention_back(gradient, l, model.packed.layers[i], k, to, begin);
                          });
        }
        embed_back(gradient);
    }

    // `work` reads d_x_ and writes, or adds, what it says of the sublayer's input.
    template <class Work>
    void sublayer_back(const Transformer& model, float* gradient, const Section& gain, const Section& bias, Normed kept,
                       int size, const Section& out_bias, Work work) {
        const bool post = layout_.config.post, normed = size && gain.at >= 0;
        if (post && normed) norm_back(model, gradient, gain, bias, kept, d_x_, false, d_x_);
        add_rows(rows_, layout_.config.width, d_x_, wide_, out_bias.of(gradient));
        if (!size) return;
        if (post || !normed) return work(d_x_, Begin::add);
        work(d_in_, Begin::zero);
        norm_back(model, gradient, gain, bias, kept, d_in_, true, d_x_);
    }

    void norm_back(const Transformer& model, float* gradient, const Section& gain, const Section& bias, Normed kept,
                   const float* d_out, bool add, float* d_x) {
        norm_backward((Norm)layout_.config.norm, rows_, layout_.config.width, wide_, d_out, kept,
                      gain.of(model.weights), add, d_x, gain.of(gradient), bias.of(gradient));
    }

    void neurons_back(float* gradient, const LayerSections& l, const PackedLayer& packed, const Kept& k, float* to,
                      Begin begin) {
        const Config& c = layout_.config;
        multiply(c.hidden, c.width, rows_, transposed(k.post, hidden_), unpacked(d_x_, wide_), l.back.of(gradient),
                 c.width, onto_);
        multiply(rows_, c.hidden, c.width, plain(d_x_, wide_), packed.back_t, d_hidden_, hidden_);
        add_rows(rows_, c.hidden, l.in_bias.of(gradient), [&](int t, int i, auto span) {
            float* d = d_hidden_ + t * hidden_ + i;
            const Vec g = span.load(d) * span.load(k.slope + t * hidden_ + i);
            span.store(d, g);
            return g;
        });
        linear_back(gradient, l.in, packed.in_t, k.in2, d_hidden_, hidden_, to, begin);
    }

    void attention_back(float* gradient, const LayerSections& l, const PackedLayer& packed, const Kept& k, float* to,
                        Begin begin) {
        const Config& c = layout_.config;
        multiply(c.inner(), c.width, rows_, transposed(k.z, inner_), unpacked(d_x_, wide_), l.out.of(gradient), c.width,
                 onto_);
        multiply(rows_, c.inner(), c.width, plain(d_x_, wide_), packed.out_t, d_inner_, inner_);
        each_head([&](int s, int h) {
            const ptrdiff_t at = starts_[s] * inner_ + h * c.head_width;
            float* dq = d_triple_ + starts_[s] * triple_ + h * c.head_width;
            attend_backward(head(k, s, h), room_, k.z + at, d_inner_ + at, inner_, k.softmax + starts_[s] * c.heads + h,
                            c.heads, pattern(k, s, h), dq, dq + c.inner(), dq + 2 * c.inner());
        });
        add_rows(rows_, 3 * c.inner(), d_triple_, triple_, l.qkv_bias.of(gradient));
        linear_back(gradient, l.qkv, packed.qkv_t, k.in1, d_triple_, triple_, to, begin);
    }

    // The gradient of a matrix and of its input, from that of its output.
    void linear_back(float* gradient, const Section& matrix, const Right& turned, const float* in, const float* d_out,
                     ptrdiff_t row, float* to, Begin begin) {
        const int width = (int)matrix.rows, cols = (int)matrix.cols;
        multiply(width, cols, rows_, transposed(in, wide_), unpacked(d_out, row), matrix.of(gradient), cols, onto_);
        multiply(rows_, width, cols, plain(d_out, row), turned, to, wide_, begin);
    }

    static void add_rows(int count, int n, const float* rows, ptrdiff_t row, float* to) {
        if (to) add_rows(count, n, to, [&](int t, int i, auto span) { return span.load(rows + t * row + i); });
    }

    // term(t, i, span), the vectors of rows of n, added up over t to what `to`, unless null, holds. Four sums at a time,
    // for each waits for its last addition.
    template <class Term>
    static void add_rows(int count, int n, float* to, Term term) {
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

    void embed_back(float* gradient) {
        const int width = layout_.config.width;
        for (size_t s = 0; s < strings_->size(); s++)
            for (int t = 0; t < (*strings_)[s].length; t++) {
                const float* d = d_x_ + (starts_[s] + t) * wide_;
                add_rows(1, width, d, 0, layout_.embed.of(gradient) + (*strings_)[s].ids[t] * width);
                if (layout_.positions.at >= 0)
                    add_rows(1, width, d, 0, layout_.positions.of(gradient) + (ptrdiff_t)t * width);
            }
    }
};

}  // namespace handloom
