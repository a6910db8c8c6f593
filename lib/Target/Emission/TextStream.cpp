#include "intent/Target/Emission/TextStream.h"

namespace intent::emission {

void TextStream::line(const llvm::Twine &content) {
  std::string written = content.str();
  if (!written.empty()) text.append(column(), ' ');
  text += written;
  text += '\n';
}

} // namespace intent::emission
