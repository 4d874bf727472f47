// What `npm start`, `npm test`, `npm run test:full`, `npm run bench`, `npm run opentill` and .ci/run call. Needs Node 20 and npm, nothing
// else: it finds or fetches Node 24 and pnpm, installs and builds what changed, and runs the command with them.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const CACHE = join(ROOT, 'node_modules', '.cache', 'opentill');
const NODE_MAJOR = '24';
const NODE_PACKAGE = 'node@24.21.0';
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const COMMANDS = ['start', 'test', 'test-full', 'bench', 'ci', 'opentill'];
const OPERATE = join(ROOT, 'deploy', 'local', 'dist', 'operate', 'main.js');
/** `--passWithNoTests`: a pattern may leave one run of several empty; whether anything ran is judged by the sum. */
const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js'),
  '--config',
  join(ROOT, '.ci', 'jest.config.mjs'),
  '--passWithNoTests',
];
/** The gateway as real processes is not tested beside anything else: two runs. */
const TEST_RUNS = [['unit', 'integration'], ['e2e']];
/** Suites beside one another: on two processors jest would take one, and a suite often waits for its servers. */
const WORKERS = Math.max(2, availableParallelism() - 1);
const startedAt = Date.now();

/** A failure that is told in one sentence (and, where it helps, the end of a command's output). */
class BootstrapError extends Error {}

function say(line) {
  process.stderr.write(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
}

/** The environment without what npm adds for its own scripts, which confuses npx and pnpm inside. */
function outerEnvironment() {
  const isOfNpm =
    /^npm_(package|lifecycle|command|execpath|node_execpath|config_local_prefix|config_user_agent)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfNpm.test(name)));
}

/** Runs a command to its end and answers with its output; throws with `sentence` when it fails. */
function capture(command, args, sentence, options = {}) {
  const result = spawnSync(command, args, {
    cwd: ROOT,
    env: outerEnvironment(),
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    ...options,
  });
  if (result.status === 0) return result.stdout;
  if (STOP_SIGNALS.includes(result.signal)) process.exit(128 + constants.signals[result.signal]);
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}`.trimEnd().split('\n').slice(-40).join('\n');
  throw new BootstrapError(
    `${sentence}${result.error ? ` (${result.error.message})` : ''}\n${output}`.trimEnd(),
  );
}

/** Folders of Node 24 and the pinned pnpm: from the last run's notes, or from npm. */
function findToolchain() {
  const pnpm = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).packageManager;
  const noteFile = join(CACHE, 'toolchain.json');
  const noted = readJson(noteFile);
  if (noted?.pnpm === pnpm && existsSync(join(noted.pnpmFolder, 'pnpm')) && isRightNode(noted.node))
    return noted;

  say(`fetching Node ${NODE_MAJOR} and ${pnpm} from npm`);
  const find = (name, ...packages) =>
    capture(
      'npx',
      ['-y', ...packages.flatMap((wanted) => ['-p', wanted]), '-c', `command -v ${name}`],
      `${packages.join(' and ')} could not be fetched with npx.`,
      { cwd: tmpdir() },
    ).trim();
  const node = isRightNode(process.execPath) ? process.execPath : find('node', NODE_PACKAGE);
  if (!isRightNode(node)) throw new BootstrapError(`Node ${NODE_MAJOR} is needed, but npm brought ${node}.`);
  const toolchain = { node: realpathSync(node), pnpm, pnpmFolder: dirname(find('pnpm', pnpm)) };
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(noteFile, JSON.stringify(toolchain));
  return toolchain;
}

function isRightNode(file) {
  const result = spawnSync(file, ['--version'], { encoding: 'utf8' });
  return result.status === 0 && result.stdout.startsWith(`v${NODE_MAJOR}.`);
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Installs what the lockfile says, unless the last installation here was of this very lockfile. */
function install(toolchain, env) {
  const stampFile = join(CACHE, 'installed');
  const hash = createHash('sha256').update(
    `${toolchain.node} ${toolchain.pnpm} ${process.platform} ${process.arch}`,
  );
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json'])
    hash.update(readFileSync(join(ROOT, file)));
  const stamp = hash.digest('hex');
  const isInstalled = existsSync(join(ROOT, 'node_modules', '.modules.yaml'));
  if (isInstalled && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  say('installing packages');
  capture('pnpm', ['install', '--frozen-lockfile'], 'The packages could not be installed.', {
    env: { ...env, CI: '1' },
  });
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(stampFile, stamp);
}

function build(env) {
  say('building');
  capture('pnpm', ['build'], 'The build failed.', { env });
}

/**
 * Runs a command in a group of its own with our terminal, and hands it the first stop signal, once: a terminal's
 * Ctrl-C and npm's copy of it both reach us, and none of them reaches the group by itself. Answers its exit code.
 */
export function runForwarding(command, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, env, stdio: 'inherit', detached: true });
    let forwarded = false;
    const forward = (signal) => {
      if (forwarded || child.pid === undefined) return;
      forwarded = true;
      try {
        process.kill(-child.pid, signal);
      } catch {
        // it has just ended
      }
    };
    for (const signal of STOP_SIGNALS) process.on(signal, forward);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const name of STOP_SIGNALS) process.off(name, forward);
      resolve({ code: code ?? 128 + constants.signals[signal], stopped: forwarded });
    });
  });
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

/** Runs jest once per list of projects; the sums over all runs. */
async function runTests(runs, args, env) {
  const directory = mkdtempSync(join(tmpdir(), 'opentill-results-'));
  const sum = { passed: 0, failed: 0 };
  try {
    for (const projects of runs) {
      say(`testing: ${projects.join(', ')}`);
      const outputFile = join(directory, `${projects.join('-')}.json`);
      const { code, stopped } = await runForwarding(
        'node',
        [
          ...JEST,
          ...(projects.includes('unit') && !args.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg))
            ? [`--maxWorkers=${WORKERS}`]
            : []),
          '--selectProjects',
          ...projects,
          '--json',
          `--outputFile=${outputFile}`,
          ...translateJestArguments(args),
        ],
        env,
      );
      if (stopped) {
        rmSync(directory, { recursive: true, force: true });
        process.exit(code);
      }
      const { passed, failed } = countResults(readJson(outputFile), code);
      sum.passed += passed;
      sum.failed += failed;
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return sum;
}

/** The long tests, and those of containers where an engine answers. */
function fullRuns(env) {
  const hasEngine = spawnSync('docker', ['info'], { env, stdio: 'ignore', timeout: 20_000 }).status === 0;
  if (hasEngine) return [['full'], ['docker']];
  say('NOT TESTED: no Docker engine answers, so the tests of images and docker-compose.yml do not run');
  return [['full']];
}

/** Prints the line that scripts read, as the last one; the exit code. */
function report({ passed, failed }) {
  if (passed + failed === 0) say('no test ran');
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

/** Everything a change must pass: types, lint, tests, and that none of it changes a file of the checkout. */
async function runChecks(args, env) {
  const before = workingTree();
  let problems = 0;
  for (const script of ['typecheck', 'lint']) {
    say(script);
    const { code, stopped } = await runForwarding('pnpm', [script], env);
    if (stopped) process.exit(code);
    if (code !== 0) problems += 1;
  }
  const sum = await runTests(TEST_RUNS, args, env);
  if (workingTree() !== before) {
    problems += 1;
    say('the checks changed files of the checkout: a generated file was not committed');
    spawnSync('git', ['status', '--short'], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  }
  if (problems > 0) say(`${problems} of the checks beside the tests failed, see above`);
  return Math.max(report(sum), problems > 0 ? 1 : 0);
}

/** A fingerprint of what git sees changed; the same for everything where there is no git. */
function workingTree() {
  const git = (...args) =>
    spawnSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 }).stdout ?? '';
  return `${git('status', '--porcelain')}\n${git('diff')}`;
}

/** A command of the operators' command line, with our terminal. */
function operate(args, env) {
  const { status, error } = spawnSync('node', [OPERATE, ...args], { env, stdio: 'inherit' });
  if (error) throw error;
  return status ?? 1;
}

async function run(command, args) {
  if (!COMMANDS.includes(command)) throw new BootstrapError(`Say one of: ${COMMANDS.join(', ')}.`);
  const toolchain = findToolchain();
  const path = [dirname(toolchain.node), toolchain.pnpmFolder, process.env.PATH].join(delimiter);
  const env = { ...outerEnvironment(), PATH: path };
  if (command === 'opentill' && existsSync(OPERATE)) return operate(args, env);
  install(toolchain, env);
  build(env);
  if (command === 'opentill') return operate(args, env);
  if (command === 'ci') return runChecks(args, env);
  if (command === 'test') return report(await runTests(TEST_RUNS, args, env));
  if (command === 'test-full') return report(await runTests(fullRuns(env), args, env));
  const program = command === 'start' ? 'local' : 'bench';
  if (command === 'start') say('starting');
  const main = join(ROOT, 'deploy', program, 'dist', 'main.js');
  const { code } = await runForwarding('node', [main, ...args], {
    ...env,
    OPENTILL_STARTED_BY: `${process.pid}`,
  });
  return code;
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await run(process.argv[2], process.argv.slice(3));
  } catch (error) {
    process.stderr.write(`opentill: ${error instanceof BootstrapError ? error.message : error.stack}\n`);
    process.exitCode = 1;
  }
}
