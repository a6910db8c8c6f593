#include "Checker.h"

#include <numeric>

using namespace mlir;
using intent::block::CheckedAccess;

namespace intent::host {

bool Checker::run(NativeFunction entry, const int64_t *frame, int64_t number, char *arena) {
  instance = number;
  ++fence;
  // Generated code holds nothing that would have to be released.
  if (setjmp(escape)) return false;
  entry(frame, number, number + 1, arena);
  return true;
}

int8_t Checker::check(void *checker, int64_t access, int8_t active, int64_t lane, int64_t *coordinates) {
  auto *self = static_cast<Checker *>(checker);
  if (access == block::checkedFence) ++self->fence;
  else if (access < 0) self->begin(-1 - access, coordinates);
  else if (!active) return 0;
  else if (!self->mayAct(access, lane, coordinates)) std::longjmp(self->escape, 1);
  return 1;
}

// Each factor has no divisor in common with its extent, so that the visits go to all lanes.
void Checker::begin(int64_t access, int64_t *order) {
  ++execution;
  ++executions[access];
  for (int64_t extent : accesses[access].extents) {
    auto any = [&] { return static_cast<int64_t>(random() % extent); };
    int64_t factor = any();
    while (std::gcd(factor, extent) != 1)
      factor = any();
    *order++ = factor;
    *order++ = any();
  }
}

bool Checker::isOutside(const CheckedAccess &access, const Memory &memory, const int64_t *coordinates) {
  for (size_t axis = 0; axis < memory.extents.size(); ++axis)
    if (coordinates[axis] < 0 || coordinates[axis] >= memory.extents[axis]) {
      report(&access - accesses.data(), "access outside '" + memory.name + "': expected an index in [0, " +
                                            std::to_string(memory.extents[axis]) + ") on axis " + std::to_string(axis) + ", got " +
                                            std::to_string(coordinates[axis]));
      return true;
    }
  return false;
}

// Whether the access has to come after the earlier one, whose result it needs.
bool Checker::isNeeded(const Recent &earlier, int64_t number, int64_t lane) const {
  auto lanesOf = [&](int64_t access, int64_t row) {
    llvm::SmallVector<int64_t, 4> lanes(accesses[access].extents.size());
    for (size_t axis = lanes.size(); axis-- > 0; row /= accesses[access].extents[axis])
      lanes[axis] = row % accesses[access].extents[axis];
    return lanes;
  };
  for (const CheckedAccess::Need &need : accesses[number].needs) {
    if (need.access != earlier.access || (!need.everyPass && earlier.execution != executions[earlier.access])) continue;
    llvm::SmallVector<int64_t, 4> own = lanesOf(number, lane), its = lanesOf(earlier.access, earlier.lane);
    bool all = true;
    for (auto [relation, at, extent] : llvm::zip_equal(need.lanes, its, accesses[earlier.access].extents))
      all &= relation.holds(at, extent, own);
    if (all) return true;
  }
  return false;
}

bool Checker::isFenced(Element &element, int64_t number, int64_t lane, const Memory &memory, const int64_t *coordinates) {
  const CheckedAccess &access = accesses[number];
  if (element.fence != fence) {
    element.fence = fence;
    element.recent.clear();
  }
  bool known = false;
  for (const Recent &earlier : element.recent) {
    const CheckedAccess &other = accesses[earlier.access];
    bool sameLane = earlier.access == number && earlier.lane == lane;
    known |= sameLane;
    if (sameLane || !(access.writes || other.writes) || (access.atomic && other.atomic) || isNeeded(earlier, number, lane)) continue;
    internal = true;
    report(number,
           std::string("the compiler has left out a fence: ") + (access.writes ? "write" : "read") + " of " +
               describe(memory, coordinates) + " is not ordered behind the " + (other.writes ? "write" : "read") + " by another lane",
           earlier.access);
    return false;
  }
  if (!known) element.recent.push_back({number, lane, executions[number]});
  return true;
}

bool Checker::mayAct(int64_t number, int64_t lane, const int64_t *coordinates) {
  const CheckedAccess &access = accesses[number];
  const Memory &memory = memories[access.view];
  if (isOutside(access, memory, coordinates)) return false;
  const char *address = memory.data;
  for (size_t axis = 0; axis < memory.extents.size(); ++axis)
    address += coordinates[axis] * memory.strides[axis] * memory.elementBytes;
  Element &element = elements[address];
  Event event{instance, ++now, number, access.atomic};

  // An atomic access orders first what it then touches.
  if (access.acquires)
    if (auto published = releases.find(address); published != releases.end())
      acquired[instance].push_back({address, published->second.size()});
  if (access.releases) releases[address].push_back({instance, now});

  if (access.reads && memory.unwritten && !element.written) {
    report(number, "read of " + describe(memory, coordinates) + ", which nothing has been written to");
    return false;
  }
  auto conflicts = [&](const Event &other) {
    return other.instance >= 0 && other.instance != instance && !(other.atomic && event.atomic) && !isOrdered(other);
  };
  const Event *other = nullptr;
  if (conflicts(element.write)) other = &element.write;
  for (const Event *read : {&element.read, &element.otherRead})
    if (access.writes && !other && conflicts(*read)) other = read;
  if (other) {
    auto by = [](const char *what, int64_t number) { return std::string(what) + " by instance " + std::to_string(number); };
    std::string place = describe(memory, coordinates);
    report(number,
           "race on " + place + ": " + by(access.writes ? "write" : "read", instance) + " and " +
               by(other == &element.write ? "write" : "read", other->instance),
           other->access);
    return false;
  }
  if (!access.atomic && access.writes) {
    if (element.execution == execution && element.write.access == number) {
      report(number, "two lanes of one store write " + describe(memory, coordinates));
      return false;
    }
    element.execution = execution;
  }
  if (!isFenced(element, number, lane, memory, coordinates)) return false;
  if (access.writes) {
    element.write = event;
    element.written = !access.unwrites;
    return true;
  }
  if (element.read.instance != instance) element.otherRead = element.read;
  element.read = event;
  return true;
}

bool Checker::isOrdered(const Event &earlier) const {
  llvm::DenseMap<int64_t, char> visited;
  return sees(instance, earlier.instance, earlier.time, visited);
}

// Directly, or through an instance in between that saw it and released in turn.
bool Checker::sees(int64_t viewer, int64_t earlier, uint64_t time, llvm::DenseMap<int64_t, char> &visited) const {
  if (!visited.insert({viewer, 1}).second) return false;
  auto seen = acquired.find(viewer);
  if (seen == acquired.end()) return false;
  for (auto [address, count] : seen->second) {
    llvm::ArrayRef<Release> all = releases.find(address)->second;
    for (const Release &release : all.take_front(count))
      if (release.instance == earlier ? release.time > time : sees(release.instance, earlier, time, visited)) return true;
  }
  return false;
}

std::string Checker::describe(const Memory &memory, const int64_t *coordinates) const {
  std::string text = "'" + memory.name + "[";
  for (size_t axis = 0; axis < memory.extents.size(); ++axis)
    text += (axis ? ", " : "") + std::to_string(coordinates[axis]);
  return text + "]'";
}

static std::string placeOf(Location location) {
  FileLineColLoc place = block::authorsPlace(location);
  if (!place) return "-:0:0";
  return place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn());
}

void Checker::report(int64_t access, const std::string &message, int64_t other) {
  found = placeOf(accesses[access].location) + ": " + message;
  if (other >= 0) found += "\n" + placeOf(accesses[other].location) + ": the other access is here";
}

} // namespace intent::host
