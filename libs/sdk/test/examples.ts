import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  buildCallbackBody,
  callbackHeaders,
  serializeCallbackData,
} from '@opentill/contracts/signing/callback';
import { createDataForms } from '@opentill/contracts/signing/data-forms';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import { verifyDataSignature, verifyOrderIdSignature } from '@opentill/contracts/signing/verify-signature';
import { libraryPath, unpackDebianPackages } from '@opentill/test-servers/debian-packages';
import { envelope, startScriptedServer, type ScriptedServer } from './scripted-server.ts';

const COIN = { chain: 'ETH_SEPOLIA', symbol: 'USDT' };
const FOLDER = fileURLToPath(new URL('../examples/', import.meta.url));
const BUILT = mkdtempSync(join(tmpdir(), 'opentill-examples-'));
const RUN_TIMEOUT_MS = 120_000; // Go compiles its standard library the first time
/** Unpacking PHP may take ten minutes. */
const PREPARE_TIMEOUT_MS = 900_000;
const [TOKEN, SECRET] = ['dev-merchant-token-of-this-machine', 'dev-webhook-secret'];
/** With padding, without the required padding, and not base64: the last is the key itself. */
const WRITTEN_AS_STANDARD_WEBHOOKS_DOES = [
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwVr+/ec8sHow=',
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwVr+/ec8sHow',
  'whsec_no-base64',
];
type Command = readonly [program: string, ...args: string[]];
interface Language {
  readonly command: Command;
  readonly prepare: Command;
}
const LANGUAGES: Readonly<Record<'node' | 'python' | 'php' | 'go' | 'java', Language>> = {
  node: {
    command: [process.execPath, '--conditions=source', '--disable-warning=ExperimentalWarning', 'node.mjs'],
    prepare: [process.execPath, '--version'],
  },
  python: { command: ['python3', 'python.py'], prepare: ['python3', '--version'] },
  php: { command: ['php', '-n', 'php.php'], prepare: ['php', '-n', '--version'] },
  go: { command: [`${BUILT}/go-example`], prepare: ['go', 'build', '-o', `${BUILT}/go-example`, 'go.go'] },
  java: { command: ['java', '-cp', BUILT, 'Java'], prepare: ['javac', '-d', BUILT, 'Java.java'] },
};

/** Where Debian's PHP is unpacked; undefined while an installed one is used. */
let phpRoot: string | undefined;

/** @returns false if it cannot be fetched */
async function unpackPhp(): Promise<boolean> {
  const adapt = 'ln -s "$(basename usr/bin/php[0-9]*)" usr/bin/php';
  const unpacked = await unpackDebianPackages({ name: 'php', complete: ['php-cli'], adapt });
  if (unpacked.ok) phpRoot = unpacked.root;
  return unpacked.ok;
}

function run(program: string, args: readonly string[], input = ''): Promise<string> {
  const root = program === 'php' ? phpRoot : undefined;
  return new Promise((resolve, reject) => {
    const child = execFile(
      root === undefined ? program : join(root, 'usr/bin', program),
      args,
      {
        cwd: FOLDER,
        timeout: RUN_TIMEOUT_MS,
        env: { ...process.env, ...(root !== undefined && libraryPath(root)) },
      },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout.trim());
        else reject(new Error(`${program} ${args.join(' ')}: ${stderr || error.message}`));
      },
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

const split = ([program, ...args]: Command): [string, readonly string[]] => [program, args];

/** Languages that are not installed are skipped, except Node.js. PHP is unpacked first. */
export function describeExamples(languages: readonly (keyof typeof LANGUAGES)[]): void {
  const found = new Map<string, (args: readonly string[], input?: string) => Promise<string>>();
  let server: ScriptedServer;

  beforeAll(async () => {
    server = await startScriptedServer();
    server.replies = [envelope(200, 'success', { orderId: 'example-1', address: '0x1' })];
    for (const language of languages) {
      const { command, prepare } = LANGUAGES[language];
      const [program, ...args] = command;
      const tryPrepare = () => run(...split(prepare)).then(() => undefined, String);
      let failure = await tryPrepare();
      if (program === 'php' && failure?.includes('ENOENT') && (await unpackPhp()))
        failure = await tryPrepare();
      // An example that does not compile is an error.
      if (failure === undefined)
        found.set(language, (more, input) => run(program, [...args, ...more], input));
      else if (!failure.includes('ENOENT')) throw new Error(failure);
    }
  }, PREPARE_TIMEOUT_MS);
  afterAll(async () => {
    await server.close();
    rmSync(BUILT, { recursive: true, force: true });
    const absent = languages.filter((language) => !found.has(language));
    console.info(
      `Examples run: ${[...found.keys()].join(', ')}. Not installed here: ${absent.join(', ') || 'none'}.`,
    );
  });

  it('always runs the Node.js example', () => {
    expect([...found.keys()]).toContain('node');
  });

  it.each(languages)(
    '%s: creates orders, chooses a coin, and accepts only callbacks of the gateway',
    async (language) => {
      const example = found.get(language);
      if (example === undefined) return;
      const printed = JSON.parse(await example(['create', server.url, TOKEN, 'example-1'])) as object;
      expect(JSON.stringify(printed)).toContain('example-1');
      const { path, body } = server.asked.at(-1)!;
      expect(path).toBe('/v1/order/createCollection');
      const forms = createDataForms(tokenizeJson(Buffer.from(body)));
      const { sign, data } = JSON.parse(body) as { sign: string; data: object };
      expect(verifyDataSignature({ forms, token: TOKEN, sign })).toMatchObject({ ok: true });
      expect(data).toEqual({ orderId: 'example-1', amount: '12.50', symbol: 'USDT', chain: 'ETH_SEPOLIA' });

      const options = [COIN, { ...COIN, chain: 'BSC_TEST' }];
      server.replies = [envelope(200, 'success', { orderId: 'example-1', address: null, options })];
      const priced = await example(['price', server.url, TOKEN, 'example-1', '49.90', 'EUR']);
      expect(JSON.stringify(JSON.parse(priced))).toContain('"options"');
      const { data: asked } = JSON.parse(server.asked.at(-1)!.body) as { data: object };
      expect(asked).toEqual({ orderId: 'example-1', price: '49.90', currency: 'EUR', accept: options });

      server.replies = [envelope(200, 'success', { orderId: 'example-1', address: '0x1' })];
      const chosen = await example(['choose', server.url, TOKEN, 'example-1', COIN.chain, COIN.symbol]);
      expect(JSON.stringify(JSON.parse(chosen))).toContain('"address":"0x1"');
      const choice = server.asked.at(-1)!;
      expect(JSON.parse(choice.body)).toEqual(COIN);
      const { pathname, searchParams } = new URL(choice.path, server.url);
      expect([pathname, searchParams.get('orderId')]).toEqual(['/v1/order/choose', 'example-1']);
      const query = { token: TOKEN, orderId: 'example-1', sign: searchParams.get('sign') ?? '' };
      expect(verifyOrderIdSignature(query)).toBe(true);

      type Sent = { readonly body: string; readonly headers: ReturnType<typeof callbackHeaders> };
      const verify = (of: Sent, secret = SECRET) =>
        example(
          [
            'verify',
            secret,
            of.headers['webhook-id'],
            of.headers['webhook-timestamp'],
            of.headers['webhook-signature'],
          ],
          of.body,
        );
      const now = Math.floor(Date.now() / 1000);
      const sent = makeCallback(now, SECRET);
      expect(await verify(sent)).toBe('ORDER_SUCCESS example-1');
      expect(await verify(makeCallback(now, 'next', SECRET))).toBe('ORDER_SUCCESS example-1');
      expect(await verify({ ...sent, body: sent.body.replace('12.50', '99.50') })).toMatch(/^refused: /);
      expect(await verify(makeCallback(now, 'stranger'))).toMatch(/^refused: /);
      expect(await verify(makeCallback(now - 400, SECRET))).toMatch(/^refused: /);
      for (const secret of WRITTEN_AS_STANDARD_WEBHOOKS_DOES) {
        const printedLine = await verify(makeCallback(now, secret), secret);
        expect([secret, printedLine]).toEqual([secret, 'ORDER_SUCCESS example-1']);
      }
    },
    2 * RUN_TIMEOUT_MS,
  );
}

function makeCallback(timestampSeconds: number, secret: string, nextSecret?: string) {
  const dataText = serializeCallbackData({ orderId: 'example-1', status: 'SUCCESS', amount: '12.50' });
  const eventId = '01a1ff1d-9388-7120-8b00-38f63ebe8b78';
  const body = buildCallbackBody({
    dataText,
    nonce: eventId,
    notifyType: 'ORDER_SUCCESS',
    timestampSeconds,
    secret,
  });
  const rotating = nextSecret === undefined ? {} : { nextSecret };
  return {
    body,
    headers: callbackHeaders({ body, dataText, eventId, timestampSeconds, secret, ...rotating }),
  };
}
