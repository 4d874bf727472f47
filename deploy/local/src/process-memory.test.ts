import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHECKOUT } from './checkout.ts';
import { PROCESS_MEMORY } from './process-memory.ts';

const { NODE_OPTIONS, ...ofMalloc } = PROCESS_MEMORY;
const read = (path: string): string => readFileSync(join(CHECKOUT, path), 'utf8');

test.each([
  'deploy/Dockerfile',
  'deploy/small/opentill-gateway.service',
  'deploy/small/opentill-signer.service',
])('%s has the memory settings of npm start', (path) => {
  const text = read(path);
  const set = [...text.matchAll(/\b(MALLOC_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]);
  expect(Object.fromEntries(set)).toEqual(ofMalloc);
  expect(text).toMatch(new RegExp(`NODE_OPTIONS="?${NODE_OPTIONS} `));
});

test.each(['docker-compose.yml', 'docker-compose.small.yml'])(
  '%s keeps the memory settings of the images',
  (path) => {
    const text = read(path);
    expect(text).not.toContain('MALLOC_');
    for (const [, options] of text.matchAll(/NODE_OPTIONS: (.*)/g)) expect(options).toContain(NODE_OPTIONS);
  },
);
