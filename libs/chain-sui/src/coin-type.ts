import type { TokenContract } from '@opentill/chain/transfer';

const COIN_TYPE = /^0x([0-9a-fA-F]{1,64})::([a-zA-Z_][a-zA-Z0-9_]*)::([a-zA-Z_][a-zA-Z0-9_]*)$/;

/** As a TokenContract it is null, the native coin. */
export const SUI_COIN_TYPE = `0x${'2'.padStart(64, '0')}::sui::SUI` as TokenContract;

/**
 * Canonical form: `0x` and all 64 lower-case hex digits of the package. Undefined for types with parameters, which no
 * stablecoin has. Compare the whole text: anyone can publish a module `usdc` with a struct `USDC`.
 */
export function parseCoinType(text: string): TokenContract | undefined {
  const [, digits, module, name] = COIN_TYPE.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return `0x${digits.toLowerCase().padStart(64, '0')}::${module}::${name}` as TokenContract;
}

const CANONICAL = /^0x[0-9a-f]{64}::/;

/** Accepts every form of a type. Types with parameters stay unchanged, since no configured coin has any. */
export function coinTypeOfNode(text: string): TokenContract | undefined {
  if (CANONICAL.test(text) || text.includes('<')) return text as TokenContract;
  return parseCoinType(text.startsWith('0x') ? text : `0x${text}`);
}

export function coinTypeOf(contract: TokenContract | null): TokenContract {
  return contract ?? SUI_COIN_TYPE;
}

export function contractOf(coinType: TokenContract): TokenContract | null {
  return coinType === SUI_COIN_TYPE ? null : coinType;
}
