import { launchChromium } from './open-browser.ts';

export interface FirstPaint {
  readonly firstPaintMs: number;
  readonly largestPaintMs: number;
  readonly layoutShift: number;
  /** Transferred bytes, with headers. */
  readonly bytes: number;
  readonly requests: number;
}

/** The mobile profile of Chromium's developer tools: "Slow 4G" and a quarter of the CPU speed. */
const SLOW_PHONE = { latencyMs: 150, bitsPerSecond: 1_638_400, cpuSlowdown: 4 };
const SETTLED_MS = 3_000;

const WATCH = `
  globalThis.seen = { shift: 0, largest: 0 };
  const watch = (type, see) =>
    new PerformanceObserver((list) => list.getEntries().forEach(see)).observe({ type, buffered: true });
  watch('layout-shift', (entry) => { seen.shift += entry.value; });
  watch('largest-contentful-paint', (entry) => { seen.largest = entry.startTime; });`;

/** Opens a page once in a browser with an empty cache. */
export async function measureFirstPaint(url: string): Promise<FirstPaint> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 }, isMobile: true });
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: SLOW_PHONE.latencyMs,
      downloadThroughput: SLOW_PHONE.bitsPerSecond / 8,
      uploadThroughput: SLOW_PHONE.bitsPerSecond / 8,
    });
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW_PHONE.cpuSlowdown });
    let [bytes, requests] = [0, 0];
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
      requests += 1;
    });
    await page.addInitScript({ content: WATCH });
    await page.goto(url);
    await page.waitForSelector('html.scripted');
    await page.waitForTimeout(SETTLED_MS); // includes late layout shifts
    const measured = await page.evaluate<{ first: number; largest: number; shift: number }>(
      `({ first: performance.getEntriesByName('first-contentful-paint')[0].startTime, ...seen })`,
    );
    return {
      firstPaintMs: measured.first,
      largestPaintMs: measured.largest,
      layoutShift: measured.shift,
      bytes,
      requests,
    };
  } finally {
    await browser.close();
  }
}
