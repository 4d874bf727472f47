import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { GatewayError } from '@opentill/domain/gateway-error';

/** Simulated death of a process, thrown by every step from the fatal one on. Handlers must not catch it. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/**
 * crash: the process dies at the step; everything that it tries later, also in `catch` or `finally`, throws. lose: only
 * the step fails with a retryable error, and its connection closes; the process continues. A loss before an effect
 * loses the request, a loss after it only the response.
 */
export type Fault = 'crash' | 'lose';

export interface CrashPoints {
  /** Names of the steps since `crashAt`, including the failing one: 'before commit', 'after publish', … */
  readonly steps: readonly string[];
  readonly struck: boolean;
  readonly crashed: boolean;
  /** Starts a new life. Fails at the `at`-th step (from 1) or the first step of that name; undefined never fails. */
  crashAt(at: number | string | undefined, fault?: Fault): void;
  /** @throws Crash, or with fault 'lose' the error of `lost` (default: retryable GatewayError CALL_UNAVAILABLE) */
  step(name: string, lost?: () => Error): void;
  /** Adds a step before and after any side effect, such as an HTTP request. */
  around<T>(name: string, effect: () => Promise<T>): Promise<T>;
  wrap<A extends unknown[], T>(name: string, effect: (...args: A) => Promise<T>): (...args: A) => Promise<T>;
  wrapPublisher<P extends { publish(...args: never[]): Promise<unknown> }>(publisher: P): P;
  /** Adds a step before each statement and after each durable one. A crash closes connections, which rolls back. */
  readonly wrapPool: (pool: PostgresPool) => PostgresPool;
}

/** @param onCrash ends a real process at the fatal step, before anything is thrown */
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
      // A lost connection gives no answer; closing it rolls back.
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

/** Short name of a statement: 'insert api.outbox', 'commit'. */
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
  /** Creates the initial state of one scenario, without the tested process and without a wrapped database. */
  readonly arrange: () => Promise<World>;
  /** One life of the process, with no work left at its end. If it dies, it is called again without a fault. */
  readonly run: (world: World) => Promise<void>;
  /** Rejects if the final state is wrong. */
  readonly check: (world: World) => Promise<void>;
  /** @default both */
  readonly faults?: readonly Fault[];
  /** Selects steps of the undisturbed run (from 1), if testing all takes too long. @default all */
  readonly select?: (step: number, name: string) => boolean;
}

export interface EnumerationReport {
  readonly steps: readonly string[];
  readonly scenarios: number;
  /** Scenarios that did not reach the step. Expected only with concurrent work. */
  readonly unreached: number;
}

/**
 * Tests each step and fault in a new world: disturbs the run, restarts a dead process, and checks the result.
 * @throws Error naming step and fault of the first scenario that fails or does not end
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

async function runScenario<World>(
  title: string,
  { points, arrange, run, check }: Enumeration<World>,
): Promise<boolean> {
  let struck = false;
  try {
    const world = await arrange();
    const died = await run(world).then(
      () => points.crashed, // loops that report errors and continue do not reject
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
