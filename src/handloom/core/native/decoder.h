// Decoding: every row gets new tokens until it ends. Each thread has a few slots, and a slot whose row has ended takes
// the next row at once. The tokens of a row depend on its prompt and its own random numbers alone.
#pragma once

#include <algorithm>
#include <numeric>

#include "forward.h"
#include "pool.h"
#include "slots.h"

namespace handloom {

// The next token, given logits and a uniform number, as core/decoding.py samples it; −1 if a logit is not finite.
class Sampler {
public:
    Sampler(const Sampling& sampling, int d_vocab) : sampling_(sampling), p_(d_vocab), order_(d_vocab) {}

    int operator()(const float* logits, double uniform) {
        const int V = (int)p_.size();
        int best = 0;
        for (int j = 0; j < V; j++) {
            if (!std::isfinite(logits[j])) return -1;
            if (logits[j] > logits[best]) best = j;
        }
        if (sampling_.temperature == 0.0) return best;
        double total = 0.0;
        for (int j = 0; j < V; j++) {
            p_[j] = std::exp(((double)logits[j] - logits[best]) / sampling_.temperature);
            total += p_[j];
        }
        const int64_t top_k = sampling_.top_k;
        const double top_p = sampling_.top_p;
        if (!top_k && top_p == 0.0) return draw(uniform * total, [](int j) { return j; });
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return p_[a] > p_[b]; });
        double before = 0.0, kept = 0.0;
        for (int j = 0; j < V; j++) {
            double& p = p_[order_[j]];
            const bool out = (top_p && before >= top_p * total) || (top_k && j >= top_k);
            before += p;
            if (out) p = 0.0;
            kept += p;
        }
        return draw(uniform * kept, [&](int j) { return order_[j]; });
    }

private:
    Sampling sampling_;
    std::vector<double> p_;
    std::vector<int> order_;

    // The token at which the running sum passes the goal.
    template <class At>
    int draw(double goal, At at) const {
        double reached = 0.0;
        int last = at(0);
        for (int j = 0; j < (int)p_.size(); j++) {
            if (p_[at(j)] == 0.0) continue;
            last = at(j);
            reached += p_[last];
            if (reached > goal) break;
        }
        return last;
    }
};

constexpr int SLOTS = 24;                   // per thread: enough for full tiles, few enough for the cache
constexpr size_t SLOT_MEMORY = 512u << 20;  // bytes of all slots of a thread, at most

// Writes new tokens (count × max_limit) and how many each row got.
class Decode {
public:
    Decode(const Transformer& model, const Prompts& prompts, const Sampling& sampling, Pool& pool, Progress& progress,
           int64_t* out, int64_t* counts)
        : model_(model), prompts_(prompts), sampling_(sampling), pool_(pool), progress_(progress), out_(out),
          counts_(counts) {}

    // False if a logit was not finite.
    bool run() {
        const Config& c = model_.layout.config;
        int64_t longest = 1;
        for (int64_t i = 0; i < prompts_.count; i++)
            longest = std::max(longest, prompts_.starts[i + 1] - prompts_.starts[i] + prompts_.limits[i]);
        longest_ = (int)std::min<int64_t>(longest, c.n_ctx);
        const int64_t fit = std::max<int64_t>(1, SLOT_MEMORY / std::max<size_t>(1, Slots::bytes(c, longest_)));
        const int64_t share = (prompts_.count + pool_.size() - 1) / pool_.size();
        slots_ = (int)std::max<int64_t>(1, std::min({(int64_t)SLOTS, fit, share}));
        pool_.run(pool_.size(), [&](int, int) { serve(); });
        return !failed_;
    }

private:
    struct Row {
        int64_t number = -1;        // −1: the slot is empty
        std::vector<int64_t> text;  // prompt and new tokens
        int64_t fed = 0;            // tokens that the slot has seen
    };

    Transformer model_;
    const Prompts& prompts_;
    Sampling sampling_;
    Pool& pool_;
    Progress& progress_;
    int64_t *out_, *counts_;
    std::atomic<int64_t> next_{0};
    std::atomic<bool> failed_{false};
    int slots_ = 1, longest_ = 1;

    void serve() {
        const Config& c = model_.layout.config;
        Slots slots(model_, slots_, longest_);
        Forward forward(model_.layout);
        Sampler sampler(sampling_, c.d_vocab);
        std::vector<Row> rows(slots_);
        std::vector<int> busy;
        std::vector<int64_t> tokens;
        const ptrdiff_t stride = row_length(c.d_vocab);
        Floats logits(slots_ * stride + PANEL);
        while (!failed_ && !progress_.halted()) {
            busy.clear(), tokens.clear();
            for (int i = 0; i < slots_; i++) {
                if (rows[i].number < 0) begin(rows[i], slots, i);
                if (rows[i].number < 0) continue;
                Row& r = rows[i];
                if ((int64_t)r.text.size() > c.n_ctx) {  // its window slides: run it again from the beginning
                    const int64_t* window = r.text.data() + r.text.size() - c.n_ctx;
                    forward.last_logits(model_, {{window, c.n_ctx, 0}}, 1, logits.data());
                    append(r, sampler, logits.data());
                } else {
                    busy.push_back(i);
                    tokens.push_back(r.text[r.fed++]);
                }
            }
            if (!busy.empty()) slots.step((int)busy.size(), busy.data(), tokens.data(), logits.data(), stride);
            for (size_t i = 0; i < busy.size(); i++) {
                Row& r = rows[busy[i]];
                if (r.fed == (int64_t)r.text.size()) append(r, sampler, logits.data() + i * stride);
            }
            if (std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.number < 0; }) &&
                next_ >= prompts_.count)
                return;
        }
    }

    // Put the next row that may get tokens into a slot.
    void begin(Row& row, Slots& slots, int slot) {
        for (int64_t i; (i = next_++) < prompts_.count;) {
            counts_[i] = 0;
            if (!prompts_.limits[i]) continue;
            row.number = i;
            row.text.assign(prompts_.ids + prompts_.starts[i], prompts_.ids + prompts_.starts[i + 1]);
            row.fed = 0;
            slots.clear(slot);
            return;
        }
    }

    // Sample the next token of a row.
    void append(Row& row, Sampler& sampler, const float* logits) {
        const int64_t i = row.number, n = counts_[i];
        const int token = sampler(logits, prompts_.uniforms[i * prompts_.max_limit + n]);
        if (token < 0) {
            failed_ = true;
            return;
        }
        out_[i * prompts_.max_limit + n] = token;
        counts_[i] = n + 1;
        progress_.add(1);
        row.text.push_back(token);
        if (prompts_.stops[token] || n + 1 == prompts_.limits[i]) row.number = -1;
    }
};

}  // namespace handloom
