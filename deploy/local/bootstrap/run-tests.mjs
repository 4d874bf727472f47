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

/** Tests with servers that also pass where a gateway takes most of the machine; the rest begins when the gateways are done. */
const LIBRARIES =
  '(libs/(db|messaging|wallet|sdk|scanner|chain-tron|chain-sui)|tools/(devnets|test-servers))/';
const OF_LIBRARIES = { ...INTEGRATION, workers: 1, only: LIBRARIES };
const OF_OTHERS = { ...INTEGRATION, only: `^(?!.*${LIBRARIES})` };

/**
 * Beside the gateways goes what reckons and waits for little: the checks, the tests without servers, and those of libraries.
 * Who says what to test has its integration tests in one run.
 */
export async function runDefaultTests(args, env, checks = []) {
  const [early, late] = args.length === 0 ? [[OF_LIBRARIES], OF_OTHERS] : [[], INTEGRATION];
  return runTests(
    [
      [...checks, UNIT, ...early],
      [GATEWAYS, late],
    ],
    args,
    env,
  );
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
 * Runs lanes of jest runs and other steps beside one another; the sums over all jest runs, and the names of other steps
 * that failed. Who wants suites one by one, or watches them, wants no lanes either.
 */
async function runTests(steps, args, env) {
  const directory = mkdtempSync(join(tmpdir(), 'opentill-results-'));
  let files = 0;
  const fileOf = () => join(directory, `${(files += 1)}.json`);
  const toStep = (step) => (step.projects === undefined ? step : jestStep(step, args, fileOf()));
  const isOneByOne = args.some((argument) => /^(-i|--runInBand|--watch)/.test(argument));
  const lanes = steps.map((lane) => lane.map(toStep));
  const sum = { passed: 0, failed: 0, otherFailures: [] };
  try {
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
    return sum;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function jestStep({ projects, workers, only }, args, outputFile) {
  const name = `testing: ${projects.join(', ')}${only === undefined ? '' : ` ${only}`}`;
  const choosesWorkers = args.some((argument) => /^(-i|-w|--runInBand|--maxWorkers)/.test(argument));
  return {
    name,
    outputFile,
    command: 'node',
    args: [
      ...JEST,
      ...(workers === undefined || choosesWorkers ? [] : [`--maxWorkers=${workers}`]),
      '--selectProjects',
      ...projects,
      '--json',
      `--outputFile=${outputFile}`,
      ...(only === undefined ? [] : ['--testPathPatterns', only]),
      ...translateJestArguments(args),
    ],
  };
}
