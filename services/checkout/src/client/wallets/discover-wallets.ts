import { familyOf } from '@opentill/domain/chains';
import type { CheckoutOrder } from '../../view/checkout-order.ts';
import { payWithEvmWallet, type EvmProvider } from './evm.ts';
import { canPaySui, payWithSuiWallet, type SuiWallet } from './sui.ts';
import { payWithTronLink, type TronLink } from './tron.ts';
import { ownIcon, type PayingWallet } from './wallet.ts';

/** What of a window is used. */
export interface WalletScope {
  addEventListener(name: string, listener: (event: Event) => void): void;
  dispatchEvent(event: Event): boolean;
  readonly tronLink?: TronLink;
}

/** A page full of wallets is nobody's; whoever announces more is left out. */
const WALLETS_MAX = 12;

/** Finds the wallets in this browser that can pay on the order's chain, now and whenever one more announces itself. */
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

interface Announcement {
  readonly info: {
    readonly uuid: string;
    readonly name: string;
    readonly icon: string;
    readonly rdns: string;
  };
  readonly provider: EvmProvider;
}

/** EIP-6963: wallets announce themselves when asked, and when they come later. */
function discoverEvm(scope: WalletScope, add: (wallet: PayingWallet) => void): void {
  scope.addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = (event as CustomEvent<Announcement | undefined>).detail ?? {};
    if (typeof info?.name !== 'string' || typeof provider?.request !== 'function') return;
    add({
      id: `evm:${info.rdns ?? info.uuid}`,
      name: info.name,
      icon: ownIcon(info.icon),
      pay: async (order) => payWithEvmWallet(provider, order),
    });
  });
  scope.dispatchEvent(new Event('eip6963:requestProvider'));
}

/** TronLink puts itself into the window, sometimes later than the page. */
function discoverTron(scope: WalletScope, add: (wallet: PayingWallet) => void): void {
  const look = (): void => {
    const wallet = scope.tronLink;
    if (typeof wallet?.request !== 'function') return;
    add({
      id: 'tron:tronlink',
      name: 'TronLink',
      icon: null,
      pay: async (order) => payWithTronLink(wallet, order),
    });
  };
  scope.addEventListener('tronLink#initialized', look);
  look();
}

/** The Wallet Standard's handshake: either side may be there first. */
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
