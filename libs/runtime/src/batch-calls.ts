import { outsideSpans } from './tracing.ts';

export interface BatchOptions<Input, Output> {
  /** Outputs in the order of the inputs, for all of them or none. */
  readonly runTogether: (inputs: readonly Input[]) => Promise<readonly Output[]>;
  /** The failed batch had no effect, so each call may be tried separately. */
  readonly failedWhole: (error: unknown) => boolean;
  /** Calls that arrive during these runs wait for the next one. */
  readonly runsAtOnce: number;
  readonly inputsPerRun: number;
}

interface Waiting<Input, Output> {
  readonly input: Input;
  readonly resolve: (output: Output) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A call that finds a free run starts at once; others are batched, which costs less per call under load. When a batch
 * fails, each of its calls is tried separately.
 */
export function batchCalls<Input, Output>(
  options: BatchOptions<Input, Output>,
): (input: Input) => Promise<Output> {
  const waiting: Waiting<Input, Output>[] = [];
  let runs = 0;

  function startRuns(): void {
    while (runs < options.runsAtOnce && waiting.length > 0) {
      const calls = waiting.splice(0, options.inputsPerRun);
      runs += 1;
      void run(calls).finally(() => {
        runs -= 1;
        startRuns();
      });
    }
  }

  async function run(calls: readonly Waiting<Input, Output>[]): Promise<void> {
    try {
      const outputs = await outsideSpans(() => options.runTogether(calls.map(({ input }) => input)));
      calls.forEach(({ resolve, reject }, i) => {
        const output = outputs[i];
        if (output === undefined) reject(new Error('runTogether returned fewer outputs than inputs'));
        else resolve(output);
      });
    } catch (error) {
      if (calls.length > 1 && options.failedWhole(error)) for (const call of calls) await run([call]);
      else for (const { reject } of calls) reject(error);
    }
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject });
      startRuns();
    });
}
