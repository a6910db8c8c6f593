// Gives a fuzz target the files that the command line names, one after the other. What ends the process was the last file named.
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    auto file = llvm::MemoryBuffer::getFile(argv[i], /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file) {
      llvm::errs() << "cannot read " << argv[i] << ": " << file.getError().message() << "\n";
      return 1;
    }
    llvm::errs() << argv[i] << "\n";
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>((*file)->getBufferStart()), (*file)->getBufferSize());
  }
}
