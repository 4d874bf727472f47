import { describe, expect, it } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import type { Address } from '@opentill/chain/address-codec';
import type { Chain } from '@opentill/domain/chains';
import { findMoney, type FoundAddress } from './search-balances.ts';
import type { Balance, MoneyReader } from './balance-reader.ts';

const one = (chain: Chain): Balance => ({
  chain,
  symbol: 'USDT',
  decimals: 6,
  displayDecimals: 2,
  amountBaseUnits: 1n,
  isDisputed: false,
});

/** `holders` hold money; the nth read fails, if given. */
function createNetwork(
  chain: Chain,
  holders: readonly string[],
  failsAt = Infinity,
): MoneyReader & { asked: string[] } {
  const asked: string[] = [];
  let questions = 0;
  return {
    chain,
    asked,
    async read(addresses) {
      questions += 1;
      if (questions >= failsAt) throw readerError('RPC_UNAVAILABLE', 'no answer');
      asked.push(...addresses);
      return addresses.map((address) => (holders.includes(address) ? [one(chain)] : []));
    },
  };
}

async function search(readers: readonly MoneyReader[], mark: number, gap: number) {
  const found: FoundAddress[] = [];
  const outcome = await findMoney({
    family: 'EVM',
    kind: 'main',
    deriver: { address: (_, index) => `d${index}` as Address },
    hotWallets: ['hot' as Address],
    readers,
    mark,
    gap,
    onFound: (address) => void found.push(address),
  });
  const rich = found.filter(({ money }) => money.length > 0).map(({ address }) => address);
  return { ...outcome, found, rich };
}

describe('findMoney', () => {
  it('checks hot wallets and each deposit address once, up to the gap above the mark', async () => {
    const network = createNetwork('ETH', ['hot', 'd0', 'd699', 'd709', 'd710']);
    const { rich, found, end } = await search([network], 700, 10);
    // d709 is the last of the gap; the search reaches d710 because d709 has money.
    expect(rich).toEqual(['hot', 'd0', 'd699', 'd709', 'd710']);
    expect(end).toBe(721);
    expect(found.map(({ index }) => index)).toEqual([
      undefined,
      ...Array.from({ length: 721 }, (_, index) => index),
    ]);
    expect(network.asked).toEqual(['hot', ...Array.from({ length: 721 }, (_, index) => `d${index}`)]);
  });

  it('does not extend the search for money below the mark', async () => {
    expect(await search([createNetwork('ETH', ['d3'])], 10, 5)).toMatchObject({ end: 15 });
    expect(await search([createNetwork('ETH', [])], 0, 0)).toMatchObject({ end: 0, rich: [] });
  });

  it('extends the search for money on any chain of the family', async () => {
    const networks = [createNetwork('ETH', ['d5']), createNetwork('BSC', ['d11', 'hot'])];
    const { end, found } = await search(networks, 6, 6);
    expect(end).toBe(18);
    expect(found[0]?.money.map(({ chain }) => chain)).toEqual(['BSC']);
  });

  it('reports the chain that it cannot read and searches the others', async () => {
    const broken = createNetwork('ETH', ['d400'], 3);
    const { failures, rich } = await search([broken, createNetwork('BSC', ['d400'])], 500, 0);
    expect(rich).toEqual(['d400']);
    expect([...failures]).toEqual([['ETH', expect.objectContaining({ code: 'RPC_UNAVAILABLE' })]]);
    expect(broken.asked).toHaveLength(251);
  });
});
