// A busy machine is many times slower than an idle one, so these limits are generous.

/** For a single condition. */
export const WAIT_MS = 180_000;
/** For a test or a hook with several waits. */
export const TEST_LIMIT_MS = 900_000;
/** For images of all services. */
export const BUILD_LIMIT_MS = 3_600_000;
