// Training: the gradient of a batch, and AdamW.
//
// A batch is dealt to lanes, each with a gradient of its own; a thread takes one lane after the other. The number of
// lanes does not depend on the number of threads, and gradients are added in the order of lanes: so the same batch
// gives the same bits on any number of threads.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>

#include "backward.h"
#include "pool.h"

namespace handloom {

constexpr int GROUP_TOKENS = 160;  // at most, but at least one string; docs/native.md has other sizes that were tried
constexpr int CHUNK = 8192;        // weights that a thread works on at a time

// Without targets of its own, the last token of a row is a target and not an input.
inline String string_at(const Strings& s, int64_t i) {
    const int length = (int)(s.starts[i + 1] - s.starts[i]);
    if (s.targets) return {s.ids + s.starts[i], length, s.asked[i], s.targets + s.starts[i]};
    return {s.ids + s.starts[i], length - 1, s.asked[i], nullptr};
}

// The number of tokens of a string that are predicted.
inline int64_t predicted(const Strings& s, int64_t i) {
    const String string = string_at(s, i);
    int64_t total = 0;
    for (int t = 0; t < string.length; t++) total += string.target(t) != NOTHING;
    return total;
}

using Groups = std::vector<std::vector<String>>;

// These strings, in this order, cut into groups.
inline Groups grouped(const Strings& strings, const std::vector<int64_t>& rows) {
    Groups groups;
    int tokens = 0;
    for (int64_t i : rows) {
        const String s = string_at(strings, i);
        if (s.length <= 0) continue;
        if (groups.empty() || tokens + s.length > GROUP_TOKENS) groups.emplace_back(), tokens = 0;
        groups.back().push_back(s);
        tokens += s.length;
    }
    return groups;
}

class Trainer {
public:
    const Layout layout;
    Floats weights, gradient, m, v;

    Trainer(const Config& config, const AdamW& adamw, int lanes, int threads, const float* fixed_pos)
        : layout(config), weights(layout.size), gradient(layout.size), m(layout.size), v(layout.size), adamw_(adamw),
          packed_(layout, true), pool_(threads) {
        for (int i = 0; i < lanes; i++) lanes_.push_back({Floats(layout.size), {}, 0.0, 0.0});
        for (int i = 0; i < pool_.size(); i++) backwards_.push_back(std::make_unique<Backward>(layout));
        if (fixed_pos) {
            fixed_pos_.reserve((size_t)config.n_ctx * config.d_model);
            std::copy(fixed_pos, fixed_pos + (size_t)config.n_ctx * config.d_model, fixed_pos_.data());
        }
    }

    // To be called after the weights were changed from outside.
    void refresh() {
        pool_.run(packed_.count(), [&](int i, int) { packed_.pack_one(i, weights.data()); });
    }

    // Computes the gradient of the mean loss per token of these rows and returns that loss, or NaN if it or the
    // gradient is not finite.
    double differentiate(const Strings& strings, const int64_t* rows, int64_t count, double& norm) {
        deal(strings, rows, count);
        const Transformer model = transformer();
        pool_.run((int)lanes_.size(), [&](int i, int worker) {
            Lane& lane = lanes_[i];
            lane.loss = 0.0;
            for (const auto& group : lane.groups)
                lane.loss +=
                    backwards_[worker]->loss(model, group, lane.gradient.data(), &group == &lane.groups.front());
        });
        double total = 0.0, tokens = 0.0, squares = 0.0;
        for (const Lane& lane : lanes_) total += lane.loss;
        for (int64_t i = 0; i < count; i++) tokens += predicted(strings, rows[i]);
        for (double s : sum_lanes((float)(1.0 / tokens))) squares += s;
        norm = std::sqrt(squares);
        return std::isfinite(norm) ? total / tokens : NAN;
    }

    // Takes a step of AdamW, number `steps` from 1, and returns the loss before it. If that is not finite, changes
    // nothing and returns NaN.
    double step(const Strings& strings, const int64_t* rows, int64_t count, double rate, int64_t steps) {
        double norm;
        const double loss = differentiate(strings, rows, count, norm);
        if (!std::isfinite(loss)) return NAN;
        const float scale = adamw_.clip && norm > adamw_.clip ? (float)(adamw_.clip / norm) : 1.0f;
        pool_.run(chunks(), [&](int i, int) { update(i, scale, rate, steps); });
        refresh();
        return loss;
    }

    // The mean loss per token of all rows.
    double loss(const Strings& strings, int64_t count) {
        std::vector<int64_t> rows(count);
        std::iota(rows.begin(), rows.end(), 0);
        const Groups groups = grouped(strings, rows);
        std::vector<double> losses(groups.size());
        const Transformer model = transformer();
        pool_.run((int)groups.size(),
                  [&](int i, int worker) { losses[i] = backwards_[worker]->forward.loss(model, groups[i]); });
        double total = 0.0, tokens = 0.0;
        for (double one : losses) total += one;
        for (int64_t i = 0; i < count; i++) tokens += predicted(strings, i);
        return total / tokens;
    }

private:
    struct Lane {
        Floats gradient;
        Groups groups;
        double cost, loss;
    };

    AdamW adamw_;
    Packed packed_;
    Pool pool_;
    Floats fixed_pos_;
    std::vector<Lane> lanes_;
    std::vector<std::unique_ptr<Backward>> backwards_;  // one per thread

    Transformer transformer() const {
        const float* W_pos = layout.W_pos.of((const float*)weights.data());
        return {layout, weights.data(), packed_, W_pos ? W_pos : fixed_pos_.data()};
    }

    // Long strings first, each to the lane that has least to do.
    void deal(const Strings& strings, const int64_t* rows, int64_t count) {
        std::vector<int64_t> order(rows, rows + count);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            return string_at(strings, a).length > string_at(strings, b).length;
        });
        std::vector<std::vector<int64_t>> dealt(lanes_.size());
        for (Lane& lane : lanes_) lane.cost = 0.0;
        const double each = 12.0 * layout.config.d_model;  // multiplications per token; attention adds its position
        for (int64_t i : order) {
            const auto least = std::min_element(lanes_.begin(), lanes_.end(),
                                                [](const Lane& a, const Lane& b) { return a.cost < b.cost; });
            const double length = string_at(strings, i).length;
            least->cost += length * (each + length);
            dealt[least - lanes_.begin()].push_back(i);
        }
        for (size_t i = 0; i < lanes_.size(); i++) lanes_[i].groups = grouped(strings, dealt[i]);
    }

    int chunks() const { return (int)((layout.size + CHUNK - 1) / CHUNK); }
    int64_t chunk_end(int i) const { return std::min<int64_t>(layout.size, ((int64_t)i + 1) * CHUNK); }

    // The sum of all lanes' gradients, times `share`; returns the sum of its squares for each chunk.
    std::vector<double> sum_lanes(float share) {
        std::vector<double> squares(chunks());
        pool_.run(chunks(), [&](int i, int) {
            const int64_t first = (int64_t)i * CHUNK;
            Vec total{};
            sweep((int)(chunk_end(i) - first), [&](int j, auto span) {
                Vec g{};
                for (const Lane& lane : lanes_)
                    if (!lane.groups.empty()) g += span.load(lane.gradient.data() + first + j);
                g = g * share;
                span.store(gradient.data() + first + j, g);
                total += g * g;
            });
            squares[i] = sum(total);
        });
        return squares;
    }

    // As torch.optim.AdamW: first decay, of matrices only; then the step.
    void update(int i, float scale, double rate, int64_t steps) {
        const int64_t first = (int64_t)i * CHUNK;
        const float new1 = (float)(1.0 - adamw_.beta1), new2 = (float)(1.0 - adamw_.beta2), old2 = (float)adamw_.beta2;
        const float step_size = (float)(rate / (1.0 - std::pow(adamw_.beta1, steps)));
        const float unbias = (float)(1.0 / std::sqrt(1.0 - std::pow(adamw_.beta2, steps)));
        auto update_part = [&](int64_t from, int64_t to, float keep) {
            if (from >= to) return;
            float *w = weights.data() + from, *m1 = m.data() + from, *m2 = v.data() + from;
            const float* slope = gradient.data() + from;
            sweep((int)(to - from), [&](int j, auto span) {
                const Vec g = span.load(slope + j) * scale, old = span.load(m1 + j);
                const Vec mean = old + new1 * (g - old), square = span.load(m2 + j) * old2 + new2 * g * g;
                span.store(m1 + j, mean);
                span.store(m2 + j, square);
                span.store(w + j, span.load(w + j) * keep - step_size * mean / (root(square) * unbias + 1e-8f));
            });
        };
        const int64_t end = chunk_end(i), middle = std::clamp(layout.decayed_size, first, end);
        update_part(first, middle, (float)(1.0 - rate * adamw_.decay));
        update_part(middle, end, 1.0f);
    }
};

}  // namespace handloom
