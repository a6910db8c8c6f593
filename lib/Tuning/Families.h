#ifndef INTENT_LIB_TUNING_FAMILIES_H
#define INTENT_LIB_TUNING_FAMILIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace intent {

/// The names of all families of block programs, in the order in which their predicates are tried.
llvm::ArrayRef<llvm::StringLiteral> structuralFamilies();

} // namespace intent

#endif
