// The only public ABI: the compiler library (libintent.so) and the host execution library (libintent-host.so).
// Text is UTF-8. Everything returned is owned by the handle it came from. All functions are thread-safe on
// distinct handles; no input of any kind ends the process.
#ifndef INTENT_C_INTENT_H
#define INTENT_C_INTENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INTENT_EXPORT __attribute__((visibility("default")))

//===- libintent.so: request in, result out ------------------------------------------------------------===//

typedef struct intent_result intent_result;

// Raised whenever a function, a request field or a result field changes its meaning.
INTENT_EXPORT uint32_t intent_abi_version(void);

// One line: version, LLVM version, and a digest of the library's code.
INTENT_EXPORT const char *intent_build_info(void);

// Compiles one JSON request (docs/request.md). Never returns null.
INTENT_EXPORT intent_result *intent_compile(const char *request, size_t size);

// 0 success, 1 LanguageError, 2 ConfigurationError, 3 TargetError, 4 InternalError.
INTENT_EXPORT int32_t intent_result_status(const intent_result *result);

// A named field (docs/request.md lists them), or null if this result has none. Not null-terminated text may
// hold zeros: use `size`.
INTENT_EXPORT const char *intent_result_field(const intent_result *result, const char *name, size_t *size);

INTENT_EXPORT void intent_result_destroy(intent_result *result);

//===- libintent-host.so: bound block program text in, execution out ------------------------------------===//

typedef struct intent_host_kernel intent_host_kernel;

// One public argument. View: `data` is the address of element 0 (coordinate 0 on every axis), `extents` and
// `strides` (in elements, any sign) have one entry per axis. Scalar: `data` is the address of its value.
typedef struct intent_host_argument {
  void *data;
  const int64_t *extents;
  const int64_t *strides;
} intent_host_argument;

// One line like intent_build_info, for this library.
INTENT_EXPORT const char *intent_host_build_info(void);

// Loads the block program text that the compiler gives for a host target; configuration row `row` binds its
// parameters. Code is generated on the first launch of each variant and coverage class. Null on failure, with the
// reason copied to `error` (null-terminated, cut to `error_size`).
INTENT_EXPORT intent_host_kernel *intent_host_load(const char *mlir, size_t size, uint32_t row, char *error, size_t error_size);

// Names a folder in which compiled objects of this kernel are kept for other processes; it is made when the first is
// written, holds 1 MiB at most, and what is wrong with it only costs time. Before the first launch.
INTENT_EXPORT void intent_host_keep_objects(intent_host_kernel *kernel, const char *folder);

// Who is told of the code that is made, with the author's lines: names separated by commas out of "gdb" (debuggers) and
// "perf" (a jitdump file in $JITDUMPDIR, else under the home directory). -1 if one is unknown. Before the first code is made;
// nobody is told if this is not called.
INTENT_EXPORT int32_t intent_host_tell(const char *listeners);

// Generates the code that a launch with these arguments would run, and runs nothing. 1 if it is new, 0 if an earlier call
// made it, -1 on failure with the reason in `error`.
INTENT_EXPORT int32_t intent_host_prepare(intent_host_kernel *kernel, const intent_host_argument *arguments, size_t count, char *error,
                                          size_t error_size);

// Runs the variant whose guard admits this call, on all cores, and returns when it is done. 0 on success; otherwise
// the reason is in `error`: 2 where the call asks for more private memory than there is; 3 where a checked program
// (module attribute block.checked) has done what its author must not, with `FILE:LINE:COLUMN: ` before each line; 4 where
// it lacks what the compiler should have put there, in the same form; 1 for all else. No argument was touched unless it is
// 3 or 4.
INTENT_EXPORT int32_t intent_host_launch(intent_host_kernel *kernel, const intent_host_argument *arguments, size_t count, char *error,
                                         size_t error_size);

// LLVM IR ("llvm") or assembly ("asm") of the code that a call with these arguments would run; null if unknown. The
// text lives until the next emit on this kernel.
INTENT_EXPORT const char *intent_host_emit(intent_host_kernel *kernel, const char *form, const intent_host_argument *arguments,
                                           size_t count);

// Threads that launches use: the affinity mask's size, or what this sets (1 or more) for the process.
INTENT_EXPORT void intent_host_set_threads(uint32_t threads);

INTENT_EXPORT void intent_host_destroy(intent_host_kernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
