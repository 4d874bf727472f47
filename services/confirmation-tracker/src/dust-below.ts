import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';
import { parseAmount } from '@opentill/domain/money';

/** `dustBelow` of a token in base units; 0 if it has none or is not configured. */
export function dustBelowOf(networks: readonly NetworkConfig[]): (chain: Chain, symbol: string) => bigint {
  const minimums = new Map<string, bigint>();
  for (const { chain, tokens } of networks) {
    for (const { symbol, decimals, dustBelow } of tokens) {
      const minimum = dustBelow === undefined ? undefined : parseAmount(dustBelow, decimals);
      if (minimum?.ok === true) minimums.set(`${chain} ${symbol}`, minimum.value);
    }
  }
  return (chain, symbol) => minimums.get(`${chain} ${symbol}`) ?? 0n;
}
