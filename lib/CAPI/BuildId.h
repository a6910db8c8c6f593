#ifndef INTENT_LIB_CAPI_BUILDID_H
#define INTENT_LIB_CAPI_BUILDID_H

#include <string>

namespace intent {

/// The path of the loaded object that holds this code; empty if unknown.
std::string libraryPath();

/// The linker's build identifier of that object in hexadecimal: a digest of its code and data.
std::string libraryBuildId();

} // namespace intent

#endif
