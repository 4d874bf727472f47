import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '@opentill/test-servers/free-port';
import { entryPoint } from '@opentill/local/checkout';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { GuideBook } from '../src/guide-book.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { WAIT_MS } from '../src/time-limits.ts';
import { startTlsProxy } from '../src/tls-proxy.ts';
import { findWebServer, type WebServerUnderTest } from '../src/web-server.ts';

const POLICY = {
  version: 1,
  chains: {
    ETH_SEPOLIA: {
      enabled: true,
      assets: {
        USDT: {
          maxPerPayout: '100',
          maxPerHour: '200',
          maxPerDay: '500',
          maxPerMerchantPerDay: '500',
        },
      },
    },
  },
};

export function describeGuides(book: GuideBook, stateDir: () => string): void {
  let folder: string;
  let proxy: WebServerUnderTest | undefined;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'opentill-guides-'));
    // Commands on files run `opentill` in `folder`. Commands to the gateway run it through npm in the checkout.
    const [here, there] = [join(folder, 'bin'), join(folder, 'gateway-bin')];
    const shims = [
      [here, `exec '${process.execPath}' '${entryPoint('cli')}' "$@"`],
      [there, `exec npm --prefix '${CHECKOUT}' run -s opentill -- "$@"`],
    ] as const;
    for (const [bin, command] of shims) {
      mkdirSync(bin);
      writeFileSync(join(bin, 'opentill'), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
    }
    mkdirSync(join(folder, 'proxy'));
    for (const name of ['passphrase', 'approver-passphrase'])
      writeFileSync(join(folder, name), 'a passphrase of the tests\n', { mode: 0o600 });
    cpSync(join(CHECKOUT, 'deploy', 'networks', 'local.json'), join(folder, 'networks.json'));
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
  });
  afterAll(async () => {
    await proxy?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const blockOf = (guide: string, mark: string): string => book.take(`deploy/guides/${guide}.md`, mark)[0];

  /** Returns standard output. Standard error has progress only. */
  async function run(commands: string, bin = 'bin'): Promise<string> {
    const env = {
      ...process.env,
      PATH: `${join(folder, bin)}:${process.env['PATH'] ?? ''}`,
      OPENTILL_STATE_DIR: stateDir(),
    };
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands], { cwd: folder, env });
    let [out, errors] = ['', ''];
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    shell.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    shell.stdin.end();
    const code = await new Promise((resolve) => void shell.once('close', resolve));
    expect({ commands, code, errors: code === 0 ? '' : errors }).toEqual({ commands, code: 0, errors: '' });
    return out;
  }

  describe('going-to-mainnet.md', () => {
    it('checks the networks with `opentill doctor`', async () => {
      expect(await run(blockOf('going-to-mainnet', 'doctor'))).toContain('ETH_SEPOLIA');
    });

    it('creates a wallet and recovers it from its words', async () => {
      const made = blockOf('going-to-mainnet', 'keys').replace('keys init', 'keys init --words-to words');
      await run(made);
      await run(blockOf('going-to-mainnet', 'drill'));
      const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));
      expect(read('recovered-keys.json')).toEqual(read('public-keys.json'));
    });

    it('seals a policy', async () => {
      expect(await run(blockOf('going-to-mainnet', 'policy'))).toContain('ETH_SEPOLIA');
      expect(readFileSync(join(folder, 'policy.sealed.json'), 'utf8')).not.toContain('maxPerPayout');
    });

    it('creates a key for an approver', async () => {
      expect(await run(blockOf('going-to-mainnet', 'approver'))).toContain('publicKey');
    });

    it('configures a TLS proxy that streams answers and sets client headers', async ({ skip }) => {
      const block = blockOf('going-to-mainnet', 'proxy');
      const nginx = await findWebServer('nginx');
      if (nginx === undefined) return skip('no nginx');
      const [upstream, port] = [await startUpstream(), await findFreePort()];
      proxy = await startTlsProxy({
        block,
        nginx,
        folder: join(folder, 'proxy'),
        port,
        upstream: upstream.url,
      });
      try {
        const answer = await askThrough(port, '/v1/order/events', { 'x-forwarded-for': '192.0.2.7' });
        expect(answer).toEqual({ status: 200, begins: 'data: at once\n\n' }); // before the answer ends
        expect(upstream.heard()).toMatchObject({
          host: 'pay.example.com',
          'x-forwarded-for': '127.0.0.1', // replaces the customer's value
          'x-forwarded-proto': 'https',
        });
      } finally {
        await upstream.stop();
      }
    });
  });

  describe('operations.md', () => {
    it('runs the daily checks', async () => {
      const commands = blockOf('operations', 'daily');
      let output = '';
      // The ledger is briefly behind the chain; the command then fails.
      const isWell = async () => (output = await run(commands, 'gateway-bin')) !== '';
      await waitUntil('ledger and chain are equal', isWell, WAIT_MS);
      expect(output).toContain('ETH_SEPOLIA');
      expect(output).not.toContain('DIFF');
    });

    it('halts payouts and resumes them', async () => {
      const output = await run(blockOf('operations', 'halt'), 'gateway-bin');
      expect(output).toContain('looking into it');
      const haltId = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(output)?.[0] ?? '';
      await run(blockOf('operations', 'release').replace('HALT_ID', haltId), 'gateway-bin');
      expect(await run('opentill halt list', 'gateway-bin')).not.toContain('looking into it');
    });

    it('writes a backup to the current folder', async () => {
      expect(await run(blockOf('operations', 'backup'), 'gateway-bin')).toContain(
        'Contains the sealed keystore',
      );
      expect(existsSync(join(folder, 'backups', 'monday', 'manifest.json'))).toBe(true);
    });
  });
}

/** A server whose answer starts but does not end. */
async function startUpstream() {
  let heard: IncomingHttpHeaders = {};
  const server = createServer(({ headers }, response) => {
    heard = headers;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: at once\n\n');
  }).listen(0, '127.0.0.1');
  await waitUntil('the upstream listens', () => server.listening, WAIT_MS);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard: () => heard,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

/** Accepts the self-signed certificate. Resolves with the first part of the answer. */
function askThrough(port: number, path: string, headers: Readonly<Record<string, string>>) {
  return new Promise<{ status: number; begins: string }>((resolve, reject) => {
    const host = { host: 'pay.example.com' };
    const options = { host: '127.0.0.1', port, path, headers: { ...headers, ...host }, timeout: WAIT_MS };
    const asked = request({ ...options, rejectUnauthorized: false }, (response) => {
      response.setEncoding('utf8').once('data', (begins: string) => {
        resolve({ status: response.statusCode ?? 0, begins });
        asked.destroy();
      });
    });
    asked.once('timeout', () => asked.destroy(new Error(`no answer begins within ${WAIT_MS} ms`)));
    asked.once('error', reject);
    asked.end();
  });
}
