import { familyOf } from '@opentill/domain/chains';
import type { CheckoutOrder } from './checkout-order.ts';

/** Opens the page in a wallet app's own browser, where the wallet's button is available. */
export interface WalletApp {
  readonly name: string;
  readonly url: string;
}

/**
 * EVM apps open the payment URI itself. TronLink's link contacts no server (docs.tronlink.org, DeepLink, "Open DApp").
 * The links of Sui apps go through their makers' servers, which must not learn of orders.
 */
export function walletApp({ chain }: Pick<CheckoutOrder, 'chain'>, pageUrl: string): WalletApp | null {
  if (familyOf(chain) !== 'TRON') return null;
  const open = { url: pageUrl, action: 'open', protocol: 'TronLink', version: '1.0' };
  const param = encodeURIComponent(JSON.stringify(open));
  return { name: 'TronLink', url: `tronlinkoutside://pull.activity?param=${param}` };
}
