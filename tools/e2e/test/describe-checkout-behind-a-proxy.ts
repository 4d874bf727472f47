import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFreePort } from '@opentill/test-servers/free-port';
import { untilState, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { fencedBlocks, readMarkdownFiles } from '../src/read-markdown.ts';
import { startTlsProxy } from '../src/tls-proxy.ts';
import { findWebServer } from '../src/web-server.ts';

const GUIDE = 'deploy/guides/going-to-mainnet.md';

export function describeCheckoutBehindAProxy(under: () => CheckoutUnderTest): void {
  describe('checkout behind the proxy of the guide', () => {
    it('serves the URL of the order and follows a payment by the event stream', async ({ skip }) => {
      const nginx = await findWebServer('nginx');
      if (nginx === undefined) return skip('no nginx');
      const { gateway } = under().gateway;
      const { text = '' } = readMarkdownFiles().find(({ name }) => name === GUIDE) ?? {};
      const block = fencedBlocks(text).find(({ mark }) => mark === 'proxy')?.text ?? '';
      const folder = mkdtempSync(join(tmpdir(), 'opentill-proxy-'));
      const port = await findFreePort();
      const proxy = await startTlsProxy({ block, nginx, folder, port, upstream: gateway.apiUrl });
      try {
        await gateway.stopService('api');
        const env = { CHECKOUT_BASE_URL: `https://localhost:${port}/checkout`, TRUSTED_PROXIES: '127.0.0.1' };
        await gateway.startService('api', { env });
        const collection = await under().order('ETH_SEPOLIA');
        const asked = new Set<string>();
        const view = await under().browser.open(collection.paymentUrl!, {
          context: { ignoreHTTPSErrors: true },
          prepare: async (page) => void page.on('request', (request) => asked.add(request.url())),
        });
        await untilState(view.page, 'waiting');
        await under().gateway.chains.ETH_SEPOLIA.pay({ to: collection.address, amount: '100' });
        await untilState(view.page, 'paid');
        const paths = [...asked].map((url) => new URL(url).pathname);
        expect(new Set([...asked].map((url) => new URL(url).origin))).toEqual(
          new Set([`https://localhost:${port}`]),
        );
        expect(paths).toContain('/v1/order/events');
        expect(paths.filter((path) => path.endsWith('getOrderStatus')).length).toBeLessThanOrEqual(1);
        expect(view.complaints).toEqual([]);
        await view.page.close();
      } finally {
        await gateway.stopService('api');
        await gateway.startService('api');
        await proxy.stop();
        rmSync(folder, { recursive: true });
      }
    });
  });
}
