/*
 * A machine that is busy with other work takes many times what an idle one does. What these limits end will never come.
 */

/** How long a test waits for one thing. */
export const WAIT_MS = 180_000;
/** How long a test, or what is done before and after tests, takes with several of such waits. */
export const TEST_LIMIT_MS = 900_000;
