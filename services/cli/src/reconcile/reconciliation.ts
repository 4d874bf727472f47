import type { StateNumber } from '@opentill/chain/state-number';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type {
  AddressReading,
  Asset,
  ChainLedger,
  FoundOnAddresses,
  HotOnChain,
  OnChain,
} from './chain-ledger.ts';
import { compareAccounts, classifyOpenItems } from './compare-accounts.ts';
import {
  depositLines,
  explainUnasked,
  nameAddressDifference,
  nameForeignAddresses,
} from './compare-deposits.ts';
import { compareHotWallets } from './compare-hot-wallets.ts';
import type { Comparison, Difference } from './difference.ts';
import type { DepositAddress } from './store/read-addresses.ts';
import { NO_MOVEMENTS, unswept } from './store/unswept-balance.ts';

export interface Reconciliation extends Comparison {
  readonly books: ChainLedger;
  readonly addresses: number;
  /** The anchor, and newer blocks after its state was pruned. */
  readonly heights: readonly number[];
  readonly addressesLeftOff: number;
}

const ADDRESSES_NAMED = 200;

export const NO_ADDRESSES: FoundOnAddresses = {
  addresses: 0,
  heights: [],
  named: [],
  leftOff: 0,
  more: new Map(),
  unasked: new Map(),
};

export function createReconciliation(
  books: ChainLedger,
  network: NetworkConfig,
  hotOnChain: HotOnChain,
  deposits: FoundOnAddresses,
): Reconciliation {
  const hot = compareHotWallets(books, hotOnChain, network);
  const open = classifyOpenItems(books);
  return {
    books,
    addresses: deposits.addresses,
    heights: deposits.heights,
    addressesLeftOff: deposits.leftOff,
    lines: [...depositLines(books, deposits), ...hot.lines],
    explanations: [...open.explanations, ...explainUnasked(books, deposits)],
    differences: [
      ...compareAccounts(books),
      ...nameForeignAddresses(books),
      ...deposits.named.map((one): Difference => nameAddressDifference(books, network, one)),
      ...hot.differences,
      ...open.differences,
    ],
  };
}

/** Memory is bounded by ADDRESSES_NAMED. */
export interface AddressTally {
  add(addresses: number, readings: readonly AddressReading[]): void;
  found(): FoundOnAddresses;
}

export function createAddressTally(
  assets: readonly Pick<Asset, 'symbol'>[],
  heights: readonly number[],
): AddressTally {
  const named: AddressReading[] = [];
  const more = new Map<string, OnChain>(assets.map(({ symbol }) => [symbol, 0n]));
  const unasked = new Map<string, { addresses: number; amount: bigint }>();
  let [addresses, leftOff] = [0, 0];
  return {
    add(count, readings) {
      for (const { symbol, unasked: amount } of readings) {
        if (amount === 0n) continue;
        const before = unasked.get(symbol) ?? { addresses: 0, amount: 0n };
        unasked.set(symbol, { addresses: before.addresses + 1, amount: before.amount + amount });
      }
      const differing = readings.filter((reading) => unexplained(reading) !== 0n);
      for (const reading of differing) {
        const [before, beyond] = [more.get(reading.symbol), unexplained(reading)];
        const isKnown = before !== undefined && beyond !== undefined;
        more.set(reading.symbol, isKnown ? before + beyond : undefined);
      }
      const room = differing.slice(0, ADDRESSES_NAMED - named.length);
      named.push(...room);
      leftOff += differing.length - room.length;
      addresses += count;
    },
    found: () => ({ addresses, heights, named, leftOff, more, unasked }),
  };
}

/** Undefined if two sources differ. Pure. */
export function unexplained({ recorded, onChain, unasked }: AddressReading): OnChain {
  return onChain === undefined ? undefined : onChain - unswept(recorded) - unasked;
}

/** Balances are sorted by address, then asset. Leaves out assets with neither balance nor record. Pure. */
export function readingsOf(
  page: readonly DepositAddress[],
  assets: readonly Pick<Asset, 'symbol' | 'isConfigured'>[],
  numbers: readonly StateNumber[],
  height: number,
): readonly AddressReading[] {
  return page.flatMap(({ address, since, recorded: known }, row) =>
    assets.flatMap(({ symbol, isConfigured }, column): readonly AddressReading[] => {
      const onChain = valueOf(numbers[row * assets.length + column]);
      const recorded = known.get(symbol) ?? NO_MOVEMENTS;
      if (onChain === 0n && recorded === NO_MOVEMENTS) return [];
      const beyond = onChain === undefined ? 0n : onChain - unswept(recorded);
      const unasked = !isConfigured && beyond > 0n ? beyond : 0n;
      return [{ address, symbol, recorded, onChain, unasked, height, since }];
    }),
  );
}

/** `balances` are ordered by asset, then wallet. Pure. */
export function hotBalances(
  assets: readonly Pick<Asset, 'symbol'>[],
  wallets: number,
  balances: readonly StateNumber[],
): ReadonlyMap<string, OnChain> {
  return new Map(
    assets.map(({ symbol }, place) => [
      symbol,
      sumOf(balances.slice(place * wallets, (place + 1) * wallets)),
    ]),
  );
}

export function valueOf(number: StateNumber | undefined): OnChain {
  return number?.kind === 'AGREED' ? number.value : undefined;
}

function sumOf(numbers: readonly StateNumber[]): OnChain {
  let sum = 0n;
  for (const number of numbers) {
    if (number.kind !== 'AGREED') return undefined;
    sum += number.value;
  }
  return sum;
}
