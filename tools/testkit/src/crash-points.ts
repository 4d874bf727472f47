import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { GatewayError } from '@opentill/domain/gateway-error';

/** The end of a process, thrown by every step from the one it dies at. Handlers have no business catching it. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/**
 * crash: the process ends at the step; everything it tries afterwards, in a `catch` or `finally` too, throws.
 * lose: the step alone fails, with a retryable error, and its connection with it; the process lives on. At a step
 * before an effect the request was lost, at one after it only the answer.
 */
export type Fault = 'crash' | 'lose';

/** Counts the steps before and after the side effects of a process, and makes one of them fail. */
export interface CrashPoints {
  /** Names of the steps passed since `crashAt`, the failing one included: 'before commit', 'after publish', … */
  readonly steps: readonly string[];
  /** Whether the fault has happened. */
  readonly struck: boolean;
  /** True when the process is dead. */
  readonly crashed: boolean;
  /** Begins another life of the process: counts anew and fails at the `at`-th step (from 1), or at the first of that name; undefined: never. */
  crashAt(at: number | string | undefined, fault?: Fault): void;
  /** @throws Crash, or with fault 'lose' what `lost` gives (default: GatewayError CALL_UNAVAILABLE, retryable). */
  step(name: string, lost?: () => Error): void;
  /** A side effect of any kind, such as an HTTP request, with a step on each side. */
  around<T>(name: string, effect: () => Promise<T>): Promise<T>;
  /** The same function, with a step on each side of each call. */
  wrap<A extends unknown[], T>(name: string, effect: (...args: A) => Promise<T>): (...args: A) => Promise<T>;
  /** A publisher whose `publish` has a step on each side. */
  wrapPublisher<P extends { publish(...args: never[]): Promise<unknown> }>(publisher: P): P;
  /**
   * For `openDatabase({ wrapPool: points.wrapPool })`: a step before each statement, and one after each that lasts
   * by itself (commit, or a statement outside a transaction). A dead process's connections are closed, so that
   * Postgres rolls back what was open.
   */
  readonly wrapPool: (pool: PostgresPool) => PostgresPool;
}

/** @param onCrash ends a real process at the step that is to crash it, before anything is thrown */
export function createCrashPoints(onCrash?: (step: string) => void): CrashPoints {
  let steps: string[] = [];
  let target: number | string | undefined;
  let fault: Fault = 'crash';
  let struck = false;

  function step(name: string, lost: () => Error = () => unavailable('CALL_UNAVAILABLE', name)): void {
    if (struck && fault === 'crash') throw new Crash(`dead since ${steps.at(-1)}`);
    steps.push(name);
    if (typeof target === 'string' ? name !== target || struck : steps.length !== target) return;
    struck = true;
    if (fault === 'crash') onCrash?.(name);
    throw fault === 'crash' ? new Crash(name) : lost();
  }
  async function around<T>(name: string, effect: () => Promise<T>): Promise<T> {
    step(`before ${name}`);
    const result = await effect();
    step(`after ${name}`);
    return result;
  }
  const points: CrashPoints = {
    get steps() {
      return steps;
    },
    get struck() {
      return struck;
    },
    get crashed() {
      return struck && fault === 'crash';
    },
    crashAt(at, kind = 'crash') {
      steps = [];
      target = at;
      fault = kind;
      struck = false;
    },
    step,
    around,
    wrap:
      (name, effect) =>
      (...args) =>
        around(name, () => effect(...args)),
    wrapPublisher: (publisher) => {
      const wrapped: typeof publisher = Object.create(publisher) as typeof publisher;
      wrapped.publish = ((...args: never[]) =>
        around('publish', () => publisher.publish(...args))) as typeof publisher.publish;
      return wrapped;
    },
    wrapPool: (pool) => ({
      options: pool.options,
      end: () => pool.end(),
      async connect() {
        if (points.crashed) throw new Crash('a dead process connects to nothing');
        return wrapClient(await pool.connect(), points);
      },
    }),
  };
  return points;
}

function wrapClient(client: PostgresPoolClient, points: CrashPoints): PostgresPoolClient {
  let inTransaction = false;
  let broken = false;

  function step(name: string): void {
    try {
      points.step(name, () => unavailable('DATABASE_UNAVAILABLE', name));
    } catch (error) {
      broken = true;
      throw error;
    }
  }
  async function query(text: string, values: readonly unknown[]): Promise<unknown> {
    if (broken) {
      // A lost connection answers nothing any more; closing it rolls back.
      if (text === 'rollback' && !points.crashed) return { command: 'ROLLBACK', rowCount: 0, rows: [] };
      throw points.crashed ? new Crash('dead') : unavailable('DATABASE_UNAVAILABLE', text);
    }
    const name = nameOf(text);
    step(`before ${name}`);
    const result: unknown = await (client.query as (...args: unknown[]) => Promise<unknown>)(text, values);
    const wasInTransaction = inTransaction;
    if (name === 'begin' || name === 'start') inTransaction = true;
    if (name === 'commit' || name === 'rollback') inTransaction = false;
    if (name === 'commit' || (!wasInTransaction && !inTransaction)) step(`after ${name}`);
    return result;
  }
  return {
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy?: boolean) => client.release(broken || points.crashed || destroy === true),
  };
}

/** 'insert api.outbox', 'commit': enough to find the statement again. */
function nameOf(text: string): string {
  const [verb = '', ...rest] = text.trim().toLowerCase().split(/\s+/);
  const table = /\b(?:into|update|from|join)\s+((?:"?\w+"?\.)?"?\w+"?)/i.exec(text)?.[1]?.replaceAll('"', '');
  return rest.length === 0 || table === undefined ? verb : `${verb} ${table}`;
}

function unavailable(code: 'CALL_UNAVAILABLE' | 'DATABASE_UNAVAILABLE', what: string): Error {
  return new GatewayError(code, `lost: ${what}`, { retryable: true });
}

export interface Enumeration<World> {
  readonly points: CrashPoints;
  /** Makes what one scenario starts from. Nothing of the tested process: no wrapped database. */
  readonly arrange: () => Promise<World>;
  /**
   * One life of the process: starts it, lets it do all there is to do, stops it, and resolves; rejects (or resolves
   * with `points.crashed`) when it dies, and is then called once more, undisturbed. When it has settled, nothing of
   * that life may still be at work.
   */
  readonly run: (world: World) => Promise<void>;
  /** Rejects when the world is not as it must be once everything is done, whatever happened on the way. */
  readonly check: (world: World) => Promise<void>;
  /** @default both */
  readonly faults?: readonly Fault[];
  /** Which step of the undisturbed run, from 1, to disturb; a sample where all take too long. @default all */
  readonly select?: (step: number, name: string) => boolean;
}

export interface EnumerationReport {
  /** The steps of the undisturbed run. */
  readonly steps: readonly string[];
  readonly scenarios: number;
  /** Scenarios whose run did not come to the step: expected only where several things run at once. */
  readonly unreached: number;
}

/**
 * Runs the process undisturbed once, to count its steps; then once for each step and fault, each time in a world of
 * its own: disturbed there, started again if it died of it, and checked.
 *
 * @throws Error naming step and fault of the first scenario that ends wrong, or does not end.
 */
export async function enumerateCrashPoints<World>(
  enumeration: Enumeration<World>,
): Promise<EnumerationReport> {
  const { points, faults = ['crash', 'lose'], select = () => true } = enumeration;
  points.crashAt(undefined);
  let steps: string[] = [];
  const counting = async (world: World) => {
    await enumeration.run(world);
    steps = [...points.steps];
  };
  await runScenario('undisturbed', { ...enumeration, run: counting });
  let scenarios = 0;
  let unreached = 0;
  for (const [index, name] of steps.entries()) {
    if (!select(index + 1, name)) continue;
    for (const fault of faults) {
      points.crashAt(index + 1, fault);
      const struck = await runScenario(`${fault} at step ${index + 1}, ${name}`, enumeration);
      scenarios += 1;
      if (!struck) unreached += 1;
    }
  }
  points.crashAt(undefined);
  return { steps, scenarios, unreached };
}

/** @returns whether the fault happened. */
async function runScenario<World>(
  title: string,
  { points, arrange, run, check }: Enumeration<World>,
): Promise<boolean> {
  let struck = false;
  try {
    const world = await arrange();
    const died = await run(world).then(
      () => points.crashed, // a process whose loops report errors and go on does not reject
      (error: unknown) => {
        if (!points.struck) throw error;
        return true;
      },
    );
    struck = points.struck;
    points.crashAt(undefined);
    if (died) await run(world);
    await check(world);
  } catch (error) {
    throw new Error(`${title}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return struck;
}
