// Models with random weights and strings to train on, for the tests: every kind of model that the engine runs.
#pragma once

#include <memory>

#include "backward.h"
#include "kernels.h"
#include "trainer.h"

namespace test {

// The sizes V, N, D, layers, H, K, F; norm, post_norm, activation, tied, learned_pos; and the biases.
inline Config config(int d_vocab, int n_ctx, int d_model, int n_layers, int n_heads, int d_head, int d_ff, Norm norm,
                     bool post_norm, Activation activation, bool tied, bool learned_pos, int attn_bias, int mlp_bias,
                     int norm_bias, int unembed_bias) {
    return {d_vocab, n_ctx, d_model, n_layers, n_heads, d_head, d_ff,
            (int)norm, post_norm, (int)activation, tied, learned_pos,
            attn_bias, mlp_bias, norm_bias, unembed_bias, 1e-5f};
}

const Config SMALL = config(11, 16, 20, 2, 2, 5, 24, Norm::layer, false, Activation::gelu, false, true, 1, 1, 1, 1);

inline const std::vector<Config>& configs() {
    using A = Activation;
    static const std::vector<Config> all = {
        SMALL,
        config(11, 16, 20, 2, 2, 5, 24, Norm::layer, true, A::relu, true, true, 1, 1, 1, 0),
        config(7, 16, 16, 1, 4, 4, 64, Norm::rms, false, A::silu, true, false, 0, 0, 0, 0),
        config(7, 16, 9, 2, 1, 9, 17, Norm::rms, true, A::gelu_tanh, false, true, 0, 1, 1, 1),
        config(33, 16, 33, 1, 3, 7, 5, Norm::none, false, A::none, false, false, 1, 0, 0, 1),
        config(5, 16, 8, 2, 2, 4, 0, Norm::layer, false, A::relu, false, true, 0, 0, 1, 0),   // no MLP
        config(5, 16, 8, 2, 2, 4, 0, Norm::layer, true, A::relu, false, true, 1, 1, 0, 0),    // no MLP but its bias
        config(5, 16, 8, 2, 0, 0, 12, Norm::layer, false, A::silu, true, true, 1, 1, 1, 1),   // no heads but their bias
        config(6, 16, 3, 0, 0, 0, 0, Norm::layer, false, A::relu, false, true, 0, 0, 1, 1),   // no layers
        config(6, 16, 3, 0, 0, 0, 0, Norm::none, true, A::relu, true, false, 0, 0, 0, 0),     // an embedding only
        config(2, 16, 1, 1, 1, 1, 1, Norm::rms, false, A::gelu, false, true, 1, 1, 1, 1),     // the smallest
        config(70, 16, 64, 1, 2, 32, 100, Norm::layer, false, A::gelu_tanh, true, true, 1, 1, 1, 1),
    };
    return all;
}

inline bool is_norm_w(const Layout& layout, const Section* s) {
    if (s == &layout.ln_final.w) return true;
    for (const Layer& l : layout.layers)
        if (s == &l.ln1.w || s == &l.ln2.w) return true;
    return false;
}

inline void fill_weights(const Layout& layout, Random& random, float* weights, float size = 0.5f) {
    for (const Section* s : layout.order)
        for (int64_t i = 0; i < s->size(); i++)
            weights[s->offset + i] = size * random.number() + (is_norm_w(layout, s) ? 1.0f : 0.0f);
}

// A model with random weights. If its positions are not learned and the seed is odd, it has fixed ones.
struct Loaded {
    Layout layout;
    Row weights, pos;  // pos: the fixed positions, or nothing
    Packed packed;

    Loaded(const Config& c, uint64_t seed, float size = 0.5f) : layout(c), weights(layout.size), packed(layout, true) {
        Random random(seed);
        fill_weights(layout, random, weights.data(), size);
        if (!c.learned_pos && seed % 2) pos = random_row(random, (size_t)c.n_ctx * c.d_model);
        repack();
    }
    void repack() {
        for (int i = 0; i < packed.count(); i++) packed.pack_one(i, weights.data());
    }
    const float* fixed_pos() const { return pos.empty() ? nullptr : pos.data(); }
    Transformer transformer() const {
        const float* W_pos = layout.W_pos.of(weights.data());
        return {layout, weights.data(), packed, W_pos ? W_pos : fixed_pos()};
    }
    Naive naive() const { return Naive(layout, weights.data(), pos); }
};

struct Data {
    Ids ids, starts = {0}, asked, rows, targets;  // targets: none, or one of each id

    void add(Random& random, int d_vocab, int length, int64_t given) {
        for (int i = 0; i < length; i++) ids.push_back(random.below(d_vocab));
        starts.push_back((int64_t)ids.size()), asked.push_back(given), rows.push_back((int64_t)rows.size());
    }
    int64_t count() const { return (int64_t)rows.size(); }
    Strings strings() const {
        return {ids.data(), starts.data(), asked.data(), targets.empty() ? nullptr : targets.data()};
    }
    // Targets of their own for all strings so far, about a third of them NOTHING.
    void label(Random& random, int d_vocab) {
        for (size_t i = 0; i < ids.size(); i++) targets.push_back(random.below(3) ? random.below(d_vocab) : NOTHING);
    }
    std::vector<String> all() const {
        std::vector<String> made;
        for (int64_t i : rows) made.push_back(string_at(strings(), i));
        return made;
    }
    // By the definition: all targets that are tokens; without targets, all tokens but the first and the given ones.
    int64_t predicted() const {
        int64_t total = 0;
        for (int64_t target : targets) total += target >= 0;
        if (!targets.empty()) return total;
        for (int64_t i : rows)
            for (int64_t t = starts[i] + 1; t < starts[i + 1]; t++) total += t - starts[i] >= asked[i];
        return total;
    }
};

inline Data some_strings(Random& random, const Config& c, int count = 4) {
    Data data;
    for (int i = 0; i < count; i++) data.add(random, c.d_vocab, 2 + random.below(c.n_ctx), random.below(4));
    return data;
}

inline double naive_loss(const Naive& naive, const Data& data) {
    double total = 0.0;
    for (const String& s : data.all())
        if (s.length > 0) total += naive.loss(s.ids, s.length, s.asked, s.targets);
    return total;
}

}  // namespace test
