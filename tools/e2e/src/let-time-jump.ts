import type { Page } from 'playwright-core';

/** On a machine that sleeps, the time of day advances while timers and performance.now() stop. */
const SLEEPER = `{
  const now = Date.now.bind(Date);
  globalThis.sleptMs = 0;
  Date.now = () => now() + sleptMs;
}`;

/** Prepares a page for `sleep`. Call it before the page is opened. */
export async function letTimeJump(page: Page): Promise<void> {
  await page.addInitScript({ content: SLEEPER });
}

/** Simulates that the machine slept until now. */
export async function sleep(page: Page, ms: number): Promise<void> {
  await page.evaluate(`sleptMs += ${ms}`);
}
