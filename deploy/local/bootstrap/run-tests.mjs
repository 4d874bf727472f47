import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJson, ROOT, say } from './run-command.mjs';
import { runLanes } from './run-lanes.mjs';

/** `--passWithNoTests`: a filter may match no file of one run. The total decides whether any test ran. */
const VITEST = [
  join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'),
  'run',
  '--config',
  join(ROOT, '.ci', 'vitest.config.mjs'),
  '--passWithNoTests',
  '--reporter=default',
  '--reporter=json',
];
const WORKERS = Math.max(2, availableParallelism());
const FAST = { projects: ['unit', 'integration'], workers: WORKERS };
/** One gateway at a time: each has a dozen processes that mostly wait for blocks. */
const GATEWAYS = { projects: ['e2e'], workers: 1 };

/** Runs the gateway tests, which mostly wait, concurrently with the others. */
export async function runDefaultTests(args, env, checks = []) {
  return runTests([[FAST], [...checks, GATEWAYS]], args, env);
}

export async function runLongTests(args, env) {
  const hasEngine = spawnSync('docker', ['info'], { env, stdio: 'ignore', timeout: 20_000 }).status === 0;
  if (!hasEngine)
    say('NOT TESTED: no Docker engine answers, so the tests of images and docker-compose.yml do not run');
  const hasCluster = (env.OPENTILL_TEST_KUBECONFIG ?? '') !== '';
  if (!hasCluster)
    say('NOT TESTED: OPENTILL_TEST_KUBECONFIG names no cluster, so the tests of the Helm chart do not run');
  const long = { projects: ['full'], workers: WORKERS };
  const gateways = { projects: ['e2e-full'], workers: 1 }; // uses the ports of npm start
  const docker = { projects: ['docker'], workers: 1 }; // builds the same images
  const kubernetes = { projects: ['kubernetes'], workers: 1 };
  const one = [gateways, ...(hasEngine ? [docker] : []), ...(hasCluster ? [kubernetes] : [])];
  return runTests([[long], one], args, env);
}

/**
 * Counts of a run's JSON report. A file that could not run or has no tests counts as one failure, as does a run that failed
 * without a report or although all its tests passed.
 */
export function countResults(results, exitCode) {
  const passed = results?.numPassedTests ?? 0;
  const broken = (results?.testResults ?? []).filter(
    ({ status, assertionResults }) =>
      assertionResults.length === 0 ||
      (status === 'failed' && assertionResults.every((test) => test.status !== 'failed')),
  );
  const failed = (results?.numFailedTests ?? 0) + broken.length;
  const skipped = results?.numPendingTests ?? 0;
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped };
}

/** Runs test runs and other steps concurrently. @returns totals of the test runs, and names of other failed steps */
async function runTests(steps, args, env) {
  const directory = mkdtempSync(join(tmpdir(), 'opentill-results-'));
  let files = 0;
  const fileOf = () => join(directory, `${(files += 1)}.json`);
  const lanes = steps.map((lane) =>
    lane.map((step) => (step.projects === undefined ? step : testStep(step, args, fileOf()))),
  );
  const sum = { passed: 0, failed: 0, skipped: 0, otherFailures: [] };
  try {
    const codes = await runLanes(lanes, env);
    for (const { name, outputFile } of lanes.flat()) {
      const code = codes.get(name);
      if (outputFile === undefined) {
        if (code !== 0) sum.otherFailures.push(name);
        continue;
      }
      const counts = countResults(readJson(outputFile), code);
      for (const name of Object.keys(counts)) sum[name] += counts[name];
    }
    return sum;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function testStep({ projects, workers }, args, outputFile) {
  const choosesWorkers = args.some((argument) => argument.startsWith('--maxWorkers'));
  return {
    name: `testing: ${projects.join(', ')}`,
    outputFile,
    command: 'node',
    args: [
      ...VITEST,
      `--outputFile.json=${outputFile}`,
      ...(choosesWorkers ? [] : [`--maxWorkers=${workers}`]),
      ...projects.map((project) => `--project=${project}`),
      ...args,
    ],
  };
}
