import { familyOf } from '@opentill/domain/chains';
import type { CheckoutOrder } from './checkout-order.ts';

/** The app of a wallet, by the link that opens a page in its own browser: there its button is on the page. */
export interface WalletApp {
  readonly name: string;
  readonly url: string;
}

/**
 * What a phone has in place of an injected wallet. EVM apps are reached by the payment URI itself. TronLink opens a page
 * (docs.tronlink.org, DeepLink, "Open DApp"); its link leaves the phone to nobody. Sui's apps are reached by way of servers of
 * their makers, which are told of no order.
 */
export function walletApp({ chain }: Pick<CheckoutOrder, 'chain'>, pageUrl: string): WalletApp | null {
  if (familyOf(chain) !== 'TRON') return null;
  const open = { url: pageUrl, action: 'open', protocol: 'TronLink', version: '1.0' };
  const param = encodeURIComponent(JSON.stringify(open));
  return { name: 'TronLink', url: `tronlinkoutside://pull.activity?param=${param}` };
}
