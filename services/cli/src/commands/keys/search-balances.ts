import type { Address } from '@opentill/chain/address-codec';
import type { Chain, Family, NetworkKind } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { DepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import type { Balance, MoneyReader } from './balance-reader.ts';

export interface FoundAddress {
  readonly family: Family;
  /** The seed has separate keys for main and test networks. */
  readonly kind: NetworkKind;
  /** Undefined for a hot wallet. */
  readonly index: number | undefined;
  readonly address: Address;
  readonly money: readonly Balance[];
}

export interface Search {
  readonly family: Family;
  readonly kind: NetworkKind;
  readonly deriver: Pick<DepositDeriver, 'address'>;
  readonly hotWallets: readonly Address[];
  readonly readers: readonly MoneyReader[];
  readonly mark: number;
  /** Addresses to search above the mark, and above the last one with money. */
  readonly gap: number;
  readonly onFound: (found: FoundAddress) => void | Promise<void>;
}

export interface SearchOutcome {
  /** Exclusive; the search begins at 0. */
  readonly end: number;
  readonly failures: ReadonlyMap<Chain, GatewayError>;
}

const ADDRESSES_PER_STEP = 250;
const INDEX_END = 2 ** 31;

/**
 * Money above the mark shows that the mark was too low: the gap starts again above it. A chain that cannot be read does
 * not stop the others.
 */
export async function findMoney(search: Search): Promise<SearchOutcome> {
  const { family, kind, deriver, gap, onFound } = search;
  const failures = new Map<Chain, GatewayError>();
  const look = async (addresses: readonly Address[], indexOf: (place: number) => number | undefined) => {
    const byChain = await Promise.all(
      search.readers.map((reader) => readOrFail(reader, addresses, failures)),
    );
    let last: number | undefined;
    for (const [place, address] of addresses.entries()) {
      const money = byChain.flatMap((ofChain) => ofChain[place] ?? []);
      const index = indexOf(place);
      await onFound({ family, kind, index, address, money });
      if (money.length > 0) last = index;
    }
    return last;
  };
  await look(search.hotWallets, () => undefined);
  let end = Math.min(search.mark + gap, INDEX_END);
  for (let at = 0; at < end;) {
    const from = at;
    const count = Math.min(ADDRESSES_PER_STEP, end - from);
    const addresses = Array.from({ length: count }, (_, place) => deriver.address(family, from + place));
    const last = await look(addresses, (place) => from + place);
    if (last !== undefined) end = Math.min(Math.max(end, last + 1 + gap), INDEX_END);
    at = from + count;
  }
  return { end, failures };
}

async function readOrFail(
  reader: MoneyReader,
  addresses: readonly Address[],
  failures: Map<Chain, GatewayError>,
): Promise<readonly (readonly Balance[])[]> {
  if (failures.has(reader.chain) || addresses.length === 0) return [];
  try {
    return await reader.read(addresses);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    failures.set(reader.chain, error);
    return [];
  }
}
