import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { HAS_BROWSER, openBrowser, type BrowserUnderTest, type PageUnderTest } from '../src/open-browser.ts';
import { processesOf, runNpmStart, takenPorts, type NpmStart } from '../src/run-npm-start.ts';
import { API, bash } from './started-gateway.ts';

// Time that a new user needs: `npm start`, a purchase in the demo shop, a payment by its test customer.

const SHOP = 'http://localhost:3011';
const BUYING_SECONDS_MAX = 60;

let stateDir: string;
let running: NpmStart;
let browser: BrowserUnderTest;
let docs: PageUnderTest | undefined;

beforeAll(async () => {
  if (HAS_BROWSER) browser = await openBrowser(); // not part of the measured time
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

it.skipIf(!HAS_BROWSER)('lets a new user buy and pay within a minute after the start', async () => {
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
  await page.getByRole('button', { name: 'Demo: pay as a test customer' }).click();
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

/** The code of a listing of /docs. */
async function listingOf(label: string): Promise<string> {
  const { page } = docs!;
  return page.getByRole('region', { name: label, exact: true }).innerText();
}

it.skipIf(!HAS_BROWSER)(
  'leads by the commands of /docs only to a verified callback',
  async () => {
    const startedAt = Date.now();
    docs = await browser.open(API);
    const folder = mkdtempSync(join(tmpdir(), 'opentill-docs-'));
    writeFileSync(join(folder, 'receiver.mjs'), await listingOf('Receiver in Node.js'));
    const start = await listingOf('Run the receiver in Node.js');
    const receiver = spawn('bash', ['-c', `exec env ${start}`], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let received = '';
      receiver.stdout.setEncoding('utf8').on('data', (text: string) => (received += text));
      const listens = () => fetch('http://127.0.0.1:4000/').then(({ status }) => status === 401);
      await waitUntil('the receiver listens', listens);
      await bash(await listingOf('Forward callbacks to your program'));
      const set = await listingOf('Your base URL, token and order id');
      const created = await bash(`${set}\n${await listingOf('Create an order')}`);
      expect(JSON.parse(created)).toMatchObject({ code: 200, data: { orderId: 'order-1001' } });
      await bash(`${set}\n${await listingOf('Pay the order on the local chain')}`);
      await waitUntil('the callback is verified', () => received.includes('ORDER_SUCCESS order-1001'));
      const status = await bash(`${set}\n${await listingOf('Get the status of the order')}`);
      expect(JSON.parse(status)).toMatchObject({ code: 200, data: { status: 'SUCCESS' } });
      for (const operation of ['status', 'pay', 'getOrderStatus', 'supportSymbols'])
        expect(
          JSON.parse(await bash(`${set}\n${await listingOf(`How to call ${operation}`)}`)),
        ).toMatchObject({
          code: 200,
        });
      expect(docs.complaints).toEqual([]);
    } finally {
      receiver.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
    process.stderr.write(`newcomer: the commands of /docs took ${(Date.now() - startedAt) / 1_000} s\n`);
  },
  240_000,
);

const STEPS = ['starting', 'database, broker', 'setup (', 'hot wallets, operator', 'services:'];

it.each(STEPS)(
  'Ctrl-C at “%s” leaves no process and no open port',
  async (step) => {
    running?.press('SIGINT');
    await running?.ended;
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
