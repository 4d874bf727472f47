import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { WAIT_MS } from './time-limits.ts';

const CHROMIUM = '/usr/bin/chromium';
const INSTALL_DEADLINE_MS = 240_000;
const PICTURE_ATTEMPTS = 5;
const PICTURE_TIMEOUT_MS = 60_000;
const SCREENSHOTS = join(import.meta.dirname, '..', 'screenshots');

/** Debian's Chromium, driven like a person's browser. */
export interface BrowserUnderTest {
  /** A window of its own. `phone`: as narrow as one. */
  open(url: string, options?: WindowOptions): Promise<PageUnderTest>;
  close(): Promise<void>;
}

export interface WindowOptions {
  readonly phone?: boolean;
  readonly dark?: boolean;
  /** What else is special of it: its language, no scripts, another width. */
  readonly context?: BrowserContextOptions;
  /** Done to the window before it goes anywhere. */
  readonly prepare?: (page: Page) => Promise<void>;
}

export interface PageUnderTest {
  readonly page: Page;
  /** What the page complained about: errors of scripts, refused resources. */
  readonly complaints: readonly string[];
  /**
   * Does what makes the window go to another page, such as sending a form, and waits until that page is there. A
   * click alone returns as soon as it was made, with the old page on its way out.
   */
  leavePage(leave: () => Promise<void>): Promise<void>;
  /**
   * Keeps a picture of the window in screenshots/, with `whole` of all of the page. A page that is going away cannot be
   * taken: see leavePage.
   */
  keepPicture(name: string, options?: { readonly whole?: boolean }): Promise<void>;
}

export async function openBrowser(): Promise<BrowserUnderTest> {
  installChromium();
  const browser: Browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    timeout: WAIT_MS,
  });
  mkdirSync(SCREENSHOTS, { recursive: true });
  return {
    async open(url, options = {}) {
      const page = await browser.newPage({
        viewport: options.phone ? { width: 390, height: 844 } : { width: 1100, height: 850 },
        colorScheme: options.dark ? 'dark' : 'light',
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

/**
 * Takes what the window shows. While a page is exchanged for the next one Chromium has no surface to take it from and
 * says "Unable to capture screenshot"; the picture is for people, so it is tried again, and no check hangs on the moment.
 */
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

/** Debian's package, unless it is there: by root alone, everybody else is told. */
function installChromium(): void {
  if (existsSync(CHROMIUM)) return;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    // The font for the Chinese in pictures, which Debian's Chromium comes without.
    const install = 'apt-get install -y -qq --no-install-recommends chromium fonts-wqy-zenhei 9<&-';
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    // Not while somebody installs the broker.
    const script = `exec 9</var/lib/dpkg && flock 9; ${install} || { apt-get update -qq && ${install}; }`;
    spawnSync('sh', ['-c', script], { env, stdio: 'ignore', timeout: INSTALL_DEADLINE_MS });
  }
  if (existsSync(CHROMIUM)) return;
  throw new Error(
    `${CHROMIUM} is missing, which the pages are looked at with: run "sudo apt-get install chromium".`,
  );
}
