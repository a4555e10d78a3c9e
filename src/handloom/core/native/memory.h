// Memory that is allocated once and reused: floats, aligned to cache lines.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdlib>
#include <new>
#include <utility>

#include "vectors.h"

namespace handloom {

class Floats {
public:
    Floats() = default;
    explicit Floats(size_t count) { reserve(count); }
    Floats(Floats&& other) noexcept { *this = std::move(other); }
    Floats& operator=(Floats&& other) noexcept {
        std::swap(at_, other.at_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Floats() { std::free(at_); }

    // Room for `count`. If there is less so far, the contents are lost and the new room holds zeros.
    void reserve(size_t count) {
        if (count <= size_) return;
        std::free(at_);
        at_ = nullptr, size_ = 0;
        const size_t page = count * sizeof(float) < HUGE_PAGE ? 4096 : HUGE_PAGE;
        const size_t bytes = (count * sizeof(float) + page - 1) / page * page;
        void* made = std::aligned_alloc(page, bytes);
        if (!made) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
        if (page == HUGE_PAGE) madvise(made, bytes, MADV_HUGEPAGE);  // a request; the system may ignore it
#endif
        std::memset(made, 0, bytes);
        at_ = static_cast<float*>(made), size_ = bytes / sizeof(float);
    }
    float* data() const { return at_; }
    size_t size() const { return size_; }

private:
    static constexpr size_t HUGE_PAGE = 2u << 20;
    float* at_ = nullptr;
    size_t size_ = 0;
};

// Arrays one after the other in one piece of memory.
class Carver {
public:
    static constexpr size_t SLACK = 2 * W;  // a product may read a panel beyond the end, but writes nothing there

    explicit Carver(float* base = nullptr) : base_(base) {}
    float* take(size_t count) {
        float* made = base_ ? base_ + used_ : nullptr;
        used_ += (count + SLACK + 15) / 16 * 16;
        return made;
    }
    size_t used() const { return used_; }

private:
    float* base_;
    size_t used_ = 0;
};

// Calls carve(carver) twice: without memory, to see how much it takes, and then with it.
template <class Carve>
void carve_from(Floats& memory, Carve carve) {
    Carver dry;
    carve(dry);
    memory.reserve(dry.used());
    Carver carver(memory.data());
    carve(carver);
}

// The distance between rows of n floats: whole vectors, and an odd number of cache lines, so that a column of a matrix
// uses all sets of the cache and not a few.
inline ptrdiff_t row_length(ptrdiff_t n) { return ((n + 15) / 16 | 1) * 16; }

}  // namespace handloom
