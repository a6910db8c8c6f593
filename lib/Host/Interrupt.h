// Ctrl-C during a long launch.
#ifndef INTENT_HOST_INTERRUPT_H
#define INTENT_HOST_INTERRUPT_H

#include <chrono>

namespace intent::host {

/// Watches SIGINT on behalf of one launch, but only once it has run for a while: a short one never touches the
/// process's handlers. The handler that was there (Python's, which notes the signal and raises later) still runs. If
/// there was none, the signal ends the process as always.
class InterruptWatch {
public:
  InterruptWatch() : start(std::chrono::steady_clock::now()) {}
  ~InterruptWatch();
  /// True once the launch should stop. Called between ranges of instances by the launching thread.
  bool shouldStop();

private:
  std::chrono::steady_clock::time_point start;
  bool watching = false;
  unsigned before = 0; ///< signals that had arrived when the watch began
};

} // namespace intent::host

#endif
