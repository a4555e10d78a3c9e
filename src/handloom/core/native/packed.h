// The matrices of a model packed as right sides of products: as they are for the forward, transposed (_T) for the
// backward.
#pragma once

#include <vector>

#include "layout.h"
#include "memory.h"
#include "products.h"

namespace handloom {

struct PackedLayer {
    Right W_QKV, W_O, W_in, W_out, W_QKV_T, W_O_T, W_in_T, W_out_T;
};

class Packed {
public:
    Right W_U, W_U_T;
    std::vector<PackedLayer> layers;

    Packed(const Layout& layout, bool backward) : layers(layout.layers.size()) {
        const bool tied = layout.config.tied;  // then W_U is the transpose of W_E
        add(tied ? layout.W_E : layout.W_U, &W_U, tied);
        if (backward) add(tied ? layout.W_E : layout.W_U, &W_U_T, !tied);
        for (size_t i = 0; i < layers.size(); i++) {
            const Layer& from = layout.layers[i];
            PackedLayer& to = layers[i];
            add(from.W_QKV, &to.W_QKV, false), add(from.W_O, &to.W_O, false);
            add(from.W_in, &to.W_in, false), add(from.W_out, &to.W_out, false);
            if (!backward) continue;
            add(from.W_QKV, &to.W_QKV_T, true), add(from.W_O, &to.W_O_T, true);
            add(from.W_in, &to.W_in_T, true), add(from.W_out, &to.W_out_T, true);
        }
        memory_.reserve(size_);
    }

    // Matrices are packed one by one, so that several threads can share the work.
    int count() const { return (int)jobs_.size(); }
    void pack_one(int i, const float* weights) {
        const Job& job = jobs_[i];
        const int rows = (int)job.from.rows, cols = (int)job.from.cols;
        float* to = memory_.data() + job.offset;
        *job.to = job.transposed ? pack(cols, rows, job.from.of(weights), 1, cols, to)
                                 : pack(rows, cols, job.from.of(weights), cols, 1, to);
    }

private:
    struct Job {
        Section from;
        Right* to;
        bool transposed;
        size_t offset;
    };

    void add(const Section& from, Right* to, bool transposed) {
        if (!from.exists()) return;
        jobs_.push_back({from, to, transposed, size_});
        size_ += transposed ? packed_size(from.cols, from.rows) : packed_size(from.rows, from.cols);
    }

    std::vector<Job> jobs_;
    size_t size_ = 0;
    Floats memory_;
};

}  // namespace handloom
