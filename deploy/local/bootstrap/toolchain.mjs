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
import { BootstrapError, CACHE, capture, readJson, ROOT, say } from './run-command.mjs';

const NODE_MAJOR = '24';
/** Versions of Node and pnpm, and the integrity of each package: what npm checks a download against. */
const PINNED = join(ROOT, 'deploy', 'local', 'toolchain');
/** Only the owner may write here: npm runs nothing that another user of the machine could have put in its way. */
const PRIVATE_FOLDER = join(ROOT, '.local', 'toolchain');

/** The environment without what npm adds for its own scripts, which confuses npm and pnpm inside. */
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

/** Node 24 and the folder of pnpm: as found in the last run, or installed from npm by the lockfile in `PINNED`. */
export function findToolchain() {
  const pnpm = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).packageManager;
  const noteFile = join(CACHE, 'toolchain.json');
  const noted = readJson(noteFile);
  if (noted?.pnpm === pnpm && existsSync(join(noted.pnpmFolder, 'pnpm')) && isRightNode(noted.node))
    return noted;

  const hasNode = isRightNode(process.execPath);
  say(`fetching ${hasNode ? '' : `Node ${NODE_MAJOR} and `}${pnpm} from npm`);
  const modules = installPinned(hasNode);
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

/** Installs the pinned packages without running any script of theirs. Returns their `node_modules`. */
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
