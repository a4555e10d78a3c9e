// Threads that wait for work. Jobs are numbered; which thread does which job is left to chance, and no result may
// depend on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace handloom {

class Pool {
public:
    using Work = std::function<void(int job, int worker)>;

    explicit Pool(int threads) {
        threads_.reserve(threads);
        try {
            for (int worker = 1; worker < threads; worker++)
                threads_.emplace_back([this, worker] { serve(worker); });
        } catch (const std::system_error&) {  // the system gives no more: work with fewer
        }
    }
    Pool(const Pool&) = delete;
    ~Pool() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            over_ = true;
            round_++;
        }
        begin_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

    int size() const { return (int)threads_.size() + 1; }

    // Do jobs 0 … count − 1; the caller is worker 0. An exception of a job is rethrown here.
    void run(int count, const Work& work) {
        if (count <= 1 || threads_.empty()) {
            for (int job = 0; job < count; job++) work(job, 0);
            return;
        }
        {
            std::lock_guard<std::mutex> lock(mutex_);
            work_ = &work, count_ = count, next_ = 0;
            busy_ = (int)threads_.size();
            round_++;
        }
        begin_.notify_all();
        take(0);
        for (int tries = 0; busy_ > 0; tries++)
            if (tries > SPINS) std::this_thread::yield();
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

private:
    static constexpr int SPINS = 20000;  // before a thread sleeps: waking it takes longer than a short job

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable begin_;
    std::atomic<long> round_{0};
    std::atomic<int> next_{0}, busy_{0};
    const Work* work_ = nullptr;
    int count_ = 0;
    bool over_ = false;
    std::exception_ptr failure_;

    void serve(int worker) {
        for (long seen = 0;;) {
            for (int tries = 0; round_ == seen && tries < SPINS; tries++) relax();
            {
                std::unique_lock<std::mutex> lock(mutex_);
                begin_.wait(lock, [&] { return round_ != seen; });
                seen = round_;
                if (over_) return;
            }
            take(worker);
            busy_--;
        }
    }

    void take(int worker) {
        try {
            for (int job; (job = next_++) < count_;) (*work_)(job, worker);
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            failure_ = std::current_exception();
            next_ = count_;
        }
    }

    static void relax() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
};

}  // namespace handloom
