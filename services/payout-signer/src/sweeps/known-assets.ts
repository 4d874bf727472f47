import type { AddressCodec } from '@opentill/chain/address-codec';
import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract } from '@opentill/chain/transfer';
import { findToken } from '@opentill/contracts/network-config';
import type { NetworkConfig, TokenConfig } from '@opentill/contracts/network-config';

export interface KnownAsset {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly decimals: number;
  readonly displayDecimals: number;
}

export function nativeOf({ nativeSymbol, nativeDecimals }: NetworkConfig): KnownAsset {
  return {
    symbol: nativeSymbol,
    contract: null,
    decimals: nativeDecimals,
    displayDecimals: Math.min(nativeDecimals, NATIVE_SHOWN_DECIMALS),
  };
}

const NATIVE_SHOWN_DECIMALS = 6;

export function assetsOf({ tokens }: NetworkConfig, codec: AddressCodec): readonly KnownAsset[] {
  return tokens.flatMap((token) => knownAs(token, codec) ?? []);
}

export function findAsset(
  network: NetworkConfig,
  codec: AddressCodec,
  symbol: string,
): KnownAsset | undefined {
  const token = findToken(network, symbol);
  return token && knownAs(token, codec);
}

function knownAs(
  { symbol, contract, decimals, displayDecimals }: TokenConfig,
  codec: AddressCodec,
): KnownAsset | undefined {
  const canonical = contract === null ? null : contractIn(codec, contract);
  return canonical === undefined ? undefined : { symbol, contract: canonical, decimals, displayDecimals };
}
