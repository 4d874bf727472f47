import { availableParallelism, loadavg } from 'node:os';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startCheckoutUnderTest, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { measureFirstPaint } from '../src/measure-first-paint.ts';
import { describeCheckoutBehindAProxy } from './describe-checkout-behind-a-proxy.ts';
import { describeCheckoutLanguages } from './describe-checkout-languages.ts';
import { describeCheckoutOnAStaticHost } from './describe-checkout-on-a-static-host.ts';
import { describeCheckoutStates } from './describe-checkout-states.ts';
import { describeCheckoutTrouble } from './describe-checkout-trouble.ts';
import { describeCheckoutWallets } from './describe-checkout-wallets.ts';

/*
 * The hosted page in a browser, from real orders of a whole gateway: states, languages, widths, wallets, outages. The
 * pictures of everything are left in the folder screenshots of deploy/e2e, for people to look at.
 */

let checkout: CheckoutUnderTest;

beforeAll(async () => {
  checkout = await startCheckoutUnderTest();
}, 300_000);
afterAll(async () => {
  await checkout?.stop();
}, 60_000);
const under = (): CheckoutUnderTest => checkout;

it('is painted within a second on a slow phone, and nothing moves afterwards', async () => {
  const { paymentUrl } = await under().order('ETH_SEPOLIA');
  const { firstPaintMs, largestPaintMs, layoutShift, bytes, requests } = await measureFirstPaint(paymentUrl!);
  process.stderr.write(
    `checkout on a slow phone: first paint ${Math.round(firstPaintMs)} ms, largest ${Math.round(largestPaintMs)} ms, ` +
      `layout shift ${layoutShift.toFixed(4)}, ${bytes} bytes in ${requests} requests\n`,
  );
  // Of an idle machine: one that does other work as well paints later.
  const crowding = Math.max(1, loadavg()[0]! / availableParallelism());
  expect(firstPaintMs).toBeLessThan(1_000 * crowding);
  expect(largestPaintMs).toBeLessThan(1_000 * crowding);
  expect(layoutShift).toBeLessThan(0.01);
  expect(bytes).toBeLessThan(60_000);
}, 60_000);

describeCheckoutStates(under);
describeCheckoutLanguages(under);
describeCheckoutWallets(under);
describeCheckoutTrouble(under);
describeCheckoutOnAStaticHost(under);
describeCheckoutBehindAProxy(under);
