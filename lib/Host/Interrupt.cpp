#include "Interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace intent::host {

namespace {
std::mutex installing;
int watchers = 0; // guarded by `installing`
struct sigaction previous;
std::atomic<unsigned> arrivals{0};

void onInterrupt(int number, siginfo_t *info, void *context) {
  arrivals.fetch_add(1, std::memory_order_relaxed);
  if (previous.sa_flags & SA_SIGINFO) previous.sa_sigaction(number, info, context);
  else previous.sa_handler(number);
}
} // namespace

bool InterruptWatch::shouldStop() {
  if (watching) return arrivals.load(std::memory_order_relaxed) != before;
  if (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(100)) return false;
  std::lock_guard<std::mutex> lock(installing);
  if (!watchers) {
    struct sigaction current;
    if (sigaction(SIGINT, nullptr, &current)) return false;
    bool function = (current.sa_flags & SA_SIGINFO) || (current.sa_handler != SIG_DFL && current.sa_handler != SIG_IGN);
    if (!function) return false;
    previous = current;
    struct sigaction own = {};
    own.sa_sigaction = onInterrupt;
    own.sa_mask = current.sa_mask;
    own.sa_flags = (current.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
    if (sigaction(SIGINT, &own, nullptr)) return false;
  }
  ++watchers;
  watching = true;
  before = arrivals.load(std::memory_order_relaxed);
  return false;
}

InterruptWatch::~InterruptWatch() {
  if (!watching) return;
  std::lock_guard<std::mutex> lock(installing);
  if (--watchers) return;
  // Put the old handler back unless somebody has installed another one meanwhile.
  struct sigaction current;
  if (!sigaction(SIGINT, nullptr, &current) && (current.sa_flags & SA_SIGINFO) && current.sa_sigaction == onInterrupt)
    sigaction(SIGINT, &previous, nullptr);
}

} // namespace intent::host
