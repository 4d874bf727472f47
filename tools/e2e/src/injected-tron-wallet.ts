import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { TronWeb } from 'tronweb';

export interface InjectedTronWallet {
  readonly address: string;
  readonly calls: readonly string[];
  refuse(): void;
}

interface TronWalletOptions {
  /** Replaces the public node of the test network. */
  readonly nodeUrl: string;
  readonly privateKey: string;
  /** `before`: an old version without TIP-1193 and TIP-6963. */
  readonly generation?: 'today' | 'before';
}

/** TronLink's node on the Nile test network. */
const PUBLIC_NODE = 'https://nile.trongrid.io';
/** The browser bundle, which the package does not export. */
const TRONWEB = join(dirname(createRequire(import.meta.url).resolve('tronweb')), '../../dist/TronWeb.js');

/** Script that the extension adds to a page (docs.tronlink.org, TIP-1193, TIP-6963). It signs outside the page. */
const inThePage = (generation: 'today' | 'before'): string => `{
  const tronWeb = new globalThis.TronWeb.TronWeb({ fullHost: '${PUBLIC_NODE}' });
  delete globalThis.TronWeb;
  let connected = false;
  const connect = async () => {
    const address = await askTestTronLink('connect');
    tronWeb.setAddress(address);
    connected = true;
    return address;
  };
  tronWeb.trx.sign = async (transaction) => {
    const { signed, error } = await askTestTronLink('sign', transaction);
    if (error !== undefined) throw error; // a string, as in TronLink
    return signed;
  };
  globalThis.tronLink = {
    ready: true,
    get tronWeb() { return connected ? tronWeb : false; },
    async request({ method }) {
      if (method !== 'tron_requestAccounts') throw Object.assign(new Error(method), { code: 4200 });
      await connect();
      return { code: 200, message: 'User allowed the request.' };
    },
  };
  if (${String(generation === 'today')}) {
    const provider = {
      isTronLink: true,
      get tronWeb() { return connected ? tronWeb : false; },
      on() { return provider; },
      removeListener() { return provider; },
      async request({ method }) {
        if (method !== 'eth_requestAccounts') throw Object.assign(new Error(method), { code: 4200 });
        return [await connect()];
      },
    };
    globalThis.tron = provider;
    const info = { uuid: 'c7b6a0f2-0000-4000-8000-000000000001', name: 'TronLink', icon: 'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg"/%3E', rdns: 'com.tronlink.wallet' };
    const announce = () => dispatchEvent(new CustomEvent('TIP6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
    addEventListener('TIP6963:requestProvider', announce);
    announce();
  }
  dispatchEvent(new Event('tronLink#initialized'));
}`;

/**
 * Adds TronLink to a page before it loads. Its unmodified library runs in the page and calls a public node, which the
 * page's Content-Security-Policy must allow; the devnet answers.
 */
export async function injectTronWallet(
  page: Page,
  { nodeUrl, privateKey, generation = 'today' }: TronWalletOptions,
): Promise<InjectedTronWallet> {
  const signer = new TronWeb({ fullHost: nodeUrl, privateKey });
  const address = String(signer.defaultAddress.base58);
  const calls: string[] = [];
  let refuses = false;

  async function answer(what: 'connect' | 'sign', transaction?: unknown): Promise<unknown> {
    calls.push(what);
    if (what === 'connect') return address;
    if (refuses) return { error: 'Confirmation declined by user' };
    return { signed: await signer.trx.sign(transaction as Parameters<typeof signer.trx.sign>[0]) };
  }

  await page.exposeFunction('askTestTronLink', answer);
  await page.route(`${PUBLIC_NODE}/**`, async (route) => answerAsNode(route, nodeUrl));
  await page.addInitScript({ content: `${readFileSync(TRONWEB, 'utf8')}\n${inThePage(generation)}` });
  return { address, calls, refuse: () => void (refuses = true) };
}

/** Adds CORS headers like the public nodes. */
async function answerAsNode(route: Route, nodeUrl: string): Promise<void> {
  const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
  if (route.request().method() === 'OPTIONS') return route.fulfill({ status: 204, headers });
  const { pathname, search } = new URL(route.request().url());
  const response = await route.fetch({ url: `${nodeUrl}${pathname}${search}` });
  await route.fulfill({ response, headers: { ...response.headers(), ...headers } });
}
