import type { AddressCodec } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import type { Observe } from '../../src/observe/observe.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import type { Pass } from '../../src/wallet/pass.ts';
import { restoreTo, type Around, type CommonTables } from './tables.ts';

/** A fault, or an event, at a point of a signer's lives. */
export interface Fault<Kind extends string> {
  /** The point, from 1, counted over all lives. */
  readonly at: number;
  readonly kind: Kind;
}

export interface Outcome {
  /** Payouts that were paid more than once, or paid although they had failed. */
  readonly doubles: number;
  /** Payouts that were neither paid nor failed at the end, or a wallet that never came to rest. */
  readonly stuck: number;
  /** Transactions signed and stored. */
  readonly signed: number;
  /** Points passed, with names. */
  readonly points: readonly string[];
}

/** A step that is a call to a node, whose request or answer can be lost; `lied` replaces a false answer. */
export type Rpc = <T>(name: string, effect: () => T, lost?: () => T, lied?: () => T) => Promise<T>;

class Crash extends Error {}

/** A restore takes back so many points. */
const RESTORED_POINTS = 14;
const NEVER = new AbortController().signal;

export const observe = new Proxy({}, { get: () => () => undefined }) as Observe;
export const codec = { parse: (text: string) => text, isZero: () => false } as unknown as AddressCodec;

/** A policy that allows everything. */
export const policyOf = (maxAttemptsWithoutDecision: number): PolicyJudge => ({
  judge: () => ({ kind: 'AUTHORISED' }),
  allowsChain: () => true,
  coldAddressOf: () => undefined,
  sweepsOf: () => undefined,
  approvers: [],
  approvalWaitMs: 86_400_000,
  maxAttemptsWithoutDecision,
  floatOf: () => undefined,
});

export interface Living {
  newPass(): Pass;
  isAtRest(): boolean;
  readonly passesMax: number;
  /** Time of the chain and the scanner between two passes. */
  passTime(): void;
  /** @default passTime */
  onCrash?(): void;
  onStart?(): void;
  onPass?(): void;
  /** Whether no process may run now: the time passes all the same. */
  isHeld?(): boolean;
}

/** Lives of the signer in a world of maps, with faults at given points. */
export function createLives<Kind extends string, T extends CommonTables>(
  faults: readonly Fault<Kind>[],
  tables: T,
  strikes: Readonly<
    Record<Exclude<Kind, 'crash' | 'lost-request' | 'lost-reply' | 'lie' | 'takeover'>, () => void>
  >,
  living: () => Living,
) {
  const points: string[] = [];
  /** The database at each point; the file of the mark is no part of it. */
  const backups: T[] = [];
  const byPoint = new Map(faults.map(({ at, kind }) => [at, kind]));
  const isRestoring = faults.some(({ kind }) => kind.startsWith('restore'));
  let passes = 0;

  async function point(name: string): Promise<Kind | undefined> {
    points.push(name);
    if (isRestoring) backups.push(structuredClone(tables));
    const kind = byPoint.get(points.length);
    if (kind?.startsWith('restore') === true)
      restoreTo(tables, backups[Math.max(0, backups.length - RESTORED_POINTS)] ?? tables);
    (strikes as Partial<Record<Kind, () => void>>)[kind!]?.();
    if (kind === 'crash' || kind?.startsWith('restore') === true) throw new Crash(name);
    // While this process sleeps another one takes the lease and does everything.
    if (kind === 'takeover') await live();
    return kind;
  }
  const around: Around = async (name, effect) => {
    await point(`before ${name}`);
    const result = effect();
    await point(`after ${name}`);
    return result;
  };
  const rpc: Rpc = async (name, effect, lost, lied) => {
    const lose = () => {
      if (lost !== undefined) return lost();
      throw readerError('RPC_UNAVAILABLE', name);
    };
    if ((await point(`before ${name}`)) === 'lost-request') return lose();
    const result = effect();
    const fault = await point(`after ${name}`);
    if (fault === 'lie' && lied !== undefined) return lied();
    return fault === 'lost-reply' ? lose() : result;
  };
  /** Passes of one process until everything is at rest, or its end. */
  async function live(): Promise<void> {
    const { newPass, isAtRest, passesMax, passTime, onStart, onPass } = living();
    tables.token += 1;
    onStart?.();
    const fencingToken = tables.token;
    const pass = newPass();
    while (!isAtRest() && passes < passesMax && tables.token === fencingToken) {
      passes += 1;
      await pass({ name: 'wallet', fencingToken }, NEVER).catch((error: unknown) => {
        if (error instanceof Crash || (error as { code?: string }).code !== 'LEASE_LOST') throw error;
      });
      passTime();
      onPass?.();
    }
  }
  return {
    points,
    around,
    rpc,
    /** Process after process until everything is at rest. */
    async liveOn(): Promise<void> {
      const { isAtRest, passesMax, isHeld, passTime, onCrash = passTime } = living();
      while (!isAtRest() && passes < passesMax) {
        if (isHeld?.() === true) {
          passes += 1;
          continue;
        }
        await live().catch((error: unknown) => {
          if (!(error instanceof Crash)) throw error;
          onCrash();
        });
      }
    },
  };
}
