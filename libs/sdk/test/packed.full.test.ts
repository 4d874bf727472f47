import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  buildCallbackBody,
  callbackHeaders,
  serializeCallbackData,
} from '@opentill/contracts/signing/callback';
import { envelope, startScriptedServer } from './scripted-server.ts';

/*
 * Packed, installed into an empty folder, and used with both module systems on the oldest Node.js that README.md
 * supports. The oldest and the newest compiler check its types.
 */

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
/** The oldest Node.js of `engines`, an old compiler that supports these resolutions, and the repository's. */
const INSTALLED = ['node@18', 'typescript@5.0', '@types/node@18', 'express@4', '@types/express@4'];
const MINUTES_MS = 60_000;
const OUR_COMPILER = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
);

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-packed-'));
  writeFileSync(join(folder, 'package.json'), '{ "name": "shop", "private": true }');
  const [pack = '', install = '', ...more] = block('install').replaceAll('~', folder).split('\n');
  expect(more).toEqual([]);
  await run('sh', ['-c', pack], PACKAGE);
  await run('sh', ['-c', install]);
  await run('npm', ['install', '--no-audit', '--no-fund', ...INSTALLED]);
}, 5 * MINUTES_MS);
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function block(mark: string): string {
  const readme = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
  const found = new RegExp(`<!-- test:${mark} -->\\s*\\n\`\`\`sh\\n([^]*?)\\n\`\`\``).exec(readme)?.[1];
  if (found === undefined) throw new Error(`README.md has no block ${mark}`);
  return found;
}

function run(program: string, args: readonly string[], cwd = folder): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, timeout: 4 * MINUTES_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}: ${stdout}${stderr || error.message}`));
    });
  });
}

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const onNode18 = (...args: readonly string[]) => run(join(folder, 'node_modules', '.bin', 'node'), args);

it('contains only what it needs and installs no other package', async () => {
  const files = readdirSync(join(folder, 'node_modules', '@opentill', 'sdk'), {
    recursive: true,
    encoding: 'utf8',
  });
  expect(files).toEqual(expect.arrayContaining(['README.md', 'dist/client.js', 'dist/commonjs/client.js']));
  expect(files.filter((name) => /test|\.tsbuildinfo$|node_modules/.test(name))).toEqual([]);
  const tree = JSON.parse(await run('npm', ['ls', '--json', '--all', '@opentill/sdk'])) as {
    dependencies: Record<string, { dependencies?: object }>;
  };
  expect(tree.dependencies['@opentill/sdk']).not.toHaveProperty('dependencies');
});

/** An order, a callback through express, and a rejected one; for both module systems. */
const SHOP = `
async function main() {
  const [url, body, id, timestamp, signature] = process.argv.slice(2);
  const opentill = createOpentill({ url, token: 'a token' });
  const order = await opentill.createCollection({ orderId: 'packed-1', amount: '1', symbol: 'USDT', chain: 'ETH_SEPOLIA' });
  const failure = await opentill.status('packed-1').catch((error) => error);
  const app = express();
  const done = [];
  const receive = { secrets: 'a secret', onCallback: ({ notifyType }) => void done.push(notifyType) };
  app.post('/parsed', express.json(), expressCallbacks(receive));
  app.post('/raw', expressCallbacks(receive));
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  const statuses = [];
  for (const [path, text] of [['parsed', body], ['raw', body], ['raw', body.replace('1.00', '9.00')]]) {
    const answer = await fetch('http://127.0.0.1:' + server.address().port + '/' + path, { method: 'POST', headers, body: text });
    statuses.push(answer.status);
  }
  const fetched = await fetchCallbacks(receive)(new Request('http://shop/', { method: 'POST', headers, body }));
  statuses.push(fetched.status);
  server.close();
  console.log(JSON.stringify({ version: process.version, order, failure: [failure instanceof OpentillError, failure.code], statuses, done }));
}
main();
`;
const NAMES: Readonly<Record<string, string>> = {
  '@opentill/sdk/client': 'createOpentill',
  '@opentill/sdk/opentill-error': 'OpentillError',
  '@opentill/sdk/receive-callbacks': 'expressCallbacks, fetchCallbacks',
};
const imports = Object.entries(NAMES).map(([from, names]) => `import { ${names} } from '${from}';`);
const requires = Object.entries(NAMES).map(([from, names]) => `const { ${names} } = require('${from}');`);
const SHOPS = {
  'shop.mjs': ["import express from 'express';", ...imports, SHOP].join('\n'),
  'shop.cjs': ["const express = require('express');", ...requires, SHOP].join('\n'),
};

describe.each(Object.entries(SHOPS))('%s on Node.js 18', (name, text) => {
  it('creates an order and receives its callback', async () => {
    write(name, text);
    const server = await startScriptedServer();
    server.replies = [
      envelope(200, 'success', { orderId: 'packed-1' }),
      { status: 404, body: JSON.stringify({ code: 404, msg: 'Order not found', data: null }) },
    ];
    const printed = await onNode18(name, server.url, ...callback()).catch(String);
    await server.close();
    expect(JSON.parse(printed)).toEqual({
      version: expect.stringMatching(/^v18\./),
      order: { orderId: 'packed-1' },
      failure: [true, 'NOT_FOUND'],
      statuses: [200, 200, 401, 200],
      done: ['ORDER_SUCCESS', 'ORDER_SUCCESS', 'ORDER_SUCCESS'],
    });
  });
});

it('throws in a bundle for browsers', async () => {
  for (const use of ["import('@opentill/sdk/client')", "require('@opentill/sdk/client')"])
    await expect(onNode18('--conditions=browser', '-e', use)).rejects.toThrow(/must never reach a browser/);
});

/** `@ts-expect-error` marks wrong uses, so a missing error fails too. */
const TYPED = `
const opentill: Opentill = createOpentill({ url: 'https://pay.example.com', token: 't' });
export async function buy(): Promise<string | null> {
  const order = await opentill.createCollection({ orderId: 'a', amount: '1', symbol: 'USDT', chain: 'TRON' });
  // @ts-expect-error money is no float
  await opentill.createCollection({ orderId: 'a', amount: 1, symbol: 'USDT', chain: 'TRON' });
  return order.paymentUrl;
}
export function reasonOf(error: unknown): string {
  return error instanceof OpentillError && error.code === 'RATE_LIMITED' ? String(error.retryAfterMs) : 'other';
}
express().post('/', express.json(), expressCallbacks({
  secrets: 's',
  onCallback(callback) {
    if (callback.notifyType === 'ORDER_SUCCESS') console.log(callback.data.actualAmount);
    // @ts-expect-error a sweep has no order's amount
    if (callback.notifyType === 'COLLECT_SUCCESS') console.log(callback.data.actualAmount);
  },
}));
export const handler: (request: Request) => Promise<Response> = fetchCallbacks({ secrets: 's', onCallback: () => undefined });
`;
const TYPED_IMPORTS = [
  "import express from 'express';",
  "import { createOpentill, type Opentill } from '@opentill/sdk/client';",
  ...imports.slice(1),
];
const RESOLUTIONS = {
  'an ES module, node16': ['typed.mts', 'node16', 'node16'],
  'a CommonJS module, node16': ['typed.cts', 'node16', 'node16'],
  'an ES module, nodenext': ['typed.mts', 'nodenext', 'nodenext'],
  'a CommonJS module, nodenext': ['typed.cts', 'nodenext', 'nodenext'],
  bundler: ['typed.ts', 'esnext', 'bundler'],
} as const;

describe.each([
  ['TypeScript 5.0', () => join(folder, 'node_modules', 'typescript', 'bin', 'tsc')],
  ['our TypeScript', () => OUR_COMPILER],
])('package types with %s', (_name, compiler) => {
  it.each(Object.entries(RESOLUTIONS))(
    'compiles with the types of the package: %s',
    async (_way, [file, module, moduleResolution]) => {
      write(file, [...TYPED_IMPORTS, TYPED].join('\n'));
      const options = ['--noEmit', '--strict', '--esModuleInterop', '--exactOptionalPropertyTypes'];
      const target = ['--target', 'es2022', '--lib', 'es2022', '--types', 'node'];
      const way = ['--module', module, '--moduleResolution', moduleResolution];
      // Without skipLibCheck, so the declarations are checked too.
      expect(await run(process.execPath, [compiler(), ...options, ...target, ...way, file])).toBe('');
    },
    MINUTES_MS,
  );
});

function callback(): readonly string[] {
  const dataText = serializeCallbackData({ orderId: 'packed-1', status: 'SUCCESS', amount: '1.00' });
  const timestampSeconds = Math.floor(Date.now() / 1000);
  const secret = 'a secret';
  const eventId = 'event-1';
  const of = { dataText, timestampSeconds, secret };
  const body = buildCallbackBody({ ...of, nonce: eventId, notifyType: 'ORDER_SUCCESS' });
  const headers = callbackHeaders({ ...of, body, eventId });
  return [body, eventId, headers['webhook-timestamp'], headers['webhook-signature']];
}
