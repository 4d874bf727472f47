import type { SendOutcome, WalletSender } from '@opentill/chain/wallet-sender';
import { createCrashPoints, type Fault } from '@opentill/testkit/crash-points';
import type { NonceMark } from '../../src/nonce/nonce-mark.ts';
import type { PayoutStore } from '../../src/nonce/store/payout-store.ts';
import type { RunningDriver, SignerWorld } from './signer-world.ts';

const STORE = [
  'readView',
  'applyExternalUpdates',
  'spent',
  'authorise',
  'saveSigned',
  'readRaw',
  'recordSent',
  'saveReplacement',
  'saveBalances',
] as const satisfies readonly (keyof PayoutStore)[];
const SENDER = [
  'latestCount',
  'pendingCount',
  'balances',
  'currentPrices',
  'prepare',
  'sign',
  'broadcast',
] as const satisfies readonly (keyof WalletSender)[];
const MARK = ['read', 'raise'] as const satisfies readonly (keyof NonceMark)[];

/** A signer can crash before and after each step of a payout in flight. */
export const STEPS: readonly string[] = [...STORE, ...SENDER, ...MARK.map((name) => `mark.${name}`)].flatMap(
  (name) => [`before ${name}`, `after ${name}`],
);
export const isFeeStep = (step: string): boolean => step.endsWith('saveReplacement');

export type BroadcastOutcome = 'ARRIVES' | 'REQUEST_LOST' | 'REPLY_LOST';

/** At one of STEPS, or after a number of statements and calls. 'lose': only that step fails. */
export interface PlannedCrash {
  readonly at: string | number;
  readonly fault: Fault;
}

export interface CrashingSigner {
  readonly runner: RunningDriver;
  diedAt(): string | undefined;
  /** A step failed, and the process continues without a planned crash. */
  survived(): boolean;
  planCrash(planCrash: PlannedCrash | undefined): void;
}

export async function startCrashingSigner(
  world: SignerWorld,
  name: string,
  chooseFate: () => BroadcastOutcome,
  onSent: (fate: BroadcastOutcome, outcomes: readonly SendOutcome[]) => void,
): Promise<CrashingSigner> {
  const points = createCrashPoints();
  let fatal: PlannedCrash | undefined;

  function step(at: string): void {
    if (fatal?.at === at && !points.struck) points.crashAt(1, fatal.fault);
    points.step(at);
  }
  async function around<T>(of: string, effect: () => Promise<T>): Promise<T> {
    step(`before ${of}`);
    const result = await effect();
    step(`after ${of}`);
    return result;
  }
  function wrap<T extends object>(all: T, names: readonly (keyof T)[], prefix = ''): T {
    return new Proxy(all, {
      get(target, property) {
        const method: unknown = Reflect.get(target, property);
        if (typeof method !== 'function' || !names.includes(property as keyof T)) return method;
        return (...given: unknown[]) =>
          around(`${prefix}${String(property)}`, () => Promise.resolve(Reflect.apply(method, target, given)));
      },
    });
  }
  const loseSome = (sender: WalletSender): WalletSender => ({
    ...sender,
    async broadcast(signed, options) {
      const fate = chooseFate();
      const outcomes = fate === 'REQUEST_LOST' ? [] : await sender.broadcast(signed, options);
      onSent(fate, outcomes);
      return fate === 'ARRIVES' ? outcomes : signed.map(() => 'UNKNOWN' as const);
    },
  });
  const runner = await world.start({
    name,
    leaseTtlMs: 250,
    wrapPool: points.wrapPool,
    store: (store) => wrap(store, STORE),
    sender: (sender) => wrap(loseSome(sender), SENDER),
    mark: (mark) => wrap(mark, MARK, 'mark.'),
    timing: { bumpAfterMs: 300, sweepMs: 15 },
  });
  return {
    runner,
    diedAt: () => (points.crashed ? points.steps.at(-1) : undefined),
    survived: () => points.struck && !points.crashed,
    planCrash(planCrash) {
      if (points.crashed) return;
      fatal = planCrash;
      points.crashAt(typeof planCrash?.at === 'number' ? planCrash.at : undefined, planCrash?.fault);
    },
  };
}
