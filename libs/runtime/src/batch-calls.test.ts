import { describe, expect, it } from 'vitest';
import { batchCalls } from './batch-calls.ts';

function aGatherer(overrides: { failedWhole?: boolean; spoils?: number } = {}) {
  const runs: number[][] = [];
  const gates: (() => void)[] = [];
  const call = batchCalls<number, string>({
    runTogether: async (inputs) => {
      runs.push([...inputs]);
      await new Promise<void>((resolve) => gates.push(resolve));
      if (overrides.spoils !== undefined && inputs.includes(overrides.spoils)) throw new Error('spoiled');
      return inputs.map((n) => `answer ${n}`);
    },
    failedWhole: () => overrides.failedWhole ?? true,
    runsAtOnce: 1,
    inputsPerRun: 3,
  });
  const open = async () => {
    gates.shift()?.();
    await new Promise(setImmediate);
  };
  return { call, runs, open };
}

describe('batchCalls', () => {
  it('starts a call at once and batches later calls up to the limit', async () => {
    const { call, runs, open } = aGatherer();
    const answers = Promise.all([1, 2, 3, 4, 5].map((n) => call(n)));
    expect(runs).toEqual([[1]]);
    await open();
    expect(runs).toEqual([[1], [2, 3, 4]]);
    await open();
    await open();
    expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 3', 'answer 4', 'answer 5']);
    expect(runs).toEqual([[1], [2, 3, 4], [5]]);
  });

  it('tries each call separately when a batch failed without effect', async () => {
    const { call, runs, open } = aGatherer({ spoils: 3 });
    const answers = Promise.allSettled([1, 2, 3, 4].map((n) => call(n)));
    for (let i = 0; i < 5; i += 1) await open();
    expect((await answers).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(runs).toEqual([[1], [2, 3, 4], [2], [3], [4]]);
  });

  it('does not retry a batch whose effect is unknown', async () => {
    const { call, runs, open } = aGatherer({ spoils: 3, failedWhole: false });
    const answers = Promise.allSettled([1, 2, 3, 4].map((n) => call(n)));
    await open();
    await open();
    expect((await answers).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ]);
    expect(runs).toEqual([[1], [2, 3, 4]]);
  });
});
