/* Types of what the tests look at; the file itself must run before anything is installed. */
export function translateJestArguments(args: readonly string[]): string[];
export function countResults(
  results:
    | {
        readonly numPassedTests: number;
        readonly numFailedTests: number;
        readonly numRuntimeErrorTestSuites: number;
      }
    | undefined,
  exitCode: number,
): { passed: number; failed: number };
