import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { baseUnits } from '@opentill/domain/money';
import fc from 'fast-check';
import { approvalText } from './approval.ts';
import { countAuthorised, DAY_MS, HOUR_MS, type AuthorisedPayout } from './count-authorised.ts';
import { decidePolicy, type PolicyQuestion } from './decide-policy.ts';
import type { AssetPolicy, Policy, PolicyPayout } from './policy.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const RECEIVER = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8' as Address;
const CONTRACT = '0xdac17f958d2ee523a2206206994597c13d831ec7';

function anApprover(name: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const hex = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('hex');
  const approve = (payout: PolicyPayout) => ({
    approver: hex,
    signature: sign(null, Buffer.from(approvalText(payout)), privateKey),
  });
  return { name, publicKey: hex, approve };
}
const [alice, bob, mallory] = [anApprover('alice'), anApprover('bob'), anApprover('mallory')];

const asset: AssetPolicy = {
  contract: CONTRACT,
  decimals: 6,
  displayDecimals: 2,
  maxPerPayoutBaseUnits: baseUnits(100n),
  maxPerHourBaseUnits: baseUnits(250n),
  maxPerDayBaseUnits: baseUnits(400n),
  maxPerMerchantPerDayBaseUnits: baseUnits(300n),
  approvalAboveBaseUnits: undefined,
  floatBaseUnits: undefined,
  sweepMinBaseUnits: undefined,
};
const policyOf = (changes: Partial<Policy> = {}, limits: Partial<AssetPolicy> = {}): Policy => ({
  chains: new Map([
    [
      'ETH',
      {
        enabled: true,
        coldAddress: undefined,
        sweep: undefined,
        assets: new Map([['USDT', { ...asset, ...limits }]]),
      },
    ],
    ['BSC', { enabled: false, coldAddress: undefined, sweep: undefined, assets: new Map([['USDT', asset]]) }],
  ]),
  allow: new Map(),
  deny: new Map(),
  coolingMs: DAY_MS,
  approvers: [alice, bob],
  approvalsRequired: 1,
  approvalWaitMs: DAY_MS,
  maxAttemptsWithoutDecision: 2,
  ...changes,
});
const payout: PolicyPayout = {
  chain: 'ETH',
  wallet: '0x8c8d35429f74ec245f8ef2f4fd1e551cff97d650' as Address,
  contract: CONTRACT,
  symbol: 'USDT',
  decimals: 6,
  amountBaseUnits: 10n,
  receiver: RECEIVER,
  merchantId: 'shop-1',
  orderPk: '0198c0de-0000-7000-8000-000000000001',
};
const NOTHING = { hour: 0n, day: 0n, merchantDay: 0n };

/** AUTHORISED, the reason of a refusal, or "given of required" approvals. */
function decide(
  question: Partial<Omit<PolicyQuestion, 'payout'>> & { payout?: Partial<PolicyPayout> },
): string {
  const decision = decidePolicy({
    policy: policyOf(),
    counters: NOTHING,
    approvals: [],
    waitingSince: null,
    now: NOW,
    ...question,
    payout: { ...payout, ...question.payout },
  });
  if (decision.kind === 'REFUSED') return decision.reason;
  return decision.kind === 'AUTHORISED' ? 'AUTHORISED' : `${decision.given} of ${decision.required}`;
}

describe('a payout that the policy does not name', () => {
  it.each<[Partial<PolicyPayout>, string]>([
    [{}, 'AUTHORISED'],
    [{ contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7' }, 'AUTHORISED'],
    [{ chain: 'POLYGON' }, 'Chain not allowed'],
    [{ chain: 'BSC' }, 'Chain disabled'],
    [{ symbol: 'USDC' }, 'Asset not allowed'],
    [{ symbol: 'usdt' }, 'Asset not allowed'],
    [{ contract: null }, 'Asset not allowed'],
    [{ contract: RECEIVER }, 'Asset not allowed'],
    [{ decimals: 18 }, 'Asset not allowed'],
    [{ amountBaseUnits: 0n }, 'Amount not allowed'],
    [{ amountBaseUnits: -1n }, 'Amount not allowed'],
  ])('is refused: %p → %s', (change, expected) => {
    expect(decide({ payout: change })).toBe(expected);
  });
});

describe('policy limit', () => {
  it.each<[string, bigint, Partial<typeof NOTHING>, string]>([
    ['per payout, reached', 100n, {}, 'AUTHORISED'],
    ['per payout, passed', 101n, {}, 'Limit per payout exceeded'],
    ['per hour, reached', 50n, { hour: 200n }, 'AUTHORISED'],
    ['per hour, passed', 51n, { hour: 200n }, 'Limit per hour exceeded'],
    ['per day, reached', 50n, { day: 350n }, 'AUTHORISED'],
    ['per day, passed', 51n, { day: 350n }, 'Limit per day exceeded'],
    ['per merchant and day, reached', 50n, { merchantDay: 250n }, 'AUTHORISED'],
    ['per merchant and day, passed', 51n, { merchantDay: 250n }, 'Limit per merchant and day exceeded'],
  ])('decides a payout at the limit %s', (_, amountBaseUnits, counters, expected) => {
    expect(decide({ payout: { amountBaseUnits }, counters: { ...NOTHING, ...counters } })).toBe(expected);
  });

  it('compares limits exactly in base units beyond the precision of doubles', () => {
    const max = 10n ** 30n;
    const policy = policyOf(
      {},
      {
        maxPerPayoutBaseUnits: baseUnits(max),
        maxPerHourBaseUnits: baseUnits(max),
        maxPerDayBaseUnits: baseUnits(max),
        maxPerMerchantPerDayBaseUnits: baseUnits(max),
      },
    );
    expect(decide({ policy, payout: { amountBaseUnits: max } })).toBe('AUTHORISED');
    expect(decide({ policy, payout: { amountBaseUnits: max + 1n } })).toBe('Limit per payout exceeded');
    expect(decide({ policy, payout: { amountBaseUnits: max }, counters: { ...NOTHING, hour: 1n } })).toBe(
      'Limit per hour exceeded',
    );
  });
});

describe('countAuthorised', () => {
  const at = (agoMs: number, changes: Partial<AuthorisedPayout> = {}): AuthorisedPayout => ({
    chain: 'ETH',
    symbol: 'USDT',
    merchantId: 'shop-1',
    amountBaseUnits: 1n,
    authorisedAt: new Date(NOW.getTime() - agoMs),
    ...changes,
  });

  it.each<[string, AuthorisedPayout, [bigint, bigint, bigint]]>([
    ['now', at(0), [1n, 1n, 1n]],
    ['exactly an hour ago', at(HOUR_MS), [1n, 1n, 1n]],
    ['a millisecond more', at(HOUR_MS + 1), [0n, 1n, 1n]],
    ['exactly a day ago', at(DAY_MS), [0n, 1n, 1n]],
    ['a millisecond more', at(DAY_MS + 1), [0n, 0n, 0n]],
    ['later than now, by a clock that was set back', at(-DAY_MS), [1n, 1n, 1n]],
    ["another merchant's", at(0, { merchantId: 'shop-2' }), [1n, 1n, 0n]],
    ['another token', at(0, { symbol: 'USDC' }), [0n, 0n, 0n]],
    ['another chain', at(0, { chain: 'BSC' }), [0n, 0n, 0n]],
  ])('counts a payout that was authorised %s', (_, authorised, [hour, day, merchantDay]) => {
    expect(countAuthorised([authorised], payout, NOW)).toEqual({ hour, day, merchantDay });
  });
});

describe('receiver address', () => {
  const others = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266' as Address;
  const allowing = (address: Address, since: Date) =>
    policyOf({ allow: new Map([['EVM', new Map([[address, { since }]])]]) });

  it('refuses a denied address, allowed or not', () => {
    const deny = new Map([['EVM', new Set([RECEIVER])]] as const);
    expect(decide({ policy: policyOf({ deny }) })).toBe('Address denied');
    expect(decide({ policy: { ...allowing(RECEIVER, new Date(0)), deny } })).toBe('Address denied');
    expect(decide({ policy: policyOf({ deny }), payout: { receiver: others } })).toBe('AUTHORISED');
  });

  it('refuses an address that is not allowed when its family has allowed addresses', () => {
    expect(decide({ policy: allowing(others, new Date(0)) })).toBe('Address not allowed');
    expect(decide({ policy: allowing(RECEIVER, new Date(0)) })).toBe('AUTHORISED');
    const tron = policyOf({ allow: new Map([['TRON', new Map()]]) });
    expect(decide({ policy: tron })).toBe('AUTHORISED');
  });

  it('refuses an allowed address until its cooling period ends, to the millisecond', () => {
    const policy = allowing(RECEIVER, new Date(NOW.getTime() - DAY_MS));
    expect(decide({ policy })).toBe('AUTHORISED');
    expect(decide({ policy, now: new Date(NOW.getTime() - 1) })).toBe('Address is cooling');
    expect(decide({ policy: allowing(RECEIVER, NOW) })).toBe('Address is cooling');
    expect(decide({ policy: { ...allowing(RECEIVER, NOW), coolingMs: 0 } })).toBe('AUTHORISED');
    const never = new Date(Number.NaN);
    expect(decide({ policy: { ...allowing(RECEIVER, never), coolingMs: 0 } })).toBe('Address is cooling');
  });
});

describe('approvals of a payout', () => {
  const policy = policyOf({ approvalsRequired: 2 }, { approvalAboveBaseUnits: baseUnits(10n) });
  const large = { ...payout, amountBaseUnits: 11n };

  it('requires approvals only above the threshold', () => {
    expect(decide({ policy })).toBe('AUTHORISED');
    expect(decide({ policy, payout: large })).toBe('0 of 2');
    const always = policyOf({}, { approvalAboveBaseUnits: baseUnits(0n) });
    expect(decide({ policy: always, payout: { amountBaseUnits: 1n } })).toBe('0 of 1');
  });

  it('counts each approver of the policy once and ignores other signatures', () => {
    const [byAlice, byBob] = [alice.approve(large), bob.approve(large)];
    expect(decide({ policy, payout: large, approvals: [byAlice] })).toBe('1 of 2');
    expect(decide({ policy, payout: large, approvals: [byAlice, byAlice] })).toBe('1 of 2');
    expect(decide({ policy, payout: large, approvals: [byAlice, mallory.approve(large)] })).toBe('1 of 2');
    expect(
      decide({ policy, payout: large, approvals: [byAlice, { ...byAlice, approver: bob.publicKey }] }),
    ).toBe('1 of 2');
    expect(
      decide({
        policy,
        payout: large,
        approvals: [byAlice, bob.approve({ ...large, amountBaseUnits: 12n })],
      }),
    ).toBe('1 of 2');
    const garbage = { approver: bob.publicKey, signature: Buffer.from('garbage') };
    expect(decide({ policy, payout: large, approvals: [garbage, byAlice] })).toBe('1 of 2');
    expect(decide({ policy, payout: large, approvals: [garbage, byAlice, byBob] })).toBe('AUTHORISED');
  });

  it('waits for approvals as long as the policy sets, to the millisecond', () => {
    const since = (ms: number) => ({ policy, payout: large, waitingSince: new Date(NOW.getTime() - ms) });
    expect(decide(since(0))).toBe('0 of 2');
    expect(decide(since(-HOUR_MS))).toBe('0 of 2'); // the clock was set back
    expect(decide(since(DAY_MS - 1))).toBe('0 of 2');
    expect(decide(since(DAY_MS))).toBe('Approval missing');
    expect(decide({ ...since(0), waitingSince: new Date(Number.NaN) })).toBe('Approval missing');
    expect(decide({ ...since(DAY_MS), approvals: [alice.approve(large)] })).toBe('Approval missing');
    expect(decide({ ...since(DAY_MS), approvals: [alice.approve(large), bob.approve(large)] })).toBe(
      'AUTHORISED',
    );
    expect(decide({ ...since(HOUR_MS), policy: { ...policy, approvalWaitMs: HOUR_MS } })).toBe(
      'Approval missing',
    );
    expect(decide({ ...since(DAY_MS), counters: { ...NOTHING, day: 400n } })).toBe('Limit per day exceeded');
    expect(decide({ ...since(DAY_MS), payout })).toBe('AUTHORISED');
  });

  it('counts waiting payouts in the windows of a day and not in that of an hour', () => {
    const waiting = { ...payout, amountBaseUnits: 60n, authorisedAt: null };
    const others = { ...waiting, merchantId: 'shop-2' };
    expect(countAuthorised([waiting, others], payout, NOW)).toEqual({
      hour: 0n,
      day: 120n,
      merchantDay: 60n,
    });
  });

  it('keeps limits in force for approved payouts', () => {
    const tooLarge = { ...payout, amountBaseUnits: 101n };
    const approvals = [alice.approve(tooLarge), bob.approve(tooLarge)];
    expect(decide({ policy, payout: tooLarge, approvals })).toBe('Limit per payout exceeded');
    const counters = { ...NOTHING, day: 400n };
    expect(
      decide({ policy, payout: large, approvals: [alice.approve(large), bob.approve(large)], counters }),
    ).toBe('Limit per day exceeded');
  });
});

describe('sequences of authorised payouts', () => {
  const wanted = fc.record({
    gapMs: fc.oneof(
      fc.integer({ min: 0, max: HOUR_MS / 2 }),
      fc.constantFrom(0, 1, HOUR_MS / 2, HOUR_MS - 1, HOUR_MS, HOUR_MS + 1, DAY_MS - HOUR_MS),
    ),
    amount: fc.bigInt({ min: 1n, max: 130n }),
    merchantId: fc.constantFrom('shop-1', 'shop-2', 'shop-3'),
    symbol: fc.constantFrom('USDT', 'USDC'),
    /** Here this authorised payout expires or is refused, and no longer counts. */
    drops: fc.option(fc.nat(40), { freq: 8 }),
  });

  it('never authorises more than a limit, and refuses only what would exceed one', () => {
    const policy = policyOf();
    const both = new Map([...policy.chains.get('ETH')!.assets, ['USDC', asset]] as const);
    const chains = new Map([
      ['ETH', { enabled: true, coldAddress: undefined, sweep: undefined, assets: both }],
    ] as const);
    let [authorisedCount, refusedCount] = [0, 0];
    fc.assert(
      fc.property(fc.array(wanted, { minLength: 1, maxLength: 60, size: 'max' }), (sequence) => {
        let authorised: AuthorisedPayout[] = [];
        let nowMs = NOW.getTime();
        for (const { gapMs, amount, merchantId, symbol, drops } of sequence) {
          nowMs += gapMs;
          const now = new Date(nowMs);
          if (drops !== null) authorised = authorised.filter((_, place) => place !== drops);
          const asked = { ...payout, merchantId, symbol, amountBaseUnits: amount };
          const counters = countAuthorised(authorised, asked, now);
          const { kind } = decidePolicy({
            policy: { ...policy, chains },
            payout: asked,
            counters,
            approvals: [],
            waitingSince: null,
            now,
          });
          const after = [
            ...authorised,
            { chain: 'ETH', symbol, merchantId, amountBaseUnits: amount, authorisedAt: now } as const,
          ];
          expect(kind === 'AUTHORISED').toBe(!breaksALimit(after));
          if (kind === 'AUTHORISED') authorised = after;
          if (kind === 'AUTHORISED') authorisedCount += 1;
          else refusedCount += 1;
        }
      }),
      { numRuns: 150 },
    );
    expect(authorisedCount).toBeGreaterThan(500);
    expect(refusedCount).toBeGreaterThan(500);
  });

  /** Independent formulation: checks every window that begins with a payout, both ends included. */
  function breaksALimit(all: readonly AuthorisedPayout[]): boolean {
    if (all.some(({ amountBaseUnits }) => amountBaseUnits > 100n)) return true;
    const inWindow = (
      first: AuthorisedPayout,
      windowMs: number,
      isOf: (other: AuthorisedPayout) => boolean,
    ) => {
      const from = first.authorisedAt!.getTime();
      let sum = 0n;
      for (const other of all) {
        const time = other.authorisedAt!.getTime();
        if (other.symbol === first.symbol && isOf(other) && time >= from && time <= from + windowMs)
          sum += other.amountBaseUnits;
      }
      return sum;
    };
    return all.some(
      (first) =>
        inWindow(first, HOUR_MS, () => true) > 250n ||
        inWindow(first, DAY_MS, () => true) > 400n ||
        inWindow(first, DAY_MS, ({ merchantId }) => merchantId === first.merchantId) > 300n,
    );
  }
});
