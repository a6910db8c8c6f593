// MLIR and LLVM are not instrumented. Where their inline code and ours meet in one container or arena, only one of them marks what is
// in use, so these marks mean nothing.
extern "C" {
const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:detect_stack_use_after_return=0:allocator_may_return_null=1";
}
const char *__ubsan_default_options() { return "print_stacktrace=1"; }
}
