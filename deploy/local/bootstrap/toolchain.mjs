import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { BootstrapError, CACHE, capture, readJson, ROOT, say } from './run-command.mjs';

const NODE_MAJOR = '24';
const NODE_PACKAGE = 'node@24.21.0';

/** The environment without what npm adds for its own scripts, which confuses npx and pnpm inside. */
function outerEnvironment() {
  const isOfNpm =
    /^npm_(package|lifecycle|command|execpath|node_execpath|config_local_prefix|config_user_agent)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfNpm.test(name)));
}

/** The environment of everything that is run, with Node 24 and pnpm in front. */
export function environmentWith({ node, pnpmFolder }) {
  return {
    ...outerEnvironment(),
    PATH: [dirname(node), pnpmFolder, process.env.PATH].join(delimiter),
  };
}

/** Folders of Node 24 and the pinned pnpm: from the last run's notes, or from npm. */
export function findToolchain() {
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
      { cwd: tmpdir(), env: outerEnvironment() },
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

/** Installs what the lockfile says, unless the last installation here was of this very lockfile. */
export function install(toolchain, env) {
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
