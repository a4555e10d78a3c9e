// Training: the gradient of a batch, and AdamW.
//
// A batch is dealt out to lanes, each with a gradient of its own; a thread takes one lane after the other. How many
// lanes there are does not depend on how many threads, and lanes are added up in their order: so the same batch gives
// the same bits on any number of threads.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>

#include "group.h"
#include "pool.h"

namespace handloom {

constexpr int TOKENS = 160;   // of a group, but at least one string
constexpr int CHUNK = 8192;   // weights that a thread works on at a time

struct Strings {  // as in learn/strings.py: rows of ids, one after the other
    const int64_t *ids, *starts, *asked;

    String row(int64_t i) const { return {ids + starts[i], (int)(starts[i + 1] - starts[i] - 1), asked[i]}; }
    int64_t learnt(int64_t i) const {
        return std::max<int64_t>(0, starts[i + 1] - starts[i] - std::max<int64_t>(1, asked[i]));
    }
};

using Groups = std::vector<std::vector<String>>;

// Strings in this order, cut into groups.
inline Groups grouped(const Strings& strings, const std::vector<int64_t>& rows) {
    Groups groups;
    int tokens = 0;
    for (int64_t i : rows) {
        const String s = strings.row(i);
        if (s.length <= 0) continue;
        if (groups.empty() || tokens + s.length > TOKENS) groups.emplace_back(), tokens = 0;
        groups.back().push_back(s);
        tokens += s.length;
    }
    return groups;
}

struct AdamW {
    double beta1, beta2, decay, clip;  // clip 0: the gradient as it is
};

class Trainer {
public:
    const Layout layout;
    Floats weights, gradient, m, v;

    Trainer(const Config& config, const AdamW& adamw, int lanes, int threads, const float* fixed_positions)
        : layout(config), weights(layout.size), gradient(layout.size), m(layout.size), v(layout.size), adamw_(adamw),
          packed_(layout, true), pool_(threads) {
        for (int i = 0; i < lanes; i++) lanes_.push_back({Floats(layout.size), {}, 0.0, 0.0});
        for (int i = 0; i < pool_.size(); i++) groups_.push_back(std::make_unique<Group>(layout));
        if (fixed_positions) {
            positions_.reserve((size_t)config.block * config.width);
            std::copy(fixed_positions, fixed_positions + (size_t)config.block * config.width, positions_.data());
        }
    }

    // After the weights were changed from outside.
    void refresh() {
        pool_.run(packed_.count(), [&](int i, int) { packed_.pack_one(i, weights.data()); });
    }

    // The gradient of the mean loss a token of these rows; gives that loss. NaN if it, or the gradient, is not finite.
    double differentiate(const Strings& strings, const int64_t* rows, int64_t count, double& norm) {
        deal(strings, rows, count);
        const Transformer model = transformer();
        pool_.run((int)lanes_.size(), [&](int i, int worker) {
            Lane& lane = lanes_[i];
            lane.loss = 0.0;
            for (const auto& group : lane.groups)
                lane.loss += groups_[worker]->loss(model, group, lane.gradient.data(), &group == &lane.groups.front());
        });
        double total = 0.0, tokens = 0.0, squares = 0.0;
        for (const Lane& lane : lanes_) total += lane.loss;
        for (int64_t i = 0; i < count; i++) tokens += strings.learnt(rows[i]);
        for (double s : add_up((float)(1.0 / tokens))) squares += s;
        norm = std::sqrt(squares);
        return std::isfinite(norm) ? total / tokens : NAN;
    }

    // One step of AdamW; `steps` counts it, from 1. Gives the loss before; NaN, and no change, if that is not finite.
    double step(const Strings& strings, const int64_t* rows, int64_t count, double rate, int64_t steps) {
        double norm;
        const double loss = differentiate(strings, rows, count, norm);
        if (!std::isfinite(loss)) return NAN;
        const float scale = adamw_.clip && norm > adamw_.clip ? (float)(adamw_.clip / norm) : 1.0f;
        pool_.run(chunks(), [&](int i, int) { update(i, scale, rate, steps); });
        refresh();
        return loss;
    }

    // The mean loss a token of all rows.
    double loss(const Strings& strings, int64_t count) {
        std::vector<int64_t> rows(count);
        std::iota(rows.begin(), rows.end(), 0);
        const Groups groups = grouped(strings, rows);
        std::vector<double> losses(groups.size());
        const Transformer model = transformer();
        pool_.run((int)groups.size(),
                  [&](int i, int worker) { losses[i] = groups_[worker]->loss(model, groups[i], nullptr); });
        double total = 0.0, tokens = 0.0;
        for (double one : losses) total += one;
        for (int64_t i = 0; i < count; i++) tokens += strings.learnt(i);
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
    Floats positions_;
    std::vector<Lane> lanes_;
    std::vector<std::unique_ptr<Group>> groups_;  // one a thread

    Transformer transformer() const {
        const float* table = layout.positions.of((const float*)weights.data());
        return {layout, weights.data(), packed_, table ? table : positions_.data()};
    }

    // Long strings first, each to the lane that has least to do.
    void deal(const Strings& strings, const int64_t* rows, int64_t count) {
        std::vector<int64_t> order(rows, rows + count);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            return strings.row(a).length > strings.row(b).length;
        });
        std::vector<std::vector<int64_t>> dealt(lanes_.size());
        for (Lane& lane : lanes_) lane.cost = 0.0;
        const double each = 12.0 * layout.config.width;  // multiplications of a token; those by its position besides
        for (int64_t i : order) {
            const auto least = std::min_element(lanes_.begin(), lanes_.end(),
                                                [](const Lane& a, const Lane& b) { return a.cost < b.cost; });
            const double length = strings.row(i).length;
            least->cost += length * (each + length);
            dealt[least - lanes_.begin()].push_back(i);
        }
        for (size_t i = 0; i < lanes_.size(); i++) lanes_[i].groups = grouped(strings, dealt[i]);
    }

    int chunks() const { return (int)((layout.size + CHUNK - 1) / CHUNK); }
    int64_t chunk_end(int i) const { return std::min<int64_t>(layout.size, ((int64_t)i + 1) * CHUNK); }

    // All lanes' gradients, times `share`, as one; the sums of its squares, chunk by chunk.
    std::vector<double> add_up(float share) {
        std::vector<double> squares(chunks());
        pool_.run(chunks(), [&](int i, int) {
            const int64_t first = (int64_t)i * CHUNK;
            double total = 0.0;
            sweep((int)(chunk_end(i) - first), [&](int j, auto span) {
                Vec g{};
                for (const Lane& lane : lanes_)
                    if (!lane.groups.empty()) g += span.load(lane.gradient.data() + first + j);
                g = g * share;
                span.store(gradient.data() + first + j, g);
                total += sum(g * g);
            });
            squares[i] = total;
        });
        return squares;
    }

    // As torch.optim.AdamW: decay first, on matrices alone; then the step.
    void update(int i, float scale, double rate, int64_t steps) {
        const int64_t first = (int64_t)i * CHUNK;
        const float b1 = (float)(1.0 - adamw_.beta1), b2 = (float)adamw_.beta2, c2 = (float)(1.0 - adamw_.beta2);
        const float size = (float)(rate / (1.0 - std::pow(adamw_.beta1, steps)));
        const float spread = (float)(1.0 / std::sqrt(1.0 - std::pow(adamw_.beta2, steps)));
        auto part = [&](int64_t from, int64_t to, float keep) {
            if (from >= to) return;
            float *w = weights.data() + from, *mean = m.data() + from, *square = v.data() + from;
            const float* slope = gradient.data() + from;
            sweep((int)(to - from), [&](int j, auto span) {
                const Vec g = span.load(slope + j) * scale, old = span.load(mean + j);
                const Vec now = old + b1 * (g - old), spread2 = span.load(square + j) * b2 + c2 * g * g;
                span.store(mean + j, now);
                span.store(square + j, spread2);
                span.store(w + j, span.load(w + j) * keep - size * now / (root(spread2) * spread + 1e-8f));
            });
        };
        const int64_t end = chunk_end(i), middle = std::clamp(layout.decayed, first, end);
        part(first, middle, (float)(1.0 - rate * adamw_.decay));
        part(middle, end, 1.0f);
    }
};

}  // namespace handloom
