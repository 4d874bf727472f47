// Entry point of `npm start`, `npm test`, `npm run test:full`, `npm run bench`, `npm run opentill` and .ci/run. Needs
// Node 20 and npm. Finds or fetches Node 24 and pnpm, installs and builds what changed, and runs the command.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './bootstrap/build.mjs';
import { BootstrapError, ROOT, runForwarding, say, STARTED_AT } from './bootstrap/run-command.mjs';
import { runDefaultTests, runLongTests } from './bootstrap/run-tests.mjs';
import { environmentWith, findToolchain, install } from './bootstrap/toolchain.mjs';

const COMMANDS = ['start', 'test', 'test-full', 'bench', 'ci', 'opentill'];
const OPERATE = join(ROOT, 'deploy', 'local', 'dist', 'operate', 'main.js');

/** Prints the line that scripts parse, as the last one. Returns the exit code. */
function report({ passed, failed, skipped }) {
  if (skipped > 0) say(`${skipped} tests skipped`);
  if (passed + failed === 0) say('no test ran');
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

/** Runs types, lint and tests, and checks that they change no file of the checkout. */
async function runChecks(args, env) {
  const before = workingTree();
  const checks = ['typecheck', 'lint'].map((name) => ({ name, command: 'pnpm', args: [name] }));
  const sum = await runDefaultTests(args, env, checks);
  let problems = sum.otherFailures.length;
  if (workingTree() !== before) {
    problems += 1;
    say('the checks changed files of the checkout: commit the generated files');
    spawnSync('git', ['status', '--short'], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  }
  if (problems > 0) say(`${problems} checks failed, see above`);
  return Math.max(report(sum), problems > 0 ? 1 : 0);
}

function workingTree() {
  const git = (...args) =>
    spawnSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 }).stdout ?? '';
  return `${git('status', '--porcelain')}\n${git('diff')}`;
}

function operate(args, env) {
  const { status, error } = spawnSync('node', [OPERATE, ...args], { env, stdio: 'inherit' });
  if (error) throw error;
  return status ?? 1;
}

async function run(command, args) {
  if (!COMMANDS.includes(command)) throw new BootstrapError(`Use one of: ${COMMANDS.join(', ')}.`);
  if (process.platform === 'win32')
    throw new BootstrapError(
      'On Windows run this in WSL: "wsl --install", then Node.js and npm in its Ubuntu.',
    );
  const toolchain = findToolchain();
  const env = environmentWith(toolchain);
  if (command === 'opentill' && existsSync(OPERATE)) return operate(args, env);
  install(toolchain, env);
  build(env);
  if (command === 'opentill') return operate(args, env);
  if (command === 'ci') return runChecks(args, env);
  if (command === 'test') return report(await runDefaultTests(args, env));
  if (command === 'test-full') return report(await runLongTests(args, env));
  const program = command === 'start' ? ['deploy', 'local'] : ['tools', 'bench'];
  if (command === 'start') say('starting');
  const main = join(ROOT, ...program, 'dist', 'main.js');
  const { code } = await runForwarding('node', [main, ...args], {
    ...env,
    OPENTILL_STARTED_BY: `${process.pid}`,
    OPENTILL_STARTED_AT: `${STARTED_AT}`,
  });
  return code;
}

try {
  process.exitCode = await run(process.argv[2], process.argv.slice(3));
} catch (error) {
  process.stderr.write(`opentill: ${error instanceof BootstrapError ? error.message : error.stack}\n`);
  process.exitCode = 1;
}
