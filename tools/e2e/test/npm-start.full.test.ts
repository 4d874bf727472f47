import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { Page } from 'playwright-core';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';
import { openGuideBook } from '../src/guide-book.ts';
import { HAS_BROWSER, openBrowser } from '../src/open-browser.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { runNpmStart } from '../src/run-npm-start.ts';
import { TEST_LIMIT_MS, WAIT_MS } from '../src/time-limits.ts';
import { describeGuides } from './describe-guides.ts';
import { API, bash, openStartedGateway, PAYOUT, untilPaid, type StartedGateway } from './started-gateway.ts';

vi.setConfig({ testTimeout: TEST_LIMIT_MS, hookTimeout: TEST_LIMIT_MS });

const book = openGuideBook('npm-start-long');
let gateway: StartedGateway;

beforeAll(async () => {
  gateway = await openStartedGateway();
  await gateway.start();
});
afterAll(() => gateway?.remove());

async function payAsOnScreen(): Promise<string> {
  const lines = gateway.running().output().split('\n');
  const [create = '', pay = '', payOut = ''] = lines.filter((line) => line.trim().startsWith('curl '));
  const created = JSON.parse(await bash(create)) as { data: { orderId: string; address: string } };
  expect(created.data.address).toMatch(/^0x[0-9a-fA-F]{40}$/);
  const { orderId } = created.data;
  await bash(pay);
  await untilPaid(orderId);
  await bash(payOut);
  await untilPaid(`${orderId}-out`, PAYOUT);
  return orderId;
}

async function expectExplained(orderId: string): Promise<void> {
  const env = `OPENTILL_STATE_DIR='${gateway.stateDir}'`;
  const output = await bash(`cd '${CHECKOUT}' && ${env} npm run -s opentill -- explain ${orderId}`);
  expect(output).toContain(`COLLECTION ${orderId} of merchant default: SUCCESS`);
  expect(output).toContain('12.50 USDT on ETH_SEPOLIA at 0x');
  expect(output).toMatch(/callback 3 ORDER_SUCCESS \S+: DELIVERED after \d+ attempts/);
}

let firstOrder = '';

it('the printed commands make a payment and a payout', async () => {
  firstOrder = await payAsOnScreen();
  await expectExplained(firstOrder);
});

describeGuides(book, () => gateway.stateDir);

it('runs all blocks of the guides', () => {
  expect(book.left()).toEqual([]);
});

it.skipIf(!HAS_BROWSER)(
  'the API reference works in a browser without requests to other servers',
  async () => {
    const browser = await openBrowser();
    try {
      const asked: string[] = [];
      const prepare = async (page: Page) => void page.on('request', (request) => asked.push(request.url()));
      const { page, complaints, keepPicture } = await browser.open(`${API}/`, { prepare });
      expect(await page.locator('nav').isVisible()).toBe(true);
      const operation = page.locator('section#createCollection');
      await page.click('nav a[href="#createCollection"]');
      await operation.locator('h2').waitFor({ state: 'visible' });
      expect(await operation.innerText()).toContain('receiveAddress');
      expect(await page.locator('section#errors').innerText()).toContain(
        'The amount must be greater than zero.',
      );
      expect(await page.locator('section#orderCallback').innerText()).toContain('webhook-signature');
      await keepPicture('docs-wide');
      expect(await findAccessibilityProblems(page)).toEqual([]);
      await page.locator('label', { hasText: 'Python' }).click();
      expect(await page.locator('section#verify').innerText()).toContain('def verify_callback');
      const listing = page.locator('section#start .listing').first();
      await listing.getByRole('button', { name: 'Copy' }).click();
      await listing.getByRole('button', { name: 'Copied' }).waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByText('Contents', { exact: true }).click();
      await page.click('nav a[href="#states"]');
      expect(await page.locator('nav details').getAttribute('open')).toBeNull();
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await page.evaluate(overflow)).toBe(0);
      await keepPicture('docs-phone');
      expect(asked.filter((url) => !url.startsWith(`${API}/`))).toEqual([]);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  },
  300_000,
); // may install a browser

it('a second npm start names the used port and does not disturb the first gateway', async () => {
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

it('Ctrl-C leaves no process and no open port', () => gateway.endsByCtrlC());

it('a start with --keep continues with the data of the last one', async () => {
  await gateway.start(['--keep']);
  await expectExplained(firstOrder);
  expect(await payAsOnScreen()).not.toBe(firstOrder);
  await gateway.endsByCtrlC();
});

it('Ctrl-C during a start leaves no process and no open port', async () => {
  gateway.begin();
  await waitUntil(
    'the start has begun',
    () => gateway.running().output().includes('database, broker'),
    WAIT_MS,
  );
  await gateway.endsByCtrlC();
});
