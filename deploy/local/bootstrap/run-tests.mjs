import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJson, ROOT, say } from './run-command.mjs';
import { runLanes } from './run-lanes.mjs';

/** `--passWithNoTests`: a pattern may leave one run of several empty; whether anything ran is judged by the sum. */
const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js'),
  '--config',
  join(ROOT, '.ci', 'jest.config.mjs'),
  '--passWithNoTests',
];
/** With two processors each worker of ours keeps one busy together with what it asks of the servers. */
const UNIT = { projects: ['unit'], workers: Math.max(1, availableParallelism() - 1) };
const INTEGRATION = { projects: ['integration'], workers: Math.max(2, availableParallelism() - 1) };
/** One gateway after the other: each is a dozen processes, which mostly wait for the next block. */
const GATEWAYS = { projects: ['e2e'], workers: 1 };

/** Beside the gateways goes what reckons and waits for nothing: the checks, and the tests without servers. */
export async function runDefaultTests(args, env, checks = []) {
  return runTests([[[...checks, UNIT], [GATEWAYS]], [[INTEGRATION]]], args, env);
}

/** The long tests, and those of containers where an engine answers. */
export async function runLongTests(args, env) {
  const hasEngine = spawnSync('docker', ['info'], { env, stdio: 'ignore', timeout: 20_000 }).status === 0;
  if (!hasEngine)
    say('NOT TESTED: no Docker engine answers, so the tests of images and docker-compose.yml do not run');
  const long = { projects: ['full'] };
  const docker = { projects: ['docker'], workers: 1 }; // they build the same images
  return runTests([hasEngine ? [long, docker] : [long]], args, env);
}

/** Jest 30 knows the option by its plural only; everybody's fingers know the singular. */
export function translateJestArguments(args) {
  return args.map((argument) => argument.replace(/^--testPathPattern(?=$|=)/, '--testPathPatterns'));
}

/**
 * What a jest run's JSON counts. A suite that could not even run counts as one failure, as does a run that failed
 * without results or although all its tests passed.
 */
export function countResults(results, exitCode) {
  const passed = results?.numPassedTests ?? 0;
  const failed = (results?.numFailedTests ?? 0) + (results?.numRuntimeErrorTestSuites ?? 0);
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}

/**
 * Runs one phase after the other, each of lanes of jest runs and other steps; the sums over all jest runs, and the names
 * of other steps that failed. Who wants suites one by one, or watches them, wants no lanes either.
 */
async function runTests(phases, args, env) {
  const directory = mkdtempSync(join(tmpdir(), 'opentill-results-'));
  const toStep = (step) => (step.projects === undefined ? step : jestStep(step, args, directory));
  const isOneByOne = args.some((argument) => /^(-i|--runInBand|--watch)/.test(argument));
  const sum = { passed: 0, failed: 0, otherFailures: [] };
  try {
    for (const phase of phases) {
      const lanes = phase.map((lane) => lane.map(toStep));
      const codes = await runLanes(isOneByOne ? [lanes.flat()] : lanes, env);
      for (const { name, outputFile } of lanes.flat()) {
        const code = codes.get(name);
        if (outputFile === undefined) {
          if (code !== 0) sum.otherFailures.push(name);
          continue;
        }
        const { passed, failed } = countResults(readJson(outputFile), code);
        sum.passed += passed;
        sum.failed += failed;
      }
    }
    return sum;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function jestStep({ projects, workers }, args, directory) {
  const outputFile = join(directory, `${projects.join('-')}.json`);
  const choosesWorkers = args.some((argument) => /^(-i|-w|--runInBand|--maxWorkers)/.test(argument));
  return {
    name: `testing: ${projects.join(', ')}`,
    outputFile,
    command: 'node',
    args: [
      ...JEST,
      ...(workers === undefined || choosesWorkers ? [] : [`--maxWorkers=${workers}`]),
      '--selectProjects',
      ...projects,
      '--json',
      `--outputFile=${outputFile}`,
      ...translateJestArguments(args),
    ],
  };
}
