// Tests of slots.h and decoder.h: which tokens rows get, greedy and sampled. They need the Runner of engine.cpp.
#pragma once

#include <thread>

#include "decoder.h"
#include "models.h"

namespace test {

inline std::unique_ptr<Runner> runner_of(const Loaded& model, int threads) {
    const Config& c = model.layout.config;
    return std::unique_ptr<Runner>(handloom_runner(&c, model.weights.data(), model.fixed_pos(), threads));
}

inline void test_slots_have_the_logits_of_the_whole_text() {
    uint64_t seed = 400;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++);
        Random random(seed);
        const int count = 5;
        Slots slots(model.transformer(), count, c.n_ctx);
        std::vector<Ids> texts(count);
        Row logits(count * (c.d_vocab + 2), 5.0f);
        for (int round = 0; round < 60; round++) {
            std::vector<int> fed;
            Ids tokens;
            for (int i = count - 1; i >= 0; i--) {
                if ((int)texts[i].size() == c.n_ctx) texts[i].clear(), slots.clear(i);
                if (!random.below(3)) continue;  // so that rows differ in length
                fed.push_back(i), tokens.push_back(random.below(c.d_vocab));
                texts[i].push_back(tokens.back());
            }
            slots.step((int)fed.size(), fed.data(), tokens.data(), logits.data(), c.d_vocab + 2);
            for (size_t i = 0; i < fed.size(); i++) {
                const Ids& text = texts[fed[i]];
                CHECK(slots.length(fed[i]) == (int)text.size());
                if (SANITIZED && round % 4) continue;
                const Doubles wanted = model.naive().logits(text.data(), (int)text.size()).back();
                for (int j = 0; j < c.d_vocab; j++) CHECK_NEAR(logits[i * (c.d_vocab + 2) + j], wanted[j], 1e-4);
                CHECK(logits[i * (c.d_vocab + 2) + c.d_vocab] == 5.0f);
            }
        }
    }
}

struct Request {  // prompts, and the tokens that each got
    Ids ids, starts = {0}, limits;
    std::vector<uint8_t> stops;
    Doubles uniforms;
    int64_t max_limit = 0;
    Ids out, counts;
    Progress progress;

    explicit Request(int d_vocab) : stops(d_vocab) {}
    void add(const Ids& prompt, int64_t limit) {
        ids.insert(ids.end(), prompt.begin(), prompt.end());
        starts.push_back((int64_t)ids.size()), limits.push_back(limit);
        max_limit = std::max(max_limit, limit);
    }
    int64_t count() const { return (int64_t)limits.size(); }
    void draw(uint64_t seed) {
        Random random(seed);
        uniforms.resize(count() * max_limit);
        for (double& one : uniforms) one = random.uniform();
    }
    // −7, which is no token, shows where nothing was written.
    bool decode(Runner& runner, const Sampling& sampling) {
        out.assign(count() * max_limit, -7), counts.assign(count(), -7);
        uniforms.resize(count() * max_limit);
        __atomic_store_n(&progress.done, 0, __ATOMIC_RELAXED);  // another thread may read it
        const Prompts prompts{count(),         ids.data(), starts.data(), limits.data(), stops.data(),
                              uniforms.data(), max_limit};
        return Decode(runner.transformer(), prompts, sampling, runner.pool, progress, out.data(), counts.data()).run();
    }
    Ids output(int64_t i) const {
        const auto from = out.begin() + i * max_limit;
        return Ids(from, from + std::max<int64_t>(0, counts[i]));
    }
    Ids prompt(int64_t i) const { return Ids(ids.begin() + starts[i], ids.begin() + starts[i + 1]); }
};

inline Request many_prompts(const Config& c, int count, uint64_t seed) {
    Random random(seed);
    Request request(c.d_vocab);
    for (int i = 0; i < count; i++) {
        Ids prompt(1 + random.below(i % 3 ? 4 : c.n_ctx + 6));
        for (int64_t& one : prompt) one = random.below(c.d_vocab);
        request.add(prompt, i % 7 == 3 ? 0 : random.below(i % 5 ? 6 : 2 * c.n_ctx));
    }
    return request;
}

// Greedy decoding by definition: the likeliest token after the last n_ctx tokens, again and again.
inline Ids naive_greedy(const Loaded& model, Forward& forward, Ids text, int64_t limit,
                        const std::vector<uint8_t>& stops) {
    const Config& c = model.layout.config;
    Row logits(c.d_vocab);
    Ids output;
    while ((int64_t)output.size() < limit) {
        const int length = std::min((int)text.size(), (int)c.n_ctx);
        forward.last_logits(model.transformer(), {{text.data() + text.size() - length, length, 0}}, 1, logits.data());
        output.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
        text.push_back(output.back());
        if (stops[output.back()]) break;
    }
    return output;
}

const Sampling GREEDY = {0.0, 0, 0.0}, ANY = {1.0, 0, 0.0};

inline void test_greedy_decoding_is_the_likeliest_token_of_the_whole_text() {
    uint64_t seed = 500;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++, 1.0f);
        Request request = many_prompts(c, SANITIZED ? 40 : 70, seed);
        Forward forward(model.layout);
        std::vector<Ids> wanted;
        for (int64_t i = 0; i < request.count(); i++)
            wanted.push_back(naive_greedy(model, forward, request.prompt(i), request.limits[i], request.stops));
        for (int threads : {1, 3}) {
            const auto runner = runner_of(model, threads);
            CHECK(request.decode(*runner, GREEDY));
            int64_t total = 0;
            for (int64_t i = 0; i < request.count(); i++) {
                CHECK(request.output(i) == wanted[i]);
                CHECK(request.counts[i] == request.limits[i]);
                total += request.counts[i];
                for (int64_t n = request.counts[i]; n < request.max_limit; n++)
                    CHECK(request.out[i * request.max_limit + n] == -7);
            }
            CHECK(request.progress.done == total);
        }
    }
}

inline void test_stop_tokens_end_a_row() {
    const Loaded model(SMALL, 11, 1.0f);
    Request request = many_prompts(SMALL, 70, 11);
    for (int token = 0; token < SMALL.d_vocab; token += 2) request.stops[token] = 1;
    const auto runner = runner_of(model, 2);
    CHECK(request.decode(*runner, GREEDY));
    Forward forward(model.layout);
    int ended = 0;
    for (int64_t i = 0; i < request.count(); i++) {
        CHECK(request.output(i) == naive_greedy(model, forward, request.prompt(i), request.limits[i], request.stops));
        ended += request.counts[i] < request.limits[i];
    }
    CHECK(ended > 10 && ended < 60);
}

inline void test_rows_get_the_same_tokens_on_any_number_of_threads() {
    const Loaded model(SMALL, 12, 1.0f);
    Request request = many_prompts(SMALL, 120, 12);
    request.draw(12);
    request.stops[4] = 1;
    for (const Sampling& sampling : {ANY, Sampling{0.7, 4, 0.0}, Sampling{1.3, 0, 0.8}, Sampling{1.0, 5, 0.9}}) {
        Ids first;
        for (int threads = 1; threads <= 4; threads++) {
            const auto runner = runner_of(model, threads);
            CHECK(request.decode(*runner, sampling));
            Ids all = request.out;
            all.insert(all.end(), request.counts.begin(), request.counts.end());
            if (threads == 1) first = all;
            CHECK(all == first);
        }
    }
}

inline void test_the_likeliest_one_is_greedy() {
    const Loaded model(SMALL, 13, 1.0f);
    Request request = many_prompts(SMALL, 50, 13);
    request.draw(13);
    const auto runner = runner_of(model, 2);
    CHECK(request.decode(*runner, GREEDY));
    const Ids greedy = request.out;
    for (const Sampling& sampling : {Sampling{1.0, 1, 0.0}, Sampling{1.0, 0, 1e-9}, Sampling{1e-4, 0, 0.0}}) {
        CHECK(request.decode(*runner, sampling));
        CHECK(request.out == greedy);
    }
    CHECK(request.decode(*runner, ANY));
    CHECK(request.out != greedy);
}

// The probabilities of tokens by the definition of the settings.
inline Doubles probabilities(const Doubles& logits, const Sampling& sampling) {
    const int n = (int)logits.size();
    Doubles p(n);
    double total = 0.0;
    for (int j = 0; j < n; j++) total += p[j] = std::exp(logits[j] / sampling.temperature);
    for (double& one : p) one /= total;
    Doubles kept = p;
    for (int j = 0; j < n; j++) {  // those that are likelier
        int rank = 0;
        double before = 0.0;
        for (int k = 0; k < n; k++)
            if (p[k] > p[j]) rank++, before += p[k];
        const bool beyond_k = sampling.top_k && rank >= sampling.top_k;
        if (beyond_k || (sampling.top_p > 0.0 && before >= sampling.top_p)) kept[j] = 0.0;
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
    Request request(c.d_vocab);
    for (int i = 0; i < draws; i++) request.add({3}, 1);
    request.draw(14);
    const auto runner = runner_of(model, 2);
    const int64_t prompt = 3;
    const Doubles logits = model.naive().logits(&prompt, 1)[0];
    const Sampling settings[] = {ANY, {0.6, 0, 0.0}, {1.5, 3, 0.0}, {1.0, 0, 0.75}, {2.0, 6, 0.9}};
    for (const Sampling& sampling : settings) {
        CHECK(request.decode(*runner, sampling));
        std::vector<int> seen(c.d_vocab);
        for (int64_t token : request.out) seen.at(token)++;
        const Doubles p = probabilities(logits, sampling);
        for (int j = 0; j < c.d_vocab; j++)
            CHECK_NEAR(seen[j], draws * p[j], 5.0 * std::sqrt(draws * p[j] * (1.0 - p[j])));
    }
}

inline void test_a_draw_at_the_ends_of_the_interval() {
    const float logits[] = {0.0f, 1.0f, -200.0f, -1e4f};  // the last has no probability left
    Sampler any(ANY, 4), two({1.0, 2, 0.0}, 4);
    CHECK(any(logits, 0.0) == 0 && any(logits, 0.999999999) == 1);
    CHECK(two(logits, 0.0) == 1 && two(logits, 0.999999999) == 0);
    CHECK(any(logits, std::nextafter(1.0, 0.0)) != 3);
    const float bad[][2] = {{NAN, 0.0f}, {0.0f, NAN}, {INFINITY, 0.0f}, {0.0f, -INFINITY}};
    for (const auto& row : bad) CHECK(Sampler(ANY, 2)(row, 0.5) == -1 && Sampler(GREEDY, 2)(row, 0.5) == -1);
}

inline void test_a_halt_ends_decoding() {
    const Loaded model(SMALL, 15);
    for (int threads : {1, 3}) {
        const auto runner = runner_of(model, threads);
        Request request(SMALL.d_vocab);
        for (int i = 0; i < 300; i++) request.add({1}, 10000);
        request.progress.halt = 1;
        CHECK(request.decode(*runner, ANY));
        CHECK(request.progress.done == 0);
        request.progress.halt = 0;
        std::thread other([&] {  // waits until there is something to halt
            while (__atomic_load_n(&request.progress.done, __ATOMIC_RELAXED) < 50) std::this_thread::yield();
            __atomic_store_n(&request.progress.halt, 1, __ATOMIC_RELAXED);
        });
        CHECK(request.decode(*runner, ANY));
        other.join();
        int64_t total = 0;
        for (int64_t n : request.counts) total += std::max<int64_t>(0, n);  // −7: a row that never began
        CHECK(total >= 50 && total < 300 * 10000 && request.progress.done == total);
    }
}

inline void test_weights_that_are_not_finite_are_reported() {
    for (float bad : {NAN, INFINITY}) {
        Loaded model(SMALL, 16);
        model.weights[model.layout.layers[1].W_in.offset] = bad;
        for (int threads : {1, 3})
            for (int length : {2, 20}) {  // 20: more than n_ctx
                Request request(SMALL.d_vocab);
                for (int i = 0; i < 60; i++) request.add(Ids(length, 1), 3);
                const auto runner = runner_of(model, threads);
                CHECK(!request.decode(*runner, GREEDY));
                CHECK(!request.decode(*runner, ANY));
            }
    }
}

inline void test_decoding_of_nothing() {
    const Loaded model(SMALL, 17);
    const auto runner = runner_of(model, 3);
    Request request(SMALL.d_vocab);
    CHECK(request.decode(*runner, GREEDY));
    request.add({1, 2}, 0);
    CHECK(request.decode(*runner, GREEDY));
    CHECK(request.counts[0] == 0);
}

}  // namespace test
