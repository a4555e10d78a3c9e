// The functions that Python calls, on plain arrays; library.py lists their types. An object is a pointer. A function
// that fails returns a negative number or a null pointer. Functions are part of the contract in layout.h.
#include <new>

#include "decoder.h"
#include "trainer.h"

using namespace handloom;

// A model that is run and not trained.
struct Runner {
    Layout layout;
    Floats weights, fixed_pos;
    Packed packed;
    Pool pool;

    Runner(const Config& config, int threads) : layout(config), weights(layout.size), packed(layout, false),
                                                pool(threads) {}
    Transformer transformer() const {
        const float* W_pos = layout.W_pos.of((const float*)weights.data());
        return {layout, weights.data(), packed, W_pos ? W_pos : fixed_pos.data()};
    }
};

namespace {

template <class Make>
auto made(Make make) -> decltype(make()) {
    try {
        return make();
    } catch (const std::exception&) {
        return nullptr;
    }
}

template <class Do>
int done(Do work) {
    try {
        return work();
    } catch (const std::exception&) {
        return -1;
    }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int32_t handloom_layout_version() { return LAYOUT_VERSION; }

// The best build that this processor can run: 0 plain, 1 AVX2, 2 AVX-512.
int32_t handloom_best() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return 1;
#endif
    return 0;
}

// Floats per vector of this build.
int32_t handloom_vector_width() { return W; }

// Writes (offset, rows, columns) of every section, with an offset of −1 for those that the model does not have, and the
// number of parameters. Returns the number of sections.
int64_t handloom_layout(const Config* config, int64_t* sections, int64_t* size) {
    const Layout layout(*config);
    int64_t* to = sections;
    for (const Section* s : layout.order) {
        if (!sections) continue;
        *to++ = s->offset, *to++ = s->rows, *to++ = s->cols;
    }
    if (size) *size = layout.size;
    return (int64_t)layout.order.size();
}

// ---- training

Trainer* handloom_trainer(const Config* config, const AdamW* adamw, int32_t lanes, int32_t threads,
                          const float* fixed_pos) {
    return made([&] { return new Trainer(*config, *adamw, lanes, threads, fixed_pos); });
}
void handloom_trainer_free(Trainer* t) { delete t; }
float* handloom_trainer_weights(Trainer* t) { return t->weights.data(); }
float* handloom_trainer_gradient(Trainer* t) { return t->gradient.data(); }
float* handloom_trainer_m(Trainer* t) { return t->m.data(); }
float* handloom_trainer_v(Trainer* t) { return t->v.data(); }
void handloom_trainer_refresh(Trainer* t) { t->refresh(); }

int handloom_trainer_step(Trainer* t, const Strings* strings, const int64_t* rows, int64_t count, double rate,
                          int64_t steps, double* loss) {
    return done([&] { return *loss = t->step(*strings, rows, count, rate, steps), 0; });
}
int handloom_trainer_differentiate(Trainer* t, const Strings* strings, const int64_t* rows, int64_t count,
                                   double* loss) {
    double norm;
    return done([&] { return *loss = t->differentiate(*strings, rows, count, norm), 0; });
}
int handloom_trainer_loss(Trainer* t, const Strings* strings, int64_t count, double* loss) {
    return done([&] { return *loss = t->loss(*strings, count), 0; });
}

// ---- running

Runner* handloom_runner(const Config* config, const float* weights, const float* fixed_pos, int32_t threads) {
    return made([&] {
        auto runner = std::make_unique<Runner>(*config, threads);
        std::copy(weights, weights + runner->layout.size, runner->weights.data());
        if (fixed_pos) {
            const size_t size = (size_t)config->n_ctx * config->d_model;
            runner->fixed_pos.reserve(size);
            std::copy(fixed_pos, fixed_pos + size, runner->fixed_pos.data());
        }
        runner->pool.run(runner->packed.count(), [&](int i, int) { runner->packed.pack_one(i, weights); });
        return runner.release();
    });
}
void handloom_runner_free(Runner* r) { delete r; }

// The logits of the last positions of `count` rows of ids, all of one length: (count × last × V).
int handloom_logits(Runner* r, int64_t count, int64_t length, const int64_t* ids, int64_t last, float* out) {
    return done([&] {
        std::vector<std::unique_ptr<Forward>> forwards;
        for (int i = 0; i < r->pool.size(); i++) forwards.push_back(std::make_unique<Forward>(r->layout));
        const int64_t each = std::max<int64_t>(1, GROUP_TOKENS / std::max<int64_t>(1, length));
        r->pool.run((int)((count + each - 1) / each), [&](int job, int worker) {
            std::vector<String> strings;
            for (int64_t i = job * each; i < std::min(count, (job + 1) * each); i++)
                strings.push_back({ids + i * length, (int)length, 0, nullptr});
            forwards[worker]->last_logits(r->transformer(), strings, (int)last,
                                          out + job * each * std::min(last, length) * r->layout.config.d_vocab);
        });
        return 0;
    });
}

// Returns 1 when done, 0 if a logit was not finite.
int handloom_decode(Runner* r, const Prompts* prompts, const Sampling* sampling, Progress* progress, int64_t* out,
                    int64_t* counts) {
    return done([&] {
        return Decode(r->transformer(), *prompts, *sampling, r->pool, *progress, out, counts).run() ? 1 : 0;
    });
}

// Rows that Python feeds token by token; they must not outlive the runner.
Slots* handloom_slots(Runner* r, int32_t count, int32_t longest) {
    return made([&] { return new Slots(r->transformer(), count, longest); });
}
void handloom_slots_free(Slots* s) { delete s; }

int handloom_slots_step(Slots* s, int32_t count, const int32_t* slots, const int64_t* tokens, int32_t stride,
                        float* logits) {
    return done([&] { return s->step(count, slots, tokens, logits, stride), 0; });
}

}  // extern "C"
#pragma GCC visibility pop
