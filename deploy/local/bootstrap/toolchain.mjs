import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { BootstrapError, CACHE, capture, readJson, ROOT, runStep } from './run-command.mjs';

const NODE_MAJOR = '24';
/** Pinned versions of Node and pnpm, with the integrity that npm checks. */
const PINNED = join(ROOT, 'deploy', 'local', 'toolchain');
/** Writable only by the owner, so that npm runs no files planted by another user. */
const PRIVATE_FOLDER = join(ROOT, '.local', 'toolchain');

/** Removes the variables that npm sets for scripts, which confuse nested npm and pnpm. */
function outerEnvironment() {
  const isOfNpm =
    /^npm_(package|lifecycle|command|execpath|node_execpath|config_local_prefix|config_user_agent)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfNpm.test(name)));
}

export function environmentWith({ node, pnpmFolder }) {
  return {
    ...outerEnvironment(),
    PATH: [dirname(node), pnpmFolder, process.env.PATH].join(delimiter),
  };
}

/** Paths of Node 24 and pnpm: from the last run, or installed from npm by the lockfile in `PINNED`. */
export function findToolchain() {
  const pnpm = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).packageManager;
  const noteFile = join(CACHE, 'toolchain.json');
  const noted = readJson(noteFile);
  if (noted?.pnpm === pnpm && existsSync(join(noted.pnpmFolder, 'pnpm')) && isRightNode(noted.node))
    return noted;

  const hasNode = isRightNode(process.execPath);
  const what = `fetching ${hasNode ? '' : `Node ${NODE_MAJOR} and `}${pnpm} from npm`;
  const modules = runStep(what, () => installPinned(hasNode));
  const fetched = join(modules, `node-${process.platform}-${process.arch}`, 'bin', 'node');
  const node = hasNode ? process.execPath : fetched;
  if (!isRightNode(node)) {
    const machine = `${process.platform} ${process.arch}`;
    throw new BootstrapError(
      `npm delivered no Node ${NODE_MAJOR} for ${machine} with the pinned integrity. Install Node ${NODE_MAJOR} and try again.`,
    );
  }
  const toolchain = { node: realpathSync(node), pnpm, pnpmFolder: join(modules, '.bin') };
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(noteFile, JSON.stringify(toolchain));
  return toolchain;
}

/** Installs the pinned packages without running their scripts. Returns their `node_modules`. */
function installPinned(hasNode) {
  rmSync(PRIVATE_FOLDER, { recursive: true, force: true });
  mkdirSync(dirname(PRIVATE_FOLDER), { recursive: true });
  mkdirSync(PRIVATE_FOLDER, { mode: 0o700 });
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(join(PINNED, file), join(PRIVATE_FOLDER, file));
  capture(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', ...(hasNode ? ['--omit=optional'] : [])],
    'Node and pnpm could not be installed from npm.',
    { cwd: PRIVATE_FOLDER, env: outerEnvironment() },
  );
  return join(PRIVATE_FOLDER, 'node_modules');
}

function isRightNode(file) {
  const result = spawnSync(file, ['--version'], { encoding: 'utf8' });
  return result.status === 0 && result.stdout.startsWith(`v${NODE_MAJOR}.`);
}

/** Installs by the lockfile unless it is unchanged since the last installation. */
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
  runStep('installing packages', () =>
    capture('pnpm', ['install', '--frozen-lockfile'], 'The packages could not be installed.', {
      env: { ...env, CI: '1' },
    }),
  );
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(stampFile, stamp);
}
