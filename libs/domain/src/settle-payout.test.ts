import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { baseUnits } from './money.ts';
import { PAYOUT_STATUSES } from './order-status.ts';
import {
  PAYOUT_REASONS,
  settlePayout,
  classifyOutcome,
  type FateFact,
  type PayoutFacts,
  type PayoutOrderState,
  type SigningState,
} from './settle-payout.ts';

const AMOUNT = baseUnits(250n);
const NOTHING = baseUnits(0n);
const INIT: PayoutOrderState = { status: 'INIT', reason: null, actualAmount: null };
const mined: FateFact = { state: 'MINED', succeeded: true, delivered: AMOUNT };
const landed: FateFact = { state: 'VERIFIED', succeeded: true, delivered: AMOUNT };
const reverted: FateFact = { state: 'VERIFIED', succeeded: false, delivered: NOTHING };
const empty: FateFact = { state: 'VERIFIED', succeeded: true, delivered: NOTHING };
const orphaned: FateFact = { state: 'ORPHANED', succeeded: true, delivered: AMOUNT };
const FATES: readonly FateFact[] = [
  mined,
  { ...mined, succeeded: false, delivered: NOTHING },
  landed,
  reverted,
  empty,
  orphaned,
];
const SIGNING: readonly SigningState[] = ['REQUESTED', 'AUTHORISED', 'SIGNED', 'REFUSED', 'EXPIRED'];

function facts(signing: SigningState, sent = false, ...fates: readonly FateFact[]): PayoutFacts {
  const signingReason = signing === 'REFUSED' ? 'Limit per day exceeded' : null;
  return { signing, signingReason: signing === 'EXPIRED' ? 'Payout expired' : signingReason, sent, fates };
}
function follow(state: PayoutOrderState, given: PayoutFacts) {
  const steps = settlePayout(state, given);
  return {
    path: steps.map((step) => `${step.event} ${step.notify}`),
    end: steps.at(-1)?.next ?? state,
  };
}

describe('settlePayout', () => {
  test('keeps a payout that is neither signed nor refused', () => {
    for (const signing of ['REQUESTED', 'AUTHORISED', 'SIGNED'] as const)
      expect(settlePayout(INIT, facts(signing))).toEqual([]);
  });

  test('moves to SUCCESS and reports each step', () => {
    const sent = follow(INIT, facts('SIGNED', true));
    expect(sent.path).toEqual(['broadcast ORDER_PENDING']);
    const inBlock = follow(sent.end, facts('SIGNED', true, mined));
    expect(inBlock.path).toEqual(['mined ORDER_PENDING_CONFIRMATION']);
    const done = follow(inBlock.end, facts('SIGNED', true, landed));
    expect(done.path).toEqual(['confirmed ORDER_SUCCESS']);
    expect(done.end).toEqual({ status: 'SUCCESS', reason: null, actualAmount: AMOUNT });
    const atOnce = follow(INIT, facts('SIGNED', false, landed));
    expect(atOnce.path).toEqual([...sent.path, ...inBlock.path, ...done.path]);
    expect(atOnce.end).toEqual(done.end);
  });

  test('fails an unsent payout with the policy’s reason or as expired', () => {
    expect(follow(INIT, facts('REFUSED'))).toEqual({
      path: ['failed ORDER_FAILED'],
      end: { status: 'FAILED', reason: 'Limit per day exceeded', actualAmount: null },
    });
    expect(follow(INIT, facts('EXPIRED')).end).toEqual({
      status: 'FAILED',
      reason: PAYOUT_REASONS.expired,
      actualAmount: null,
    });
  });

  test.each([reverted, empty])('fails on chain only at final depth: %o', (fate) => {
    const confirming: PayoutOrderState = { ...INIT, status: 'PENDING_CONFIRMATION' };
    expect(settlePayout(confirming, facts('SIGNED', true, { ...fate, state: 'MINED' }))).toEqual([]);
    expect(follow(confirming, facts('SIGNED', true, fate)).end).toEqual({
      status: 'FAILED',
      reason: 'Transaction failed',
      actualAmount: null,
    });
  });

  test('returns to PENDING after a reorganisation and advances when mined again', () => {
    const confirming: PayoutOrderState = { ...INIT, status: 'PENDING_CONFIRMATION' };
    const back = follow(confirming, facts('SIGNED', true, orphaned));
    expect(back).toEqual({
      path: ['reorganised ORDER_PENDING'],
      end: { status: 'PENDING', reason: 'Reorganised', actualAmount: null },
    });
    expect(settlePayout(back.end, facts('SIGNED', true, orphaned))).toEqual([]);
    expect(follow(back.end, facts('SIGNED', true, mined)).end).toEqual(confirming);
  });

  test('recovers from a failure that was not final', () => {
    const failing = follow(INIT, facts('SIGNED', true, { ...reverted, state: 'MINED' })).end;
    const back = follow(failing, facts('SIGNED', true, { ...reverted, state: 'ORPHANED' })).end;
    expect(follow(back, facts('SIGNED', true, landed)).end.status).toBe('SUCCESS');
  });

  test('fails a sent payout once all its attempts are dead and it expired or was refused', () => {
    const sent = follow(INIT, facts('SIGNED', true)).end;
    expect(settlePayout(sent, facts('AUTHORISED', true, orphaned))).toEqual([]);
    expect(follow(sent, facts('EXPIRED', true))).toEqual({
      path: ['failed ORDER_FAILED'],
      end: { status: 'FAILED', reason: PAYOUT_REASONS.expired, actualAmount: null },
    });
    expect(follow(INIT, facts('REFUSED', true, orphaned)).path).toEqual([
      'broadcast ORDER_PENDING',
      'failed ORDER_FAILED',
    ]);
    const confirming: PayoutOrderState = { ...INIT, status: 'PENDING_CONFIRMATION' };
    expect(follow(confirming, facts('EXPIRED', true, orphaned)).path).toEqual([
      'reorganised ORDER_PENDING',
      'failed ORDER_FAILED',
    ]);
    expect(follow(sent, facts('EXPIRED', true, landed)).end.status).toBe('SUCCESS');
  });

  test('succeeds by any of its transactions, including a replaced one', () => {
    expect(follow(INIT, facts('SIGNED', true, orphaned, mined)).end.status).toBe('PENDING_CONFIRMATION');
    expect(follow(INIT, facts('SIGNED', true, orphaned, landed)).end.status).toBe('SUCCESS');
    expect(follow(INIT, facts('SIGNED', true, reverted, mined)).end.status).toBe('PENDING_CONFIRMATION');
    expect(follow(INIT, facts('SIGNED', true, reverted, landed)).end.status).toBe('SUCCESS');
    expect(follow(INIT, facts('SIGNED', true, reverted, orphaned)).end.status).toBe('FAILED');
  });

  test('keeps a final status after any change of the chain', () => {
    for (const status of ['SUCCESS', 'FAILED'] as const)
      for (const signing of SIGNING)
        for (const fate of FATES)
          expect(settlePayout({ ...INIT, status }, facts(signing, true, fate))).toEqual([]);
  });
});

/** With up to two transactions, as a signer and a chain can produce. */
const ALL_FACTS: readonly PayoutFacts[] = SIGNING.flatMap((signing) => {
  // Transactions of a payout that is not SIGNED are in no block.
  if (signing === 'REQUESTED') return [facts(signing)];
  if (signing !== 'SIGNED') return [facts(signing), facts(signing, true), facts(signing, true, orphaned)];
  const fates: (readonly FateFact[])[] = [
    [],
    ...FATES.map((one) => [one]),
    ...FATES.flatMap((one) => FATES.map((two) => [one, two])),
  ];
  return fates.flatMap((some) => [facts(signing, false, ...some), facts(signing, true, ...some)]);
});

describe('settlePayout for every state and set of facts', () => {
  const pairs = PAYOUT_STATUSES.flatMap((status) =>
    ALL_FACTS.map((given) => ({ state: { ...INIT, status }, given })),
  );

  test('is idempotent', () => {
    expect(pairs.length).toBeGreaterThan(400);
    for (const { state, given } of pairs) {
      const { end } = follow(state, given);
      expect(settlePayout(end, given)).toEqual([]);
    }
  });

  test('requires a verified delivery for SUCCESS and reports its amount', () => {
    for (const { state, given } of pairs) {
      const { end } = follow(state, given);
      if (state.status === 'SUCCESS' || end.status !== 'SUCCESS') continue;
      const proof = given.fates.find((fate) => classifyOutcome(fate) === 'LANDED');
      expect(proof).toMatchObject({ state: 'VERIFIED', succeeded: true, delivered: end.actualAmount });
    }
  });

  test('requires for FAILED that no transaction has paid or may still land', () => {
    for (const { state, given } of pairs) {
      const { end } = follow(state, given);
      if (state.status === 'FAILED' || end.status !== 'FAILED') continue;
      const verdicts = given.fates.map(classifyOutcome);
      if (verdicts.every((verdict) => verdict === 'GONE'))
        expect(['REFUSED', 'EXPIRED']).toContain(given.signing);
      else {
        expect(verdicts).toContain('FAILED');
        expect(verdicts).not.toContain('LANDED');
        expect(verdicts).not.toContain('IN_BLOCK');
      }
    }
  });

  test('reports each status with its callback', () => {
    for (const { state, given } of pairs)
      for (const { next, notify } of settlePayout(state, given))
        expect(notify).toBe(
          { PENDING: 'ORDER_PENDING', PENDING_CONFIRMATION: 'ORDER_PENDING_CONFIRMATION' }[
            next.status as string
          ] ?? `ORDER_${next.status}`,
        );
  });
});

/** At most one transaction of a payout lands. */
interface World {
  signing: SigningState;
  sent: boolean;
  fates: (FateFact | null)[];
}
const move = fc.oneof(
  fc.constantFrom('authorise', 'sign', 'bump', 'send', 'refuse', 'expire', 'orphan', 'verify', 'settle'),
  fc.record({ mine: fc.nat(3), succeeds: fc.boolean() }),
);
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

function advance(world: World, step: Move): void {
  const lives = world.fates.findIndex((fate) => fate !== null && fate.state !== 'ORPHANED');
  const open = world.signing === 'REQUESTED' || world.signing === 'AUTHORISED';
  if (typeof step === 'object') {
    if (lives !== -1 || world.fates.length === 0) return;
    world.fates[step.mine % world.fates.length] = {
      state: 'MINED',
      succeeded: step.succeeds,
      delivered: step.succeeds ? AMOUNT : NOTHING,
    };
  } else if (step === 'authorise' && world.signing === 'REQUESTED') world.signing = 'AUTHORISED';
  else if (step === 'sign' && world.signing === 'AUTHORISED') {
    world.signing = 'SIGNED';
    world.fates.push(null);
  } else if (step === 'bump' && world.signing === 'SIGNED') world.fates.push(null);
  else if (step === 'send' && world.signing === 'SIGNED') world.sent = true;
  else if (step === 'refuse' && open) world.signing = 'REFUSED';
  else if (step === 'expire' && open) world.signing = 'EXPIRED';
  else if (lives !== -1) {
    const fate = world.fates[lives];
    if (fate === null || fate === undefined || fate.state === 'VERIFIED') return; // VERIFIED is final here
    if (step === 'orphan') world.fates[lives] = { ...fate, state: 'ORPHANED' };
    if (step === 'verify') world.fates[lives] = { ...fate, state: 'VERIFIED' };
  }
}
const factsOf = ({ signing, sent, fates }: World): PayoutFacts =>
  facts(signing, sent, ...fates.filter((fate) => fate !== null));

test('ends in the state of the last facts after any sequence of observations', () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 30 }), (sequence) => {
      const world: World = { signing: 'REQUESTED', sent: false, fates: [] };
      let watched = INIT;
      const ends: string[] = [];
      for (const one of sequence) {
        advance(world, one);
        if (one !== 'settle') continue;
        for (const { next } of settlePayout(watched, factsOf(world))) {
          watched = next;
          if (next.status === 'SUCCESS' || next.status === 'FAILED') ends.push(next.status);
        }
      }
      const late = follow(INIT, factsOf(world)).end;
      const end = follow(watched, factsOf(world)).end;
      expect(end.status).toBe(late.status);
      expect(end.actualAmount).toBe(late.actualAmount);
      expect(ends.length).toBeLessThanOrEqual(1);
      const proof = world.fates.some((fate) => fate !== null && classifyOutcome(fate) === 'LANDED');
      expect(end.status === 'SUCCESS').toBe(proof);
    }),
    { numRuns: 700 },
  );
});
