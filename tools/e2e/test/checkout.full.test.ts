import { availableParallelism, loadavg } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCheckoutUnderTest, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { measureFirstPaint, type FirstPaint } from '../src/measure-first-paint.ts';
import { HAS_BROWSER } from '../src/open-browser.ts';
import { describeCheckoutBehindAProxy } from './describe-checkout-behind-a-proxy.ts';
import { describeCheckoutChoice } from './describe-checkout-choice.ts';
import { describeCheckoutLanguages } from './describe-checkout-languages.ts';
import { describeCheckoutLinks } from './describe-checkout-links.ts';
import { describeCheckoutOnAStaticHost } from './describe-checkout-on-a-static-host.ts';
import { describeCheckoutStates } from './describe-checkout-states.ts';
import { describeCheckoutTrouble } from './describe-checkout-trouble.ts';
import { describeCheckoutWallets } from './describe-checkout-wallets.ts';

// The hosted page in a browser, with real orders of a gateway. Pictures for review are in tools/e2e/screenshots.

let checkout: CheckoutUnderTest;

beforeAll(async () => {
  checkout = await startCheckoutUnderTest();
}, 300_000);
afterAll(async () => {
  await checkout?.stop();
});
const under = (): CheckoutUnderTest => checkout;

const PAINTED_WITHIN_MS = 1_000;
/** The fastest of several visits counts, because load of the machine only delays. */
const VISITS_MAX = 5;

it.skipIf(!HAS_BROWSER)('paints the checkout within 1 s on a slow phone, without layout shifts', async () => {
  const { paymentUrl } = await under().order('ETH_SEPOLIA');
  const visits: FirstPaint[] = [];
  const best = () => visits.toSorted((a, b) => a.largestPaintMs - b.largestPaintMs)[0];
  while (visits.length < VISITS_MAX && (best()?.largestPaintMs ?? Infinity) >= PAINTED_WITHIN_MS) {
    const visit = await measureFirstPaint(paymentUrl!);
    const { firstPaintMs, largestPaintMs, layoutShift, bytes, requests } = visit;
    process.stderr.write(
      `checkout on a slow phone: first paint ${Math.round(firstPaintMs)} ms, largest ${Math.round(largestPaintMs)} ms, ` +
        `layout shift ${layoutShift.toFixed(4)}, ${bytes} bytes in ${requests} requests\n`,
    );
    expect(layoutShift).toBeLessThan(0.01);
    expect(bytes).toBeLessThan(60_000);
    visits.push(visit);
  }
  // On an overloaded machine even the fastest visit is slower, by its load.
  const crowding = Math.max(1, loadavg()[0]! / availableParallelism());
  expect(best()?.firstPaintMs).toBeLessThan(PAINTED_WITHIN_MS * crowding);
  expect(best()?.largestPaintMs).toBeLessThan(PAINTED_WITHIN_MS * crowding);
});

describe.skipIf(!HAS_BROWSER)('the hosted page', () => {
  describeCheckoutStates(under);
  describeCheckoutChoice(under);
  describeCheckoutLinks(under);
  describeCheckoutLanguages(under);
  describeCheckoutWallets(under);
  describeCheckoutTrouble(under);
  describeCheckoutOnAStaticHost(under);
  describeCheckoutBehindAProxy(under);
});
