import type { ReferenceTable } from '@opentill/domain/decide-rate';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Ratio } from '@opentill/domain/ratio';

export type SourceErrorCode =
  /** No answer, or a status other than 200. */
  | 'SOURCE_UNREACHABLE'
  /** The answer has no price in the documented format. */
  | 'SOURCE_ANSWER_UNREADABLE';

export interface Reading {
  readonly value: Ratio;
  /** Time of the price; undefined where the format has none. */
  readonly atMs?: number;
}

/** A public ticker of an exchange. It needs no key. */
export interface TickerSource {
  readonly name: string;
  readonly baseUrl: string;
  /** Name of each listed pair at the exchange. Keys are `<coin>/<currency>`. */
  readonly pairs: Readonly<Record<string, string>>;
  path(pair: string): string;
  /** Price of the coin in the currency. @throws GatewayError SOURCE_ANSWER_UNREADABLE */
  read(body: string, pair: string): Reading;
}

/** The published reference rates of a central bank. They need no key. */
export interface ReferenceSource {
  readonly name: string;
  readonly baseUrl: string;
  readonly path: string;
  /** @throws GatewayError SOURCE_ANSWER_UNREADABLE */
  read(body: string): Omit<ReferenceTable, 'source'>;
}

export function unreadable(what: string): GatewayError<SourceErrorCode> {
  return new GatewayError('SOURCE_ANSWER_UNREADABLE', `the answer has no ${what}`, { retryable: true });
}
