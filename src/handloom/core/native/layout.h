// The contract with Python; layout.py states the same on its side:
//
//   - the structs that Python passes, field by field (Config to Progress), and the order of both enumerations;
//   - the order of the sections in the one array that holds all parameters (Layout);
//   - the functions of engine.cpp.
//
// Any change of these raises LAYOUT_VERSION here and VERSION in layout.py. Python refuses a library of another version.
//
// Names are TransformerLens's, as in core/params.py. Shapes: V vocabulary, N positions, D model, H heads, K head, F
// MLP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace handloom {

#if defined(HANDLOOM_LAYOUT_VERSION)  // for a test that needs a library of another version
constexpr int32_t LAYOUT_VERSION = HANDLOOM_LAYOUT_VERSION;
#else
constexpr int32_t LAYOUT_VERSION = 2;
#endif

// ---- the structs

enum class Norm { none, layer, rms };
enum class Activation { none, relu, gelu, gelu_tanh, silu };

struct Config {
    int32_t d_vocab, n_ctx, d_model, n_layers, n_heads, d_head, d_ff;
    int32_t norm, post_norm, activation, tied, learned_pos;  // post_norm: norm(x + f(x)), not x + f(norm(x))
    int32_t attn_bias, mlp_bias, norm_bias, unembed_bias;
    float eps;

    int d_attn() const { return n_heads * d_head; }  // the width of z, all heads side by side: H·K
};

struct AdamW {
    double beta1, beta2, decay, clip;  // clip 0: no clipping
};

struct Strings {  // as in learn/data.py: rows of ids, one after the other
    const int64_t *ids, *starts, *asked;
    const int64_t* targets;  // null, or what is predicted after each id: a token, or NOTHING
};

constexpr int64_t NOTHING = -1;

struct Sampling {
    double temperature;  // 0: greedy
    int64_t top_k;       // 0: no limit
    double top_p;        // 0: no limit
};

struct Prompts {
    int64_t count;
    const int64_t *ids, *starts;  // the prompts, one after the other
    const int64_t* limits;        // how many new tokens each may get
    const uint8_t* stops;         // (V): whether a token ends a row
    const double* uniforms;       // (count × max_limit)
    int64_t max_limit;
};

struct Progress {
    int64_t done = 0;  // new tokens so far
    int64_t halt = 0;  // the caller sets it to stop the work

    void add(int64_t more) { __atomic_add_fetch(&done, more, __ATOMIC_RELAXED); }
    bool halted() const { return __atomic_load_n(&halt, __ATOMIC_RELAXED) != 0; }
};

// ---- the sections

struct Section {  // a matrix or, with one row, a vector
    int64_t offset = -1;  // −1: the model has none
    int64_t rows = 0, cols = 0;

    bool exists() const { return offset >= 0; }
    int64_t size() const { return exists() ? rows * cols : 0; }
    const float* of(const float* all) const { return exists() ? all + offset : nullptr; }
    float* of(float* all) const { return exists() ? all + offset : nullptr; }
};

struct LayerNorm {
    Section w, b;
};

struct Layer {
    Section W_QKV, W_O, W_in, W_out;  // W_QKV (D × 3HK) is W_Q, W_K and W_V side by side: one product gives q, k, v
    Section b_QKV, b_O, b_in, b_out;
    LayerNorm ln1, ln2;
};

// Matrices come first, which decay; then biases and norms, which do not.
struct Layout {
    Config config;
    Section W_E, W_pos, W_U, b_U;
    LayerNorm ln_final;
    std::vector<Layer> layers;
    std::vector<Section*> order;         // all sections, in the order in which Python names them
    int64_t decayed_size = 0, size = 0;  // parameters: those of matrices, and all

    explicit Layout(const Config& c) : config(c), layers(c.n_layers) {
        place(W_E, true, c.d_vocab, c.d_model);
        place(W_pos, c.learned_pos, c.n_ctx, c.d_model);
        place(W_U, !c.tied, c.d_model, c.d_vocab);
        for (Layer& l : layers) place_matrices(l);
        decayed_size = size;
        for (Layer& l : layers) place_vectors(l);
        place_norm(ln_final, !c.post_norm);
        place(b_U, c.unembed_bias, 1, c.d_vocab);
    }
    Layout(const Layout&) = delete;

private:
    void place_matrices(Layer& l) {
        const Config& c = config;
        place(l.W_QKV, c.n_heads, c.d_model, 3 * c.d_attn());
        place(l.W_O, c.n_heads, c.d_attn(), c.d_model);
        place(l.W_in, c.d_ff, c.d_model, c.d_ff);
        place(l.W_out, c.d_ff, c.d_ff, c.d_model);
    }

    void place_vectors(Layer& l) {
        const Config& c = config;
        place(l.b_QKV, c.n_heads && c.attn_bias, 1, 3 * c.d_attn());
        place(l.b_O, c.attn_bias, 1, c.d_model);
        place(l.b_in, c.d_ff && c.mlp_bias, 1, c.d_ff);
        place(l.b_out, c.mlp_bias, 1, c.d_model);
        place_norm(l.ln1, c.n_heads);
        place_norm(l.ln2, c.d_ff);
    }

    void place_norm(LayerNorm& ln, bool exists) {
        exists = exists && config.norm != (int)Norm::none;
        place(ln.w, exists, 1, config.d_model);
        place(ln.b, exists && config.norm_bias, 1, config.d_model);
    }

    void place(Section& section, bool exists, int64_t rows, int64_t cols) {
        order.push_back(&section);
        if (!exists) return;
        section = {size, rows, cols};
        size += rows * cols;
    }
};

}  // namespace handloom
