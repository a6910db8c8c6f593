// Mutations of requests: mostly of the program's tree, then of any other field, now and then of the text.
#include "Tokens.h"

#include "intent/Json/Json.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

using namespace llvm;
using namespace intent::fuzz;

namespace {

// A node of the author's program with its children in place of their numbers.
struct Node {
  json::Value kind = nullptr;
  SmallVector<json::Value, 5> position;
  json::Object fields; // all but children
  std::vector<std::pair<std::string, std::vector<std::unique_ptr<Node>>>> children;
  std::vector<bool> isList; // of each of `children`
  int64_t number = -1;      // in the table that it was read from

  std::unique_ptr<Node> clone() const {
    auto copy = std::make_unique<Node>();
    copy->kind = kind, copy->position = position, copy->fields = fields, copy->isList = isList, copy->number = number;
    for (const auto &[name, list] : children) {
      auto &own = copy->children.emplace_back(name, std::vector<std::unique_ptr<Node>>()).second;
      for (const auto &child : list)
        own.push_back(child->clone());
    }
    return copy;
  }
};

/// The node table of a request as trees, one for each root.
class Program {
public:
  // False if the request has no proper table.
  bool read(const json::Object &request) {
    const json::Array *nodes = request.getArray("nodes"), *functions = request.getArray("functions");
    if (!nodes || !functions) return false;
    for (const json::Value &function : *functions) {
      const json::Object *object = function.getAsObject();
      std::optional<int64_t> root = object ? object->getInteger("root") : std::nullopt;
      std::unique_ptr<Node> tree = root ? readNode(*nodes, *root, nodes->size()) : nullptr;
      if (!tree) return false;
      roots.push_back(std::move(tree));
    }
    return true;
  }

  // The table with its numbers, into `request`.
  void write(json::Object &request) const {
    json::Array table;
    DenseMap<int64_t, int64_t> renumbered;
    json::Array &functions = *request.getArray("functions");
    for (auto [i, root] : enumerate(roots)) {
      json::Object &function = *functions[i].getAsObject();
      function["root"] = writeNode(*root, table, renumbered);
      json::Array *params = function.getArray("params");
      for (json::Value &param : params ? *params : table) {
        json::Object *object = params ? param.getAsObject() : nullptr;
        if (!object) continue;
        auto found = renumbered.find(object->getInteger("node").value_or(-1));
        if (found != renumbered.end()) (*object)["node"] = found->second;
      }
    }
    request["nodes"] = std::move(table);
  }

  size_t functionCount() const { return roots.size(); }

  // Every place of a node, the roots left out.
  std::vector<std::unique_ptr<Node> *> places() {
    std::vector<std::unique_ptr<Node> *> found;
    for (auto &root : roots)
      collect(*root, found);
    return found;
  }
  std::vector<Node *> nodes() {
    std::vector<Node *> found;
    for (auto &root : roots)
      found.push_back(root.get());
    for (std::unique_ptr<Node> *place : places())
      found.push_back(place->get());
    return found;
  }

private:
  // Children come before their parents: `below` bounds the recursion.
  static std::unique_ptr<Node> readNode(const json::Array &table, int64_t number, int64_t below) {
    if (number < 0 || number >= below || number >= static_cast<int64_t>(table.size())) return nullptr;
    const json::Array *row = table[number].getAsArray();
    if (!row || row->size() != 7 || !row->back().getAsObject()) return nullptr;
    auto node = std::make_unique<Node>();
    node->number = number;
    node->kind = row->front();
    node->position.assign(row->begin() + 1, row->begin() + 6);
    for (const auto &[name, value] : *row->back().getAsObject()) {
      const json::Array *list = value.getAsArray();
      bool refers =
          list ? all_of(*list, [](const json::Value &item) { return item.getAsInteger().has_value(); }) : value.getAsInteger().has_value();
      if (!refers) {
        node->fields[name] = value;
        continue;
      }
      node->isList.push_back(list);
      auto &own = node->children.emplace_back(name.str(), std::vector<std::unique_ptr<Node>>()).second;
      for (const json::Value &item : list ? ArrayRef<json::Value>(list->data(), list->size()) : ArrayRef(value)) {
        own.push_back(readNode(table, *item.getAsInteger(), number));
        if (!own.back()) return nullptr;
      }
    }
    return node;
  }

  static int64_t writeNode(const Node &node, json::Array &table, DenseMap<int64_t, int64_t> &renumbered) {
    json::Object fields = node.fields;
    for (auto [child, list] : zip_equal(node.children, node.isList)) {
      json::Array numbers;
      for (const auto &each : child.second)
        numbers.push_back(writeNode(*each, table, renumbered));
      if (list) fields[child.first] = std::move(numbers);
      else fields[child.first] = numbers.empty() ? json::Value(nullptr) : numbers.front();
    }
    json::Array row{node.kind};
    append_range(row, node.position);
    row.push_back(std::move(fields));
    table.push_back(std::move(row));
    renumbered.try_emplace(node.number, table.size() - 1);
    return table.size() - 1;
  }

  static void collect(Node &node, std::vector<std::unique_ptr<Node> *> &found) {
    for (auto &child : node.children)
      for (auto &each : child.second) {
        found.push_back(&each);
        collect(*each, found);
      }
  }

  std::vector<std::unique_ptr<Node>> roots; // one for each function
};

bool isStatement(const Node &node) {
  return is_contained({"Return", "Assign", "AugAssign", "Expr", "For", "While", "If", "Pass", "Break", "Continue"},
                      node.kind.getAsString().value_or(""));
}

std::optional<json::Object> parse(StringRef text) {
  auto parsed = intent::parseJson(text, {});
  auto *value = std::get_if<json::Value>(&parsed);
  if (!value || !value->getAsObject()) return std::nullopt;
  return std::move(*value->getAsObject());
}

//===- the program -------------------------------------------------------------------------------------===//

// Literals at the edges of their types.
json::Value literal(Random &random) {
  static constexpr StringLiteral integers[] = {
      "0", "1", "2", "3", "-1", "7", "31", "32", "64", "255", "2147483648", "9223372036854775807", "9223372036854775808"};
  static constexpr StringLiteral floats[] = {"0x0p+0", "-0x0p+0",  "0x1.8p+0",        "inf",      "-inf",
                                             "nan",    "0x1p-149", "0x1.fffffep+127", "0x1p+1000"};
  switch (below(random, 4)) {
  case 0: return json::Object{{"float", pick(random, floats)}};
  case 1: return json::Object{{"bool", below(random, 2) == 0}};
  default: return json::Object{{"int", pick(random, integers)}};
  }
}

// A text field of a node takes the value that such a field has elsewhere: another name, attribute, operator.
void exchangeText(Node &node, const std::vector<Node *> &others, Random &random) {
  if (node.fields.empty()) return;
  auto field = std::next(node.fields.begin(), below(random, node.fields.size()));
  if (node.kind == json::Value("Constant") && below(random, 2)) {
    field->second = literal(random);
    return;
  }
  SmallVector<const json::Value *> found;
  for (const Node *other : others)
    if (const json::Value *value = other->fields.get(field->first); value && *value != field->second) found.push_back(value);
  if (!found.empty()) field->second = *pick(random, found);
}

void changeList(Node &node, Random &random) {
  SmallVector<std::vector<std::unique_ptr<Node>> *> lists;
  for (auto [child, list] : zip_equal(node.children, node.isList))
    if (list && !child.second.empty()) lists.push_back(&child.second);
  if (lists.empty()) return;
  auto &list = *pick(random, lists);
  size_t at = below(random, list.size());
  switch (below(random, 3)) {
  case 0: list.erase(list.begin() + at); break;
  case 1: list.insert(list.begin() + at, list[at]->clone()); break;
  case 2: std::swap(list[at], pick(random, list)); break;
  }
}

void changeProgram(Program &program, Program &donor, Random &random) {
  auto places = program.places(), foreign = donor.places();
  auto nodes = program.nodes(), others = below(random, 2) ? nodes : donor.nodes();
  if (places.empty()) return;
  std::unique_ptr<Node> &place = *pick(random, places);
  switch (below(random, 8)) {
  case 0:
  case 1:
  case 2: return exchangeText(*pick(random, nodes), others, random);
  case 3: return changeList(*pick(random, nodes), random);
  case 4: { // an operand in place of its operation
    SmallVector<std::unique_ptr<Node> *> below;
    for (auto &child : place->children)
      for (auto &each : child.second)
        below.push_back(&each);
    if (below.empty()) return;
    std::unique_ptr<Node> inner = std::move(*pick(random, below));
    place = std::move(inner);
    return;
  }
  default: { // a statement in place of a statement, an expression in place of an expression
    auto &from = below(random, 3) && !foreign.empty() ? foreign : places;
    for (unsigned tries = 0; tries < 8; ++tries) {
      Node &other = **pick(random, from);
      if (isStatement(other) != isStatement(*place)) continue;
      place = other.clone();
      return;
    }
  }
  }
}

//===- any value ---------------------------------------------------------------------------------------===//

void collect(json::Value &value, std::vector<json::Value *> &found) {
  found.push_back(&value);
  if (json::Array *list = value.getAsArray())
    for (json::Value &item : *list)
      collect(item, found);
  if (json::Object *object = value.getAsObject())
    for (auto &entry : *object)
      collect(entry.second, found);
}

void changeValue(json::Value &root, json::Value &donor, Random &random) {
  std::vector<json::Value *> own, foreign;
  collect(root, own);
  collect(donor, foreign);
  json::Value &value = *pick(random, own);
  json::Array *list = value.getAsArray();
  json::Object *object = value.getAsObject();
  switch (below(random, 4)) {
  case 0:
    if (list && !list->empty()) list->erase(list->begin() + below(random, list->size()));
    else if (object && !object->empty()) object->erase(std::next(object->begin(), below(random, object->size())));
    return;
  case 1:
    if (list && !list->empty()) list->push_back(json::Value(pick(random, *list)));
    else if (value.getAsInteger()) value = static_cast<int64_t>(*value.getAsInteger() + below(random, 5)) - 2;
    return;
  default: { // mostly one of its own kind
    json::Value other = *pick(random, below(random, 2) ? own : foreign);
    if (other.kind() == value.kind() || below(random, 4) == 0) value = std::move(other);
  }
  }
}

std::string mutate(StringRef text, const Donors &donors, Random &random) {
  std::optional<json::Object> request = parse(text), donor = parse(donors.any(random));
  if (!request || !donor || below(random, 16) == 0) return mutateTokens(text, donors, random);
  Program program, other;
  bool known = program.read(*request) && other.read(*donor);
  for (size_t count = 1 + below(random, below(random, 4) + 1); count; --count) {
    if (known && below(random, 4)) {
      changeProgram(program, other, random);
      continue;
    }
    // The table of nodes would outweigh all else.
    json::Object rest = *request, from = *donor;
    for (StringRef name : {"nodes", "files"})
      if (below(random, 8)) rest.erase(name), from.erase(name);
    json::Value changed(std::move(rest)), source(std::move(from));
    changeValue(changed, source, random);
    if (!changed.getAsObject()) return mutateTokens(text, donors, random);
    for (auto &entry : *changed.getAsObject())
      (*request)[entry.first] = entry.second;
  }
  const json::Array *functions = request->getArray("functions");
  if (known && functions && functions->size() == program.functionCount() &&
      all_of(*functions, [](auto &each) { return each.getAsObject(); }))
    program.write(*request);
  std::string spelled;
  raw_string_ostream(spelled) << json::Value(std::move(*request));
  return spelled;
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return mutateInput(data, size, most, seed, mutate);
}
