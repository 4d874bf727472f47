import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import { parseAmount } from '@opentill/domain/money';

/** A token as its network has it. */
export interface TokenUnderTest {
  readonly contract: string;
  readonly decimals: number;
}

/** The tokens of a network by their symbols. Both functions throw for one that it has not, and `baseUnits` for what is no amount. */
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
