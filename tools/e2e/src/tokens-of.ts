import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import { parseAmount } from '@opentill/domain/money';

export interface TokenUnderTest {
  readonly contract: string;
  readonly decimals: number;
}

/** Both functions throw for an unknown symbol, and `baseUnits` for an invalid amount. */
export function tokensOf(network: NetworkConfig): {
  tokenOf(symbol: string): TokenUnderTest;
  baseUnits(symbol: string, amount: string): bigint;
} {
  const tokenOf = (symbol: string): TokenUnderTest => {
    const token = findToken(network, symbol);
    if (token === undefined || token.contract === null)
      throw new Error(`no token ${symbol} on ${network.chain}`);
    return { contract: token.contract, decimals: token.decimals };
  };
  return {
    tokenOf,
    baseUnits(symbol, amount) {
      const parsed = parseAmount(amount, tokenOf(symbol).decimals);
      if (!parsed.ok) throw new Error(`${amount} is not an amount of ${symbol}: ${parsed.problem}`);
      return parsed.value;
    },
  };
}
