// Tests of the native engine: here those of threads and of the functions that Python calls, and the list of all tests;
// the others are in the headers of this folder. All are one translation unit, as the engine itself is:
//
//     g++ -std=c++17 -O1 -g -fsanitize=address,undefined -pthread -I src/handloom/core/native
//         tests/native/test_engine.cpp
//
// With arguments, it runs only the tests whose names contain one of them. tests/core/test_native_cpp.py builds and runs
// it.
#include "engine.cpp"

#include <atomic>
#include <stdexcept>
#include <string>

#include "decoding.h"
#include "layers.h"
#include "training.h"

namespace test {

// ---- pool.h

void test_every_job_is_done_once() {
    for (int threads : {1, 2, 3, 5}) {
        Pool pool(threads);
        CHECK(pool.size() == threads);
        for (int round = 0; round < (SANITIZED ? 20 : 100); round++)
            for (int count : {0, 1, 2, 7, 100}) {
                std::vector<std::atomic<int>> done(count);
                std::atomic<bool> known{true};
                pool.run(count, [&](int job, int worker) {
                    done[job]++;
                    if (worker < 0 || worker >= threads) known = false;
                });
                CHECK(known);
                CHECK(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
            }
    }
}

// Each worker has memory of its own, which no two jobs may use at once; if they do, the thread sanitizer reports it.
void test_a_worker_does_one_job_at_a_time() {
    Pool pool(4);
    std::vector<int> own(4);
    for (int round = 0; round < 50; round++) pool.run(64, [&](int, int worker) { own[worker]++; });
    int total = 0;
    for (int one : own) total += one;
    CHECK(total == 50 * 64);
}

void test_what_a_job_throws_reaches_the_caller() {
    for (int threads : {1, 2, 4}) {
        Pool pool(threads);
        for (int bad : {0, 1, 17, 63}) {
            std::string heard;
            try {
                pool.run(64, [&](int job, int) {
                    if (job == bad) throw std::runtime_error("job " + std::to_string(job));
                });
            } catch (const std::runtime_error& error) {
                heard = error.what();
            }
            CHECK(heard == "job " + std::to_string(bad));
            std::atomic<int> done{0};
            pool.run(64, [&](int, int) { done++; });
            CHECK(done == 64);
        }
        int caught = 0;
        try {
            pool.run(64, [](int, int) { throw std::bad_alloc(); });  // all of them at once
        } catch (const std::bad_alloc&) {
            caught++;
        }
        CHECK(caught == 1);
    }
}

// ---- engine.cpp

void test_the_numbers_that_python_asks_for_first() {
    CHECK(handloom_layout_version() == LAYOUT_VERSION);
    CHECK(handloom_vector_width() == W);
    CHECK(handloom_best() >= 0 && handloom_best() <= 2);
}

void test_sections_lie_side_by_side_and_matrices_first() {
    for (const Config& c : configs()) {
        const Layout layout(c);
        int64_t size = 0, end = 0;
        const int64_t count = handloom_layout(&c, nullptr, nullptr);
        Ids sections(3 * count, -7);
        CHECK(handloom_layout(&c, sections.data(), &size) == count);
        CHECK(count == 6 + 12 * c.n_layers && size == layout.size);
        std::vector<bool> used(size);
        for (int64_t i = 0; i < count; i++) {
            if (sections[3 * i] < 0) continue;
            for (int64_t j = 0; j < sections[3 * i + 1] * sections[3 * i + 2]; j++) {
                CHECK(!used.at(sections[3 * i] + j));
                used[sections[3 * i] + j] = true;
            }
        }
        for (bool one : used) end += one;
        CHECK(end == size);
        CHECK(layout.W_E.offset < layout.decayed_size);
        CHECK(!layout.ln_final.w.exists() || layout.ln_final.w.offset >= layout.decayed_size);
    }
}

void test_training_through_the_functions_that_python_calls() {
    const Loaded model(SMALL, 18);
    Random random(18);
    const Data data = some_strings(random, SMALL, 8);
    const Strings strings = data.strings();
    const auto same_by = trainer_of(model, 3, 2);
    Trainer* trainer = handloom_trainer(&SMALL, &PLAIN, 3, 2, nullptr);
    std::copy(model.weights.begin(), model.weights.end(), handloom_trainer_weights(trainer));
    handloom_trainer_refresh(trainer);
    double loss = 0.0, norm = 0.0;
    CHECK(handloom_trainer_differentiate(trainer, &strings, data.rows.data(), 8, &loss) == 0);
    CHECK(loss == same_by->differentiate(strings, data.rows.data(), 8, norm));
    CHECK(same(handloom_trainer_gradient(trainer), same_by->gradient.data(), model.layout.size));
    CHECK(handloom_trainer_step(trainer, &strings, data.rows.data(), 8, 1e-2, 1, &loss) == 0);
    CHECK(loss == same_by->step(strings, data.rows.data(), 8, 1e-2, 1));
    CHECK(same(handloom_trainer_weights(trainer), same_by->weights.data(), model.layout.size));
    CHECK(same(handloom_trainer_m(trainer), same_by->m.data(), model.layout.size));
    CHECK(same(handloom_trainer_v(trainer), same_by->v.data(), model.layout.size));
    CHECK(handloom_trainer_loss(trainer, &strings, 8, &loss) == 0);
    CHECK(loss == same_by->loss(strings, 8));
    handloom_trainer_free(trainer);
}

void test_running_through_the_functions_that_python_calls() {
    uint64_t seed = 600;
    for (const Config& c : configs()) {
        const Loaded model(c, seed++);
        Random random(seed);
        Runner* runner = handloom_runner(&c, model.weights.data(), model.fixed_pos(), 3);
        const int64_t count = 40, length = 9, last = 2;  // more rows than one group holds
        Ids ids(count * length);
        for (int64_t& one : ids) one = random.below(c.d_vocab);
        Row out(count * last * c.d_vocab, NAN);
        CHECK(handloom_logits(runner, count, length, ids.data(), last, out.data()) == 0);
        for (int64_t i = 0; i < count; i++) {
            const auto wanted = model.naive().logits(&ids[i * length], (int)length);
            for (int64_t t = 0; t < last; t++)
                for (int j = 0; j < c.d_vocab; j++)
                    CHECK_NEAR(out[(i * last + t) * c.d_vocab + j], wanted[length - last + t][j], 1e-4);
        }
        Slots* slots = handloom_slots(runner, 2, c.n_ctx);
        const int32_t which[] = {1, 0};
        Row stepped(2 * c.d_vocab);
        for (int64_t t = 0; t < length; t++) {
            const int64_t tokens[] = {ids[t], ids[length + t]};
            CHECK(handloom_slots_step(slots, 2, which, tokens, c.d_vocab, stepped.data()) == 0);
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < c.d_vocab; j++)
                CHECK_NEAR(stepped[i * c.d_vocab + j], out[((i + 1) * last - 1) * c.d_vocab + j], 1e-4);
        handloom_slots_free(slots);
        handloom_runner_free(runner);
    }
}

void test_decoding_through_the_function_that_python_calls() {
    Loaded model(SMALL, 19, 1.0f);
    const int64_t ids[] = {3, 1, 4}, starts[] = {0, 1, 3}, limits[] = {4, 2};
    const uint8_t stops[11] = {};
    const double uniforms[8] = {};
    for (bool fine : {true, false}) {
        if (!fine) model.weights[3 * SMALL.d_model] = NAN;  // W_E of a token in a prompt
        const auto runner = runner_of(model, 2);
        const Prompts prompts{2, ids, starts, limits, stops, uniforms, 4};
        Progress progress;
        int64_t out[8] = {}, counts[2] = {};
        const std::vector<uint8_t> none(11);
        Forward forward(model.layout);
        CHECK(handloom_decode(runner.get(), &prompts, &GREEDY, &progress, out, counts) == (fine ? 1 : 0));
        if (fine) CHECK(Ids(out, out + counts[0]) == naive_greedy(model, forward, {3}, 4, none));
        if (fine) CHECK(Ids(out + 4, out + 4 + counts[1]) == naive_greedy(model, forward, {1, 4}, 2, none));
    }
}

void test_models_for_which_there_is_no_memory() {
    if (SANITIZED) return;  // a sanitizer ends the program
    Config c = SMALL;
    c.d_vocab = 1 << 30, c.d_model = 1 << 20;
    CHECK(handloom_trainer(&c, &PLAIN, 1, 1, nullptr) == nullptr);
    CHECK(handloom_runner(&c, nullptr, nullptr, 1) == nullptr);
}

// ---- all of them

struct Test {
    const char* name;
    void (*run)();
    bool threads;  // the thread sanitizer runs only these
};

#define TEST(name) {#name, test_##name, false}
#define THREADS(name) {#name, test_##name, true}

const Test TESTS[] = {
    TEST(exp_is_right_to_two_units_in_the_last_place),
    TEST(exp_of_extremes),
    TEST(exp_works_lane_by_lane),
    TEST(sum_and_largest_see_every_lane),
    TEST(a_sweep_loads_and_stores_a_row_and_no_more),
    TEST(a_roomy_sweep_leaves_out_what_is_behind_the_row),
    TEST(products_of_all_shapes),
    TEST(a_product_without_its_bias_begins_with_zero),
    TEST(a_row_has_the_same_bits_whatever_rows_are_around_it),
    TEST(norms_and_their_gradients),
    TEST(the_layer_norm_of_one_number_has_no_gradient),
    TEST(activations_and_their_slopes),
    TEST(activations_change_their_columns_only),
    TEST(activations_of_nan_are_nan),
    TEST(attention_and_its_gradient),
    TEST(a_pattern_is_kept_for_short_strings_only),
    TEST(a_group_has_the_loss_and_gradient_of_the_naive_model),
    TEST(a_group_adds_its_gradient_to_what_is_there),
    TEST(a_group_of_long_strings),
    TEST(strings_with_targets_have_the_loss_and_gradient_of_the_naive_model),
    TEST(a_group_with_a_large_vocabulary),
    TEST(logits_of_the_last_positions),
    THREADS(training_gives_the_same_bits_on_any_number_of_threads),
    THREADS(a_trainer_has_the_mean_loss_and_its_gradient),
    THREADS(steps_are_those_of_adamw),
    THREADS(steps_lower_the_loss),
    THREADS(an_empty_batch_is_nan_and_changes_nothing),
    THREADS(nan_or_infinity_in_weights_is_reported_and_changes_nothing),
    THREADS(a_vocabulary_of_one_has_no_loss_and_no_gradient),
    TEST(a_very_long_string),
    TEST(slots_have_the_logits_of_the_whole_text),
    THREADS(greedy_decoding_is_the_likeliest_token_of_the_whole_text),
    THREADS(stop_tokens_end_a_row),
    THREADS(rows_get_the_same_tokens_on_any_number_of_threads),
    THREADS(the_likeliest_one_is_greedy),
    THREADS(draws_follow_the_distribution),
    TEST(a_draw_at_the_ends_of_the_interval),
    THREADS(a_halt_ends_decoding),
    THREADS(weights_that_are_not_finite_are_reported),
    THREADS(decoding_of_nothing),
    THREADS(every_job_is_done_once),
    THREADS(a_worker_does_one_job_at_a_time),
    THREADS(what_a_job_throws_reaches_the_caller),
    TEST(the_numbers_that_python_asks_for_first),
    TEST(sections_lie_side_by_side_and_matrices_first),
    THREADS(training_through_the_functions_that_python_calls),
    THREADS(running_through_the_functions_that_python_calls),
    THREADS(decoding_through_the_function_that_python_calls),
    TEST(models_for_which_there_is_no_memory),
};

bool wanted(const char* name, int count, char** words) {
    bool found = count == 0;
    for (int i = 0; i < count; i++) found |= std::strstr(name, words[i]) != nullptr;
    return found;
}

}  // namespace test

int main(int count, char** words) {
    using namespace test;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that failures are printed even if a sanitizer ends the program
    int run = 0;
    for (const Test& one : TESTS) {
        if (!wanted(one.name, count - 1, words + 1) || (WATCHES_THREADS && !one.threads)) continue;
        const int before = failures;
        one.run(), run++;
        if (failures > before) std::printf("%s: %d checks failed\n", one.name, failures - before);
    }
    std::printf("%d tests, %d checks, %d failed; vectors of %d\n", run, checks, failures, W);
    return failures || !run || !checks ? 1 : 0;
}
