import type { Address } from '@opentill/chain/address-codec';
import type { TransactionContext } from '@opentill/contracts/format-order';
import type { NetworkConfig, TokenConfig } from '@opentill/contracts/network-config';
import { familyOf, type Chain, type Family } from '@opentill/domain/chains';

export interface ChainDisplay extends Omit<TransactionContext, 'headHeight'> {
  readonly tokenOf: (symbol: string) => Pick<TokenConfig, 'decimals' | 'displayDecimals'> | undefined;
}

type Format = (address: string) => string;

const asStored: Format = (address) => address;

/** About 3 MB. */
const FORMS_KEPT = 10_000;

/** Each callback of an order shows the same addresses, and an EIP-55 checksum needs a hash. */
export function rememberForms(format: Format, limit: number): Format {
  const forms = new Map<string, string>();
  return (address) => {
    const known = forms.get(address);
    if (known !== undefined) return known;
    const form = format(address);
    for (const oldest of forms.keys()) {
      if (forms.size < limit) break;
      forms.delete(oldest);
    }
    forms.set(address, form);
    return form;
  };
}

/** The canonical forms of TRON and SUI are also their displayed forms. */
const FORMATS: { readonly [F in Family]: () => Promise<Format> } = {
  EVM: async () => {
    const { evmAddressCodec } = await import('@opentill/chain-evm/address');
    return rememberForms((address) => evmAddressCodec.format(address as Address), FORMS_KEPT);
  },
  TRON: () => Promise.resolve(asStored),
  SUI: () => Promise.resolve(asStored),
};

/**
 * Loads formatters of configured families only. An unconfigured chain shows addresses as stored and fees in base units.
 */
export async function loadDisplayForms(
  networks: readonly NetworkConfig[],
): Promise<(chain: Chain) => ChainDisplay> {
  const formats = new Map<Family, Format>();
  for (const family of new Set(networks.map((network) => network.family))) {
    formats.set(family, await FORMATS[family]());
  }
  const byChain = new Map(networks.map((network) => [network.chain, network]));
  return (chain) => {
    const format = formats.get(familyOf(chain)) ?? asStored;
    return {
      nativeDecimals: byChain.get(chain)?.nativeDecimals ?? 0,
      tokenOf: (symbol) => byChain.get(chain)?.tokens.find((token) => token.symbol === symbol),
      formatAddress: format,
      formatContract: format,
    };
  };
}
