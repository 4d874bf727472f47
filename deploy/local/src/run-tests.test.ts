import { expect, test } from 'vitest';

interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

interface RunTests {
  countResults(
    results: Results | undefined,
    exitCode: number,
  ): { passed: number; failed: number; skipped: number };
}

// Untyped JavaScript, because it runs before any package is installed.
const file = new URL('../bootstrap/run-tests.mjs', import.meta.url).href;
const { countResults } = (await import(file)) as RunTests;

const results: Results = {
  numPassedTests: 7,
  numFailedTests: 2,
  numPendingTests: 0,
  testResults: [
    { status: 'failed', assertionResults: [{ status: 'failed' }, { status: 'failed' }] },
    { status: 'failed', assertionResults: [] },
  ],
};

test('counts a file that could not run as a failure', () => {
  expect(countResults(results, 1)).toEqual({ passed: 7, failed: 3, skipped: 0 });
});

test('counts a file without tests as a failure', () => {
  const empty = { status: 'passed', assertionResults: [] };
  expect(countResults({ ...results, numFailedTests: 0, testResults: [empty] }, 0)).toEqual({
    passed: 7,
    failed: 1,
    skipped: 0,
  });
});

test('counts a run that failed without a failed test or a report as a failure', () => {
  expect(countResults({ ...results, numFailedTests: 0, testResults: [] }, 1)).toEqual({
    passed: 7,
    failed: 1,
    skipped: 0,
  });
  expect(countResults(undefined, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(countResults(undefined, 0)).toEqual({ passed: 0, failed: 0, skipped: 0 });
});

test('counts skipped tests apart from passed ones', () => {
  const skipping = { ...results, numFailedTests: 0, numPendingTests: 4, testResults: [] };
  expect(countResults(skipping, 0)).toEqual({ passed: 7, failed: 0, skipped: 4 });
});
