import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { readStartOptions } from '@opentill/local/read-start-options';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startCallbackReceiver } from '../src/callback-receiver.ts';
import { HAS_BROWSER, openBrowser, type BrowserUnderTest } from '../src/open-browser.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { readRunningGateway, type RunningGateway } from '../src/running-gateway.ts';
import { createGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { TEST_LIMIT_MS } from '../src/time-limits.ts';
import { describeAttackers } from './describe-attackers.ts';
import { describeBooks } from './describe-books.ts';
import { describeCheckout } from './describe-checkout.ts';
import { describeCollections } from './describe-collections.ts';
import { describeDemoShop } from './describe-demo-shop.ts';
import { describeExpiry } from './describe-expiry.ts';
import { describeNpmStart } from './describe-npm-start.ts';
import { describePayouts } from './describe-payouts.ts';
import { describeReorganisations } from './describe-reorganisations.ts';
import { describeSdk } from './describe-sdk.ts';
import { describeSecrets } from './describe-secrets.ts';
import { describeSweep } from './describe-sweep.ts';
import { describeTron } from './describe-tron.ts';
import { openStartedGateway, type StartedGateway } from './started-gateway.ts';

vi.setConfig({ testTimeout: TEST_LIMIT_MS, hookTimeout: TEST_LIMIT_MS });

/** Defaults of `npm start`. */
const { token: merchantToken, webhookSecret } = readStartOptions({
  args: [],
  env: {},
  isRoot: false,
  checkout: CHECKOUT,
}).merchant;

let started: StartedGateway;
let gatewayUnderTest: GatewayUnderTest<RunningGateway>;
const under = () => gatewayUnderTest;

/** The default tests share the gateway that a newcomer starts. Only its callbacks pass the tests' receiver. */
beforeAll(async () => {
  started = await openStartedGateway();
  const receiver = await startCallbackReceiver(await findFreePort(), webhookSecret);
  await started.start([], { CALLBACK_URL: receiver.url });
  const gateway = await readRunningGateway(started.stateDir);
  receiver.forwardTo(`${gateway.shopUrl}/callbacks`);
  const stop = receiver.close;
  gatewayUnderTest = createGatewayUnderTest({ gateway, merchantToken, webhookSecret, receiver, stop });
});
afterAll(async () => {
  await gatewayUnderTest?.stop();
  await started?.remove();
});

describeNpmStart(() => started);
describeCollections(under);
describeExpiry(under);
describeReorganisations(under);
describePayouts(under);
describeTron(under);
const sweep = describeSweep(under);
describeSdk(under);

describe.skipIf(!HAS_BROWSER)('pages', () => {
  let opened: BrowserUnderTest;
  const browser = () => opened;

  beforeAll(async () => {
    opened = await openBrowser();
  });
  afterAll(async () => {
    await opened?.close();
  });

  describeCheckout(under, browser);
  describeDemoShop(under, browser);
});

sweep.describeItsEnd();
describeBooks(under);

// Last, because the attackers leave forged data.
describeAttackers(under);
describeSecrets(under);

it('Ctrl-C leaves no process and no open port', async () => {
  await under().database.close();
  await started.endsByCtrlC();
});
