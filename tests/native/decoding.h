// Tests of slots.h and decoder.h: what rows say, greedily and drawn. They need a Runner, of engine.cpp.
#pragma once

#include <thread>

#include "decoder.h"
#include "models.h"

namespace test {

inline std::unique_ptr<Runner> runner_of(const Loaded& model, int threads) {
    const Config& c = model.layout.config;
    return std::unique_ptr<Runner>(handloom_runner(&c, model.weights.data(), model.fixed(), threads));
}

inline void test_slots_have_the_logits_of_the_whole_text() {
    uint64_t seed = 400;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++);
        Random random(seed);
        const int count = 5;
        Slots slots(model.transformer(), count, c.block);
        std::vector<Ids> texts(count);
        Row logits(count * (c.vocab + 2), 5.0f);
        for (int round = 0; round < 60; round++) {
            std::vector<int> fed;
            Ids tokens;
            for (int i = count - 1; i >= 0; i--) {
                if ((int)texts[i].size() == c.block) texts[i].clear(), slots.clear(i);
                if (!random.below(3)) continue;  // so that slots are not equally far
                fed.push_back(i), tokens.push_back(random.below(c.vocab));
                texts[i].push_back(tokens.back());
            }
            slots.step((int)fed.size(), fed.data(), tokens.data(), logits.data(), c.vocab + 2);
            for (size_t i = 0; i < fed.size(); i++) {
                const Ids& text = texts[fed[i]];
                CHECK(slots.length(fed[i]) == (int)text.size());
                if (SANITIZED && round % 4) continue;
                const Doubles wanted = model.naive().logits(text.data(), (int)text.size()).back();
                for (int j = 0; j < c.vocab; j++) CHECK_NEAR(logits[i * (c.vocab + 2) + j], wanted[j], 1e-4);
                CHECK(logits[i * (c.vocab + 2) + c.vocab] == 5.0f);
            }
        }
    }
}

struct Asked {  // prompts, and what became of them
    Ids ids, starts = {0}, limits;
    std::vector<uint8_t> stops;
    Doubles uniforms;
    int64_t most = 0;
    Ids out, counts;
    Progress progress;

    explicit Asked(int vocab) : stops(vocab) {}
    void add(const Ids& prompt, int64_t limit) {
        ids.insert(ids.end(), prompt.begin(), prompt.end());
        starts.push_back((int64_t)ids.size()), limits.push_back(limit);
        most = std::max(most, limit);
    }
    int64_t count() const { return (int64_t)limits.size(); }
    void draw(uint64_t seed) {
        Random random(seed);
        uniforms.resize(count() * most);
        for (double& one : uniforms) one = random.uniform();
    }
    // Nothing of what was there before may remain: −7 is no token.
    bool decode(Runner& runner, const Choice& choice) {
        out.assign(count() * most, -7), counts.assign(count(), -7);
        uniforms.resize(count() * most);
        __atomic_store_n(&progress.done, 0, __ATOMIC_RELAXED);  // another thread may be looking
        const Prompts prompts{count(),         ids.data(), starts.data(), limits.data(), stops.data(),
                              uniforms.data(), most};
        return Decode(runner.transformer(), prompts, choice, runner.pool, progress, out.data(), counts.data()).run();
    }
    Ids said(int64_t i) const {
        const auto from = out.begin() + i * most;
        return Ids(from, from + std::max<int64_t>(0, counts[i]));
    }
    Ids prompt(int64_t i) const { return Ids(ids.begin() + starts[i], ids.begin() + starts[i + 1]); }
};

inline Asked many_prompts(const Config& c, int count, uint64_t seed) {
    Random random(seed);
    Asked asked(c.vocab);
    for (int i = 0; i < count; i++) {
        Ids prompt(1 + random.below(i % 3 ? 4 : c.block + 6));
        for (int64_t& one : prompt) one = random.below(c.vocab);
        asked.add(prompt, i % 7 == 3 ? 0 : random.below(i % 5 ? 6 : 2 * c.block));
    }
    return asked;
}

// What greedy decoding is by definition: the likeliest token after the last `block` tokens, again and again.
inline Ids naive_greedy(const Loaded& model, Group& group, Ids text, int64_t limit, const std::vector<uint8_t>& stops) {
    const Config& c = model.layout.config;
    Row logits(c.vocab);
    Ids said;
    while ((int64_t)said.size() < limit) {
        const int length = std::min((int)text.size(), (int)c.block);
        group.logits(model.transformer(), {{text.data() + text.size() - length, length, 0}}, 1, logits.data());
        said.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
        text.push_back(said.back());
        if (stops[said.back()]) break;
    }
    return said;
}

const Choice GREEDY = {0.0, 0, 0.0}, ANY = {1.0, 0, 0.0};

inline void test_greedy_decoding_is_the_likeliest_token_of_the_whole_text() {
    uint64_t seed = 500;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++, 1.0f);
        Asked asked = many_prompts(c, SANITIZED ? 40 : 70, seed);
        Group group(model.layout);
        std::vector<Ids> wanted;
        for (int64_t i = 0; i < asked.count(); i++)
            wanted.push_back(naive_greedy(model, group, asked.prompt(i), asked.limits[i], asked.stops));
        for (int threads : {1, 3}) {
            const auto runner = runner_of(model, threads);
            CHECK(asked.decode(*runner, GREEDY));
            int64_t total = 0;
            for (int64_t i = 0; i < asked.count(); i++) {
                CHECK(asked.said(i) == wanted[i]);
                CHECK(asked.counts[i] == asked.limits[i]);
                total += asked.counts[i];
                for (int64_t n = asked.counts[i]; n < asked.most; n++) CHECK(asked.out[i * asked.most + n] == -7);
            }
            CHECK(asked.progress.done == total);
        }
    }
}

inline void test_stop_tokens_end_a_row() {
    const Loaded model(SMALL, 11, 1.0f);
    Asked asked = many_prompts(SMALL, 70, 11);
    for (int token = 0; token < SMALL.vocab; token += 2) asked.stops[token] = 1;
    const auto runner = runner_of(model, 2);
    CHECK(asked.decode(*runner, GREEDY));
    Group group(model.layout);
    int ended = 0;
    for (int64_t i = 0; i < asked.count(); i++) {
        CHECK(asked.said(i) == naive_greedy(model, group, asked.prompt(i), asked.limits[i], asked.stops));
        ended += asked.counts[i] < asked.limits[i];
    }
    CHECK(ended > 10 && ended < 60);
}

inline void test_rows_say_the_same_on_any_number_of_threads() {
    const Loaded model(SMALL, 12, 1.0f);
    Asked asked = many_prompts(SMALL, 120, 12);
    asked.draw(12);
    asked.stops[4] = 1;
    for (const Choice& choice : {ANY, Choice{0.7, 4, 0.0}, Choice{1.3, 0, 0.8}, Choice{1.0, 5, 0.9}}) {
        Ids first;
        for (int threads = 1; threads <= 4; threads++) {
            const auto runner = runner_of(model, threads);
            CHECK(asked.decode(*runner, choice));
            Ids all = asked.out;
            all.insert(all.end(), asked.counts.begin(), asked.counts.end());
            if (threads == 1) first = all;
            CHECK(all == first);
        }
    }
}

inline void test_the_likeliest_one_is_greedy() {
    const Loaded model(SMALL, 13, 1.0f);
    Asked asked = many_prompts(SMALL, 50, 13);
    asked.draw(13);
    const auto runner = runner_of(model, 2);
    CHECK(asked.decode(*runner, GREEDY));
    const Ids greedy = asked.out;
    for (const Choice& choice : {Choice{1.0, 1, 0.0}, Choice{1.0, 0, 1e-9}, Choice{1e-4, 0, 0.0}}) {
        CHECK(asked.decode(*runner, choice));
        CHECK(asked.out == greedy);
    }
    CHECK(asked.decode(*runner, ANY));
    CHECK(asked.out != greedy);
}

// The probabilities that a choice should have, by its definition.
inline Doubles probabilities(const Doubles& logits, const Choice& choice) {
    const int n = (int)logits.size();
    Doubles p(n);
    double total = 0.0;
    for (int j = 0; j < n; j++) total += p[j] = std::exp(logits[j] / choice.temperature);
    for (double& one : p) one /= total;
    Doubles kept = p;
    for (int j = 0; j < n; j++) {  // those that are likelier
        int rank = 0;
        double before = 0.0;
        for (int k = 0; k < n; k++)
            if (p[k] > p[j]) rank++, before += p[k];
        if ((choice.top_k && rank >= choice.top_k) || (choice.top_p > 0.0 && before >= choice.top_p)) kept[j] = 0.0;
    }
    total = 0.0;
    for (double one : kept) total += one;
    for (double& one : kept) one /= total;
    return kept;
}

inline void test_draws_follow_the_distribution() {
    const Config c = config(9, 4, 6, 0, 0, 0, 0, Norm::none, false, Activation::relu, false, true, 0, 0, 0, 1);
    const Loaded model(c, 14, 1.5f);
    const int draws = 20000;
    Asked asked(c.vocab);
    for (int i = 0; i < draws; i++) asked.add({3}, 1);
    asked.draw(14);
    const auto runner = runner_of(model, 2);
    const int64_t prompt = 3;
    const Doubles logits = model.naive().logits(&prompt, 1)[0];
    const Choice choices[] = {ANY, {0.6, 0, 0.0}, {1.5, 3, 0.0}, {1.0, 0, 0.75}, {2.0, 6, 0.9}};
    for (const Choice& choice : choices) {
        CHECK(asked.decode(*runner, choice));
        std::vector<int> seen(c.vocab);
        for (int64_t token : asked.out) seen.at(token)++;
        const Doubles p = probabilities(logits, choice);
        for (int j = 0; j < c.vocab; j++)
            CHECK_NEAR(seen[j], draws * p[j], 5.0 * std::sqrt(draws * p[j] * (1.0 - p[j])));
    }
}

inline void test_a_draw_at_the_ends_of_the_interval() {
    const float logits[] = {0.0f, 1.0f, -200.0f, -1e4f};  // the last has no probability left
    Chooser any(ANY, 4), two({1.0, 2, 0.0}, 4);
    CHECK(any(logits, 0.0) == 0 && any(logits, 0.999999999) == 1);
    CHECK(two(logits, 0.0) == 1 && two(logits, 0.999999999) == 0);
    CHECK(any(logits, std::nextafter(1.0, 0.0)) != 3);
    const float bad[][2] = {{NAN, 0.0f}, {0.0f, NAN}, {INFINITY, 0.0f}, {0.0f, -INFINITY}};
    for (const auto& row : bad) CHECK(Chooser(ANY, 2)(row, 0.5) == -1 && Chooser(GREEDY, 2)(row, 0.5) == -1);
}

inline void test_a_halt_ends_decoding() {
    const Loaded model(SMALL, 15);
    for (int threads : {1, 3}) {
        const auto runner = runner_of(model, threads);
        Asked asked(SMALL.vocab);
        for (int i = 0; i < 300; i++) asked.add({1}, 10000);
        asked.progress.halt = 1;
        CHECK(asked.decode(*runner, ANY));
        CHECK(asked.progress.done == 0);
        asked.progress.halt = 0;
        std::thread other([&] {  // not before there is something to halt
            while (__atomic_load_n(&asked.progress.done, __ATOMIC_RELAXED) < 50) std::this_thread::yield();
            __atomic_store_n(&asked.progress.halt, 1, __ATOMIC_RELAXED);
        });
        CHECK(asked.decode(*runner, ANY));
        other.join();
        int64_t total = 0;
        for (int64_t n : asked.counts) total += std::max<int64_t>(0, n);  // −7: a row that was not begun
        CHECK(total >= 50 && total < 300 * 10000 && asked.progress.done == total);
    }
}

inline void test_weights_that_are_not_finite_are_told() {
    for (float bad : {NAN, INFINITY}) {
        Loaded model(SMALL, 16);
        model.weights[model.layout.layers[1].in.at] = bad;
        for (int threads : {1, 3})
            for (int length : {2, 20}) {  // 20: past the block
                Asked asked(SMALL.vocab);
                for (int i = 0; i < 60; i++) asked.add(Ids(length, 1), 3);
                const auto runner = runner_of(model, threads);
                CHECK(!asked.decode(*runner, GREEDY));
                CHECK(!asked.decode(*runner, ANY));
            }
    }
}

inline void test_decoding_of_nothing() {
    const Loaded model(SMALL, 17);
    const auto runner = runner_of(model, 3);
    Asked asked(SMALL.vocab);
    CHECK(asked.decode(*runner, GREEDY));
    asked.add({1, 2}, 0);
    CHECK(asked.decode(*runner, GREEDY));
    CHECK(asked.counts[0] == 0);
}

}  // namespace test
