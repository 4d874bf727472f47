import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { SuiGrpcClient } from '@mysten/sui/grpc';
import { Ed25519Keypair } from '@mysten/sui/keypairs/ed25519';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { signOrderId } from '@opentill/contracts/signing/verify-signature';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startSuiDevnet, type SuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import { waitUntil } from '@opentill/testkit/wait-until';
import { examine, untilState, type CheckoutUnderTest } from '../src/checkout-under-test.ts';
import { injectSuiWallet, type InjectedSuiWallet } from '../src/injected-sui-wallet.ts';
import { injectWallet } from '../src/injected-wallet.ts';
import { openGuideBook } from '../src/guide-book.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { findWebServer, startCaddy, startNginx, type WebServerName } from '../src/web-server.ts';
import { runOpentill } from '../src/run-opentill.ts';

const GUIDE = 'services/checkout/docs/checkout.md';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};
const HEADERS = [
  'Cache-Control',
  'Content-Security-Policy',
  'Referrer-Policy',
  'X-Content-Type-Options',
  'X-Frame-Options',
];
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><circle cx="16" cy="16" r="16" fill="#b42318"/></svg>';

function headersOf(block: string): Record<string, string> {
  const lines = block.matchAll(/^ +(?:add_header )?([A-Z][\w-]+) "([^"]+)"(?: always;)?$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

/** Answers 404 if `fileOf` throws. */
async function startHost(
  fileOf: (path: string) => Buffer | string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://host');
    const file = pathname === '/' ? 'index.html' : pathname.slice(1);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    try {
      const body = fileOf(file);
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream').end(body);
    } catch {
      response.writeHead(404).end();
    }
  }).listen(0, '127.0.0.1');
  await waitUntil('the host listens', () => server.listening);
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, server };
}

export function describeCheckoutOnAStaticHost(under: () => CheckoutUnderTest): void {
  describe('checkout on a static host', () => {
    let folder: string;
    let host: Awaited<ReturnType<typeof startHost>>;
    let blocks: Readonly<Record<WebServerName, string>>;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'opentill-page-'));
      const book = openGuideBook('checkout');
      const blockOf = (mark: string) => book.take(GUIDE, mark)[0];
      const [program = '', ...words] = blockOf('page-export').split(' ');
      const args = words.map((word) =>
        word === 'page' ? folder : word.replace('https://pay.example.com', under().gateway.gateway.apiUrl),
      );
      expect([program, args[0]]).toEqual(['node', 'services/checkout/dist/main.js']);
      await promisify(execFile)(process.execPath, args, { cwd: CHECKOUT });
      blocks = { nginx: blockOf('page-nginx'), caddy: blockOf('page-caddy') };
      expect(book.left()).toEqual([]);
      host = await startHost((file) => readFileSync(join(folder, file)), headersOf(blocks.nginx));
    });
    afterAll(() => {
      host.server.closeAllConnections();
      host.server.close();
      rmSync(folder, { recursive: true });
    });
    const at = ({ paymentUrl }: OrderAnswer, more = '') =>
      `${host.url}/${new URL(paymentUrl!).search}${more}`;

    it("follows an order by the public API, in the browser's language", async () => {
      const { ETH_SEPOLIA: eth } = under().gateway.chains;
      const collection = await under().order('ETH_SEPOLIA');
      const asked = new Set<string>();
      const view = await under().browser.open(at(collection), {
        context: { locale: 'fa-IR' },
        prepare: async (page) =>
          void page.on('request', (request) => asked.add(new URL(request.url()).origin)),
      });
      await untilState(view.page, 'waiting');
      expect(await view.page.locator('html').getAttribute('dir')).toBe('rtl');
      expect(await view.page.locator('code.address').textContent()).toBe(collection.address);
      await examine(view, 'static');
      await eth.pay({ to: collection.address, amount: '100' });
      await untilState(view.page, 'paid');
      await view.keepPicture('checkout-static-paid');
      expect(view.complaints).toEqual([]);
      expect(asked).toEqual(new Set([host.url, new URL(under().gateway.gateway.apiUrl).origin]));
      await view.page.close();
    });

    it.for(['nginx', 'caddy'] as const)(
      "is served by %s with the guide's configuration",
      async (name, { skip }) => {
        const [root, block] = [await findWebServer(name), blocks[name]];
        expect(Object.keys(headersOf(block)).toSorted()).toEqual(HEADERS);
        expect(headersOf(block)).toEqual(headersOf(blocks.nginx));
        if (root === undefined) return skip(`no ${name}`);
        const port = await findFreePort();
        const files = mkdtempSync(join(tmpdir(), 'opentill-host-'));
        const here = block.replace('/srv/page', folder);
        expect(here).not.toBe(block);
        const options = { folder: files, port };
        const server = await (name === 'nginx'
          ? startNginx(root, { ...options, configuration: `server { listen 127.0.0.1:${port};\n${here}\n}` })
          : startCaddy(root, { ...options, configuration: `http://localhost:${port} {\n${here}\n}` }));
        try {
          const origin = `http://localhost:${port}`;
          const assets = readdirSync(join(folder, 'assets')).map((asset) => `assets/${asset}`);
          for (const path of ['', ...assets, 'nothing']) {
            const { status, headers } = await fetch(`${origin}/${path}`);
            const sent = Object.fromEntries(HEADERS.map((header) => [header, headers.get(header)]));
            expect({ path, status, sent }).toEqual({
              path,
              status: path === 'nothing' ? 404 : 200,
              sent: headersOf(block),
            });
          }
          const { ETH_SEPOLIA: eth } = under().gateway.chains;
          const collection = await under().order('ETH_SEPOLIA');
          const query = new URL(collection.paymentUrl!).search;
          const view = await under().browser.open(`${origin}/${query}`);
          await untilState(view.page, 'waiting');
          await eth.pay({ to: collection.address, amount: '100' });
          await untilState(view.page, 'paid');
          expect(view.complaints).toEqual([]);
          await view.page.close();
        } finally {
          await server.stop();
          rmSync(files, { recursive: true });
        }
      },
    );

    it('is paid by a browser wallet', async () => {
      const { ETH_SEPOLIA: eth } = under().gateway.chains;
      const view = await under().browser.open(at(await under().order('ETH_SEPOLIA')), {
        prepare: async (page) =>
          void (await injectWallet(page, [{ chainId: '0xaa36a7', rpcUrl: eth.rpcUrl }])),
      });
      await view.page.getByRole('button', { name: 'Pay with Test Wallet' }).click();
      await untilState(view.page, 'paid');
      expect(view.complaints).toEqual([]);
      await view.page.close();
    });

    it('explains an invalid link and an unknown order', async () => {
      const collection = await under().order('ETH_SEPOLIA');
      const sign = signOrderId(under().gateway.merchantToken, 'nobody');
      for (const [url, heading] of [
        [at(collection).replace(/sign=..../, 'sign=beef'), 'Link not valid'],
        [`${host.url}/?orderId=nobody&sign=${sign}`, 'Order not found'],
      ] as const) {
        const view = await under().browser.open(url);
        await view.page.locator('h1', { hasText: heading }).waitFor();
        await view.page.close();
      }
    });

    it("cannot be framed by another page with the guide's headers", async () => {
      const collection = await under().order('ETH_SEPOLIA');
      for (const url of [at(collection), collection.paymentUrl!]) {
        const frame = `<!doctype html><title>A frame</title><iframe src="${url}"></iframe>`;
        const other = await startHost(() => frame, {});
        const view = await under().browser.open(other.url);
        const complaints = () => view.complaints.join('\n');
        await waitUntil('the frame is rejected', () => complaints().includes('frame-ancestors'));
        expect(await view.page.frameLocator('iframe').locator('main').count()).toBe(0);
        await view.page.close();
        other.server.closeAllConnections();
        other.server.close();
      }
    });

    it('shows name, logo and colours of a theme with readable texts', async () => {
      const [themeFile, out] = [join(folder, 'theme.json'), join(folder, 'themed')];
      writeFileSync(join(folder, 'logo.svg'), LOGO);
      const theme = { name: 'Kiosk am Eck', logo: 'logo.svg', accent: '#ffd400', accentDark: '#7a1fa2' };
      writeFileSync(themeFile, JSON.stringify(theme));
      const main = 'services/checkout/dist/main.js';
      const args = [main, '--api', under().gateway.gateway.apiUrl, '--out', out, '--theme', themeFile];
      await promisify(execFile)(process.execPath, args, { cwd: CHECKOUT });
      const themed = await startHost((file) => readFileSync(join(out, file)), {});
      // The merchant's own name, logo and colour come before the theme's.
      const plain = ['--name', 'default', '--logo', 'none', '--accent-color', 'none'];
      const set = await runOpentill(under().gateway.gateway, ['merchant', 'set', 'default', ...plain]);
      expect(set).toMatchObject({ code: 0, errors: '' });
      const { paymentUrl } = await under().order('ETH_SEPOLIA');
      const view = await under().browser.open(`${themed.url}/${new URL(paymentUrl!).search}`);
      await untilState(view.page, 'waiting');
      expect(await view.page.innerText('.brand')).toBe('Kiosk am Eck');
      expect(await view.page.evaluate<number>(`document.querySelector('.brand img').naturalWidth`)).toBe(32);
      await examine(view, 'theme');
      await view.page.close();
      themed.server.closeAllConnections();
      themed.server.close();
    });

    describe('checkout of a Sui order', () => {
      let devnet: SuiDevnet;
      beforeAll(async () => {
        devnet = await startSuiDevnet({ checkpointMs: 250 });
      });
      afterAll(async () => {
        await devnet.close();
      });

      /** Opens an order whose API answers are changed to an order on Sui. `null` is native SUI. */
      async function openOnSui(contractAddress: string | null) {
        const address = new Ed25519Keypair().toSuiAddress();
        const sui = {
          chain: 'SUI_TEST',
          address,
          contractAddress,
          decimals: contractAddress === null ? 9 : 6,
          chainId: undefined, // the changed order is on an EVM chain
        };
        const collection = await under().order('ETH_SEPOLIA', { amount: '12.345678' });
        let wallet: InjectedSuiWallet | undefined;
        const view = await under().browser.open(at(collection), {
          async prepare(page) {
            await page.route('**/v1/order/events*', async (route) => route.abort());
            await page.route('**/v1/order/{pay,getOrderStatus}*', async (route) => {
              const answer = await route.fetch();
              const { data, ...rest } = (await answer.json()) as { data: object };
              await route.fulfill({ response: answer, json: { ...rest, data: { ...data, ...sui } } });
            });
            const { secretKey } = devnet.accounts[0]!;
            wallet = await injectSuiWallet(page, { nodeUrl: devnet.url, secretKey });
          },
        });
        await untilState(view.page, 'waiting');
        const button = view.page.getByRole('button', { name: 'Pay with Test Sui Wallet' });
        const balance = async () => {
          const client = new SuiGrpcClient({ network: 'localnet', baseUrl: devnet.url });
          const coinType = contractAddress ?? '0x2::sui::SUI';
          return (await client.getBalance({ owner: address, coinType })).balance.balance;
        };
        return { view, wallet: wallet!, button, balance };
      }

      it('is paid with the exact token amount by a Wallet Standard wallet', async () => {
        const { view, wallet, button, balance } = await openOnSui(devnet.tokens.USDC);
        expect(await view.page.locator('.code').count()).toBe(1);
        await examine({ ...view, complaints: [] }, 'sui');
        await button.click();
        await view.page
          .locator('[role=status]', { hasText: 'Please do not pay a second time' })
          .first()
          .waitFor();
        await examine({ ...view, complaints: [] }, 'sui-sent');
        await waitUntil('a checkpoint has it', async () => (await balance()) === '12345678');
        expect(wallet.calls).toEqual(['connect', 'execute sui:testnet']);
        await view.page.close();
      });

      it('is paid in native SUI', async () => {
        const { view, button, balance } = await openOnSui(null);
        await button.click();
        await view.page
          .locator('[role=status]', { hasText: 'Please do not pay a second time' })
          .first()
          .waitFor();
        await waitUntil('a checkpoint has it', async () => (await balance()) === '12345678000');
        await view.page.close();
      });

      it('shows that no payment was sent when the payer rejects it', async () => {
        const { view, wallet, button, balance } = await openOnSui(devnet.tokens.USDC);
        wallet.refuse();
        await button.click();
        await view.page.locator('.notice', { hasText: 'Nothing was sent' }).waitFor();
        expect(await button.isEnabled()).toBe(true);
        expect(await balance()).toBe('0');
        await view.page.close();
      });
    });
  });
}
