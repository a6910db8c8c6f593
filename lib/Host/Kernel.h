// A loaded block kernel: launch expressions, variants and their native code.
#ifndef INTENT_HOST_KERNEL_H
#define INTENT_HOST_KERNEL_H

#include "Jit.h"
#include "Workspace.h"
#include "intent-c/intent.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <mutex>
#include <shared_mutex>

namespace intent::host {

class Kernel {
public:
  /// Parses and checks the text.
  static llvm::Expected<std::unique_ptr<Kernel>> load(llvm::StringRef text, uint32_t row);
  /// Makes the code of a call; whether it is new.
  llvm::Expected<bool> generate(llvm::ArrayRef<intent_host_argument> arguments);
  /// Why a call failed: for reasons of this library, because of what the call asks for, or because a checked launch has
  /// found an error of the program or of the compiler; the message then starts with its place.
  enum class Fault { Library, Call, Program, Compiler };
  llvm::Error launch(llvm::ArrayRef<intent_host_argument> arguments, Fault &fault);
  llvm::Expected<std::string> emit(Form form, llvm::ArrayRef<intent_host_argument> arguments);
  std::string emitted; ///< the text of the last emit
  std::string objects; ///< the folder that keeps compiled objects; empty for none

private:
  /// What decides which code a call runs: variant, coverage values, known strides.
  using Key = llvm::SmallVector<int64_t, 16>;
  /// A public parameter. Launches look only at this and at attributes that exist: the context is not theirs to change
  /// while another thread generates code.
  struct Parameter {
    mlir::StringAttr name;
    bool isView = false;
    llvm::ArrayRef<block::ExprAttr> shape; ///< of a view
    mlir::StringAttr symbol;               ///< of an integer scalar: its launch symbol
    unsigned bytes = 0;                    ///< of a scalar, or of a view's element
    bool isOut = false;                    ///< a view that holds nothing at first
    bool isSigned = false;
  };
  struct Variant {
    block::ProgramOp program;
    llvm::StringMap<int64_t> parameters; ///< of the configuration row
    bool heavy = false;                  ///< does much work for each element of its arguments
  };
  struct Compiled {
    Key key;
    std::unique_ptr<NativeCode> code;
    int64_t arenaBytes = 0;
    std::vector<block::ExprAttr> groupSizes; ///< over launch symbols alone
    /// A workspace: its extents over launch symbols, the bytes of an element.
    struct Space {
      mlir::StringAttr name;
      llvm::ArrayRef<block::ExprAttr> shape;
      int64_t elementBytes;
      bool zeroed;
    };
    std::vector<Space> spaces;
    std::vector<block::CheckedAccess> accesses;
    WorkspacePool memory;
  };
  /// One call, evaluated.
  struct Call {
    llvm::SmallVector<std::pair<mlir::StringAttr, int64_t>, 12> symbols;
    unsigned variant = 0;
    llvm::SmallVector<int64_t, 4> coverage;
    llvm::SmallVector<block::ViewFacts, 4> facts;
    Key key;
    llvm::SmallVector<int64_t, 32> frame; ///< without group sizes
    int64_t elements = 0;
    std::optional<int64_t> evaluate(block::ExprAttr expr) const;
  };

  Kernel() : context(mlir::MLIRContext::Threading::DISABLED) {}
  llvm::Expected<Call> prepare(llvm::ArrayRef<intent_host_argument> arguments);
  llvm::Error bindSymbols(Call &call, llvm::ArrayRef<intent_host_argument> arguments);
  llvm::Error pickVariant(Call &call);
  /// Memory for the call's workspaces, whose addresses and strides go into the frame; null if it has none.
  llvm::Expected<std::unique_ptr<WorkspaceMemory>> provideWorkspaces(Compiled &code, Call &call);
  llvm::Error launchChecked(Compiled &code, Call &call, llvm::ArrayRef<intent_host_argument> arguments, const WorkspaceMemory *memory,
                            int64_t instances, Fault &fault);
  static int64_t readScalar(const Parameter &parameter, const void *data);
  void describeParameters();
  void describeViews(Call &call, llvm::ArrayRef<intent_host_argument> arguments);
  void fillFrame(Call &call, llvm::ArrayRef<intent_host_argument> arguments);
  llvm::Expected<Compiled *> find(const Call &call, bool *fresh = nullptr);
  llvm::Expected<std::unique_ptr<Compiled>> compile(const Call &call, std::optional<Form> form, std::string *text);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  block::KernelOp kernel;
  bool checked = false;
  std::vector<Parameter> parameters;
  std::vector<Variant> variants;
  std::mutex compiling;    ///< guards the context and additions
  std::shared_mutex table; ///< guards `compiled`
  std::vector<std::unique_ptr<Compiled>> compiled;
};

} // namespace intent::host

#endif
