import { isChain, type Chain } from '@opentill/domain/chains';
import { usage } from '../../context.ts';

const LIMIT_MAX = 10_000;

/** @throws GatewayError CLI_USAGE */
export function chainOf(text: string): Chain;
export function chainOf(text: string | undefined): Chain | undefined;
export function chainOf(text: string | undefined): Chain | undefined {
  if (text === undefined || isChain(text)) return text;
  throw usage(`${text} is not a chain value.`);
}

/** @throws GatewayError CLI_USAGE */
export function readLimit(text: string): number {
  const limit = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && limit > 0 && limit <= LIMIT_MAX) return limit;
  throw usage(`--limit must be a number from 1 to ${LIMIT_MAX}.`);
}

/** A member that is there only if it has a value. */
export function optional<N extends string, V>(name: N, value: V | undefined): { readonly [K in N]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: V };
}
