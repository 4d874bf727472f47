import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readPassphraseFile } from '@opentill/wallet/read-passphrase-file';
import type { EnergySeller } from './energy-seller.ts';
import { createTronsaveSeller } from './tronsave-seller.ts';

export type SellerConfigErrorCode = 'ENERGY_SELLER_INCOMPLETE';

/** @throws GatewayError FILE_UNREADABLE, FILE_TOO_OPEN, ENERGY_SELLER_INCOMPLETE */
export async function openSellers(
  config: { readonly energySellerUrl: string | undefined; readonly energySellerKeyFile: string | undefined },
  networks: readonly Pick<NetworkConfig, 'chain' | 'family'>[],
): Promise<ReadonlyMap<Chain, EnergySeller>> {
  const { energySellerUrl: url, energySellerKeyFile: keyFile } = config;
  if (url === undefined && keyFile === undefined) return new Map();
  if (url === undefined || keyFile === undefined)
    throw new GatewayError<SellerConfigErrorCode>(
      'ENERGY_SELLER_INCOMPLETE',
      'only one of ENERGY_SELLER_URL and ENERGY_SELLER_KEY_FILE is set: set both or neither',
      { retryable: false },
    );
  const seller = createTronsaveSeller({ url, apiKey: await readPassphraseFile(keyFile) });
  return new Map(networks.flatMap(({ chain, family }) => (family === 'TRON' ? [[chain, seller]] : [])));
}
