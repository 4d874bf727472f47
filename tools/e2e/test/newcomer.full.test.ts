import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { openBrowser, type BrowserUnderTest } from '../src/open-browser.ts';
import { processesOf, runNpmStart, takenPorts, type NpmStart } from '../src/run-npm-start.ts';

// Time that a new user needs: `npm start`, a purchase in the demo shop, a payment by its test customer.

const SHOP = 'http://localhost:3011';
const BUYING_SECONDS_MAX = 60;

let stateDir: string;
let running: NpmStart;
let browser: BrowserUnderTest;

beforeAll(async () => {
  browser = await openBrowser(); // not part of the measured time
  expect(await takenPorts()).toEqual([]);
  stateDir = mkdtempSync(join(tmpdir(), 'opentill-newcomer-'));
  chmodSync(stateDir, 0o711); // lets the servers' user reach its subdirectories
}, 300_000);
afterAll(async () => {
  await browser?.close();
  running?.press('SIGINT');
  await running?.ended;
  rmSync(stateDir, { recursive: true, force: true });
});

it('lets a new user buy and pay within a minute after the start', async () => {
  const startedAt = Date.now();
  const secondsSince = (from: number) => (Date.now() - from) / 1_000;
  running = runNpmStart(stateDir);
  await waitUntil(
    'npm start is ready',
    () => running.hasEnded() || running.output().includes('Opentill is ready'),
    150_000,
  );
  if (running.hasEnded()) throw new Error(`npm start ended:\n${running.output()}`);
  const startSeconds = secondsSince(startedAt);

  const readyAt = Date.now();
  const { page, complaints, keepPicture } = await browser.open(SHOP);
  await page.getByRole('link', { name: 'Buy Hoodie' }).click();
  await page.getByRole('button', { name: 'Check out' }).click();
  const paymentPage = page.getByRole('link', { name: 'Open the payment page' });
  await keepPicture('newcomer-1-order');
  const follower = await browser.open((await paymentPage.getAttribute('href'))!); // a second tab
  await follower.page.waitForSelector('main[data-state=waiting]');
  await follower.keepPicture('newcomer-2-checkout');
  await page.getByRole('button', { name: 'Pay as test customer' }).click();
  await follower.page.waitForSelector('main[data-state=paid]', { timeout: BUYING_SECONDS_MAX * 1_000 });
  const buyingSeconds = secondsSince(readyAt);
  await follower.keepPicture('newcomer-3-paid');
  await page.waitForSelector('[data-status=ORDER_SUCCESS]', { timeout: 10_000 });

  process.stderr.write(
    `newcomer: npm start ready after ${startSeconds.toFixed(1)} s, bought and paid ${buyingSeconds.toFixed(1)} s later, ` +
      `ORDER_SUCCESS in the shop after ${secondsSince(readyAt).toFixed(1)} s\n`,
  );
  expect(buyingSeconds).toBeLessThan(BUYING_SECONDS_MAX);
  expect([...complaints, ...follower.complaints]).toEqual([]);
});

const STEPS = ['starting', 'database, broker', 'setup (', 'hot wallets, operator', 'services:'];

it.each(STEPS)(
  'Ctrl-C at “%s” leaves no process and no open port',
  async (step) => {
    running.press('SIGINT');
    await running.ended;
    running = runNpmStart(stateDir);
    await waitUntil('the step has begun', () => running.output().includes(step), 150_000);
    const pressedAt = Date.now();
    running.press('SIGINT');
    await running.ended;
    expect((Date.now() - pressedAt) / 1_000).toBeLessThan(15);
    expect(processesOf(stateDir)).toEqual([]);
    expect(await takenPorts()).toEqual([]);
  },
  180_000,
);
