/** How calls are gathered. */
export interface GatherOptions<Input, Output> {
  /** Answers inputs in their order, together or not at all. */
  readonly runTogether: (inputs: readonly Input[]) => Promise<readonly Output[]>;
  /** Whether a failure of many says that nothing was done, so that each may be tried by itself. */
  readonly failedWhole: (error: unknown) => boolean;
  /** How many runs may be under way; what comes meanwhile is gathered for the next. */
  readonly runsAtOnce: number;
  /** Most inputs of one run. */
  readonly inputsPerRun: number;
}

interface Waiting<Input, Output> {
  readonly input: Input;
  readonly resolve: (output: Output) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Turns single calls into runs over several inputs. A call that finds a free run starts at once, alone; under load
 * what piles up behind the runs under way goes together. So nobody waits for company, and a crowd costs less each.
 * One input that spoils a run is found by trying each of that run by itself.
 */
export function gatherCalls<Input, Output>(
  options: GatherOptions<Input, Output>,
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
      const outputs = await options.runTogether(calls.map(({ input }) => input));
      calls.forEach(({ resolve, reject }, i) => {
        const output = outputs[i];
        if (output === undefined) reject(new Error('a run answered less than it was asked'));
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
