#include "Checker.h"

#include <numeric>

using namespace mlir;
using intent::block::CheckedAccess;

namespace intent::host {

bool Checker::run(NativeFunction entry, const int64_t *frame, int64_t number, char *arena) {
  instance = number;
  positions.clear();
  ++fence;
  // Generated code holds nothing that would have to be released.
  if (setjmp(escape)) return false;
  entry(frame, number, number + 1, arena);
  return true;
}

int8_t Checker::check(void *checker, int64_t access, int8_t active, int64_t lane, int64_t *coordinates) {
  auto *self = static_cast<Checker *>(checker);
  if (access == block::checkedFence) ++self->fence;
  else if (access == block::checkedWalk) self->positions[lane] = active ? coordinates[0] : ++self->passes;
  else if (access < 0) self->begin(-1 - access, coordinates);
  else if (!active) return 0;
  else if (!self->mayAct(access, lane, coordinates)) std::longjmp(self->escape, 1);
  return 1;
}

// Each factor has no divisor in common with its extent, so that the visits go to all lanes.
void Checker::begin(int64_t access, int64_t *order) {
  ++execution;
  ++executions[access];
  Path way; // for each loop its number, whether it is unordered, how many coordinates, and these
  for (const CheckedAccess::Walk &walk : accesses[access].walks) {
    way.insert(way.end(), {walk.loop, walk.unordered, static_cast<int64_t>(walk.numbers.size())});
    for (int64_t number : walk.numbers)
      way.push_back(positions[number]);
  }
  path = &*paths.insert(std::move(way)).first;
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
    bool together = earlier.access == number && earlier.execution == executions[number]; // lanes of one store that agree
    if (sameLane || together || !(access.writes || other.writes)) continue;
    if ((access.atomic && other.atomic) || isNeeded(earlier, number, lane)) continue;
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

// Coordinates in the first of the common loops where they are not the same, if that loop is unordered.
std::optional<std::pair<llvm::ArrayRef<int64_t>, llvm::ArrayRef<int64_t>>> Checker::iterations(const Event &a, const Event &b) {
  for (size_t at = 0; at < std::min(a.path->size(), b.path->size());) {
    size_t count = (*a.path)[at + 2];
    if ((*a.path)[at] != (*b.path)[at]) return std::nullopt;
    llvm::ArrayRef<int64_t> own = llvm::ArrayRef(*a.path).slice(at + 3, count), its = llvm::ArrayRef(*b.path).slice(at + 3, count);
    if (own != its) return (*a.path)[at + 1] ? std::optional(std::pair(own, its)) : std::nullopt;
    at += 3 + count;
  }
  return std::nullopt;
}

bool Checker::areConcurrent(const Event &a, const Event &b) { return a.instance != b.instance || iterations(a, b); }

bool Checker::meets(int64_t number, const int64_t *asked) {
  auto [value, low, high] = std::tuple(asked[0], asked[1], asked[2]);
  bool open = high == std::numeric_limits<int64_t>::max();
  if (value >= low && (open || value < high)) return true;
  std::string range = std::to_string(low);
  if (open) range = "at least " + range;
  else if (low != high - 1) range = "a value in [" + range + ", " + std::to_string(high) + ")";
  report(number, accesses[number].required + ": expected " + range + ", got " + std::to_string(value));
  return false;
}

bool Checker::mayAct(int64_t number, int64_t lane, const int64_t *coordinates) {
  const CheckedAccess &access = accesses[number];
  if (!access.required.empty()) return meets(number, coordinates);
  const Memory &memory = memories[access.view];
  if (isOutside(access, memory, coordinates)) return false;
  const char *address = memory.data;
  for (size_t axis = 0; axis < memory.extents.size(); ++axis)
    address += coordinates[axis] * memory.strides[axis] * memory.elementBytes;
  Element &element = elements[address];
  Event event{instance, ++now, number, access.atomic, path};
  int64_t stored = access.writes && !access.atomic ? coordinates[memory.extents.size()] : 0;

  // An atomic access orders first what it then touches.
  if (access.acquires)
    if (auto published = releases.find(address); published != releases.end())
      acquired.push_back({event, address, published->second.size()});
  if (access.releases) releases[address].push_back(event);

  if (access.reads && memory.unwritten && !element.written) {
    report(number, "read of " + describe(memory, coordinates) + ", which nothing has been written to");
    return false;
  }
  // Lanes of one plain store may agree.
  auto agrees = [&](const Event &other) {
    return other.access == number && other.path == path && !access.atomic && !access.unique && element.stored == stored;
  };
  auto conflicts = [&](const Event &other) {
    if (other.instance < 0 || (other.atomic && event.atomic) || !areConcurrent(other, event)) return false;
    return !agrees(other) && !isOrdered(event, other);
  };
  const Event *other = nullptr;
  if (conflicts(element.write)) other = &element.write;
  for (const Event *read : {&element.read, &element.otherRead})
    if (access.writes && !other && conflicts(*read)) other = read;
  if (other) {
    auto apart = iterations(event, *other);
    auto by = [&](const char *what, int64_t number, bool own) {
      std::string text;
      if (apart)
        for (int64_t coordinate : own ? apart->first : apart->second)
          text += (text.empty() ? "" : ", ") + std::to_string(coordinate);
      else text = std::to_string(number);
      if (apart && apart->first.size() > 1) text = "(" + text + ")";
      return std::string(what) + (apart ? " by iteration " : " by instance ") + text;
    };
    report(number,
           "race on " + describe(memory, coordinates) + ": " + by(access.writes ? "write" : "read", instance, true) + " and " +
               by(other == &element.write ? "write" : "read", other->instance, false),
           other->access);
    return false;
  }
  if (!access.atomic && access.writes) {
    if (element.execution == execution && element.write.access == number && !agrees(element.write)) {
      report(number, (access.unique ? "two lanes of one store write " : "two lanes of one store write different values to ") +
                         describe(memory, coordinates));
      return false;
    }
    element.execution = execution;
    element.stored = stored;
  }
  if (!isFenced(element, number, lane, memory, coordinates)) return false;
  if (access.writes) {
    element.write = event;
    element.written = !access.unwrites;
    if (access.unwrites) element.read = element.otherRead = Event();
    return true;
  }
  if (element.read.instance >= 0 && areConcurrent(element.read, event)) element.otherRead = element.read;
  element.read = event;
  return true;
}

bool Checker::isOrdered(const Event &later, const Event &earlier) const {
  std::vector<char> visited(acquired.size());
  return sees(later, earlier, visited);
}

// Directly, or through an instance or iteration in between that saw it and released in turn.
bool Checker::sees(const Event &viewer, const Event &earlier, std::vector<char> &visited) const {
  for (auto [i, seen] : llvm::enumerate(acquired)) {
    if (visited[i] || seen.by.time > viewer.time || areConcurrent(seen.by, viewer)) continue;
    visited[i] = 1;
    llvm::ArrayRef<Event> all = releases.find(seen.address)->second;
    for (const Event &release : all.take_front(seen.count))
      if (areConcurrent(release, earlier) ? sees(release, earlier, visited) : release.time > earlier.time) return true;
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
