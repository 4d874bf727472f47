import { familyOf } from '@opentill/domain/chains';
import type { Say } from '../../texts/create-say.ts';
import { chainIdOf, type CheckoutOrder } from '../../view/checkout-order.ts';
import { WALLET_CONNECT } from '../../view/page-context.ts';
import { qrCode } from '../../view/qr-code.ts';
import type { WalletConnectSettings } from '../../view/render-document.ts';
import { payWithEvmWallet } from './evm.ts';
import type { RemoteWallet } from './wallet.ts';

const NAME = 'WalletConnect';

/** EVM only: for TRON and SUI, the page has no node that could build the transaction. */
export function walletConnectOn(
  chain: CheckoutOrder['chain'],
  settings: WalletConnectSettings | undefined,
  say: Say,
): readonly RemoteWallet[] {
  if (settings === undefined || familyOf(chain) !== 'EVM') return [];
  return [{ id: WALLET_CONNECT, name: NAME, icon: null, connect: async (order) => connect(order) }];

  async function connect(order: CheckoutOrder): ReturnType<RemoteWallet['connect']> {
    const chainId = chainIdOf(order);
    if (settings === undefined || chainId === null) return { outcome: 'UNABLE' };
    try {
      // Third-party code: the page loads it only here.
      const { connectByCode } = await import('../wallet-connect/connect-by-code.ts');
      const drawCode = (uri: string) => qrCode(uri, NAME, null).html;
      const found = await connectByCode({ ...settings, chainId }, { title: NAME, say, drawCode });
      if (found === null || 'outcome' in found) return found;
      const { name, disconnect } = found;
      return {
        id: WALLET_CONNECT,
        name: name ?? NAME,
        icon: null,
        async pay(due) {
          const secondsLeft = due.expiredTime - due.serverTime;
          return payWithEvmWallet(found.provider(secondsLeft), due);
        },
        disconnect,
      };
    } catch {
      return { outcome: 'NOT_READY' };
    }
  }
}
