import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { findChromium } from './find-chromium.ts';
import { WAIT_MS } from './time-limits.ts';

const PICTURE_ATTEMPTS = 5;
const PICTURE_TIMEOUT_MS = 60_000;
const SCREENSHOTS = join(import.meta.dirname, '..', 'screenshots');

export interface BrowserUnderTest {
  open(url: string, options?: WindowOptions): Promise<PageUnderTest>;
  close(): Promise<void>;
}

export interface WindowOptions {
  readonly phone?: boolean;
  readonly dark?: boolean;
  readonly context?: BrowserContextOptions;
  /** Runs before the window opens the URL. */
  readonly prepare?: (page: Page) => Promise<void>;
}

export interface PageUnderTest {
  readonly page: Page;
  readonly complaints: readonly string[];
  /** Runs `leave`, for example a click that submits a form, and waits for the next page. A click does not wait itself. */
  leavePage(leave: () => Promise<void>): Promise<void>;
  /** Saves a picture of the window, or of the `whole` page, in screenshots/. Fails during navigation: see leavePage. */
  keepPicture(name: string, options?: { readonly whole?: boolean }): Promise<void>;
}

/**
 * The first two make Chromium start a renderer for the address bar of each window. The others repeat Playwright's list,
 * which the second switch of this name replaces.
 */
const DISABLED_FEATURES = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

/** False skips browser tests: `describe.skipIf(!HAS_BROWSER)`. */
export const HAS_BROWSER = (await findChromium()) !== undefined;

export async function launchChromium(): Promise<Browser> {
  const found = await findChromium();
  if (found === undefined) throw new Error('No Chromium: use HAS_BROWSER to skip the test.');
  return chromium.launch({
    ...found,
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      `--disable-features=${DISABLED_FEATURES.join(',')}`,
    ],
    timeout: WAIT_MS,
  });
}

export async function openBrowser(): Promise<BrowserUnderTest> {
  const browser = await launchChromium();
  mkdirSync(SCREENSHOTS, { recursive: true });
  return {
    async open(url, options = {}) {
      const page = await browser.newPage({
        viewport: options.phone ? { width: 390, height: 844 } : { width: 1100, height: 850 },
        colorScheme: options.dark ? 'dark' : 'light',
        reducedMotion: 'reduce', // drawing animations takes most of a waiting page's processor time
        ...options.context,
      });
      page.setDefaultTimeout(WAIT_MS);
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      await options.prepare?.(page);
      await page.goto(url);
      return {
        page,
        complaints,
        async leavePage(leave) {
          const left = page.waitForEvent('framenavigated', (frame) => frame === page.mainFrame());
          await Promise.all([left, leave()]);
          await page.waitForLoadState();
        },
        keepPicture: async (name, { whole = false } = {}) =>
          takePicture(page, join(SCREENSHOTS, `${name}.png`), whole),
      };
    },
    close: async () => browser.close(),
  };
}

/** Retries, because Chromium fails with "Unable to capture screenshot" while it replaces one page by the next. */
async function takePicture(page: Page, path: string, fullPage: boolean): Promise<void> {
  let cause: unknown;
  for (let attempt = 1; attempt <= PICTURE_ATTEMPTS; attempt += 1) {
    try {
      await page.waitForLoadState();
      await page.screenshot({ path, fullPage, timeout: PICTURE_TIMEOUT_MS });
      return;
    } catch (error) {
      cause = error;
    }
  }
  throw new Error(`no picture ${path} of ${page.url()} in ${PICTURE_ATTEMPTS} attempts`, { cause });
}
