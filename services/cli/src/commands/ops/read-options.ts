import { isChain, type Chain } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { CliErrorCode } from '../../context.ts';

const LIMIT_MAX = 10_000;

/** @throws GatewayError CLI_USAGE */
export function chainOf(text: string): Chain;
export function chainOf(text: string | undefined): Chain | undefined;
export function chainOf(text: string | undefined): Chain | undefined {
  if (text === undefined || isChain(text)) return text;
  throw new GatewayError<CliErrorCode>('CLI_USAGE', `${text} is not a chain value.`, { retryable: false });
}

/** @throws GatewayError CLI_USAGE */
export function readLimit(text: string): number {
  const limit = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && limit > 0 && limit <= LIMIT_MAX) return limit;
  throw new GatewayError<CliErrorCode>('CLI_USAGE', `--limit must be a number from 1 to ${LIMIT_MAX}.`, {
    retryable: false,
  });
}

/** A member that is there only if it has a value. */
export function optional<N extends string, V>(name: N, value: V | undefined): { readonly [K in N]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: V };
}
