import { expect, test } from '@jest/globals';

interface JestResults {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
}

interface RunTests {
  countResults(results: JestResults | undefined, exitCode: number): { passed: number; failed: number };
  translateJestArguments(args: readonly string[]): string[];
}

// Plain JavaScript, since it runs before anything is installed: nobody declares its types.
const file = new URL('../bootstrap/run-tests.mjs', import.meta.url).href;
const { countResults, translateJestArguments } = (await import(file)) as RunTests;

const results = { numPassedTests: 7, numFailedTests: 2, numRuntimeErrorTestSuites: 1 };

test('a suite that could not run counts as a failure', () => {
  expect(countResults(results, 1)).toEqual({ passed: 7, failed: 3 });
});

test('a run that fails although its tests passed, or without results, is a failure', () => {
  expect(countResults({ ...results, numFailedTests: 0, numRuntimeErrorTestSuites: 0 }, 1)).toEqual({
    passed: 7,
    failed: 1,
  });
  expect(countResults(undefined, 1)).toEqual({ passed: 0, failed: 1 });
  expect(countResults(undefined, 0)).toEqual({ passed: 0, failed: 0 });
});

test('the old name of the path pattern option is understood', () => {
  expect(
    translateJestArguments(['--testPathPattern', 'x', '--testPathPattern=y', '--testPathPatterns=z', 'w']),
  ).toEqual(['--testPathPatterns', 'x', '--testPathPatterns=y', '--testPathPatterns=z', 'w']);
});
