#ifndef INTENT_TARGET_EMISSION_TEXTSTREAM_H
#define INTENT_TARGET_EMISSION_TEXTSTREAM_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace intent::emission {

/// Lines of source text at a current indentation.
class TextStream {
public:
  explicit TextStream(unsigned indentWidth = 4) : width(indentWidth) {}

  /// One line at the current indentation; an empty line carries no spaces.
  void line(const llvm::Twine &text);
  void blank() { text += '\n'; }

  /// Everything written so far.
  const std::string &str() const { return text; }
  std::string take() { return std::move(text); }

  /// Lines written while this lives stand one level deeper.
  class Indent {
  public:
    explicit Indent(TextStream &stream) : stream(stream) { ++stream.depth; }
    ~Indent() { --stream.depth; }
    Indent(const Indent &) = delete;

  private:
    TextStream &stream;
  };

  unsigned column() const { return depth * width; }

private:
  std::string text;
  unsigned width, depth = 0;
};

} // namespace intent::emission

#endif
