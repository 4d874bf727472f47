import type { TokenContract } from '@opentill/chain/transfer';

/** `<package>::<module>::<struct>`; a package may be written with leading zeros left out. */
const COIN_TYPE = /^0x([0-9a-fA-F]{1,64})::([a-zA-Z_][a-zA-Z0-9_]*)::([a-zA-Z_][a-zA-Z0-9_]*)$/;

/** SUI itself, in canonical form. In a TokenContract's place it is null: the native coin. */
export const SUI_COIN_TYPE = `0x${'2'.padStart(64, '0')}::sui::SUI` as TokenContract;

/**
 * A coin type in canonical form, as nodes write it: `0x` and all 64 lower-case hex digits of its package. Undefined for what is
 * no type, and for types with parameters, which no stablecoin has. Compare it whole: anybody can publish a package with a
 * module `usdc` and a struct `USDC`.
 */
export function parseCoinType(text: string): TokenContract | undefined {
  const [, digits, module, name] = COIN_TYPE.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return `0x${digits.toLowerCase().padStart(64, '0')}::${module}::${name}` as TokenContract;
}

/** As nodes write it: see parseCoinType; its parameters, if any, are in whatever form. */
const CANONICAL = /^0x[0-9a-f]{64}::/;

/**
 * The coin type of a node's answer in canonical form: nodes write it so, and what stands in another form is the same coin for all that.
 * Types with parameters stay as they are: none of them is ever looked for. Undefined for what is no type.
 */
export function coinTypeOfNode(text: string): TokenContract | undefined {
  if (CANONICAL.test(text) || text.includes('<')) return text as TokenContract;
  return parseCoinType(text.startsWith('0x') ? text : `0x${text}`);
}

/** The coin type that a holding is of: null stands for SUI. */
export function coinTypeOf(contract: TokenContract | null): TokenContract {
  return contract ?? SUI_COIN_TYPE;
}

/** What a coin type is called where the native coin is null; the type is canonical. */
export function contractOf(coinType: TokenContract): TokenContract | null {
  return coinType === SUI_COIN_TYPE ? null : coinType;
}
