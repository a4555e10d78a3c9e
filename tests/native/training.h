// Tests of forward.h, backward.h and trainer.h: losses, gradients, AdamW, and that threads change nothing.
#pragma once

#include "models.h"

namespace test {

// ---- forward.h and backward.h

inline void compare_gradient(const Loaded& model, const Data& data, const Row& gradient, double scale, int each,
                      Random& random) {
    Naive naive = model.naive();
    double size = 0.0;
    for (float g : gradient) size = std::max(size, (double)std::fabs(g));
    CHECK(size > 0.0 || model.layout.config.d_vocab == 1);
    for (const Section* s : model.layout.order)
        for (int i = 0; i < each && s->size(); i++) {
            const int64_t at = s->offset + random.below((int)s->size());
            const double w = naive.weights[at], h = 1e-5;
            naive.weights[at] = w + h;
            const double up = naive_loss(naive, data);
            naive.weights[at] = w - h;
            const double down = naive_loss(naive, data);
            naive.weights[at] = w;
            CHECK_NEAR(gradient[at], scale * (up - down) / (2.0 * h), 1e-5 * size + 1e-7);
        }
}

inline void test_a_group_has_the_loss_and_gradient_of_the_naive_model() {
    uint64_t seed = 100;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++);
        Random random(seed);
        const Data data = some_strings(random, c);
        Backward backward(model.layout);
        Row gradient(model.layout.size);
        const double wanted = naive_loss(model.naive(), data);
        const double loss = backward.loss(model.transformer(), data.all(), gradient.data());
        CHECK_NEAR(loss, wanted, 3e-6 * (1.0 + wanted));
        CHECK(backward.forward.loss(model.transformer(), data.all()) == loss);
        compare_gradient(model, data, gradient, 1.0, SANITIZED ? 1 : 5, random);
    }
}

inline void test_a_group_adds_its_gradient_to_what_is_there() {
    const Loaded model(SMALL, 1);
    Random random(1);
    const Data data = some_strings(random, SMALL);
    Backward backward(model.layout);
    Row once(model.layout.size), twice(model.layout.size);
    backward.loss(model.transformer(), data.all(), once.data());
    for (int i = 0; i < 2; i++) backward.loss(model.transformer(), data.all(), twice.data());
    for (size_t i = 0; i < once.size(); i++) CHECK_NEAR(twice[i], 2.0 * once[i], 1e-5);
}

// The loss of strings, and its gradient, by one group.
inline void check_group(const Loaded& model, const Data& data, Random& random) {
    Backward backward(model.layout);
    Row gradient(model.layout.size);
    const double loss = backward.loss(model.transformer(), data.all(), gradient.data());
    CHECK_NEAR(loss, naive_loss(model.naive(), data), 1e-6 * loss);
    compare_gradient(model, data, gradient, 1.0, 1, random);
}

// Several blocks of queries, patterns that are computed again, strings of very different lengths in one group.
inline void test_a_group_of_long_strings() {
    for (int length : {200, 300}) {
        const Config c = config(5, 400, 8, 1, 2, 4, 8, Norm::layer, false, Activation::gelu, true, true, 1, 1, 1, 0);
        const Loaded model(c, length, 1.0f);
        Random random(length);
        Data data;
        for (int one : {2, length, 30}) data.add(random, c.d_vocab, one, 0);
        check_group(model, data, random);
    }
}

// If the vocabulary is large, rows are unembedded some at a time.
inline void test_a_group_with_a_large_vocabulary() {
    const int d_vocab = SANITIZED ? 3001 : 30000;
    const Config c = config(d_vocab, 40, 5, 1, 1, 5, 8, Norm::rms, false, Activation::relu, false, true, 0, 0, 0, 1);
    for (bool tied : {false, true}) {
        Config with = c;
        with.tied = tied;
        const Loaded model(with, 7);
        Random random(7);
        Data data;
        for (int length : {31, 2, 11}) data.add(random, d_vocab, length, 3);
        check_group(model, data, random);
    }
}

inline void test_logits_of_the_last_positions() {
    uint64_t seed = 200;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++);
        Random random(seed);
        const Data data = some_strings(random, c);
        Forward forward(model.layout);
        for (int last : {1, 3, 100}) {
            size_t total = 0;
            for (const String& s : data.all()) total += std::min(last, s.length);
            Row out(total * c.d_vocab, NAN);
            forward.last_logits(model.transformer(), data.all(), last, out.data());
            const float* at = out.data();
            for (const String& s : data.all()) {
                const auto wanted = model.naive().logits(s.ids, s.length);
                for (int t = std::max(0, s.length - last); t < s.length; t++)
                    for (int j = 0; j < c.d_vocab; j++) CHECK_NEAR(*at++, wanted[t][j], 1e-4);
            }
        }
    }
}

// ---- trainer.h

const AdamW PLAIN = {0.9, 0.99, 0.1, 0.0};

inline std::unique_ptr<Trainer> trainer_of(const Loaded& model, int lanes, int threads, const AdamW& adamw = PLAIN) {
    auto made = std::make_unique<Trainer>(model.layout.config, adamw, lanes, threads, model.fixed_pos());
    std::copy(model.weights.begin(), model.weights.end(), made->weights.data());
    made->refresh();
    return made;
}

inline Row copy(const Floats& from, int64_t size) { return Row(from.data(), from.data() + size); }

inline void test_training_gives_the_same_bits_on_any_number_of_threads() {
    const Config c = config(13, 90, 24, 2, 3, 8, 40, Norm::layer, false, Activation::gelu, true, true, 1, 1, 1, 1);
    const Loaded model(c, 3);
    Random random(3);
    const Data data = some_strings(random, c, 25);
    Row first;
    double first_loss = 0.0;
    for (int threads : {1, 2, 3, 5}) {
        const auto trainer = trainer_of(model, 6, threads, {0.9, 0.99, 0.1, 1.0});
        double loss = 0.0;
        for (int step = 1; step <= 5; step++)
            loss = trainer->step(data.strings(), data.rows.data() + step, 20, 1e-2, step);
        const Row now = copy(trainer->weights, model.layout.size);
        const double whole = trainer->loss(data.strings(), data.count());
        if (threads == 1) first = now, first_loss = whole;
        CHECK(std::isfinite(loss) && !same(now.data(), model.weights.data(), now.size()));
        CHECK(same(now.data(), first.data(), now.size()));
        CHECK(whole == first_loss);
    }
}

inline void test_a_trainer_has_the_mean_loss_and_its_gradient() {
    uint64_t seed = 300;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++);
        Random random(seed);
        Data data = some_strings(random, c, 5);
        data.add(random, c.d_vocab, 1, 0), data.add(random, c.d_vocab, 5, 9);  // of one token; all of it given
        Row sums(model.layout.size);  // of one group, which is compared with the naive model above
        Backward(model.layout).loss(model.transformer(), data.all(), sums.data());
        for (int lanes : {1, 3, 40}) {  // 40: more lanes than strings
            const auto trainer = trainer_of(model, lanes, 2);
            double norm = 0.0, squares = 0.0;
            const double wanted = naive_loss(model.naive(), data) / data.predicted();
            const double loss = trainer->differentiate(data.strings(), data.rows.data(), data.count(), norm);
            CHECK_NEAR(loss, wanted, 1e-5);
            CHECK_NEAR(trainer->loss(data.strings(), data.count()), wanted, 1e-5);
            const Row gradient = copy(trainer->gradient, model.layout.size);
            for (float g : gradient) squares += (double)g * g;
            CHECK_NEAR(norm, std::sqrt(squares), 1e-6 * norm);
            for (size_t i = 0; i < gradient.size(); i++)
                CHECK_NEAR(gradient[i], sums[i] / data.predicted(), 1e-6 * (1.0 + norm));
        }
    }
}

// Every token is an input, the last one too, and each has a target of its own or none.
inline void test_strings_with_targets_have_the_loss_and_gradient_of_the_naive_model() {
    uint64_t seed = 150;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++);
        Random random(seed);
        Data data;
        for (int length : {c.n_ctx, 1, 2, 7}) data.add(random, c.d_vocab, std::min(length, c.n_ctx), 2);
        data.label(random, c.d_vocab);
        data.targets.front() = 0;  // at least one
        const auto trainer = trainer_of(model, 3, 2);
        double norm = 0.0;
        const double wanted = naive_loss(model.naive(), data) / data.predicted();
        CHECK_NEAR(trainer->differentiate(data.strings(), data.rows.data(), data.count(), norm), wanted, 1e-5);
        CHECK_NEAR(trainer->loss(data.strings(), data.count()), wanted, 1e-5);
        const Row gradient = copy(trainer->gradient, model.layout.size);
        compare_gradient(model, data, gradient, 1.0 / data.predicted(), SANITIZED ? 1 : 5, random);
    }
}

// Weights, m and v after some steps, given the trainer's gradients.
inline void compare_adamw(const AdamW& adamw, bool clips) {
    const Loaded model(SMALL, 4);
    Random random(4);
    const Data data = some_strings(random, SMALL, 6);
    const auto trainer = trainer_of(model, 3, 2, adamw);
    Doubles w(model.weights.begin(), model.weights.end()), m(w.size()), v(w.size());
    for (int step = 1; step <= 6; step++) {
        const double rate = 0.01 / step;
        trainer->step(data.strings(), data.rows.data(), data.count(), rate, step);
        double norm = 0.0;
        for (size_t i = 0; i < w.size(); i++) norm += (double)trainer->gradient.data()[i] * trainer->gradient.data()[i];
        norm = std::sqrt(norm);
        CHECK(clips == (adamw.clip > 0.0 && norm > adamw.clip));
        for (size_t i = 0; i < w.size(); i++) {
            const double g = trainer->gradient.data()[i] * (clips ? adamw.clip / norm : 1.0);
            if ((int64_t)i < model.layout.decayed_size) w[i] -= rate * adamw.decay * w[i];
            m[i] = adamw.beta1 * m[i] + (1.0 - adamw.beta1) * g;
            v[i] = adamw.beta2 * v[i] + (1.0 - adamw.beta2) * g * g;
            const double mean = m[i] / (1.0 - std::pow(adamw.beta1, step));
            w[i] -= rate * mean / (std::sqrt(v[i] / (1.0 - std::pow(adamw.beta2, step))) + 1e-8);
        }
    }
    for (size_t i = 0; i < w.size(); i++) {
        CHECK_NEAR(trainer->weights.data()[i], w[i], 5e-7);
        CHECK_NEAR(trainer->m.data()[i], m[i], 1e-6 * std::fabs(m[i]) + 1e-8);
        CHECK_NEAR(trainer->v.data()[i], v[i], 2e-6 * v[i] + 1e-12);
    }
}

inline void test_steps_are_those_of_adamw() {
    compare_adamw(PLAIN, false);
    compare_adamw({0.8, 0.95, 0.5, 0.01}, true);
    compare_adamw({0.9, 0.99, 0.0, 1e6}, false);
}

inline void test_steps_lower_the_loss() {
    const Loaded model(SMALL, 5);
    Random random(5);
    const Data data = some_strings(random, SMALL, 6);
    const auto trainer = trainer_of(model, 4, 2);
    const double before = trainer->loss(data.strings(), data.count());
    for (int step = 1; step <= 60; step++)
        trainer->step(data.strings(), data.rows.data(), data.count(), 1e-2, step);
    CHECK(trainer->loss(data.strings(), data.count()) < 0.5 * before);
}

inline void nothing_changes(const Loaded& model, const Data& data, int64_t count) {
    for (int threads : {1, 3}) {
        const auto trainer = trainer_of(model, 4, threads);
        CHECK(std::isnan(trainer->step(data.strings(), data.rows.data(), count, 1e-2, 1)));
        const Row zeros(model.layout.size);
        CHECK(same(trainer->weights.data(), model.weights.data(), model.layout.size));
        CHECK(same(trainer->m.data(), zeros.data(), zeros.size()));
        CHECK(same(trainer->v.data(), zeros.data(), zeros.size()));
    }
}

inline void test_an_empty_batch_is_nan_and_changes_nothing() {
    const Loaded model(SMALL, 6);
    Random random(6);
    Data data;
    nothing_changes(model, data, 0);
    for (int i = 0; i < 3; i++) data.add(random, SMALL.d_vocab, 1, 0);  // nothing follows the only token
    data.add(random, SMALL.d_vocab, 4, 4);                              // everything is given
    nothing_changes(model, data, data.count());
    CHECK(std::isnan(trainer_of(model, 2, 1)->loss(data.strings(), data.count())));
}

// In every section, so that no path through the model hides it.
inline void test_nan_or_infinity_in_weights_is_reported_and_changes_nothing() {
    Random random(8);
    Data data;
    for (int i = 0; i < 6; i++) data.add(random, SMALL.d_vocab, 17, 0);
    for (int64_t i = 0; i < SMALL.d_vocab; i++) data.ids[i] = i;  // every token occurs
    for (float bad : {NAN, INFINITY}) {
        const Loaded fine(SMALL, 8);
        for (size_t s = 0; s < fine.layout.order.size(); s++) {
            if (!fine.layout.order[s]->size()) continue;
            Loaded model(SMALL, 8);
            model.weights[fine.layout.order[s]->offset] = bad;
            model.repack();
            nothing_changes(model, data, data.count());
        }
    }
}

inline void test_a_vocabulary_of_one_has_no_loss_and_no_gradient() {
    const Config c = config(1, 16, 4, 1, 1, 4, 4, Norm::layer, false, Activation::relu, false, true, 1, 1, 1, 1);
    const Loaded model(c, 9);
    Random random(9);
    const Data data = some_strings(random, c);
    const auto trainer = trainer_of(model, 2, 2);
    double norm = 1.0;
    CHECK(trainer->differentiate(data.strings(), data.rows.data(), data.count(), norm) == 0.0);
    CHECK(norm == 0.0);
    CHECK(trainer->step(data.strings(), data.rows.data(), data.count(), 1e-2, 1) == 0.0);
}

inline void test_a_very_long_string() {
    const int length = SANITIZED ? 1000 : 20000;
    const Config c = config(3, length, 3, 1, 1, 2, 2, Norm::rms, false, Activation::gelu, true, true, 0, 0, 0, 0);
    const Loaded model(c, 10);
    Random random(10);
    Data data;
    data.add(random, c.d_vocab, length + 1, 0);
    const auto trainer = trainer_of(model, 1, 1);
    double norm = 0.0;
    const double loss = trainer->differentiate(data.strings(), data.rows.data(), 1, norm);
    CHECK_NEAR(loss, naive_loss(model.naive(), data) / length, 1e-5);
    const Row gradient = copy(trainer->gradient, model.layout.size);
    if (SANITIZED) compare_gradient(model, data, gradient, 1.0 / length, 1, random);
    CHECK(norm > 0.0 && std::isfinite(norm));
}

}  // namespace test
