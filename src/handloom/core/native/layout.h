// Which transformer, where its numbers lie in one long array, and its matrices packed for products.
//
// The array has the matrices first, which decay, then biases and norms, which do not. W_Q, W_K and W_V of all heads are
// one matrix, so that queries, keys and values come out of one product.
#pragma once

#include <vector>

#include "activations.h"
#include "memory.h"
#include "norms.h"
#include "products.h"

namespace handloom {

struct Config {
    int32_t vocab, block, width, layers, heads, head_width, hidden;
    int32_t norm, post, activation, tied, table;               // post: norm(x + f(x)); table: positions are learnt
    int32_t attn_bias, mlp_bias, norm_bias, unembed_bias;
    float eps;

    int inner() const { return heads * head_width; }
};

struct Section {
    int64_t at = -1;  // −1: it is not there
    int64_t rows = 0, cols = 0;

    int64_t size() const { return at < 0 ? 0 : rows * cols; }
    const float* of(const float* all) const { return at < 0 ? nullptr : all + at; }
    float* of(float* all) const { return at < 0 ? nullptr : all + at; }
};

struct LayerSections {
    Section qkv, out, in, back;                            // W_Q W_K W_V, W_O, W_in, W_out
    Section qkv_bias, out_bias, in_bias, back_bias;
    Section gain1, bias1, gain2, bias2;
};

struct Layout {
    Config config;
    Section embed, positions, unembed, unembed_bias, gain, bias;
    std::vector<LayerSections> layers;
    std::vector<Section*> order;  // all sections, as they are told to the outside
    int64_t decayed = 0, size = 0;

    explicit Layout(const Config& c) : config(c), layers(c.layers) {
        const bool norms = c.norm != (int)Norm::none;
        const bool attends = c.heads > 0, thinks = c.hidden > 0;
        place(embed, true, c.vocab, c.width);
        place(positions, c.table, c.block, c.width);
        place(unembed, !c.tied, c.width, c.vocab);
        for (auto& l : layers) {
            place(l.qkv, attends, c.width, 3 * c.inner());
            place(l.out, attends, c.inner(), c.width);
            place(l.in, thinks, c.width, c.hidden);
            place(l.back, thinks, c.hidden, c.width);
        }
        decayed = size;
        for (auto& l : layers) {
            place(l.qkv_bias, attends && c.attn_bias, 1, 3 * c.inner());
            place(l.out_bias, c.attn_bias, 1, c.width);
            place(l.in_bias, thinks && c.mlp_bias, 1, c.hidden);
            place(l.back_bias, c.mlp_bias, 1, c.width);
            place(l.gain1, norms && attends, 1, c.width);
            place(l.bias1, norms && attends && c.norm_bias, 1, c.width);
            place(l.gain2, norms && thinks, 1, c.width);
            place(l.bias2, norms && thinks && c.norm_bias, 1, c.width);
        }
        place(gain, norms && !c.post, 1, c.width);
        place(bias, norms && !c.post && c.norm_bias, 1, c.width);
        place(unembed_bias, c.unembed_bias, 1, c.vocab);
    }
    Layout(const Layout&) = delete;

private:
    void place(Section& section, bool there, int64_t rows, int64_t cols) {
        order.push_back(&section);
        if (!there) return;
        section = {size, rows, cols};
        size += rows * cols;
    }
};

// The matrices as right sides of products: as they are for the forward, transposed for the backward.
struct PackedLayer {
    Right qkv, out, in, back, qkv_t, out_t, in_t, back_t;
};

class Packed {
public:
    Right unembed, unembed_t;
    std::vector<PackedLayer> layers;

    Packed(const Layout& layout, bool backward) : layers(layout.layers.size()) {
        add(layout.embed, layout.config.tied ? &unembed : nullptr, true);
        if (backward) add(layout.embed, layout.config.tied ? &unembed_t : nullptr, false);
        add(layout.unembed, &unembed, false);
        if (backward) add(layout.unembed, &unembed_t, true);
        for (size_t i = 0; i < layers.size(); i++) {
            const auto& from = layout.layers[i];
            auto& to = layers[i];
            add(from.qkv, &to.qkv, false), add(from.out, &to.out, false);
            add(from.in, &to.in, false), add(from.back, &to.back, false);
            if (!backward) continue;
            add(from.qkv, &to.qkv_t, true), add(from.out, &to.out_t, true);
            add(from.in, &to.in_t, true), add(from.back, &to.back_t, true);
        }
        memory_.reserve(size_);
    }

    // Matrices are packed one by one, so that several threads can share them.
    int count() const { return (int)jobs_.size(); }
    void pack_one(int i, const float* weights) {
        const Job& job = jobs_[i];
        const int rows = (int)job.from.rows, cols = (int)job.from.cols;
        float* to = memory_.data() + job.at;
        *job.to = job.turned ? pack(cols, rows, job.from.of(weights), 1, cols, to)
                             : pack(rows, cols, job.from.of(weights), cols, 1, to);
    }

private:
    struct Job {
        Section from;
        Right* to;
        bool turned;
        size_t at;
    };

    void add(const Section& from, Right* to, bool turned) {
        if (from.at < 0 || !to) return;
        jobs_.push_back({from, to, turned, size_});
        size_ += turned ? packed_size(from.cols, from.rows) : packed_size(from.rows, from.cols);
    }

    std::vector<Job> jobs_;
    size_t size_ = 0;
    Floats memory_;
};

}  // namespace handloom
