import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { hexQuantity } from './block-requests.ts';
import { bloomBits } from './bloom.ts';
import type { EvmHeader, EvmLog } from './decode.ts';
import { decodeHeader, TRANSFER_TOPIC, transferOf } from './decode.ts';
import { readBlockReceipts } from './transfers-by-receipts.ts';
import { readQuickReceipts, type QuickReceipts } from './quick-receipts.ts';

const TOKEN = `0x${'da'.repeat(20)}`;
const OTHER = `0x${'07'.repeat(20)}`;
const tokens = new Set([TOKEN]);
const HEIGHT = 0x1a2b;
const word = (value: bigint | number): string => `0x${value.toString(16).padStart(64, '0')}`;
const HASH = word(0xb10c);

interface LogPlan {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}
type TxPlan = { readonly logs: readonly LogPlan[]; readonly fails: boolean };
type Raw = Record<string, unknown>;

const transfer = (from: number, to: number, amount: number): LogPlan => ({
  address: TOKEN,
  topics: [TRANSFER_TOPIC, word(from), word(to)],
  data: word(amount),
});
const approval: LogPlan = { address: TOKEN, topics: [word(0xa), word(1), word(2)], data: word(9) };
const nft: LogPlan = { address: OTHER, topics: [TRANSFER_TOPIC, word(1), word(2), word(3)], data: '0x' };
const swap: LogPlan = { address: OTHER, topics: [word(0x5), word(7)], data: `0x${'ab'.repeat(160)}` };
const anonymous: LogPlan = { address: OTHER, topics: [], data: '0x01' };
const PLANS: readonly TxPlan[] = [
  { logs: [transfer(11, 12, 100)], fails: false },
  { logs: [], fails: true },
  { logs: [approval, transfer(3, 2, 0), transfer(3, 4, 7), swap], fails: false },
  { logs: [], fails: false },
  { logs: [nft, anonymous, transfer(5, 6, 100)], fails: false },
];

function bloomOf(logs: readonly LogPlan[]): string {
  const bytes = Buffer.alloc(256);
  for (const bit of logs.flatMap(({ address, topics }) => [address, ...topics]).flatMap(bloomBits))
    bytes[255 - (bit >> 3)] = bytes[255 - (bit >> 3)]! | (1 << (bit & 7));
  return `0x${bytes.toString('hex')}`;
}

function headerOf(plans: readonly TxPlan[]): EvmHeader {
  return decodeHeader({
    number: hexQuantity(HEIGHT),
    hash: HASH,
    parentHash: word(1),
    timestamp: '0x65156994',
    logsBloom: bloomOf(plans.flatMap(({ logs }) => logs)),
    transactions: plans.map((_, place) => word(0x7000 + place)),
  });
}

function receiptsOf(plans: readonly TxPlan[]): Raw[] {
  let index = 0;
  return plans.map(({ logs, fails }, place) => {
    const where = {
      transactionHash: word(0x7000 + place),
      blockHash: HASH,
      blockNumber: hexQuantity(HEIGHT),
    };
    return {
      ...where,
      type: '0x2',
      status: fails ? '0x0' : '0x1',
      gasUsed: '0xb41d',
      effectiveGasPrice: '0x3b9aca00',
      logsBloom: bloomOf(logs),
      logs: logs.map((log) => ({
        ...log,
        topics: [...log.topics],
        ...where,
        logIndex: hexQuantity(index++),
        removed: false,
      })),
    };
  });
}

async function bySlowPath(header: EvmHeader, raw: unknown): Promise<QuickReceipts | undefined> {
  const source = { batch: () => Promise.resolve([raw]) };
  const receipts = await readBlockReceipts({ bloom: true, hasStateSync: false }, source, header, {}).catch(
    () => undefined,
  );
  if (receipts === undefined) return undefined;
  const isOfToken = ({ address, topics }: EvmLog): boolean =>
    tokens.has(address) && topics[0] === TRANSFER_TOPIC;
  return {
    transfers: receipts.flatMap(({ logs }) => logs.flatMap((log) => transferOf(log, tokens) ?? [])),
    logCount: receipts.flatMap(({ logs }) => logs.filter(isOfToken)).length,
    failed: new Set(receipts.flatMap(({ succeeded, txHash }) => (succeeded ? [] : [txHash]))),
  };
}

const header = headerOf(PLANS);

describe('readQuickReceipts', () => {
  it('reads usual receipts like the slow path', async () => {
    const quick = readQuickReceipts(tokens, header, receiptsOf(PLANS));
    expect(
      quick?.transfers.map(({ indexInBlock, amountBaseUnits }) => [indexInBlock, amountBaseUnits]),
    ).toEqual([
      [0, 100n],
      [3, 7n],
      [7, 100n],
    ]);
    expect(quick?.failed).toEqual(new Set([word(0x7001)]));
    expect(quick).toEqual(await bySlowPath(header, receiptsOf(PLANS)));
    expect(readQuickReceipts(tokens, headerOf([]), [])).toEqual({
      transfers: [],
      logCount: 0,
      failed: new Set(),
    });
  });

  it('rejects receipts of which any was omitted, added or moved', () => {
    const without = (place: number) => PLANS.map((plan, i) => (i === place ? { ...plan, logs: [] } : plan));
    const wrong: readonly unknown[] = [
      null,
      'none',
      receiptsOf(PLANS).slice(1),
      receiptsOf(PLANS).toReversed(),
      [...receiptsOf(PLANS), receiptsOf(PLANS)[0]],
      receiptsOf(without(0)),
      receiptsOf(without(2)),
      receiptsOf([{ logs: [transfer(8, 9, 5)], fails: false }, ...PLANS.slice(1)]),
      receiptsOf([{ logs: [...PLANS[0]!.logs, transfer(8, 9, 5)], fails: false }, ...PLANS.slice(1)]),
    ];
    for (const raw of wrong) expect(readQuickReceipts(tokens, header, raw)).toBeUndefined();
  });
});

describe('readQuickReceipts on unusual receipts', () => {
  function placesIn(value: unknown): [Raw, string][] {
    if (typeof value !== 'object' || value === null) return [];
    return Object.keys(value).flatMap((key) => [
      [value as Raw, key] as [Raw, string],
      ...placesIn((value as Raw)[key]),
    ]);
  }
  const upper = (value: unknown): unknown =>
    typeof value === 'string' ? `0x${value.slice(2).toUpperCase()}` : value;
  const unusual = fc.constantFrom<((value: unknown) => unknown)[]>(
    upper,
    () => undefined,
    () => null,
    () => '0x',
    () => '0x0',
    () => '0x1',
    () => '0x2',
    () => '0x00',
    () => 1,
    () => true,
    () => [],
    () => ({}),
    () => word(3),
    () => TOKEN,
    () => OTHER,
    () => TRANSFER_TOPIC,
    (value) => `${String(value)}0`,
    (value) => (typeof value === 'string' ? value.slice(0, -1) : value),
    (value) => (typeof value === 'string' ? `${value.slice(0, -1)}g` : value),
    (value) => (Array.isArray(value) ? value.slice(1) : value),
    (value) => (Array.isArray(value) ? [...value, ...value] : value),
  );

  it('never differs from the slow path for changed receipts', async () => {
    let quickOnes = 0;
    let refused = 0;
    const changes = fc.array(fc.tuple(fc.nat(), unusual), { minLength: 1, maxLength: 2 });
    await fc.assert(
      fc.asyncProperty(changes, async (chosen) => {
        const raw = receiptsOf(PLANS);
        for (const [at, change] of chosen) {
          const places = placesIn(raw);
          const [object, key] = places[at % places.length]!;
          object[key] = change(object[key]);
        }
        const quick = readQuickReceipts(tokens, header, raw);
        const slow = await bySlowPath(header, raw);
        if (slow === undefined) refused += 1;
        if (quick === undefined) return;
        quickOnes += 1;
        expect(quick).toEqual(slow);
      }),
      { numRuns: 3_000 },
    );
    // Irrelevant changes leave it on the fast path; both reject most others.
    expect(quickOnes).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(1_000);
  });
});
