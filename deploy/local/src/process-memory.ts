/**
 * Settings of Node and glibc for little memory. The Dockerfile and the units of deploy/small have the same, which a test
 * compares. V8's young generation has at most 12 MB instead of 48, and two threads share the memory of malloc. Malloc
 * returns free memory above 2 MiB; without these fixed limits it keeps up to 64 MiB after the keystore was opened. Lower
 * limits cost page faults with each answer of a node.
 */
export const PROCESS_MEMORY = {
  NODE_OPTIONS: '--max-semi-space-size=4',
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '2097152',
  MALLOC_MMAP_THRESHOLD_: '4194304',
} as const;
