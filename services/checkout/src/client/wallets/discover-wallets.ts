import { familyOf } from '@opentill/domain/chains';
import type { CheckoutOrder } from '../../view/checkout-order.ts';
import { hasFailedOnEvm, payWithEvmWallet, type EvmProvider } from './evm.ts';
import { canPaySui, payWithSuiWallet, type SuiWallet } from './sui.ts';
import {
  hasFailedOnTron,
  payWithTronWallet,
  REQUEST_ACCOUNTS,
  REQUEST_ACCOUNTS_BEFORE,
  type TronWallet,
} from './tron.ts';
import { ownIcon, type PayingWallet } from './wallet.ts';

export interface WalletScope {
  addEventListener(name: string, listener: (event: Event) => void): void;
  dispatchEvent(event: Event): boolean;
  readonly tron?: TronWallet & { readonly isTronLink?: unknown };
  readonly tronLink?: TronWallet;
}

const WALLETS_MAX = 12;
const TRONLINK = 'TronLink';

/** Reports wallets that can pay on the order's chain, now and when they announce themselves later. */
export function discoverWallets(
  scope: WalletScope,
  order: Pick<CheckoutOrder, 'chain'>,
  onFound: (wallets: readonly PayingWallet[]) => void,
): void {
  const found = new Map<string, PayingWallet>();
  const add = (wallet: PayingWallet): void => {
    if (found.has(wallet.id) || found.size >= WALLETS_MAX) return;
    found.set(wallet.id, wallet);
    onFound([...found.values()]);
  };
  switch (familyOf(order.chain)) {
    case 'EVM':
      return discoverEvm(scope, add);
    case 'TRON':
      return discoverTron(scope, add);
    case 'SUI':
      return discoverSui(scope, order, add);
  }
}

interface Announcement<Provider> {
  readonly info: {
    readonly uuid: string;
    readonly name: string;
    readonly icon: string;
    readonly rdns: string;
  };
  readonly provider: Provider;
}

/** EIP-6963, and TIP-6963 for TRON: wallets announce themselves on request, and when they load later. */
function listenForAnnouncements<Provider extends { readonly request: unknown }>(
  scope: WalletScope,
  standard: 'eip6963' | 'TIP6963',
  onAnnounced: (wallet: Pick<PayingWallet, 'id' | 'name' | 'icon'>, provider: Provider) => void,
): void {
  scope.addEventListener(`${standard}:announceProvider`, (event) => {
    const { info, provider } = (event as CustomEvent<Announcement<Provider> | undefined>).detail ?? {};
    if (typeof info?.name !== 'string' || typeof provider?.request !== 'function') return;
    const wallet = { id: `${standard}:${info.rdns ?? info.uuid}`, name: info.name, icon: ownIcon(info.icon) };
    onAnnounced(wallet, provider);
  });
  scope.dispatchEvent(new Event(`${standard}:requestProvider`));
}

function discoverEvm(scope: WalletScope, add: (wallet: PayingWallet) => void): void {
  listenForAnnouncements<EvmProvider>(scope, 'eip6963', (wallet, provider) =>
    add({
      ...wallet,
      pay: async (order) => payWithEvmWallet(provider, order),
      hasFailed: async (transaction) => hasFailedOnEvm(provider, transaction),
    }),
  );
}

/** TronLink announces itself and also adds itself to the window, maybe late. It gets one button. */
function discoverTron(scope: WalletScope, add: (wallet: PayingWallet) => void): void {
  const known = new Set<unknown>();
  const offer = (
    wallet: Pick<PayingWallet, 'id' | 'name' | 'icon'>,
    provider: TronWallet,
    requestAccounts: typeof REQUEST_ACCOUNTS | typeof REQUEST_ACCOUNTS_BEFORE,
  ): void => {
    if (known.has(provider)) return;
    known.add(provider);
    add({
      ...wallet,
      pay: async (order) => payWithTronWallet(provider, requestAccounts, order),
      hasFailed: async (transaction) => hasFailedOnTron(provider, transaction),
    });
  };
  const findInWindow = (): void => {
    const { tron, tronLink } = scope;
    const wallet = { id: 'tron:tronlink', name: TRONLINK, icon: null };
    if (hasTronLink) return;
    if (tron?.isTronLink === true) offer(wallet, tron, REQUEST_ACCOUNTS);
    else if (typeof tronLink?.request === 'function') offer(wallet, tronLink, REQUEST_ACCOUNTS_BEFORE);
  };
  let hasTronLink = false;
  listenForAnnouncements<TronWallet>(scope, 'TIP6963', (wallet, provider) => {
    if (wallet.name === TRONLINK) hasTronLink = true;
    offer(wallet.name === TRONLINK ? { ...wallet, id: 'tron:tronlink' } : wallet, provider, REQUEST_ACCOUNTS);
  });
  scope.addEventListener('tronLink#initialized', findInWindow);
  findInWindow();
}

/** Handshake of the Wallet Standard: page or wallet may load first. */
function discoverSui(
  scope: WalletScope,
  order: Pick<CheckoutOrder, 'chain'>,
  add: (wallet: PayingWallet) => void,
): void {
  const register = (...wallets: readonly SuiWallet[]): (() => void) => {
    for (const wallet of wallets) {
      if (!canPaySui(wallet, order)) continue;
      add({
        id: `sui:${wallet.name}`,
        name: wallet.name,
        icon: ownIcon(wallet.icon),
        pay: async (due) => payWithSuiWallet(wallet, due),
      });
    }
    return () => undefined;
  };
  scope.addEventListener('wallet-standard:register-wallet', (event) => {
    const { detail } = event as CustomEvent<((api: { register: typeof register }) => void) | undefined>;
    if (typeof detail === 'function') detail({ register });
  });
  scope.dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: { register } }));
}
