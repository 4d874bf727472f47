import { expect, test } from 'vitest';
import type { TxHash } from '@opentill/chain/transfer';
import type { ExpiringView, OpenGathering } from './store/attempt-store.ts';
import type { OtherFee } from './store/attempt-facts.ts';
import { gatherCoins } from './gather-coins.ts';
import type { ExpiringContext } from './pass-deps.ts';

const NOW = new Date('2026-11-22T00:00:00Z');
const block = { height: 5, hash: 'h', timeMs: NOW.getTime() };
const FEE = 10n;

interface Given {
  readonly allowsChain?: boolean;
  readonly halted?: string;
  readonly heldSymbols?: readonly string[];
  readonly isHaltedMeanwhile?: boolean;
  readonly coin?: bigint;
  readonly fees?: readonly [readonly OtherFee[], readonly OtherFee[]];
  readonly scattered?: ReadonlyMap<string | null, bigint>;
  readonly open?: readonly OpenGathering[];
}

/** Returns what was asked, stored and sent, in order. */
async function gather({ coin = FEE, scattered = new Map([['usdt', 5n]]), ...given }: Given) {
  const did: string[] = [];
  const [feesThen = [], feesNow = []] = given.fees ?? [];
  const view = {
    now: NOW,
    halted: given.halted ?? null,
    heldSymbols: new Set(given.heldSymbols),
    cursor: { seen: block, verified: block, epoch: 1 },
    attempts: [],
    unsigned: [],
    otherFees: feesThen,
  } as unknown as ExpiringView;
  const context = {
    key: { chain: 'SUI_TEST', wallet: 'hot' },
    lease: {},
    signal: new AbortController().signal,
    monotonicMs: () => 0,
    memory: { gatheredAtMs: Number.NEGATIVE_INFINITY },
    timing: { balancesEveryMs: 0 },
    observe: { gathering: () => undefined },
    rules: {
      policy: { allowsChain: () => given.allowsChain ?? true },
      network: {
        nativeDecimals: 1,
        nativeSymbol: 'SUI',
        tokens: [{ contract: 'usdt', symbol: 'USDT', decimals: 0 }],
      },
      codec: { parse: (text: string) => text, isZero: () => false },
    },
    store: {
      openGatherings: () => Promise.resolve(given.open ?? []),
      readRaw: (hashes: readonly TxHash[]) =>
        Promise.resolve(new Map(hashes.map((txHash) => [txHash, new Uint8Array(1)]))),
      saveGathering(
        ...[, { contract }, , isAffordable]: Parameters<ExpiringContext['store']['saveGathering']>
      ) {
        const isSaved = given.isHaltedMeanwhile !== true && isAffordable(feesNow);
        if (isSaved) did.push(`saved ${contract}`);
        return Promise.resolve(isSaved);
      },
    },
    sender: {
      balances(_: unknown, contracts: readonly (string | null)[]) {
        did.push(`asked ${contracts.join()}`);
        const entries = contracts.map((contract) => [contract, scattered.get(contract) ?? 0n] as const);
        const amounts = new Map(
          entries.map(([contract, amount]) => [contract, amount + (contract === null ? coin : 0n)]),
        );
        const at = { height: block.height, timeSeconds: NOW.getTime() / 1_000 };
        return Promise.resolve({ block: at, amounts, allowanceBaseUnits: 0n, scattered: new Map(entries) });
      },
      epochs: {
        currentWindow: () =>
          Promise.resolve({ epochs: { first: 1, last: 1 }, expiresMs: NOW.getTime() + 1_000 }),
      },
      gathering: {
        signGathering: (_: unknown, contract: string | null) =>
          Promise.resolve({
            txHash: `of ${contract}`,
            raw: new Uint8Array(1),
            contract,
            amountBaseUnits: scattered.get(contract) ?? 0n,
            feeLimitBaseUnits: FEE,
          }),
      },
      broadcast(signed: readonly { txHash: string }[]) {
        did.push(...signed.map(({ txHash }) => `sent ${txHash}`));
        return Promise.resolve(['ACCEPTED']);
      },
    },
  } as unknown as ExpiringContext;
  await gatherCoins(context, () => Promise.resolve(view), undefined);
  return did;
}

test('stores a gathering before it sends it', async () => {
  expect(await gather({})).toEqual(['asked ,usdt', 'saved usdt', 'sent of usdt']);
});

test('signs no gathering without a policy or while halted, but resends open ones', async () => {
  const open = [{ txHash: 'old' as TxHash, contract: null, signedAt: NOW, isMined: false }];
  for (const given of [{ allowsChain: false }, { halted: 'by an operator' }])
    expect(await gather({ ...given, open })).toEqual(['sent old']);
});

test('gathers no asset on hold, except native coin for fees', async () => {
  const both = new Map([
    ['usdt', 5n],
    [null, 2n * FEE],
  ]);
  const did = await gather({ scattered: both, heldSymbols: ['USDT', 'SUI'], coin: 10n * FEE });
  expect(did).toEqual(['asked ', 'saved null', 'sent of null']);
  expect(await gather({ scattered: both, heldSymbols: ['USDC'], coin: 10n * FEE })).toContain('sent of usdt');
});

test('does not send a gathering that a halt kept from being stored', async () => {
  expect(await gather({ isHaltedMeanwhile: true })).toEqual(['asked ,usdt']);
});

test('skips a gathering whose fee is promised to other transactions', async () => {
  const other = [{ txHash: 'other' as TxHash, baseUnits: 1n }];
  expect(await gather({ coin: FEE - 1n })).toEqual(['asked ,usdt']);
  expect(await gather({ fees: [other, []] })).toEqual(['asked ,usdt']);
  expect(await gather({ fees: [[], other] })).toEqual(['asked ,usdt']);
  expect(await gather({ coin: FEE + 1n, fees: [other, other] })).toContain('sent of usdt');
});

test('gathers coin that brings more than its own fee, even if all is promised', async () => {
  const promised = [{ txHash: 'other' as TxHash, baseUnits: 100n }];
  const sent = async (amount: bigint) =>
    (await gather({ scattered: new Map([[null, amount]]), fees: [promised, promised] })).includes(
      'sent of null',
    );
  expect([await sent(FEE + 1n), await sent(FEE)]).toEqual([true, false]);
});
