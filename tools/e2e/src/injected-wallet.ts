import type { Page } from 'playwright-core';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { sendTransaction } from '@opentill/devnets/evm/transactions';
import { callRpc } from '@opentill/devnets/evm/json-rpc';

export interface InjectedWallet {
  readonly calls: readonly { readonly method: string; readonly params?: readonly unknown[] }[];
  refuse(): void;
  /** Later sends succeed but return an error. */
  failAfterSending(): void;
  /** Later calls get no answer until the returned function runs. */
  hold(): () => void;
}

interface Call {
  readonly method: string;
  readonly params?: readonly unknown[];
}

interface WalletChain {
  readonly chainId: string;
  readonly rpcUrl: string;
}

const ICON =
  'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"%3E%3Crect width="24" height="24" rx="6" fill="%235b5bd6"/%3E%3C/svg%3E';

/** Script that an extension adds to a page: a provider that forwards calls to the extension. */
const IN_THE_PAGE = `{
  const provider = {
    async request(call) {
      const { result, error } = await askTestWallet(call);
      if (error !== undefined) throw Object.assign(new Error('refused'), error);
      return result;
    },
  };
  const info = {
    uuid: 'c7b6a0f2-0000-4000-8000-000000000000',
    name: 'Test Wallet',
    icon: '${ICON}',
    rdns: 'example.test-wallet',
  };
  const detail = Object.freeze({ info, provider });
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
  addEventListener('eip6963:requestProvider', announce);
  announce();
}`;

/**
 * Adds a wallet to a page before it loads, like an extension: announced by EIP-6963, on the first of `chains` until
 * the page switches it. It signs with the key of a devnet account, outside the page.
 */
export async function injectWallet(
  page: Page,
  chains: readonly WalletChain[],
  account = 4,
): Promise<InjectedWallet> {
  const { address, privateKey } = devAccount(account);
  const calls: Call[] = [];
  let [current] = chains;
  let refuses = false;
  let fails = false;
  let held: Promise<void> = Promise.resolve();

  async function answer({ method, params = [] }: Call): Promise<unknown> {
    calls.push({ method, params });
    await held;
    if (refuses) return { error: { code: 4001, message: 'User rejected the request.' } };
    switch (method) {
      case 'eth_requestAccounts':
        return { result: [address] };
      case 'eth_chainId':
        return { result: current?.chainId };
      case 'wallet_switchEthereumChain': {
        const [{ chainId }] = params as [{ chainId: string }];
        const wanted = chains.find((chain) => chain.chainId === chainId);
        if (wanted === undefined) return { error: { code: 4902, message: 'Unrecognized chain ID.' } };
        current = wanted;
        return { result: null };
      }
      case 'eth_sendTransaction': {
        const [{ to, data, from, chainId }] = params as [Record<string, string>];
        if (
          from?.toLowerCase() !== address.toLowerCase() ||
          chainId !== current?.chainId ||
          to === undefined
        ) {
          return { error: { code: -32_602, message: 'Invalid parameters.' } };
        }
        const rpcUrl = current?.rpcUrl ?? '';
        const hash = await sendTransaction({ rpcUrl, fromKey: privateKey, to, ...(data && { data }) });
        return fails
          ? { error: { code: -32_603, message: 'rejected: no answer in time' } }
          : { result: hash };
      }
      case 'eth_getTransactionReceipt':
        return { result: await callRpc(current?.rpcUrl ?? '', method, [...params]) };
      default:
        return { error: { code: 4200, message: `${method} is not supported.` } };
    }
  }

  await page.exposeFunction('askTestWallet', answer);
  await page.addInitScript({ content: IN_THE_PAGE });
  return {
    calls,
    refuse: () => void (refuses = true),
    failAfterSending: () => void (fails = true),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
  };
}
