// Models with random weights and strings to learn, for the tests: every kind of model that the engine knows.
#pragma once

#include <memory>

#include "group.h"
#include "kernels.h"
#include "trainer.h"

namespace test {

// vocab, block, width, layers, heads, head_width, hidden; norm, post, activation, tied, table; biases
inline Config config(int vocab, int block, int width, int layers, int heads, int head_width, int hidden, Norm norm,
                     bool post, Activation activation, bool tied, bool table, int attn, int mlp, int norms,
                     int unembed) {
    return {vocab, block, width, layers, heads, head_width, hidden, (int)norm, post, (int)activation,
            tied,  table, attn,  mlp,    norms, unembed,    1e-5f};
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
        config(5, 16, 8, 2, 2, 4, 0, Norm::layer, false, A::relu, false, true, 0, 0, 1, 0),   // attention alone
        config(5, 16, 8, 2, 2, 4, 0, Norm::layer, true, A::relu, false, true, 1, 1, 0, 0),    // the same, but its bias
        config(5, 16, 8, 2, 0, 0, 12, Norm::layer, false, A::silu, true, true, 1, 1, 1, 1),   // neurons alone
        config(6, 16, 3, 0, 0, 0, 0, Norm::layer, false, A::relu, false, true, 0, 0, 1, 1),   // no layers
        config(6, 16, 3, 0, 0, 0, 0, Norm::none, true, A::relu, true, false, 0, 0, 0, 0),     // embedding alone
        config(2, 16, 1, 1, 1, 1, 1, Norm::rms, false, A::gelu, false, true, 1, 1, 1, 1),     // as small as can be
        config(70, 16, 64, 1, 2, 32, 100, Norm::layer, false, A::gelu_tanh, true, true, 1, 1, 1, 1),
    };
    return all;
}

inline bool is_gain(const Layout& layout, const Section* s) {
    if (s == &layout.gain) return true;
    for (const LayerSections& l : layout.layers)
        if (s == &l.gain1 || s == &l.gain2) return true;
    return false;
}

inline void fill_weights(const Layout& layout, Random& random, float* weights, float size = 0.5f) {
    for (const Section* s : layout.order)
        for (int64_t i = 0; i < s->size(); i++)
            weights[s->at + i] = size * random.number() + (is_gain(layout, s) ? 1.0f : 0.0f);
}

// A model with random weights. If its positions are not learnt, every other model has fixed ones.
struct Loaded {
    Layout layout;
    Row weights, positions;
    Packed packed;

    Loaded(const Config& c, uint64_t seed, float size = 0.5f) : layout(c), weights(layout.size), packed(layout, true) {
        Random random(seed);
        fill_weights(layout, random, weights.data(), size);
        if (!c.table && seed % 2) positions = random_row(random, (size_t)c.block * c.width);
        repack();
    }
    void repack() {
        for (int i = 0; i < packed.count(); i++) packed.pack_one(i, weights.data());
    }
    const float* fixed() const { return positions.empty() ? nullptr : positions.data(); }
    Transformer transformer() const {
        const float* table = layout.positions.of(weights.data());
        return {layout, weights.data(), packed, table ? table : fixed()};
    }
    Naive naive() const { return Naive(layout, weights.data(), positions); }
};

struct Data {
    Ids ids, starts = {0}, asked, rows;

    void add(Random& random, int vocab, int length, int64_t given) {
        for (int i = 0; i < length; i++) ids.push_back(random.below(vocab));
        starts.push_back((int64_t)ids.size()), asked.push_back(given), rows.push_back((int64_t)rows.size());
    }
    int64_t count() const { return (int64_t)rows.size(); }
    Strings strings() const { return {ids.data(), starts.data(), asked.data()}; }
    std::vector<String> all() const {
        std::vector<String> made;
        for (int64_t i : rows) made.push_back(strings().row(i));
        return made;
    }
    // By the definition: all tokens but the first, and but those that are given.
    int64_t learnt() const {
        int64_t total = 0;
        for (int64_t i : rows)
            for (int64_t t = starts[i] + 1; t < starts[i + 1]; t++) total += t - starts[i] >= asked[i];
        return total;
    }
};

inline Data some_strings(Random& random, const Config& c, int count = 4) {
    Data data;
    for (int i = 0; i < count; i++) data.add(random, c.vocab, 2 + random.below(c.block), random.below(4));
    return data;
}

inline double naive_loss(const Naive& naive, const Data& data) {
    double total = 0.0;
    for (const String& s : data.all())
        if (s.length > 0) total += naive.loss(s.ids, s.length, s.asked);
    return total;
}

}  // namespace test
