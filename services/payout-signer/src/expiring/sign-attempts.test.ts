import { expect, test } from 'vitest';
import type { TxHash } from '@opentill/chain/transfer';
import type { OtherFee } from './store/attempt-facts.ts';
import type { CommitFacts, SignedPayment } from './store/attempt-store.ts';
import { signAttempts } from './sign-attempts.ts';

const NOW = new Date('2026-11-22T00:00:00Z');
const block = { height: 5, hash: 'h', timeMs: NOW.getTime(), timeSeconds: NOW.getTime() / 1_000 };
const COST = 10n;

interface Given {
  readonly sponsor?: string;
  readonly halted?: readonly [readonly string[], readonly string[]];
  readonly cost?: bigint;
}

/** Signs three payouts that cost 10 each. Returns the stored payouts and obstacles. */
async function sign(
  coin: bigint,
  [feesThen, feesNow]: readonly [readonly OtherFee[], readonly OtherFee[]],
  { sponsor, halted: [haltedThen, haltedNow] = [[], []], cost = COST }: Given = {},
): Promise<readonly string[]> {
  const payouts = ['a', 'b', 'c'].map((orderPk) => ({
    orderPk,
    symbol: 'USDT',
    contract: 'usdt',
    decimals: 0,
    receiver: 'somebody',
    amountBaseUnits: 1n,
    wallet: 'hot',
    movement: null,
    isReserved: true,
    approvals: [],
  }));
  const view = {
    now: NOW,
    halted: null,
    cursor: { seen: block, verified: block, epoch: null },
    heldSymbols: new Set(),
    attempts: [],
    unsigned: payouts,
    otherFees: feesThen,
    haltedWallets: new Set(haltedThen),
    lastUniqueMs: null,
  };
  const saved: string[] = [];
  const context = {
    key: { chain: 'SUI_TEST', wallet: 'hot' },
    lease: {},
    signal: new AbortController().signal,
    monotonicMs: () => 0,
    terms: { maxOpenPayouts: 16 },
    memory: {
      sends: new Map(),
      pauses: { isDue: () => true, put: () => undefined, forget: () => undefined },
    },
    mark: { read: () => Promise.resolve(undefined), raise: () => Promise.resolve() },
    observe: {
      blocked: () => undefined,
      attemptsSigned: () => undefined,
      sent: () => undefined,
    },
    rules: {
      network: { tokens: [{ symbol: 'USDT', contract: 'usdt', decimals: 0 }] },
      codec: { parse: (text: string) => text, isZero: () => false },
      ownWallets: ['hot'],
      policy: {
        judge: () => ({ kind: 'AUTHORISED' }),
        allowsChain: () => true,
        sweepsOf: () => undefined,
      },
    },
    store: {
      saveObstacles: (_: unknown, found: readonly { orderPk: string; obstacle: string }[]) =>
        Promise.resolve(void saved.push(...found.map(({ orderPk, obstacle }) => `${orderPk} ${obstacle}`))),
      saveSigned(
        _: unknown,
        made: readonly SignedPayment[],
        chooseRefused: (b: CommitFacts) => readonly string[],
      ) {
        const orderPks = chooseRefused({
          spent: [],
          otherFees: feesNow,
          haltedWallets: new Set(haltedNow) as never,
        });
        if (orderPks.length > 0) return Promise.resolve({ kind: 'GONE', orderPks });
        saved.push(...made.map(({ orderPk }) => orderPk));
        return Promise.resolve({ kind: 'SAVED' });
      },
      readRaw: () => Promise.resolve(new Map()),
      recordSent: () => Promise.resolve([]),
    },
    sender: {
      validForMs: 60_000,
      ...(sponsor === undefined ? {} : { sponsorship: { sponsorOf: () => sponsor } }),
      balances: () =>
        Promise.resolve({
          block,
          amounts: new Map<string | null, bigint>([
            [null, coin],
            ['usdt', 100n],
          ]),
          allowanceBaseUnits: 0n,
          scattered: new Map(),
        }),
      prepare: (intents: readonly unknown[]) =>
        Promise.resolve(intents.map(() => ({ kind: 'READY', feeLimitBaseUnits: cost, costBaseUnits: cost }))),
      sign: (_: unknown, validity: { uniqueMs: number }) =>
        Promise.resolve({ txHash: `tx-${validity.uniqueMs}`, raw: new Uint8Array(1), validity }),
      broadcast: (signed: readonly unknown[]) => Promise.resolve(signed.map(() => 'ACCEPTED')),
    },
  };
  await signAttempts(context as never, view as never, undefined, () => Promise.resolve([]));
  return saved;
}

test('leaves fees to transactions signed since the view, even when theirs ended', async () => {
  const fee = (name: string): OtherFee => ({ txHash: name as TxHash, baseUnits: COST });
  const [old, fresh] = [fee('old'), fee('fresh')];
  expect(await sign(30n, [[], []])).toEqual(['a', 'b', 'c']);
  expect(await sign(30n, [[], [fresh]])).toEqual(['a', 'b']);
  // Counts once while open. A new one counts in addition, because the balances may be older than its end.
  expect(await sign(40n, [[old], [old]])).toEqual(['a', 'b', 'c']);
  expect(await sign(40n, [[old], [fresh]])).toEqual(['a', 'b']);
  expect(await sign(30n, [[], [fresh, old, fee('another')]])).toEqual([]);
});

test('does not sign at the expense of a wallet that is halted, also at the commit', async () => {
  const sponsor = 'payer';
  const waits = ['a HALTED', 'b HALTED', 'c HALTED'];
  const none = [[], []] as const;
  expect(await sign(30n, none, { sponsor, halted: [['payer'], ['payer']] })).toEqual(waits);
  expect(await sign(30n, none, { sponsor, halted: [[], ['payer']] })).toEqual([]);
  expect(await sign(30n, none, { sponsor, halted: [['other'], ['other']] })).toEqual(['a', 'b', 'c']);
  expect(await sign(30n, none, { halted: [['payer'], ['payer']] })).toEqual(['a', 'b', 'c']);
  // A transaction without a fee costs the sponsor no coin.
  expect(await sign(30n, none, { sponsor, halted: [['payer'], ['payer']], cost: 0n })).toEqual([
    'a',
    'b',
    'c',
  ]);
});
