#include "DebugInfo.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

using namespace mlir;

FileLineColLoc intent::block::authorsPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location inner) {
    place = dyn_cast<FileLineColLoc>(inner);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

namespace intent::block::host {

DebugInfo::DebugInfo(llvm::Function &function, KernelOp kernel) : builder(*function.getParent()) {
  llvm::Module &module = *function.getParent();
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  FileLineColLoc place = authorsPlace(kernel.getLoc());
  if (!place) // an operation's place is in the same file, most likely
    kernel.walk([&](Operation *op) {
      place = authorsPlace(op->getLoc());
      return place ? WalkResult::interrupt() : WalkResult::advance();
    });
  llvm::DIFile *file = fileOf(place ? place.getFilename().getValue() : "-");
  unsigned line = place ? place.getLine() : 0;
  // The language only tells a debugger how to read expressions.
  builder.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C11), file, "intent", /*isOptimized=*/true, "", 0);
  auto *type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  scope = builder.createFunction(file, kernel.getSymName(), function.getName(), file, line, type, line, llvm::DINode::FlagZero,
                                 llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function.setSubprogram(scope);
  // A debugger finds its way out of the code by these.
  function.setUWTableKind(llvm::UWTableKind::Default);
  function.addFnAttr("frame-pointer", "all");
}

llvm::DIFile *DebugInfo::fileOf(llvm::StringRef name) {
  return builder.createFile(llvm::sys::path::filename(name), llvm::sys::path::parent_path(name));
}

llvm::DILocation *DebugInfo::placeOf(Location location) {
  FileLineColLoc place = authorsPlace(location);
  if (!place) return nullptr;
  llvm::DIFile *file = fileOf(place.getFilename().getValue());
  llvm::DIScope *at = scope;
  if (file != scope->getFile()) at = builder.createLexicalBlockFile(scope, file);
  return llvm::DILocation::get(scope->getContext(), place.getLine(), place.getColumn(), at);
}

} // namespace intent::block::host
