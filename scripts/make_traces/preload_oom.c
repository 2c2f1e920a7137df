/* Gives TensorFlow 1.10's CPU allocator a limit, since that version ignores TF_CPU_ALLOCATOR_USE_BFC.
 *
 * Preloaded, it replaces tensorflow::port::AlignedMalloc and AlignedFree, through which tensors are allocated there.
 * When the live tensors would pass PRELOAD_OOM_LIMIT_MB, the allocation returns null, as malloc may,
 * and TensorFlow itself does all the rest.
 *
 * Build: gcc -shared -fPIC -O2 -o preload_oom.so preload_oom.c
 */
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

static long live_bytes;

static long limit_bytes(void) {
  static long limit;
  if (limit == 0) {
    const char *megabytes = getenv("PRELOAD_OOM_LIMIT_MB");
    limit = megabytes ? atol(megabytes) << 20 : -1;
  }
  return limit;
}

void *_ZN10tensorflow4port13AlignedMallocEmi(size_t size, int alignment) {
  void *memory = NULL;
  if (limit_bytes() > 0 && __atomic_load_n(&live_bytes, __ATOMIC_RELAXED) + (long)size > limit_bytes()) return NULL;
  if (posix_memalign(&memory, alignment < (int)sizeof(void *) ? sizeof(void *) : alignment, size) != 0) return NULL;
  __atomic_add_fetch(&live_bytes, (long)malloc_usable_size(memory), __ATOMIC_RELAXED);
  return memory;
}

void _ZN10tensorflow4port11AlignedFreeEPv(void *memory) {
  if (memory == NULL) return;
  __atomic_sub_fetch(&live_bytes, (long)malloc_usable_size(memory), __ATOMIC_RELAXED);
  free(memory);
}
