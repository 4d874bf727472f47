import type { NetworkConfig } from '@opentill/contracts/network-config';
import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { networkKindOf } from '@opentill/contracts/network-kind';
import type { Merchant } from '../merchant-book.ts';

/** Values that the documents page fills in, so that its commands work as they are. */
export interface DocsFacts {
  /** Base URL of the API; undefined when the page does not know it. */
  readonly gatewayUrl: string | undefined;
  /** A token that this gateway accepts. */
  readonly asset: { readonly chain: string; readonly symbol: string };
  /** Only in the local profile. */
  readonly local: LocalFacts | undefined;
  /** Address of this page that has `local` filled in; undefined where none has. */
  readonly openAt?: string | undefined;
}

export interface LocalFacts {
  /** Token of the merchant `default`; undefined while there is none. */
  readonly token: string | undefined;
  /** Address of the demo shop; undefined when the merchant has none. */
  readonly shopUrl: string | undefined;
}

const CHECKOUT_PATH = '/checkout';

/** The API and its checkout page have one base URL, unless the page is on another host. */
export function gatewayUrlOf(checkoutBaseUrl: string): string | undefined {
  const url = checkoutBaseUrl.replace(/\/$/, '');
  return url.endsWith(CHECKOUT_PATH) ? url.slice(0, -CHECKOUT_PATH.length) : undefined;
}

/** Part of the merchant book. */
interface DocumentedMerchants {
  candidates(merchantId: string): readonly Pick<Merchant, 'merchantId' | 'token' | 'returnOrigins'>[];
}

const ASSET = { chain: 'ETH_SEPOLIA', symbol: 'USDT' };

/**
 * Facts of a running gateway. `local` reads the merchant when the page is asked for. It is undefined except in the
 * local profile with test networks only, because it holds a token.
 */
export function docsFactsOf(source: {
  readonly checkoutBaseUrl: string;
  readonly profile: 'production' | 'local';
  readonly networks: readonly (Pick<NetworkConfig, 'chain' | 'enabled'> & {
    readonly tokens: readonly { readonly symbol: string }[];
  })[];
  readonly merchants: DocumentedMerchants;
}): Pick<DocsFacts, 'gatewayUrl' | 'asset'> & { readonly local: (() => LocalFacts) | undefined } {
  const { networks, merchants } = source;
  const network = networks.find(({ enabled, tokens }) => enabled && tokens.length > 0);
  const symbol = network?.tokens[0]?.symbol;
  const isLocal = source.profile === 'local' && networkKindOf(networks) === 'test';
  return {
    gatewayUrl: gatewayUrlOf(source.checkoutBaseUrl),
    asset: network === undefined || symbol === undefined ? ASSET : { chain: network.chain, symbol },
    local: isLocal ? () => localFactsOf(merchants) : undefined,
  };
}

/** An unknown merchant has an empty id. */
function localFactsOf(merchants: DocumentedMerchants): LocalFacts {
  const merchant = merchants.candidates(SETTINGS_MERCHANT_ID)[0];
  if (merchant?.merchantId !== SETTINGS_MERCHANT_ID) return { token: undefined, shopUrl: undefined };
  return { token: merchant.token, shopUrl: merchant.returnOrigins[0] };
}
