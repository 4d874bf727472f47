import type { AddressCodec } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { NetworkConfig } from '@opentill/contracts/network-config';

/** An asset of the chain as the network file has it. */
export interface KnownAsset {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly decimals: number;
  readonly displayDecimals: number;
}

/** The coin that fees are paid in. */
export function nativeOf({ nativeSymbol, nativeDecimals }: NetworkConfig): KnownAsset {
  return {
    symbol: nativeSymbol,
    contract: null,
    decimals: nativeDecimals,
    displayDecimals: Math.min(nativeDecimals, NATIVE_SHOWN_DECIMALS),
  };
}

const NATIVE_SHOWN_DECIMALS = 6;

/** The tokens of a network, with contracts in canonical form. */
export function assetsOf({ tokens }: NetworkConfig, codec: AddressCodec): readonly KnownAsset[] {
  return tokens.flatMap(({ symbol, contract, decimals, displayDecimals }) => {
    const canonical = contract === null ? null : codec.parse(contract);
    return canonical === undefined
      ? []
      : [{ symbol, contract: canonical as TokenContract | null, decimals, displayDecimals }];
  });
}
