import { describe, expect, test } from 'vitest';
import { startLoop, type Loop } from './loop.ts';

function createGate() {
  const runs: { finish: (result?: 'again') => void; fail: (error: Error) => void; signal: AbortSignal }[] =
    [];
  let started: (() => void)[] = [];
  let concurrent = 0;
  let mostConcurrent = 0;
  return {
    runs,
    get mostConcurrent() {
      return mostConcurrent;
    },
    run: async (signal: AbortSignal): Promise<void | 'again'> => {
      concurrent += 1;
      mostConcurrent = Math.max(mostConcurrent, concurrent);
      try {
        return await new Promise<void | 'again'>((finish, fail) => {
          runs.push({ finish, fail, signal });
          started.forEach((wake) => wake());
          started = [];
        });
      } finally {
        concurrent -= 1;
      }
    },
    async untilRuns(count: number) {
      while (runs.length < count) await new Promise<void>((wake) => started.push(wake));
    },
  };
}
const NEVER_MS = 1_000_000;

async function withLoop(
  options: Partial<Parameters<typeof startLoop>[0]>,
  work: (loop: Loop, gate: ReturnType<typeof createGate>) => Promise<void>,
) {
  const gate = createGate();
  const loop = startLoop({ name: 'test', intervalMs: NEVER_MS, run: gate.run, ...options });
  const finishRuns = () => gate.runs.forEach((run) => run.finish());
  try {
    await work(loop, gate);
  } finally {
    const stopped = loop.stop();
    finishRuns();
    await stopped;
  }
}

describe('startLoop', () => {
  test('runs at once, then after each interval', () =>
    withLoop({ intervalMs: 1 }, async (_loop, gate) => {
      for (const count of [1, 2, 3]) {
        await gate.untilRuns(count);
        gate.runs[count - 1]?.finish();
      }
      await gate.untilRuns(4);
    }));

  test('starts a run when woken during a pause', () =>
    withLoop({}, async (loop, gate) => {
      await gate.untilRuns(1);
      gate.runs[0]?.finish();
      await new Promise(setImmediate);
      loop.wake();
      await gate.untilRuns(2);
    }));

  test('runs once more after any number of wakes during a run', () =>
    withLoop({}, async (loop, gate) => {
      await gate.untilRuns(1);
      loop.wake();
      loop.wake();
      loop.wake();
      gate.runs[0]?.finish();
      await gate.untilRuns(2);
      gate.runs[1]?.finish();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(gate.runs).toHaveLength(2);
      expect(gate.mostConcurrent).toBe(1);
    }));

  test("runs without a pause after 'again', and yields to the event loop", () =>
    withLoop({}, async (_loop, gate) => {
      await gate.untilRuns(1);
      gate.runs[0]?.finish('again');
      await gate.untilRuns(2);
    }));

  test("does not starve timers when a synchronous run returns 'again'", async () => {
    let runs = 0;
    const loop = startLoop({
      name: 'busy',
      intervalMs: NEVER_MS,
      run: () => {
        runs += 1;
        return Promise.resolve('again');
      },
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await loop.stop();
    expect(runs).toBeGreaterThan(1);
  });

  test('doubles the backoff up to the cap, and resets it after a success', async () => {
    const failures: number[] = [];
    await withLoop(
      {
        intervalMs: 1,
        firstBackoffMs: 1,
        maxBackoffMs: 4,
        onError: (_error, failuresInRow) => failures.push(failuresInRow),
      },
      async (_loop, gate) => {
        for (const index of [0, 1, 2]) {
          await gate.untilRuns(index + 1);
          gate.runs[index]?.fail(new Error('no'));
        }
        await gate.untilRuns(4);
        gate.runs[3]?.finish();
        await gate.untilRuns(5);
        gate.runs[4]?.fail(new Error('no'));
        await gate.untilRuns(6);
      },
    );
    expect(failures).toEqual([1, 2, 3, 1]);
  });

  test('runs a wake that came during a backoff after its end', () =>
    withLoop({ firstBackoffMs: 60, random: () => 1 }, async (loop, gate) => {
      await gate.untilRuns(1);
      gate.runs[0]?.fail(new Error('no'));
      const failedAt = Date.now();
      loop.wake();
      await gate.untilRuns(2);
      expect(Date.now() - failedAt).toBeGreaterThanOrEqual(55);
    }));

  test('continues after an error handler that throws', () =>
    withLoop(
      {
        firstBackoffMs: 1,
        onError: () => {
          throw new Error('broken handler');
        },
      },
      async (_loop, gate) => {
        await gate.untilRuns(1);
        gate.runs[0]?.fail(new Error('no'));
        await gate.untilRuns(2);
      },
    ));

  test('aborts the current run on stop, waits for it and reports no error', async () => {
    const errors: unknown[] = [];
    const gate = createGate();
    const loop = startLoop({ name: 't', intervalMs: 0, run: gate.run, onError: (e) => errors.push(e) });
    await gate.untilRuns(1);
    let stopped = false;
    const stopping = loop.stop().then(() => (stopped = true));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(stopped).toBe(false);
    expect(gate.runs[0]?.signal.aborted).toBe(true);
    gate.runs[0]?.fail(new Error('aborted'));
    await stopping;
    loop.wake();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(gate.runs).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test('stops during a pause and during a backoff', async () => {
    const idle = startLoop({ name: 'idle', intervalMs: NEVER_MS, run: () => Promise.resolve() });
    const failing = startLoop({
      name: 'failing',
      intervalMs: 0,
      firstBackoffMs: NEVER_MS,
      maxBackoffMs: NEVER_MS,
      run: () => Promise.reject(new Error('no')),
    });
    await new Promise(setImmediate);
    await Promise.all([idle.stop(), failing.stop()]);
  });
});
