import type { Chain } from '@opentill/domain/chains';
import type { AddressReading, ChainLedger } from './chain-ledger.ts';
import { unexplained } from './reconciliation.ts';
import { displayAmount } from './display-amount.ts';
import { unswept } from './store/unswept-balance.ts';

export function addressLine(books: Pick<ChainLedger, 'assets' | 'chain'>, reading: AddressReading): string {
  const { address, symbol, recorded, unasked } = reading;
  const shown = (value: bigint): string => displayAmount(books, symbol, value);
  const rest = unexplained(reading);
  const parts: readonly (readonly [string, bigint, boolean])[] = [
    ['received', recorded.received, recorded.received !== 0n],
    ['top-ups for fees', recorded.brought, recorded.brought !== 0n],
    ['fees', recorded.fees, recorded.fees !== 0n],
    ['swept', recorded.swept, recorded.received !== 0n],
    ['unswept', unswept(recorded), true],
    ['unmatched', recorded.unmatched, recorded.unmatched !== 0n],
    ['sent by others', unasked, unasked !== 0n],
  ];
  const shownParts = parts.flatMap(([words, value, isShown]) =>
    isShown ? [`${words} ${shown(value)}`] : [],
  );
  const end = rest === undefined ? 'sources disagree' : `unexplained ${rest === 0n ? '0' : shown(rest)}`;
  return `${books.chain} ${address}  ${shownParts.join(', ')}, ${end}`;
}

export function addressJson(chain: Chain, reading: AddressReading): object {
  const { address, symbol, recorded, onChain, unasked, height } = reading;
  return {
    chain,
    address,
    symbol,
    height,
    received: recorded.received.toString(),
    brought: recorded.brought.toString(),
    fees: recorded.fees.toString(),
    swept: recorded.swept.toString(),
    unswept: unswept(recorded).toString(),
    unmatched: recorded.unmatched.toString(),
    unasked: unasked.toString(),
    onChain: onChain?.toString() ?? null,
    unexplained: unexplained(reading)?.toString() ?? null,
  };
}
