// Decoding: rows are drawn to their ends, all of them. Each thread has a few slots, and a slot whose row is finished
// takes the next row at once. What a row becomes depends on its prompt and its own random numbers alone.
#pragma once

#include <algorithm>
#include <numeric>

#include "pool.h"
#include "slots.h"

namespace handloom {

struct Choice {
    double temperature;  // 0: the likeliest
    int64_t top_k;       // 0: any
    double top_p;        // 0: any
};

// The next token, by logits and a uniform number, as core/decoding.py chooses it; −1 if a logit is not finite.
class Chooser {
public:
    Chooser(const Choice& choice, int vocab) : choice_(choice), p_(vocab), order_(vocab) {}

    int operator()(const float* logits, double uniform) {
        const int vocab = (int)p_.size();
        int best = 0;
        for (int j = 0; j < vocab; j++) {
            if (!std::isfinite(logits[j])) return -1;
            if (logits[j] > logits[best]) best = j;
        }
        if (choice_.temperature == 0.0) return best;
        double total = 0.0;
        for (int j = 0; j < vocab; j++) {
            p_[j] = std::exp(((double)logits[j] - logits[best]) / choice_.temperature);
            total += p_[j];
        }
        if (!choice_.top_k && choice_.top_p == 0.0) return draw(uniform * total, [](int j) { return j; });
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return p_[a] > p_[b]; });
        double before = 0.0, kept = 0.0;
        for (int j = 0; j < vocab; j++) {
            double& p = p_[order_[j]];
            const bool out = (choice_.top_p && before >= choice_.top_p * total) || (choice_.top_k && j >= choice_.top_k);
            before += p;
            if (out) p = 0.0;
            kept += p;
        }
        return draw(uniform * kept, [&](int j) { return order_[j]; });
    }

private:
    Choice choice_;
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

struct Prompts {
    int64_t count;
    const int64_t *ids, *starts;    // of prompts, one after the other
    const int64_t* limits;          // new tokens that each may get
    const uint8_t* stops;           // (vocab): whether a token ends a row
    const double* uniforms;         // (count × most)
    int64_t most;                   // the largest limit
};

struct Progress {
    int64_t done = 0;  // new tokens so far
    int64_t halt = 0;  // set from outside, it ends the work

    void add(int64_t more) { __atomic_add_fetch(&done, more, __ATOMIC_RELAXED); }
    bool halted() const { return __atomic_load_n(&halt, __ATOMIC_RELAXED) != 0; }
};

constexpr int SLOTS = 24;                   // of a thread: enough for full tiles, few enough for the cache
constexpr size_t SLOT_MEMORY = 512u << 20;  // bytes of all slots of a thread, at most

// New tokens (count × most) and how many of them each row got. False if logits were not finite.
class Decode {
public:
    Decode(const Transformer& model, const Prompts& prompts, const Choice& choice, Pool& pool, Progress& progress,
           int64_t* out, int64_t* counts)
        : model_(model), prompts_(prompts), choice_(choice), pool_(pool), progress_(progress), out_(out),
          counts_(counts) {}

    bool run() {
        const Config& c = model_.layout.config;
        int64_t longest = 1;
        for (int64_t i = 0; i < prompts_.count; i++)
            longest = std::max(longest, prompts_.starts[i + 1] - prompts_.starts[i] + prompts_.limits[i]);
        longest_ = (int)std::min<int64_t>(longest, c.block);
        const int64_t fit = std::max<int64_t>(1, SLOT_MEMORY / std::max<size_t>(1, Slots::bytes(c, longest_)));
        const int64_t share = (prompts_.count + pool_.size() - 1) / pool_.size();
        slots_ = (int)std::max<int64_t>(1, std::min({(int64_t)SLOTS, fit, share}));
        pool_.run(pool_.size(), [&](int, int) { serve(); });
        return !broken_;
    }

private:
    struct Row {
        int64_t number = -1;          // −1: the slot is empty
        std::vector<int64_t> text;    // prompt and new tokens
        int64_t asked = 0, fed = 0;   // tokens of the prompt; tokens that the slot has had
    };

    Transformer model_;
    const Prompts& prompts_;
    Choice choice_;
    Pool& pool_;
    Progress& progress_;
    int64_t *out_, *counts_;
    std::atomic<int64_t> next_{0};
    std::atomic<bool> broken_{false};
    int slots_ = 1, longest_ = 1;

    void serve() {
        const Config& c = model_.layout.config;
        Slots slots(model_, slots_, longest_);
        Group group(model_.layout);
        Chooser chooser(choice_, c.vocab);
        std::vector<Row> rows(slots_);
        std::vector<int> busy;
        std::vector<int64_t> tokens;
        const ptrdiff_t row = row_length(c.vocab);
        Floats logits(slots_ * row + PANEL);
        while (!broken_ && !progress_.halted()) {
            busy.clear(), tokens.clear();
            for (int i = 0; i < slots_; i++) {
                if (rows[i].number < 0) begin(rows[i], slots, i);
                if (rows[i].number < 0) continue;
                Row& r = rows[i];
                if ((int64_t)r.text.size() > c.block) {  // its window slides: run it again from the beginning
                    const int64_t* window = r.text.data() + r.text.size() - c.block;
                    group.logits(model_, {{window, c.block, 0}}, 1, logits.data());
                    say(r, chooser, logits.data());
                } else {
                    busy.push_back(i);
                    tokens.push_back(r.text[r.fed++]);
                }
            }
            if (!busy.empty()) slots.step((int)busy.size(), busy.data(), tokens.data(), logits.data(), row);
            for (size_t i = 0; i < busy.size(); i++) {
                Row& r = rows[busy[i]];
                if (r.fed == (int64_t)r.text.size()) say(r, chooser, logits.data() + i * row);
            }
            if (std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.number < 0; }) &&
                next_ >= prompts_.count)
                return;
        }
    }

    // The next row that wants tokens.
    void begin(Row& row, Slots& slots, int slot) {
        for (int64_t i; (i = next_++) < prompts_.count;) {
            counts_[i] = 0;
            if (!prompts_.limits[i]) continue;
            row.number = i;
            row.text.assign(prompts_.ids + prompts_.starts[i], prompts_.ids + prompts_.starts[i + 1]);
            row.asked = (int64_t)row.text.size(), row.fed = 0;
            slots.clear(slot);
            return;
        }
    }

    void say(Row& row, Chooser& chooser, const float* logits) {
        const int64_t i = row.number, n = counts_[i];
        const int token = chooser(logits, prompts_.uniforms[i * prompts_.most + n]);
        if (token < 0) {
            broken_ = true;
            return;
        }
        out_[i * prompts_.most + n] = token;
        counts_[i] = n + 1;
        progress_.add(1);
        row.text.push_back(token);
        if (prompts_.stops[token] || n + 1 == prompts_.limits[i]) row.number = -1;
    }
};

}  // namespace handloom
