import type { Page } from 'playwright-core';

/** The time of day goes on while the page's own clock stands still, as on a machine that sleeps. */
const SLEEPER = `{
  const now = Date.now.bind(Date);
  globalThis.sleptMs = 0;
  Date.now = () => now() + sleptMs;
}`;

/** Prepares a page for `sleep`, before it goes anywhere. */
export async function letTimeJump(page: Page): Promise<void> {
  await page.addInitScript({ content: SLEEPER });
}

/** As if the lid had been shut for so long, just now. */
export async function sleep(page: Page, ms: number): Promise<void> {
  await page.evaluate(`sleptMs += ${ms}`);
}
