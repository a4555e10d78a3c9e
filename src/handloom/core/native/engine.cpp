// What Python sees of the engine: plain functions on plain arrays. An object is a pointer; what can fail gives a
// negative number or a null pointer.
#include <new>

#include "decoder.h"
#include "trainer.h"

using namespace handloom;

// A model that is only run.
struct Runner {
    Layout layout;
    Floats weights, positions;
    Packed packed;
    Pool pool;

    Runner(const Config& config, int threads) : layout(config), weights(layout.size), packed(layout, false),
                                                pool(threads) {}
    Transformer transformer() const {
        const float* table = layout.positions.of((const float*)weights.data());
        return {layout, weights.data(), packed, table ? table : positions.data()};
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

// Which vectors this library was compiled for is usable here: 0 plain, 1 AVX2, 2 AVX-512.
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

int32_t handloom_width() { return W; }

// Where the sections lie: (start, rows, columns) of each, start −1 if it is not there. Gives how many there are.
int64_t handloom_layout(const Config* config, int64_t* sections, int64_t* size) {
    const Layout layout(*config);
    int64_t* to = sections;
    for (const Section* s : layout.order) {
        if (!sections) continue;
        *to++ = s->at, *to++ = s->rows, *to++ = s->cols;
    }
    if (size) *size = layout.size;
    return (int64_t)layout.order.size();
}

// ---- training

Trainer* handloom_trainer(const Config* config, const AdamW* adamw, int32_t lanes, int32_t threads,
                          const float* positions) {
    return made([&] { return new Trainer(*config, *adamw, lanes, threads, positions); });
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

Runner* handloom_runner(const Config* config, const float* weights, const float* positions, int32_t threads) {
    return made([&] {
        auto runner = std::make_unique<Runner>(*config, threads);
        std::copy(weights, weights + runner->layout.size, runner->weights.data());
        if (positions) {
            const size_t size = (size_t)config->block * config->width;
            runner->positions.reserve(size);
            std::copy(positions, positions + size, runner->positions.data());
        }
        runner->pool.run(runner->packed.count(), [&](int i, int) { runner->packed.pack_one(i, weights); });
        return runner.release();
    });
}
void handloom_runner_free(Runner* r) { delete r; }

// The logits of the last positions of `count` rows of ids, all of one length: (count × last × vocab).
int handloom_logits(Runner* r, int64_t count, int64_t length, const int64_t* ids, int64_t last, float* out) {
    return done([&] {
        std::vector<std::unique_ptr<Group>> groups;
        for (int i = 0; i < r->pool.size(); i++) groups.push_back(std::make_unique<Group>(r->layout));
        const int64_t each = std::max<int64_t>(1, TOKENS / std::max<int64_t>(1, length));
        r->pool.run((int)((count + each - 1) / each), [&](int job, int worker) {
            std::vector<String> strings;
            for (int64_t i = job * each; i < std::min(count, (job + 1) * each); i++)
                strings.push_back({ids + i * length, (int)length, 0});
            groups[worker]->logits(r->transformer(), strings, (int)last,
                                   out + job * each * std::min(last, length) * r->layout.config.vocab);
        });
        return 0;
    });
}

// 1: done; 0: a logit was not finite.
int handloom_decode(Runner* r, const Prompts* prompts, const Choice* choice, Progress* progress, int64_t* out,
                    int64_t* counts) {
    return done([&] {
        return Decode(r->transformer(), *prompts, *choice, r->pool, *progress, out, counts).run() ? 1 : 0;
    });
}

// Rows that Python steps; they must not outlive the runner.
Slots* handloom_slots(Runner* r, int32_t count, int32_t longest) {
    return made([&] { return new Slots(r->transformer(), count, longest); });
}
void handloom_slots_free(Slots* s) { delete s; }

int handloom_slots_step(Slots* s, int32_t count, const int32_t* slots, const int64_t* tokens, int32_t vocab,
                        float* logits) {
    return done([&] { return s->step(count, slots, tokens, logits, vocab), 0; });
}

}  // extern "C"
#pragma GCC visibility pop
