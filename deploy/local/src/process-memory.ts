/**
 * Settings of Node and glibc for little memory. The Dockerfile and the units of deploy/small have the same, which a test
 * compares. V8's young generation has at most 12 MB instead of 48, two threads share the memory of malloc, and malloc
 * returns freed memory (in bytes) instead of keeping up to 64 MB.
 */
export const PROCESS_MEMORY = {
  NODE_OPTIONS: '--max-semi-space-size=4',
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
} as const;
