// What a checked launch finds out: accesses outside their view, reads of what nobody wrote, races, calls without what they need,
// and missing fences.
#ifndef INTENT_HOST_CHECKER_H
#define INTENT_HOST_CHECKER_H

#include "Jit.h"
#include "llvm/ADT/DenseMap.h"
#include <csetjmp>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace intent::host {

/// Follows the accesses of instances that run one after the other, in any order. Two instances, or iterations of an unordered
/// loop of the author that one instance walks, may touch the same element, one of them writing, only by atomic accesses, or if the
/// second has acquired, by an atomic access, what the first released after its own. Two accesses of one instance may only with a
/// fence in between, or if the second needs what the first gave (Derivation), or if both are the same lane of the same
/// operation, or both are lanes of one store that agree.
class Checker {
public:
  /// The memory of a view argument.
  struct Memory {
    std::string name;
    char *data = nullptr;
    llvm::SmallVector<int64_t, 4> extents, strides;
    int64_t elementBytes = 1;
    bool unwritten = false; ///< no element has a value at first
  };

  /// `seed` decides the order of lanes.
  Checker(llvm::ArrayRef<block::CheckedAccess> accesses, std::vector<Memory> memories, uint64_t seed)
      : accesses(accesses), memories(std::move(memories)), random(seed), executions(accesses.size()) {}

  /// Runs one instance, up to the first error: what follows it may be of any length. False if there is one.
  bool run(NativeFunction entry, const int64_t *frame, int64_t number, char *arena);
  /// The function that checked code calls.
  static int8_t check(void *checker, int64_t access, int8_t active, int64_t lane, int64_t *coordinates);
  /// `FILE:LINE:COLUMN: what`, then further lines; empty if nothing was found.
  const std::string &report() const { return found; }
  /// What was found is no error of the program but of the compiler.
  bool isInternal() const { return internal; }

private:
  /// The author's loops around an access with the iteration that it is in, outer to inner.
  using Path = std::vector<int64_t>;
  /// One access in time: instance, its place in the order of all accesses, where it stands in the program, and its iterations.
  struct Event {
    int64_t instance = -1;
    uint64_t time = 0;
    int64_t access = -1;
    bool atomic = false;
    const Path *path = nullptr;
  };
  /// One of this instance since its last fence.
  struct Recent {
    int64_t access, lane;
    uint64_t execution; ///< of the access, counted from 1; the first of several by this lane
  };
  struct Element {
    Event write, read;      ///< the last ones
    Event otherRead;        ///< the last one that is concurrent with `read`
    uint64_t execution = 0; ///< of the last plain store
    int64_t stored = 0;     ///< its bits
    bool written = false;
    uint64_t fence = 0; ///< the last one before `recent`
    llvm::SmallVector<Recent, 2> recent;
  };
  /// An atomic access that saw the first releases of an element.
  struct Acquisition {
    Event by;
    const char *address;
    size_t count;
  };

  void begin(int64_t access, int64_t *order);
  bool mayAct(int64_t access, int64_t lane, const int64_t *coordinates);
  bool isFenced(Element &element, int64_t access, int64_t lane, const Memory &memory, const int64_t *coordinates);
  bool isNeeded(const Recent &earlier, int64_t access, int64_t lane) const;
  bool isOutside(const block::CheckedAccess &access, const Memory &memory, const int64_t *coordinates);
  static std::optional<std::pair<llvm::ArrayRef<int64_t>, llvm::ArrayRef<int64_t>>> iterations(const Event &a, const Event &b);
  static bool areConcurrent(const Event &a, const Event &b);
  bool meets(int64_t access, const int64_t *asked);
  bool isOrdered(const Event &later, const Event &earlier) const;
  bool sees(const Event &viewer, const Event &earlier, std::vector<char> &visited) const;
  void report(int64_t access, const std::string &message, int64_t other = -1);
  std::string describe(const Memory &memory, const int64_t *coordinates) const;

  llvm::ArrayRef<block::CheckedAccess> accesses;
  std::vector<Memory> memories;
  llvm::DenseMap<const char *, Element> elements;
  llvm::DenseMap<const char *, std::vector<Event>> releases; ///< by element of an atomic access, in order
  std::vector<Acquisition> acquired;
  std::set<Path> paths;
  const Path *path = nullptr;           ///< of the access that has begun
  std::map<int64_t, int64_t> positions; ///< of the running instance, by number of a walk
  int64_t instance = -1, passes = 0;
  uint64_t now = 0, execution = 0, fence = 1;
  std::mt19937_64 random;
  std::vector<uint64_t> executions; ///< how often each access has begun
  std::string found;
  bool internal = false;
  std::jmp_buf escape; ///< out of the running instance
};

} // namespace intent::host

#endif
