import { describe, expect, it } from 'vitest';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { Block, View } from './byzantine-views.ts';
import {
  chainOf,
  changed,
  EMPTY_BLOOM,
  expectRejected,
  hashOf,
  HONEST,
  quantity,
  receiptOf,
  useByzantineViews,
  withLoot,
} from './byzantine-views.ts';

const { nodeOf, readerOf, withHonest } = useByzantineViews();

describe('a range of two sources', () => {
  const amountsIn = async (reader: ChainReader): Promise<readonly bigint[]> =>
    (await reader.readVerified(48, 52, [])).transfers.map(({ amountBaseUnits }) => amountBaseUnits);
  const TRUTH = HONEST.slice(48, 53).flatMap(({ txs }) => txs.flatMap(({ amounts }) => amounts));
  const logsBy =
    (change: (logs: readonly Log[]) => readonly Log[]): NonNullable<View['twist']> =>
    ({ method }, result) =>
      method === 'eth_getLogs' ? change(result as readonly Log[]) : result;
  interface Log {
    readonly blockNumber: string;
    readonly logIndex: string;
  }

  it('must follow the same block at both', async () => {
    const replaced = changed(47, () => ({ hash: hashOf('replaced') }));
    await withHonest({ chain: replaced }, expectRejected(48, 52));
    const quiet = changed(47, () => ({ txs: [] })); // no log names the block below
    const other = changed(47, () => ({ hash: hashOf('replaced') }), quiet);
    await withHonest({ chain: other }, expectRejected(48, 52), {}, { chain: quiet });
  });

  it('may list the state-sync transaction of Polygon at one source only', async () => {
    const quiet = changed(50, () => ({ txs: [] }));
    const listing: View = {
      chain: quiet,
      twist: ({ method, params }, result) =>
        method === 'eth_getBlockByNumber' && params[0] === quantity(50)
          ? { ...(result as object), transactions: [hashOf('state-sync')] }
          : result,
    };
    const honest = { chain: quiet };
    await withHonest(listing, expectRejected(48, 52), {}, honest);
    const rest = HONEST.slice(48, 53).filter(({ height }) => height !== 50);
    const paid = rest.flatMap(({ txs }) => txs.flatMap(({ amounts }) => amounts));
    const polygon = { chain: 'POLYGON' } as const;
    await withHonest(
      listing,
      async (reader) => expect(await amountsIn(reader)).toEqual(paid),
      polygon,
      honest,
    );
  });

  it('has the headers that were asked for, on which both agree', async () => {
    const headersAt = [52, 49, 47, 49];
    await withHonest({ chain: HONEST }, async (reader) => {
      const { below, headers } = await reader.readVerified(48, 52, [], { headersAt });
      expect(headers.map(({ hash }) => hash)).toEqual([HONEST[49]!.hash, HONEST[52]!.hash]);
      expect(below).toBe(HONEST[47]!.hash);
    });
    const change = ({ method, params }: { method: string; params: readonly unknown[] }) =>
      method === 'eth_getBlockByNumber' && params[0] === quantity(49);
    for (const lie of [{ timestamp: quantity(HONEST[48]!.timeSeconds) }, { parentHash: hashOf('false') }])
      await withHonest(
        {
          chain: HONEST,
          twist: (call, result) => (change(call) ? { ...(result as object), ...lie } : result),
        },
        (reader) =>
          expect(reader.readVerified(48, 52, [], { headersAt })).rejects.toMatchObject({
            code: 'INCONSISTENT_ANSWER',
          }),
      );
  });

  it('holds no sibling of a block, whose receipts honest nodes return by its hash', async () => {
    const paid = HONEST[50]!;
    const other = { hash: hashOf('other'), amounts: [9n] };
    for (const txs of [[other], []]) {
      const sibling = { ...paid, hash: hashOf('sibling'), txs };
      const twist: NonNullable<View['twist']> = ({ method, params }, result) =>
        method === 'eth_getBlockReceipts' && params[0] === sibling.hash
          ? txs.map((_, place) => receiptOf(sibling, place))
          : result;
      const lying = { chain: changed(50, () => sibling) };
      await withHonest(lying, expectRejected(48, 52), {}, { chain: HONEST, twist });
      await withHonest(
        lying,
        async (reader) => {
          const { transfers } = await readerOf([await nodeOf({ chain: HONEST })]).readSeen(50, 50);
          const reading = reader.readVerified(48, 52, transfers);
          await expect(reading).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
        },
        { bloom: false },
        { chain: HONEST, twist },
      );
    }
  });

  it('counts no block as empty whose header only one source shows to be so', async () => {
    const noLogs = logsBy((logs) => logs.filter(({ blockNumber }) => Number(blockNumber) !== 50));
    for (const bloom of [true, false]) {
      const hides: NonNullable<View['twist']> = (call, result, calls) => {
        const answer = noLogs(call, result, calls);
        const isHeader = call.method === 'eth_getBlockByNumber' && call.params[0] === quantity(50);
        if (!isHeader) return answer;
        return { ...(answer as object), ...(bloom ? { logsBloom: EMPTY_BLOOM } : { transactions: [] }) };
      };
      await withHonest(
        { chain: HONEST, twist: hides },
        expectRejected(48, 52),
        { bloom },
        { chain: HONEST, twist: noLogs },
      );
    }
  });

  it('does not count a block of Polygon as empty if one source lists a transaction', async () => {
    const paid = changed(50, ({ txs }) => ({ txs: txs.slice(0, 1) }));
    const noLogs = logsBy((logs) => logs.filter(({ blockNumber }) => Number(blockNumber) !== 50));
    const emptied: NonNullable<View['twist']> = (call, result, calls) =>
      call.method === 'eth_getBlockByNumber' && call.params[0] === quantity(50)
        ? { ...(result as object), transactions: [] }
        : noLogs(call, result, calls);
    for (const chain of [paid, HONEST]) {
      const found = chain.slice(48, 53).flatMap(({ txs }) => txs.flatMap(({ amounts }) => amounts));
      await withHonest(
        { chain, twist: emptied },
        async (reader) => {
          const read = await amountsIn(reader).catch(({ code }: { code: string }) => code);
          expect([found, 'INCONSISTENT_ANSWER']).toContainEqual(read);
        },
        { chain: 'POLYGON', bloom: false },
        { chain, twist: noLogs },
      );
    }
  });

  it('is complete though both answers are cut off within the same block', async () => {
    const twist = logsBy((logs) =>
      logs.filter(({ blockNumber, logIndex }) => Number(blockNumber) * 10 + Number(logIndex) <= 500),
    );
    for (const bloom of [true, false])
      await withHonest(
        { chain: HONEST, twist },
        async (reader) => expect(await amountsIn(reader)).toEqual(TRUTH),
        { bloom },
        { chain: HONEST, twist },
      );
  });

  it('is never accepted from two sources that are dishonest in different ways', async () => {
    const hides = changed(50, ({ txs }) => ({ txs: txs.slice(0, 1) }));
    const adds = changed(51, (block) => ({ ...withLoot(block), bloomOf: block.txs }));
    await withHonest({ chain: hides }, expectRejected(48, 52), {}, { chain: adds });
    await withHonest({ chain: hides }, expectRejected(48, 52), { bloom: false }, { chain: adds });
    // Where their receipts are honest, these decide.
    const dropping = logsBy((logs) => logs.filter(({ blockNumber }) => Number(blockNumber) !== 50));
    const inventing = logsBy((logs) => [...logs, { ...logs.at(-1)!, logIndex: '0x9' }]);
    await withHonest(
      { chain: HONEST, twist: dropping },
      async (reader) => expect(await amountsIn(reader)).toEqual(TRUTH),
      {},
      { chain: HONEST, twist: inventing },
    );
  });
});

describe('a log of a block that is not in the chain', () => {
  const BRANCH = chainOf(21, HONEST.slice(0, 80), 'branch');
  const named = ({ height, hash, parentHash, timeSeconds }: Block) =>
    ({ height, hash, parentHash, timeSeconds }) as never;

  it('is refuted only by a source that has the last block of its range', async () => {
    const { transfers } = await readerOf([await nodeOf({ chain: BRANCH })]).readSeen(85, 85);
    expect(transfers).toHaveLength(2);
    const reader = readerOf([await nodeOf({ chain: HONEST })]);
    const refuting = { byOneSource: true, refutesOtherBlocks: true };
    const headers = [named(HONEST[90]!)];
    expect(await reader.confirmTransfers(transfers, { ...refuting, headers })).toEqual({
      confirmed: [],
      refuted: transfers,
    });
    // It lags behind the branch of the range, or the range replaces another branch.
    const lagging = reader.confirmTransfers(transfers, { ...refuting, headers: [named(BRANCH[90]!)] });
    await expect(lagging).rejects.toMatchObject({ code: expect.stringMatching(/INCONSISTENT|NOT_FOUND/) });
    const replacing = reader.confirmTransfers(transfers, { byOneSource: true, headers });
    await expect(replacing).rejects.toMatchObject({ code: expect.stringMatching(/INCONSISTENT|NOT_FOUND/) });
  });
});
