import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, capture, ROOT, runStep } from './run-command.mjs';

const GROUPS = ['libs', 'services', 'deploy', 'tools'];
/** Inputs of every package's build. */
const SHARED = [
  'package.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'tsconfig.base.json',
  '.ci/tsconfig.build.json',
];

/** Builds if sources or output changed. A build briefly removes the checkout page, which breaks starting gateways. */
export function build(env) {
  const stampFile = join(CACHE, 'built');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === fingerprintOf(ROOT)) return;
  runStep('building', () => capture('pnpm', ['build'], 'The build failed.', { env }));
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(stampFile, fingerprintOf(ROOT));
}

/** Changes with size or time of any source, setting, document or build output, and when one is missing. */
export function fingerprintOf(root) {
  const hash = createHash('sha256');
  const take = (path) => {
    const { mtimeMs, size } = lstatSync(join(root, path));
    hash.update(`${path} ${mtimeMs} ${size}\n`);
  };
  for (const file of SHARED) take(file);
  for (const folder of ['.', 'docs', 'docs/architecture'])
    for (const file of namesIn(join(root, folder), (entry) => entry.name.endsWith('.md')))
      take(join(folder, file));
  for (const group of GROUPS) {
    for (const name of namesIn(join(root, group), (entry) => entry.isDirectory())) {
      const folder = join(group, name);
      for (const file of namesIn(join(root, folder), (entry) => entry.isFile())) take(join(folder, file));
      for (const inside of ['src', 'docs', 'examples', 'dist']) {
        const path = join(folder, inside);
        if (!existsSync(join(root, path))) continue;
        const files = readdirSync(join(root, path), { recursive: true, encoding: 'utf8' });
        for (const file of files.toSorted()) take(join(path, file));
      }
    }
  }
  if (existsSync(join(root, 'build')))
    for (const file of readdirSync(join(root, 'build'), { recursive: true, encoding: 'utf8' }).toSorted())
      take(join('build', file));
  return hash.digest('hex');
}

function namesIn(folder, isWanted) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries
    .filter(isWanted)
    .map(({ name }) => name)
    .toSorted();
}
