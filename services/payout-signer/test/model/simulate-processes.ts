import type { AddressCodec } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import type { Observe } from '../../src/observe/observe.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import type { Pass } from '../../src/wallet/pass.ts';
import { restoreTo, type Around, type CommonTables } from './tables.ts';

export interface Fault<Kind extends string> {
  readonly at: number;
  readonly kind: Kind;
}

export interface Outcome {
  /** Paid more than once, or paid although they had failed. */
  readonly doubles: number;
  /** Neither paid nor failed at the end, or a wallet whose work never ends. */
  readonly stuck: number;
  readonly signed: number;
  readonly points: readonly string[];
}

/** A call to a node, whose request or answer can be lost; `lied` replaces a false answer. */
export type Rpc = <T>(name: string, effect: () => T, lost?: () => T, lied?: () => T) => Promise<T>;

class Crash extends Error {}

const RESTORED_POINTS = 14;
const NEVER = new AbortController().signal;

export const observe = new Proxy({}, { get: () => () => undefined }) as Observe;
export const codec = { parse: (text: string) => text, isZero: () => false } as unknown as AddressCodec;

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
  passTime(): void;
  /** @default passTime */
  onCrash?(): void;
  onStart?(): void;
  onPass?(): void;
  isHeld?(): boolean;
}

export function simulateProcesses<Kind extends string, T extends CommonTables>(
  faults: readonly Fault<Kind>[],
  tables: T,
  strikes: Readonly<
    Record<Exclude<Kind, 'crash' | 'lost-request' | 'lost-reply' | 'wrong-answer' | 'takeover'>, () => void>
  >,
  living: () => Living,
) {
  const points: string[] = [];
  /** The database at each point, without the mark file. */
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
    // While this process sleeps, another takes the lease and finishes all work.
    if (kind === 'takeover') await live();
    return kind;
  }
  const around: Around = async (name, effect) => {
    await point(`before ${name}`);
    const result = effect();
    await point(`after ${name}`);
    return result;
  };
  const rpc: Rpc = async (name, effect, lost, wrongAnswer) => {
    const lose = () => {
      if (lost !== undefined) return lost();
      throw readerError('RPC_UNAVAILABLE', name);
    };
    if ((await point(`before ${name}`)) === 'lost-request') return lose();
    const result = effect();
    const fault = await point(`after ${name}`);
    if (fault === 'wrong-answer' && wrongAnswer !== undefined) return wrongAnswer();
    return fault === 'lost-reply' ? lose() : result;
  };
  async function live(): Promise<void> {
    const { newPass, isAtRest, passesMax, passTime, onStart, onPass } = living();
    tables.token += 1;
    onStart?.();
    const fencingToken = tables.token;
    const pass = newPass();
    while (!isAtRest() && passes < passesMax && tables.token === fencingToken) {
      passes += 1;
      await pass({ name: 'wallet', fencingToken, holder: 'model' }, NEVER).catch((error: unknown) => {
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
