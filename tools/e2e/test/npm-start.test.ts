import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { Page } from 'playwright-core';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';
import { openBrowser } from '../src/open-browser.ts';
import { commandLines, openGuideBook } from '../src/guide-book.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { processesOf, runNpmStart, takenPorts, type NpmStart } from '../src/run-npm-start.ts';
import { TEST_LIMIT_MS, WAIT_MS } from '../src/time-limits.ts';
import { describeGuides } from './describe-guides.ts';

const API = 'http://localhost:3010';
const SHOP = 'http://localhost:3011';
const PAYMENT = ['ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS'];
const PAYOUT = ['ORDER_PENDING', ...PAYMENT];

const FIRST_PAYMENT = 'deploy/guides/first-payment.md';

/** Of an idle machine: one that does other work as well takes its time. */
const NEXT_START_SECONDS = 20;
const STOP_SECONDS = 15;

vi.setConfig({ testTimeout: TEST_LIMIT_MS, hookTimeout: TEST_LIMIT_MS });

const book = openGuideBook('npm-start');
let stateDir: string;
let running: NpmStart;
let firstStartSeconds = 0;

/** How many times longer things take than on an idle machine, by what runs there and by what the first start took. */
const crowding = (): number =>
  Math.max(1, loadavg()[0]! / availableParallelism(), firstStartSeconds / NEXT_START_SECONDS);
const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1000;

beforeAll(async () => {
  await waitUntil(
    'the ports of npm start are free',
    async () => (await takenPorts()).length === 0,
    WAIT_MS,
  ).catch(async (error: unknown) => {
    throw new Error(
      `This test needs the ports of npm start: stop what listens on ${(await takenPorts()).join(', ')}.`,
      { cause: error },
    );
  });
  stateDir = mkdtempSync(join(tmpdir(), 'opentill-start-'));
  chmodSync(stateDir, 0o711);
});
afterAll(async () => {
  if (!running.hasEnded()) {
    running.press('SIGINT');
    const late = setTimeout(() => running.press('SIGKILL'), 60_000);
    await running.ended;
    clearTimeout(late);
  }
  rmSync(stateDir, { recursive: true, force: true });
});

async function start(args: readonly string[] = []): Promise<void> {
  running = runNpmStart(stateDir, args);
  const isReady = async () =>
    running.hasEnded() || (await fetch(`${API}/readyz`).then((answer) => answer.status === 200));
  await waitUntil('the gateway is ready', isReady, 2 * WAIT_MS).catch((error: unknown) => {
    throw new Error(`npm start is not ready:\n${running.output()}`, { cause: error });
  });
  await waitUntil(
    'the screen is shown',
    () => running.hasEnded() || running.output().includes('Create a first collection'),
    WAIT_MS,
  );
  if (running.hasEnded()) throw new Error(`npm start ended:\n${running.output()}`);
}

/** Runs commands as a person types them; their standard output. */
async function bash(commands: string): Promise<string> {
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, errors] = ['', ''];
  shell.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  shell.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const code = await new Promise((resolve) => void shell.once('close', resolve));
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  return out;
}

interface ShopCallback {
  readonly notifyType: string;
  readonly verified: boolean;
  readonly repeats: number;
}

async function untilPaid(orderId: string, story = PAYMENT): Promise<void> {
  const callbacks = async () => {
    const all = (await (await fetch(`${SHOP}/callbacks.json?orderId=${orderId}`)).json()) as ShopCallback[];
    return all.filter(({ repeats }) => repeats === 0); // one that was answered late comes again
  };
  await waitUntil('the order is paid', async () => (await callbacks()).length >= story.length, WAIT_MS);
  expect((await callbacks()).map(({ notifyType }) => notifyType).toReversed()).toEqual(story);
  expect((await callbacks()).every(({ verified }) => verified)).toBe(true);
}

it('npm start brings up the whole gateway', async () => {
  for (const document of ['README.md', FIRST_PAYMENT])
    expect(book.take(document, 'start').flatMap(commandLines)).toEqual(['npm start']); // which is what follows
  const startedAt = performance.now();
  await start();
  firstStartSeconds = secondsSince(startedAt);
  expect(running.output()).toContain('Opentill is ready. Ctrl-C stops everything.');
});

it('the commands of the guide, as they stand there, make the first payment', async () => {
  const [create, pay = '', look = ''] = book.take(FIRST_PAYMENT, 'first-payment');
  const created = JSON.parse(await bash(create)) as { code: number; data: Record<string, string> };
  expect(created).toMatchObject({
    code: 200,
    data: { orderId: 'first-1', amount: '12.50', symbol: 'USDT', chain: 'ETH_SEPOLIA' },
  });
  expect(created.data['paymentUrl']).toMatch(
    /^http:\/\/localhost:3010\/checkout\?orderId=first-1&sign=[0-9a-f]{64}\.default$/,
  );
  expect(JSON.parse(await bash(pay))).toEqual({ txid: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
  await untilPaid('first-1');
  const looked = await bash(look);
  expect(looked).toContain('"status":"SUCCESS"');
  for (const notifyType of PAYMENT) expect(looked).toContain(notifyType);
});

it('the next commands make the first payout, and find ledger and chain equal', async () => {
  const [create, look = '', operate = ''] = book.take(FIRST_PAYMENT, 'first-payout');
  const created = JSON.parse(await bash(create)) as { code: number; data: Record<string, string> };
  expect(created).toMatchObject({ code: 200, data: { orderId: 'out-1', amount: '5.00', paymentUrl: null } });
  await untilPaid('out-1', PAYOUT);
  expect(await bash(look)).toContain('"status":"SUCCESS"');
  let found = '';
  // A block whose payment was told of is booked an instant later.
  const areEqual = async () => {
    found = await bash(`cd '${CHECKOUT}' && export OPENTILL_STATE_DIR='${stateDir}' && ${operate}`);
    return true;
  };
  await waitUntil('ledger and chain are equal', areEqual, WAIT_MS);
  expect(found).toContain('1 of hot wallets');
  expect(found).not.toContain('DIFF');
});

it('the commands that the screen shows work as well', async () => {
  const [create = '', pay = '', payOut = ''] = running
    .output()
    .split('\n')
    .filter((line) => line.trim().startsWith('curl '));
  const created = JSON.parse(await bash(create)) as { data: { orderId: string; address: string } };
  expect(created.data.address).toMatch(/^0x[0-9a-fA-F]{40}$/);
  await bash(pay);
  await untilPaid(created.data.orderId);
  await bash(payOut);
  await untilPaid(`${created.data.orderId}-out`, PAYOUT);
});

it('the operators command line works on the running gateway', async () => {
  const told = await bash(
    `cd '${CHECKOUT}' && OPENTILL_STATE_DIR='${stateDir}' npm run -s opentill -- explain first-1`,
  );
  expect(told).toContain('COLLECTION first-1 of merchant default: SUCCESS');
  expect(told).toContain('12.50 USDT on ETH_SEPOLIA at 0x');
  expect(told).toMatch(/callback 3 ORDER_SUCCESS \S+: DELIVERED after \d+ attempts/);
});

describeGuides(book, () => stateDir);

it('leaves nothing of the guides out', () => {
  expect(book.left()).toEqual([]);
});

it('a newcomer buys in the shop with the mouse', async () => {
  const browser = await openBrowser();
  try {
    const { page, complaints } = await browser.open(SHOP);
    await page.locator('form.card', { hasText: 'Hoodie' }).locator('button').click();
    await page.waitForSelector('main[data-status=INIT]');
    expect(await page.innerText('main')).toContain('49.00 USDT');
    await page.goto(SHOP);
    await page.locator('tr', { hasText: 'Hoodie' }).locator('button').click();
    await page.waitForSelector('tr:has-text("Hoodie"):has-text("ORDER_SUCCESS")', { timeout: WAIT_MS });
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
}, 300_000); // holds the installation of a browser

it('the reference of the API is a page that a browser shows without a script or another’s server', async () => {
  const browser = await openBrowser();
  try {
    const asked: string[] = [];
    const prepare = async (page: Page) => void page.on('request', (request) => asked.push(request.url()));
    const { page, complaints, keepPicture } = await browser.open(`${API}/docs`, { prepare });
    expect(await page.locator('nav').isVisible()).toBe(true);
    const operation = page.locator('section#createCollection');
    await page.click('nav a[href="#createCollection"]');
    await operation.locator('h2').waitFor({ state: 'visible' });
    expect(await operation.innerText()).toContain('The amount must be greater than zero.');
    expect(await page.locator('section#orderCallback').innerText()).toContain('webhook-signature');
    await keepPicture('docs-wide');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).toBe(0);
    await keepPicture('docs-phone');
    expect(asked.filter((url) => !url.startsWith(`${API}/`))).toEqual([]);
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
}, 300_000); // holds the installation of a browser

it('a taken port is told by its number, and the gateway that has it is not harmed', async () => {
  const other = mkdtempSync(join(tmpdir(), 'opentill-start-'));
  const second = runNpmStart(other);
  try {
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(/opentill: Port 3010, needed for the API, is taken by process \d+/);
    expect(second.output()).not.toMatch(/^\s+at /m);
    expect((await fetch(`${API}/readyz`)).status).toBe(200);
  } finally {
    rmSync(other, { recursive: true, force: true });
  }
});

/** Presses Ctrl-C, and expects that all ends in time and leaves nothing. */
async function endsByCtrlC(): Promise<void> {
  const startedAt = performance.now();
  running.press('SIGINT');
  await running.ended;
  const seconds = secondsSince(startedAt);
  const left = async () => [...processesOf(stateDir), ...(await takenPorts())];
  // Where its own deadline was too short, the guards of what it had started are at work.
  if (!/ s {2}stopped\n/.test(running.output()))
    await waitUntil('the guards are done', async () => (await left()).length === 0, WAIT_MS).catch(
      () => undefined,
    );
  expect(await left()).toEqual([]);
  expect(seconds).toBeLessThan(STOP_SECONDS * crowding());
}

it('Ctrl-C ends everything within 15 s and leaves nothing', endsByCtrlC);

it('the next start takes less than 20 s, and with --keep goes on where the last one stopped', async () => {
  const startedAt = performance.now();
  await start(['--keep']);
  expect(secondsSince(startedAt)).toBeLessThan(NEXT_START_SECONDS * crowding());
  const blocks = book.take(FIRST_PAYMENT, 'first-payment');
  const again = blocks.map((block) => block.replaceAll('first-1', 'first-2'));
  expect(await bash(blocks.at(-1)!)).toContain('"status":"SUCCESS"');
  expect(JSON.parse(await bash(again[0]!))).toMatchObject({ code: 200 });
  await bash(again[1]!);
  await untilPaid('first-2');
  expect(await bash(again[2]!)).toContain('"status":"SUCCESS"');
  running.press('SIGINT');
  await running.ended;
});

it('Ctrl-C in the middle of a start leaves nothing', async () => {
  running = runNpmStart(stateDir);
  await waitUntil('it has begun', () => running.output().includes('database, broker'), WAIT_MS);
  await endsByCtrlC();
});
