import type { Chain } from '@opentill/domain/chains';
import type { AddressReading, Books } from './books.ts';
import { unexplained } from './reconciliation.ts';
import { shownAmount } from './shown-amount.ts';
import { unswept } from './store/unswept-balance.ts';

/** A line for a terminal: what lies on an address, and why. */
export function addressLine(books: Pick<Books, 'assets' | 'chain'>, reading: AddressReading): string {
  const { address, symbol, lying, unasked } = reading;
  const shown = (value: bigint): string => shownAmount(books, symbol, value);
  const rest = unexplained(reading);
  const parts: readonly (readonly [string, bigint, boolean])[] = [
    ['received', lying.received, lying.received !== 0n],
    ['brought for fees', lying.brought, lying.brought !== 0n],
    ['fees', lying.fees, lying.fees !== 0n],
    ['swept', lying.swept, lying.received !== 0n],
    ['unswept', unswept(lying), true],
    ['unmatched', lying.unmatched, lying.unmatched !== 0n],
    ['sent by others', unasked, unasked !== 0n],
  ];
  const said = parts.flatMap(([words, value, isSaid]) => (isSaid ? [`${words} ${shown(value)}`] : []));
  const end = rest === undefined ? 'sources disagree' : `unexplained ${rest === 0n ? '0' : shown(rest)}`;
  return `${books.chain} ${address}  ${said.join(', ')}, ${end}`;
}

/** The same for programs: amounts as decimal strings of base units. */
export function addressJson(chain: Chain, reading: AddressReading): object {
  const { address, symbol, lying, onChain, unasked, height } = reading;
  return {
    chain,
    address,
    symbol,
    height,
    received: lying.received.toString(),
    brought: lying.brought.toString(),
    fees: lying.fees.toString(),
    swept: lying.swept.toString(),
    unswept: unswept(lying).toString(),
    unmatched: lying.unmatched.toString(),
    unasked: unasked.toString(),
    onChain: onChain?.toString() ?? null,
    unexplained: unexplained(reading)?.toString() ?? null,
  };
}
