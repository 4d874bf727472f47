import { readFileSync } from 'node:fs';
import type { SourceCount } from './canned/node.ts';

interface PriceList {
  readonly default: number;
  readonly perRequest?: number;
  readonly perCall: Readonly<Record<string, number>>;
}

const { _: _note, ...LISTS } = JSON.parse(
  readFileSync(new URL('../price-lists.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, PriceList>> & { readonly _: unknown };

/** Names of the units: columns of a table. */
export const UNITS: readonly string[] = Object.keys(LISTS);

/** Cost of the calls to all sources, in the order of UNITS. */
export function costsOf(sources: readonly Pick<SourceCount, 'calls' | 'requests'>[]): readonly number[] {
  return Object.values(LISTS).map(({ default: other, perRequest = 0, perCall }) => {
    let sum = 0;
    for (const { calls, requests } of sources) {
      sum += perRequest * requests;
      for (const [method, count] of Object.entries(calls)) sum += count * (perCall[method] ?? other);
    }
    return sum;
  });
}
